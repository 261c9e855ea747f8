/*
 * corrupt.c - a library that lies, to be loaded before libnvs: each function does its work and then
 * one thing wrong. PERF_FAULT names the function that lies; the others are honest. nvs-perf must
 * notice.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nvs.h"
#include "nvshmemx.h"
#include "shmem.h"

static bool lies(const char *fn)
{
    const char *fault = getenv("PERF_FAULT");
    return fault && !strcmp(fault, fn);
}

/* The honest function; POSIX says that a pointer from dlsym may be one to a function. */
#define HONEST(fn)                                                                                 \
    static __typeof__(fn) *honest;                                                                 \
    if (!honest)                                                                                   \
    *(void **)&honest = dlsym(RTLD_NEXT, #fn)

static bool last_pe(void)
{
    return shmem_my_pe() == shmem_n_pes() - 1;
}

static size_t size_of(enum nvs_dtype dtype)
{
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return sizes[dtype];
}

/* One bit of one element, on one PE. */
int nvs_all_reduce(nvs_team_t team, void *dst, const void *src, size_t nelems, enum nvs_dtype dtype,
                   enum nvs_op op, const struct nvs_call *call)
{
    HONEST(nvs_all_reduce);
    int status = honest(team, dst, src, nelems, dtype, op, call);
    if (lies("nvs_all_reduce") && last_pe() && nelems)
        ((char *)dst)[nelems * size_of(dtype) - 1] ^= 0x40;
    return status;
}

/* Nothing is written. */
int nvs_reduce_scatter(nvs_team_t team, void *dst, const void *src, size_t nelems,
                       enum nvs_dtype dtype, enum nvs_op op, const struct nvs_call *call)
{
    HONEST(nvs_reduce_scatter);
    static char elsewhere[4096] __attribute__((aligned(64)));
    bool lie = lies("nvs_reduce_scatter") && dst != src && last_pe();
    return honest(team, lie ? elsewhere : dst, src, nelems, dtype, op, call);
}

/* The source is changed. */
int nvs_broadcast(nvs_team_t team, void *dst, const void *src, size_t nelems, enum nvs_dtype dtype,
                  int root, const struct nvs_call *call)
{
    HONEST(nvs_broadcast);
    int status = honest(team, dst, src, nelems, dtype, root, call);
    if (lies("nvs_broadcast") && nelems && dst != src && last_pe())
        *(char *)src ^= 1;
    return status;
}

/* One byte too many is written. (nvs-perf gathers bytes for itself.) */
int nvs_all_gather(nvs_team_t team, void *dst, const void *src, size_t nelems, enum nvs_dtype dtype,
                   const struct nvs_call *call)
{
    HONEST(nvs_all_gather);
    int status = honest(team, dst, src, nelems, dtype, call);
    if (lies("nvs_all_gather") && dtype != NVS_UINT8 && last_pe())
        ((char *)dst)[nelems * size_of(dtype) * (size_t)shmem_n_pes()] ^= 1;
    return status;
}

/* Two blocks change places. */
int nvs_all_to_all(nvs_team_t team, void *dst, const void *src, size_t nelems, enum nvs_dtype dtype,
                   const struct nvs_call *call)
{
    HONEST(nvs_all_to_all);
    int status = honest(team, dst, src, nelems, dtype, call);
    size_t nbytes = nelems * size_of(dtype);
    if (lies("nvs_all_to_all") && shmem_n_pes() > 1)
        for (size_t i = 0; i < nbytes; i++) {
            char *a = (char *)dst + i, *b = a + nbytes, kept = *a;
            *a = *b;
            *b = kept;
        }
    return status;
}

/* One byte too many. */
void shmem_putmem(void *dst, const void *src, size_t nbytes, int pe)
{
    HONEST(shmem_putmem);
    honest(dst, src, nbytes + lies("shmem_putmem"), pe);
}

/* One byte too few. */
void shmem_putmem_nbi(void *dst, const void *src, size_t nbytes, int pe)
{
    HONEST(shmem_putmem_nbi);
    honest(dst, src, nbytes - (lies("shmem_putmem_nbi") && nbytes), pe);
}

/* From the wrong place. */
void shmem_getmem(void *dst, const void *src, size_t nbytes, int pe)
{
    HONEST(shmem_getmem);
    honest(dst, (const char *)src + lies("shmem_getmem"), nbytes, pe);
}

/* Not at all. */
void shmem_getmem_nbi(void *dst, const void *src, size_t nbytes, int pe)
{
    HONEST(shmem_getmem_nbi);
    if (!lies("shmem_getmem_nbi"))
        honest(dst, src, nbytes, pe);
}

/* The signal without its data. */
void shmem_putmem_signal(void *dst, const void *src, size_t nbytes, uint64_t *sig_addr,
                         uint64_t signal, int sig_op, int pe)
{
    HONEST(shmem_putmem_signal);
    honest(dst, src, lies("shmem_putmem_signal") ? 0 : nbytes, sig_addr, signal, sig_op, pe);
}

void shmem_uint32_p(uint32_t *dst, uint32_t value, int pe)
{
    HONEST(shmem_uint32_p);
    honest(dst, value ^ (lies("shmem_uint32_p") ? 1u << 31 : 0), pe);
}

uint32_t shmem_uint32_g(const uint32_t *src, int pe)
{
    HONEST(shmem_uint32_g);
    return honest(src, pe) + lies("shmem_uint32_g");
}

/* What comes back is what is there now. */
uint64_t shmem_uint64_atomic_fetch_add(uint64_t *dst, uint64_t value, int pe)
{
    HONEST(shmem_uint64_atomic_fetch_add);
    uint64_t old = honest(dst, value, pe);
    return lies("shmem_uint64_atomic_fetch_add") ? old + value : old;
}

/* Stores though it does not compare equal. */
uint64_t shmem_uint64_atomic_compare_swap(uint64_t *dst, uint64_t cond, uint64_t value, int pe)
{
    HONEST(shmem_uint64_atomic_compare_swap);
    uint64_t old = honest(dst, cond, value, pe);
    if (lies("shmem_uint64_atomic_compare_swap") && old != cond)
        honest(dst, old, value, pe);
    return old;
}

/* 32 bits are 64. */
void shmem_uint32_atomic_set(uint32_t *dst, uint32_t value, int pe)
{
    HONEST(shmem_uint32_atomic_set);
    honest(dst, value, pe);
    if (lies("shmem_uint32_atomic_set"))
        honest(dst + 1, value, pe);
}

/* Waits for nobody. */
void shmem_sync_all(void)
{
    HONEST(shmem_sync_all);
    if (!lies("shmem_sync_all"))
        honest();
}

/* Every seventh message is lost. */
void shmem_ctx_putmem_nbi(shmem_ctx_t ctx, void *dst, const void *src, size_t nbytes, int pe)
{
    static unsigned count;
    HONEST(shmem_ctx_putmem_nbi);
    if (!lies("shmem_ctx_putmem_nbi") || ++count % 7)
        honest(ctx, dst, src, nbytes, pe);
}

/* The last byte stays behind. */
void nvshmemx_putmem_on_stream(void *dst, const void *src, size_t nbytes, int pe,
                               cudaStream_t stream)
{
    HONEST(nvshmemx_putmem_on_stream);
    honest(dst, src, nbytes - (lies("nvshmemx_putmem_on_stream") && nbytes), pe, stream);
}

/* Only the first element is reduced, out of place. */
int nvshmemx_float_sum_reduce_on_stream(nvshmem_team_t team, float *dst, const float *src,
                                        size_t nreduce, cudaStream_t stream)
{
    HONEST(nvshmemx_float_sum_reduce_on_stream);
    bool lie = lies("nvshmemx_float_sum_reduce_on_stream") && dst != src && nreduce;
    return honest(team, dst, src, lie ? 1 : nreduce, stream);
}
