/*
 * nvshmem/device/prim.h - loads, stores, fences, atomics and waiting, as device code uses them.
 *
 * All device headers and kernels of nvs touch memory that others read or write through these and
 * nothing else, so that the argument about memory order has one vocabulary. Three ways to compile:
 *
 *   nvcc, NVRTC                PTX, system scope: the partner may be another GPU or the host
 *   -DNVS_EMULATE_DEVICE       the host compiler with emu.h of the tests, which has threads, blocks
 *                              and barriers; memory order is the host's
 *   any other host compile     the data protocols (proto.h) alone, one thread at a time
 *
 * Words
 *   relaxed    the access is whole and is seen in the end; nothing is said about others
 *   release    a store that comes after all that this thread did before it, or saw others do
 *   acquire    a load that comes before all that this thread does after it
 *   fence      between two relaxed accesses, makes the later one a release of what came before
 *              and the earlier one an acquire for what comes after
 *
 * Addresses are those of global memory: symmetric memory or the page that the host shares. Accesses
 * are as wide as their name says and aligned to that.
 *
 * One thread speaks for others like this: all store, nvsd_sync(scope), one does a release (or a
 * fence and a relaxed store). The barrier orders the others' stores before the release, and a
 * release is cumulative: whoever acquires it sees all of them. The other way round: one acquires,
 * nvsd_sync(scope), then all may load.
 */
#ifndef NVS_NVSHMEM_DEVICE_PRIM_H
#define NVS_NVSHMEM_DEVICE_PRIM_H

#include "nvshmem/device/state.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define NVSD_FN static __device__ __forceinline__
#define NVSD_COLD static __device__ __noinline__
#define NVSD_KERNEL(name, argtype, arg)                                                            \
    extern "C" __global__ void name(const __grid_constant__ argtype arg)
#define NVSD_HAS_THREADS 1
#elif defined(NVS_EMULATE_DEVICE)
/* Of the tests: threadIdx and its like, __syncthreads(), __syncwarp(), nvsd_emu_relax(), which lets
 * the other threads of the block run, and nvsd_emu_bar(id, nthreads), a named barrier. */
#include "emu.h"
#define NVSD_FN static inline __attribute__((unused))
#define NVSD_COLD static __attribute__((noinline, unused))
#define NVSD_KERNEL(name, argtype, arg) EMU_KERNEL(name, argtype, arg)
#define NVSD_HAS_THREADS 1
#else
#include <sched.h>
#define NVSD_FN static inline __attribute__((unused))
#define NVSD_COLD static __attribute__((noinline, unused))
#endif

/* Before a loop: unrolls it, or does not. Only nvcc is told. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define NVSD_UNROLL _Pragma("unroll")
#define NVSD_NO_UNROLL _Pragma("unroll 1")
#else
#define NVSD_UNROLL
#define NVSD_NO_UNROLL
#endif

/* Four words that move in one access. Each 8 bytes of it (x and y, z and w) arrive whole; the two
 * halves may arrive at different times. */
struct __attribute__((aligned(16))) nvsd_vec4 {
    uint32_t x, y, z, w;
};

/* ---- loads and stores ------------------------------------------------------------------------ */

#if defined(__CUDA_ARCH__)

#define NVSD_GLOBAL(ptr) "l"(__cvta_generic_to_global((const void *)(ptr)))

#define NVSD_LOAD_(order, type, bits, reg)                                                         \
    NVSD_FN type nvsd_ld_##order##bits(const type *ptr)                                            \
    {                                                                                              \
        type value;                                                                                \
        asm volatile("ld." #order ".sys.global.u" #bits " %0, [%1];"                               \
                     : reg(value)                                                                  \
                     : NVSD_GLOBAL(ptr)                                                            \
                     : "memory");                                                                  \
        return value;                                                                              \
    }
#define NVSD_STORE_(order, type, bits, reg)                                                        \
    NVSD_FN void nvsd_st_##order##bits(type *ptr, type value)                                      \
    {                                                                                              \
        asm volatile("st." #order ".sys.global.u" #bits " [%0], %1;" ::NVSD_GLOBAL(ptr),           \
                     reg(value)                                                                    \
                     : "memory");                                                                  \
    }
NVSD_LOAD_(relaxed, uint16_t, 16, "=h")
NVSD_LOAD_(acquire, uint16_t, 16, "=h")
NVSD_LOAD_(relaxed, uint32_t, 32, "=r")
NVSD_LOAD_(relaxed, uint64_t, 64, "=l")
NVSD_LOAD_(acquire, uint32_t, 32, "=r")
NVSD_LOAD_(acquire, uint64_t, 64, "=l")
NVSD_STORE_(relaxed, uint16_t, 16, "h")
NVSD_STORE_(release, uint16_t, 16, "h")
NVSD_STORE_(relaxed, uint32_t, 32, "r")
NVSD_STORE_(relaxed, uint64_t, 64, "l")
NVSD_STORE_(release, uint32_t, 32, "r")
NVSD_STORE_(release, uint64_t, 64, "l")
#undef NVSD_LOAD_
#undef NVSD_STORE_

