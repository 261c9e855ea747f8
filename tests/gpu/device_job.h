/*
 * device_job.h - what the tests of NVSHMEM in kernels share: a job whose PEs have selected their
 * GPUs, and random numbers that are the same on all PEs.
 */
#ifndef DEVICE_JOB_H
#define DEVICE_JOB_H

#include "gputest.h"

#include <nvshmem.h>
#include <nvshmemx.h>

static int job_me, job_npes;
static uint64_t job_seed;

static inline void job_begin(void)
{
    const char *seed = getenv("NVS_TEST_SEED");
    gt_need_gpu();
    nvshmem_init();
    job_me = nvshmem_my_pe();
    job_npes = nvshmem_n_pes();
    gt_select(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gt_devices());
    job_seed = seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15u;
    if (job_me == 0)
        printf("seed %llu (NVS_TEST_SEED)\n", (unsigned long long)job_seed);
}

/* Ends the program: all PEs must have done well. */
static inline int job_end(void)
{
    nvshmem_barrier_all();
    nvshmem_finalize();
    return gt_result();
}

static inline uint64_t job_random(void)
{
    job_seed ^= job_seed << 13;
    job_seed ^= job_seed >> 7;
    job_seed ^= job_seed << 17;
    return job_seed * 0x2545f4914f6cdd1du;
}

static inline unsigned job_below(unsigned limit)
{
    return (unsigned)((job_random() >> 33) % limit);
}

/* Byte i of the memory that PE pe sends in this round. */
static inline unsigned char job_byte(int pe, unsigned round, size_t i)
{
    uint64_t x = (uint64_t)pe * 0x9e3779b97f4a7c15u + round * 0xbf58476d1ce4e5b9u + i + 1;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebu;
    return (unsigned char)(x >> 40);
}

/* Symmetric memory, whose contents all PEs' hosts may set before anybody's kernel uses it. */
static inline void *job_malloc(size_t nbytes)
{
    void *ptr = nvshmem_malloc(nbytes);
    GT_CHECK(ptr != NULL, "no memory for %zu bytes", nbytes);
    if (!ptr)
        exit(1);
    return ptr;
}

#endif
