/*
 * kernels_scope.cuh - the ops of a thread, a warp or a block: one template.
 */
#ifndef PERF_KERNELS_SCOPE_CUH
#define PERF_KERNELS_SCOPE_CUH

#include "kernels.cuh"

/* ---- one set of names ------------------------------------------------------------------------ */

/* Types that kernels reduce, as enum nvs_dtype has them; with sum. Each one more takes the compiler
 * another minute. */
#define REDUCED(F) F(7, float, float)

#define SCOPE(name, prefix, suffix, rank_of, wait_for_all)                                         \
    struct name {                                                                                  \
        static __device__ bool first() { return rank_of == 0; }                                    \
        static __device__ void sync() { wait_for_all; }                                            \
        static __device__ void put(void *dst, const void *src, size_t nbytes, int pe)              \
        {                                                                                          \
            prefix##_putmem##suffix(dst, src, nbytes, pe);                                         \
        }                                                                                          \
        static __device__ void put_nbi(void *dst, const void *src, size_t nbytes, int pe)          \
        {                                                                                          \
            prefix##_putmem_nbi##suffix(dst, src, nbytes, pe);                                     \
        }                                                                                          \
        static __device__ void get(void *dst, const void *src, size_t nbytes, int pe)              \
        {                                                                                          \
            prefix##_getmem##suffix(dst, src, nbytes, pe);                                         \
        }                                                                                          \
        static __device__ void get_nbi(void *dst, const void *src, size_t nbytes, int pe)          \
        {                                                                                          \
            prefix##_getmem_nbi##suffix(dst, src, nbytes, pe);                                     \
        }                                                                                          \
        static __device__ void put_signal(void *dst, const void *src, size_t nbytes,               \
                                          uint64_t *word, uint64_t value, int op, int pe)          \
        {                                                                                          \
            prefix##_putmem_signal##suffix(dst, src, nbytes, word, value, op, pe);                 \
        }                                                                                          \
        static __device__ void barrier() { prefix##_barrier_all##suffix(); }                       \
        static __device__ void sync_all() { prefix##_sync_all##suffix(); }                         \
        static __device__ void broadcast(void *dst, const void *src, size_t nbytes, int root)      \
        {                                                                                          \
            prefix##_broadcastmem##suffix(NVSHMEM_TEAM_WORLD, dst, src, nbytes, root);             \
        }                                                                                          \
        static __device__ void all_gather(void *dst, const void *src, size_t nbytes)               \
        {                                                                                          \
            prefix##_fcollectmem##suffix(NVSHMEM_TEAM_WORLD, dst, src, nbytes);                    \
        }                                                                                          \
        static __device__ void all_to_all(void *dst, const void *src, size_t nbytes)               \
        {                                                                                          \
            prefix##_alltoallmem##suffix(NVSHMEM_TEAM_WORLD, dst, src, nbytes);                    \
        }                                                                                          \
        static __device__ void all_reduce(int type, void *dst, const void *src, size_t n)          \
        {                                                                                          \
            switch (type) {                                                                        \
                REDUCED(CASE_##name##_REDUCE)                                                      \
            }                                                                                      \
        }                                                                                          \
        static __device__ void reduce_scatter(int type, void *dst, const void *src, size_t n)      \
        {                                                                                          \
            switch (type) {                                                                        \
                REDUCED(CASE_##name##_SCATTER)                                                     \
            }                                                                                      \
        }                                                                                          \
    };
#define CASE(code, type, call)                                                                     \
    case code:                                                                                     \
        call(NVSHMEM_TEAM_WORLD, (type *)dst, (const type *)src, n);                               \
        break;
#define CASE_by_thread_REDUCE(code, name, type) CASE(code, type, nvshmem_##name##_sum_reduce)
#define CASE_by_warp_REDUCE(code, name, type) CASE(code, type, nvshmemx_##name##_sum_reduce_warp)
#define CASE_by_block_REDUCE(code, name, type) CASE(code, type, nvshmemx_##name##_sum_reduce_block)
#define CASE_by_thread_SCATTER(code, name, type)                                                   \
    CASE(code, type, nvshmem_##name##_sum_reducescatter)
#define CASE_by_warp_SCATTER(code, name, type)                                                     \
    CASE(code, type, nvshmemx_##name##_sum_reducescatter_warp)
#define CASE_by_block_SCATTER(code, name, type)                                                    \
    CASE(code, type, nvshmemx_##name##_sum_reducescatter_block)

/* ---- copies ---------------------------------------------------------------------------------- */

template <class S> static __device__ void quiet()
{
    S::sync();
    if (S::first())
        nvshmem_quiet();
    S::sync();
}

using copying = void(void *dst, const void *src, size_t nbytes, int pe);

/* Each block has a share, in whole lines. */
template <class S, copying *copy, bool each> static __device__ void copies(const args &a)
{
    const uint64_t line = 128;
    uint64_t share = (a.nbytes + gridDim.x - 1) / gridDim.x;
    share = (share + line - 1) / line * line;
    uint64_t from = share * blockIdx.x;
    if (from >= a.nbytes)
        return;
    uint64_t nbytes = a.nbytes - from < share ? a.nbytes - from : share;
    rotor copy_of(a);
    for (uint64_t i = 0; i < a.n; i++, copy_of.next()) {
        uint64_t at = copy_of.at + from;
        copy(a.dst + at, a.src + at, nbytes, a.to);
        if (each)
            quiet<S>();
    }
    quiet<S>();
}

/* ---- there and back -------------------------------------------------------------------------- */

template <class S> static __device__ void wait_signal(const args &a, uint64_t value)
{
    if (S::first())
        nvshmem_signal_wait_until(a.signal, NVSHMEM_CMP_GE, value);
    S::sync();
}

template <class S> static __device__ void put_signals(const args &a)
{
    answering how = answering_of(a);
    rotor copy_of(a);
    for (uint64_t i = 0; i < a.n; i++, copy_of.next()) {
        uint64_t value = a.answers + i + 1, at = copy_of.at, set = how.ring ? 1 : value;
        if (how.starts)
            S::put_signal(a.dst + at, a.src + at, a.nbytes, a.signal, set, how.op, how.pe);
        wait_signal<S>(a, value);
        if (!how.starts)
            S::put_signal(a.dst + at, a.src + at, a.nbytes, a.signal, set, how.op, how.pe);
    }
    quiet<S>();
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Collectives: one each, so that the registers of one are not the others'. */
#define COLLECTIVE(name, statement)                                                                \
    NVSD_KERNEL(name, struct kernel_args, a)                                                       \
    {                                                                                              \
        rotor copy_of(a);                                                                          \
        for (uint64_t i = 0; i < a.n; i++, copy_of.next())                                         \
            statement;                                                                             \
    }
#define DST (a.dst + copy_of.at)
#define SRC (a.src + copy_of.at)
/* gpu.c knows the names. */
#define COLLECTIVES(S, name)                                                                       \
    COLLECTIVE(name##_barrier, S::barrier())                                                       \
    COLLECTIVE(name##_sync, S::sync_all())                                                         \
    COLLECTIVE(name##_broadcast, S::broadcast(DST, SRC, a.nbytes, a.root))                         \
    COLLECTIVE(name##_all_gather, S::all_gather(DST, SRC, a.nbytes))                               \
    COLLECTIVE(name##_all_to_all, S::all_to_all(DST, SRC, a.nbytes))                               \
    COLLECTIVE(name##_all_reduce, S::all_reduce(a.type, DST, SRC, a.count))                        \
    COLLECTIVE(name##_reduce_scatter, S::reduce_scatter(a.type, DST, SRC, a.count))

template <class S> static __device__ void run(const args &a)
{
    switch (a.op) {
    case KERNEL_PUT:
        copies<S, S::put, true>(a);
        break;
    case KERNEL_PUT_NBI:
        copies<S, S::put_nbi, false>(a);
        break;
    case KERNEL_GET:
        copies<S, S::get, false>(a);
        break;
    case KERNEL_GET_NBI:
        copies<S, S::get_nbi, false>(a);
        break;
    case KERNEL_PUT_SIGNAL:
        put_signals<S>(a);
        break;
    }
}

#endif