/* A byte: the register of an 8-bit access is wider. */
NVSD_FN uint8_t nvsd_ld_relaxed8(const uint8_t *ptr)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(value) : NVSD_GLOBAL(ptr) : "memory");
    return (uint8_t)value;
}
NVSD_FN void nvsd_st_relaxed8(uint8_t *ptr, uint8_t value)
{
    asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::NVSD_GLOBAL(ptr), "r"((uint32_t)value)
                 : "memory");
}

/* As two words of 64 bits, since a vector access is as many accesses as it has elements: so each 8
 * bytes are whole by the rules of PTX, too. */
NVSD_FN struct nvsd_vec4 nvsd_ld_relaxed128(const struct nvsd_vec4 *ptr)
{
    uint64_t low, high;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : NVSD_GLOBAL(ptr)
                 : "memory");
    struct nvsd_vec4 value = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                              (uint32_t)(high >> 32)};
    return value;
}

NVSD_FN void nvsd_st_relaxed128(struct nvsd_vec4 *ptr, struct nvsd_vec4 value)
{
    uint64_t low = value.x | (uint64_t)value.y << 32, high = value.z | (uint64_t)value.w << 32;
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::NVSD_GLOBAL(ptr), "l"(low),
                 "l"(high)
                 : "memory");
}

/* Orders what this thread did, or saw, before it with what it does after it, for all threads of the
 * system; of the device. Enough to hand data over (release, acquire). */
NVSD_FN void nvsd_fence_system(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}
NVSD_FN void nvsd_fence_device(void)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
/* Also keeps a later load from overtaking an earlier store: what quiet promises, and what two PEs
 * need that store each their own word and then load the other's. Costs more. */
NVSD_FN void nvsd_fence_full(void)
{
    asm volatile("fence.sc.sys;" ::: "memory");
}

#else /* the host compiler, or nvcc's host pass, which never runs these */

#define NVSD_ACCESS_(type, bits)                                                                   \
    NVSD_FN type nvsd_ld_relaxed##bits(const type *ptr)                                            \
    {                                                                                              \
        return __atomic_load_n(ptr, __ATOMIC_RELAXED);                                             \
    }                                                                                              \
    NVSD_FN type nvsd_ld_acquire##bits(const type *ptr)                                            \
    {                                                                                              \
        return __atomic_load_n(ptr, __ATOMIC_ACQUIRE);                                             \
    }                                                                                              \
    NVSD_FN void nvsd_st_relaxed##bits(type *ptr, type value)                                      \
    {                                                                                              \
        __atomic_store_n(ptr, value, __ATOMIC_RELAXED);                                            \
    }                                                                                              \
    NVSD_FN void nvsd_st_release##bits(type *ptr, type value)                                      \
    {                                                                                              \
        __atomic_store_n(ptr, value, __ATOMIC_RELEASE);                                            \
    }
NVSD_ACCESS_(uint8_t, 8)
NVSD_ACCESS_(uint16_t, 16)
NVSD_ACCESS_(uint32_t, 32)
NVSD_ACCESS_(uint64_t, 64)
#undef NVSD_ACCESS_

/* The halves go in an order that no protocol may rely on: the second one first. */
NVSD_FN struct nvsd_vec4 nvsd_ld_relaxed128(const struct nvsd_vec4 *ptr)
{
    const uint64_t *halves = (const uint64_t *)(const void *)ptr;
    uint64_t high = nvsd_ld_relaxed64(halves + 1), low = nvsd_ld_relaxed64(halves);
    struct nvsd_vec4 value = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                              (uint32_t)(high >> 32)};
    return value;
}

NVSD_FN void nvsd_st_relaxed128(struct nvsd_vec4 *ptr, struct nvsd_vec4 value)
{
    uint64_t *halves = (uint64_t *)(void *)ptr;
    nvsd_st_relaxed64(halves + 1, value.z | (uint64_t)value.w << 32);
    nvsd_st_relaxed64(halves, value.x | (uint64_t)value.y << 32);
}

