/*
 * spmd.h - the whole harness of the SPMD tests: a check, a seed that all PEs share, a random
 * generator.
 *
 *     int main(int argc, char **argv)
 *     {
 *         spmd_begin(argc, argv);
 *         CHECK(1 + 1 == 2, "%d", 1 + 1);
 *         return spmd_end();
 *     }
 *
 * A check that fails says where, on which PE and with which values, and the test goes on. The seed
 * is the first argument that is a number, or NVS_TEST_SEED, or new; PE 0 prints it.
 */
#ifndef TESTS_SPMD_SPMD_H
#define TESTS_SPMD_SPMD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* this file comes first */
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <shmem.h>

enum { SPMD_SKIP = 77, SPMD_MAX_REPORTS = 10 };

static int spmd_me, spmd_npes;
static uint64_t spmd_seed;
static unsigned long spmd_checks, spmd_failures; /* several threads: changed atomically */

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        __atomic_fetch_add(&spmd_checks, 1, __ATOMIC_RELAXED);                                     \
        if (!(condition) &&                                                                        \
            __atomic_add_fetch(&spmd_failures, 1, __ATOMIC_RELAXED) <= SPMD_MAX_REPORTS) {         \
            char spmd_text[512];                                                                   \
            snprintf(spmd_text, sizeof spmd_text, __VA_ARGS__);                                    \
            fprintf(stderr, "%s:%d: PE %d of %d (seed %llu): %s: %s\n", __FILE__, __LINE__,        \
                    spmd_me, spmd_npes, (unsigned long long)spmd_seed, #condition, spmd_text);     \
        }                                                                                          \
    } while (0)

/* ---- random numbers (splitmix64) ------------------------------------------------------------- */

struct rng {
    uint64_t state;
};

static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A stream of its own for each pair of numbers; the same on every PE. */
static inline struct rng rng_of(uint64_t a, uint64_t b)
{
    return (struct rng){rng_mix(spmd_seed + rng_mix(a * 2 + 1) + 3 * rng_mix(b * 2))};
}

static inline uint64_t rng_next(struct rng *rng)
{
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    return rng_mix(rng->state);
}

static inline size_t rng_below(struct rng *rng, size_t bound)
{
    return (size_t)(rng_next(rng) % bound);
}

/* ---- time ------------------------------------------------------------------------------------ */

static inline double spmd_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void spmd_sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* How long a stress test runs: NVS_STRESS_SECONDS, or what the caller takes as normal. */
static inline double spmd_stress_seconds(double normal)
{
    const char *text = getenv("NVS_STRESS_SECONDS");
    return text && *text ? atof(text) : normal;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static inline uint64_t spmd_pick_seed(int argc, char **argv)
{
    const char *text = getenv("NVS_TEST_SEED");
    for (int i = 1; i < argc; i++)
        if (argv[i][0] >= '0' && argv[i][0] <= '9')
            text = argv[i];
    if (text && *text)
        return strtoull(text, NULL, 10);
    return (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
}

/* The seed of PE 0 becomes everybody's. Through the heap: static data is what some tests test. */
static inline void spmd_share_seed(int argc, char **argv)
{
    uint64_t *seed = shmem_malloc(sizeof *seed);
    if (!seed) {
        fprintf(stderr, "PE %d: no symmetric memory for the seed\n", spmd_me);
        shmem_global_exit(1);
    }
    if (spmd_me == 0) {
        *seed = spmd_pick_seed(argc, argv);
        printf("seed %llu\n", (unsigned long long)*seed);
        fflush(stdout);
    }
    shmem_barrier_all();
    spmd_seed = spmd_me == 0 ? *seed : shmem_uint64_g(seed, 0);
    shmem_free(seed);
}

/* For programs that initialise on their own. */
static inline void spmd_join(int argc, char **argv)
{
    spmd_me = shmem_my_pe();
    spmd_npes = shmem_n_pes();
    spmd_share_seed(argc, argv);
}

static inline void spmd_begin(int argc, char **argv)
{
    shmem_init();
    spmd_join(argc, argv);
}

static inline int spmd_result(void)
{
    if (spmd_failures)
        fprintf(stderr, "PE %d: %lu of %lu checks failed\n", spmd_me, spmd_failures, spmd_checks);
    return spmd_failures != 0 || spmd_checks == 0;
}

static inline int spmd_end(void)
{
    shmem_finalize();
    return spmd_result();
}

#endif