NVSD_FN void nvsd_fence_system(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
NVSD_FN void nvsd_fence_device(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
NVSD_FN void nvsd_fence_full(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif

/* ---- atomics --------------------------------------------------------------------------------- */

/* nvsd_atomic_OP32, nvsd_atomic_OP64(ptr, operand): the value before; OP is add, and, or, xor,
 * swap. nvsd_atomic_cas32, 64(ptr, compare, value). Relaxed, as NVSHMEM's atomics are; with
 * _acq_rel at the end they also hand over data. */
#if defined(__CUDA_ARCH__)

#define NVSD_ATOMIC_(order, suffix, name, instruction, type, bits, kind, reg)                      \
    NVSD_FN type nvsd_atomic_##name##bits##suffix(type *ptr, type operand)                         \
    {                                                                                              \
        type old;                                                                                  \
        asm volatile("atom." #order ".sys.global." #instruction "." kind #bits " %0, [%1], %2;"    \
                     : "=" reg(old)                                                                \
                     : NVSD_GLOBAL(ptr), reg(operand)                                              \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
#define NVSD_CAS_(order, suffix, type, bits, reg)                                                  \
    NVSD_FN type nvsd_atomic_cas##bits##suffix(type *ptr, type compare, type value)                \
    {                                                                                              \
        type old;                                                                                  \
        asm volatile("atom." #order ".sys.global.cas.b" #bits " %0, [%1], %2, %3;"                 \
                     : "=" reg(old)                                                                \
                     : NVSD_GLOBAL(ptr), reg(compare), reg(value)                                  \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
#define NVSD_ATOMICS_(order, suffix, type, bits, reg)                                              \
    NVSD_ATOMIC_(order, suffix, add, add, type, bits, "u", reg)                                    \
    NVSD_ATOMIC_(order, suffix, and, and, type, bits, "b", reg)                                    \
    NVSD_ATOMIC_(order, suffix, or, or, type, bits, "b", reg)                                      \
    NVSD_ATOMIC_(order, suffix, xor, xor, type, bits, "b", reg)                                    \
    NVSD_ATOMIC_(order, suffix, swap, exch, type, bits, "b", reg)                                  \
    NVSD_CAS_(order, suffix, type, bits, reg)

#else

#define NVSD_ATOMIC_(order, suffix, name, builtin, type, bits)                                     \
    NVSD_FN type nvsd_atomic_##name##bits##suffix(type *ptr, type operand)                         \
    {                                                                                              \
        return __atomic_##builtin(ptr, operand, NVSD_ORDER_##order);                               \
    }
#define NVSD_ATOMICS_(order, suffix, type, bits, reg)                                              \
    NVSD_ATOMIC_(order, suffix, add, fetch_add, type, bits)                                        \
    NVSD_ATOMIC_(order, suffix, and, fetch_and, type, bits)                                        \
    NVSD_ATOMIC_(order, suffix, or, fetch_or, type, bits)                                          \
    NVSD_ATOMIC_(order, suffix, xor, fetch_xor, type, bits)                                        \
    NVSD_ATOMIC_(order, suffix, swap, exchange_n, type, bits)                                      \
    NVSD_FN type nvsd_atomic_cas##bits##suffix(type *ptr, type compare, type value)                \
    {                                                                                              \
        __atomic_compare_exchange_n(ptr, &compare, value, 0, NVSD_ORDER_##order,                   \
                                    __ATOMIC_RELAXED);                                             \
        return compare;                                                                            \
    }
#define NVSD_ORDER_relaxed __ATOMIC_RELAXED
#define NVSD_ORDER_acq_rel __ATOMIC_ACQ_REL

#endif

NVSD_ATOMICS_(relaxed, , uint32_t, 32, "r")
NVSD_ATOMICS_(relaxed, , uint64_t, 64, "l")
NVSD_ATOMICS_(acq_rel, _acq_rel, uint32_t, 32, "r")
NVSD_ATOMICS_(acq_rel, _acq_rel, uint64_t, 64, "l")
#undef NVSD_ATOMICS_
#undef NVSD_ATOMIC_
#undef NVSD_CAS_
#undef NVSD_ORDER_relaxed
#undef NVSD_ORDER_acq_rel

/* nvsd_red_OP32, nvsd_red_OP64(ptr, operand): the same without the value before, so that nobody
 * waits for it to come back; OP is add, and, or, xor. Relaxed. (Of an atom whose value is unused
 * the compiler makes an instruction that still counts as a load.) */
#if defined(__CUDA_ARCH__)
#define NVSD_RED_(name, type, bits, kind, reg)                                                     \
    NVSD_FN void nvsd_red_##name##bits(type *ptr, type operand)                                    \
    {                                                                                              \
        asm volatile("red.relaxed.sys.global." #name "." kind #bits                                \
                     " [%0], %1;" ::NVSD_GLOBAL(ptr),                                              \
                     reg(operand)                                                                  \
                     : "memory");                                                                  \
    }
#else
#define NVSD_RED_(name, type, bits, kind, reg)                                                     \
    NVSD_FN void nvsd_red_##name##bits(type *ptr, type operand)                                    \
    {                                                                                              \
        __atomic_fetch_##name(ptr, operand, __ATOMIC_RELAXED);                                     \
    }
#endif
#define NVSD_REDS_(type, bits, reg)                                                                \
    NVSD_RED_(add, type, bits, "u", reg)                                                           \
    NVSD_RED_(and, type, bits, "b", reg)                                                           \
    NVSD_RED_(or, type, bits, "b", reg)                                                            \
    NVSD_RED_(xor, type, bits, "b", reg)
NVSD_REDS_(uint32_t, 32, "r")
NVSD_REDS_(uint64_t, 64, "l")
#undef NVSD_REDS_
#undef NVSD_RED_

/* Adds, likewise; a release. */
#if defined(__CUDA_ARCH__)
NVSD_FN void nvsd_add_release64(uint64_t *ptr, uint64_t operand)
{
    asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::NVSD_GLOBAL(ptr), "l"(operand)
                 : "memory");
}
#else
NVSD_FN void nvsd_add_release64(uint64_t *ptr, uint64_t operand)
{
    __atomic_fetch_add(ptr, operand, __ATOMIC_RELEASE);
}
#endif

/* ---- waiting --------------------------------------------------------------------------------- */

/* Rounds of a wait that only poll. About as long as what takes long between two GPUs that run side
 * by side; after it the thread leaves the memory system to others in between. */
#define NVSD_POLLS 2048u
/* A wait looks at the page's give_up, and may take an entry of its waits, in rounds that are
 * multiples of this: the page lies in host memory, which is slow to load. */
#define NVSD_LOOK_ROUNDS 4096u

/* One round of waiting, called when what is waited for has not come; *rounds is 0 at first. */
NVSD_FN void nvsd_relax(unsigned *rounds)
{
    unsigned round = ++*rounds;
#if defined(__CUDA_ARCH__)
    if (round > NVSD_POLLS)
        __nanosleep(round < 4 * NVSD_POLLS ? 100 : 1000);
#elif defined(NVS_EMULATE_DEVICE)
    (void)round;
    nvsd_emu_relax();
#elif defined(__CUDACC__)
    (void)round;
#else
    if (round > 64)
        sched_yield();
#endif
}

/* ---- who takes part -------------------------------------------------------------------------- */

#if defined(NVSD_HAS_THREADS)

/* The threads that call a function together, with the same arguments: the calling thread alone, its
 * warp, its group of four warps, its block. */
enum nvsd_scope { NVSD_THREAD, NVSD_WARP, NVSD_WARPGROUP, NVSD_BLOCK };

NVSD_FN unsigned nvsd_thread_in_block(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
NVSD_FN unsigned nvsd_threads_of_block(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* The calling thread's number among those of its scope, and how many they are. The last warp (or
 * group) of a block may have fewer than 32 (128). With a constant scope the switch vanishes. */
NVSD_FN unsigned nvsd_rank(enum nvsd_scope scope)
{
    switch (scope) {
    case NVSD_WARP:
        return nvsd_thread_in_block() % 32;
    case NVSD_WARPGROUP:
        return nvsd_thread_in_block() % 128;
    case NVSD_BLOCK:
        return nvsd_thread_in_block();
    default:
        return 0;
    }
}

NVSD_FN unsigned nvsd_size(enum nvsd_scope scope)
{
    unsigned most = scope == NVSD_WARP ? 32 : 128, rest;
    switch (scope) {
    case NVSD_WARP:
    case NVSD_WARPGROUP:
        rest = nvsd_threads_of_block() - nvsd_thread_in_block() / most * most;
        return rest < most ? rest : most;
    case NVSD_BLOCK:
        return nvsd_threads_of_block();
    default:
        return 1;
    }
}

/* A barrier of the scope; its threads' accesses before it come before those after it, for all of
 * them. A group of warps takes one of the block's 16 named barriers, from the last one down. */
NVSD_FN void nvsd_sync(enum nvsd_scope scope)
{
    switch (scope) {
    case NVSD_WARP:
        __syncwarp();
        break;
    case NVSD_WARPGROUP: {
        unsigned name = 15 - nvsd_thread_in_block() / 128 % 8;
        unsigned nthreads = (nvsd_size(NVSD_WARPGROUP) + 31) / 32 * 32;
#if defined(__CUDA_ARCH__)
        asm volatile("barrier.sync %0, %1;" ::"r"(name), "r"(nthreads) : "memory");
#elif defined(NVS_EMULATE_DEVICE)
        nvsd_emu_bar(name, nthreads);
#else
        (void)name, (void)nthreads;
#endif
        break;
    }
    case NVSD_BLOCK:
        __syncthreads();
        break;
    default:
        break;
    }
}

#endif /* NVSD_HAS_THREADS */

#endif
