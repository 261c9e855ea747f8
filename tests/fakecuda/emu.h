/*
 * emu.h - CUDA's language for the host compiler, as far as our device code uses it. For tests.
 *
 * Device headers and kernels are compiled as C++17 with -DNVS_EMULATE_DEVICE and run by the
 * stand-in driver of this folder. The threads of a block are fibers of one thread of the operating
 * system (emu_block.c), the blocks of a grid run on several of them at once. So everything is as on
 * a GPU but for the hardware's memory order, and for one rule: a loop that waits must call
 * something that lets the other threads of the block run: nvsd_emu_relax(), __nanosleep(), a
 * barrier, a shuffle.
 *
 * Not there: <<<>>> (launch by cuLaunchKernel, or GT_LAUNCH of tests/gpu/gputest.h), `extern
 * __shared__` (nvsd_emu_dynamic_shared() is its address), textures, and what newer GPUs do
 * asynchronously.
 */
#ifndef NVS_EMU_H
#define NVS_EMU_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emu_runtime.h"

#define __device__
#define __host__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
/* One block runs on a thread of the operating system at a time, so what a block shares is what a
 * thread owns. It is not cleared between blocks, as on a GPU. */
#define __shared__ static thread_local

#define threadIdx (emu_self->thread_idx)
#define blockIdx (emu_self->block->block_idx)
#define blockDim (emu_self->block->block_dim)
#define gridDim (emu_self->block->grid_dim)
#define warpSize 32

/* A kernel takes one structure by value. This defines it, and tells the driver its name. */
#define EMU_KERNEL(name, argtype, arg)                                                             \
    extern "C" void name(const argtype arg);                                                       \
    static void emu_call_##name(const void *args)                                                  \
    {                                                                                              \
        name(*static_cast<const argtype *>(args));                                                 \
    }                                                                                              \
    static struct emu_kernel emu_kernel_##name = {#name, emu_call_##name, sizeof(argtype), 0};     \
    static const emu_kernel_announced emu_announced_##name(&emu_kernel_##name);                    \
    extern "C" void name(const argtype arg)

/* A __device__ or __constant__ variable that cuModuleGetGlobal() shall find. */
#define EMU_GLOBAL(variable)                                                                       \
    static struct emu_global emu_global_##variable = {#variable, &(variable), sizeof(variable),    \
                                                      nullptr};                                    \
    static const emu_global_announced emu_announced_##variable(&emu_global_##variable)

struct emu_kernel_announced {
    struct emu_kernel *kernel;
    explicit emu_kernel_announced(struct emu_kernel *k) : kernel(k) { emu_kernel_announce(k); }
    ~emu_kernel_announced() { emu_kernel_forget(kernel); }
};
struct emu_global_announced {
    struct emu_global *global;
    explicit emu_global_announced(struct emu_global *g) : global(g) { emu_global_announce(g); }
    ~emu_global_announced() { emu_global_forget(global); }
};

/* ---- waiting and barriers -------------------------------------------------------------------- */

static inline void nvsd_emu_relax(void)
{
    emu_relax();
}
static inline void nvsd_emu_bar(unsigned id, unsigned nthreads)
{
    emu_barrier(id, nthreads);
}
static inline bool nvsd_emu_in_kernel(void)
{
    return emu_self != nullptr;
}
static inline void *nvsd_emu_dynamic_shared(void)
{
    return emu_self->block->dynamic_shared;
}
static inline void __nanosleep(unsigned)
{
    emu_relax();
}
static inline void __syncthreads(void)
{
    emu_barrier(0, 0);
}
static inline int __syncthreads_count(int predicate)
{
    return emu_barrier_count(predicate != 0);
}
static inline int __syncthreads_or(int predicate)
{
    return emu_barrier_count(predicate != 0) != 0;
}
static inline int __syncthreads_and(int predicate)
{
    return emu_barrier_count(predicate == 0) == 0;
}
static inline void __syncwarp(uint32_t mask = 0xffffffffu)
{
    emu_warp_sync(mask);
}

/* ---- between the lanes of a warp ------------------------------------------------------------- */

/* Lanes diverge as they like, so only this one is known to be here. Code that takes more for
 * granted is wrong on GPUs, too. */
static inline uint32_t __activemask(void)
{
    return 1u << emu_self->lane;
}
static inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
    return emu_ballot(mask, predicate);
}
static inline int __any_sync(uint32_t mask, int predicate)
{
    return emu_ballot(mask, predicate) != 0;
}
static inline int __all_sync(uint32_t mask, int predicate)
{
    return emu_ballot(mask, !predicate) == 0;
}

template <class T> static inline T emu_shuffle_as(uint32_t mask, T value, unsigned from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move words of 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emu_shuffle(mask, bits, from);
    memcpy(&value, &bits, sizeof value);
    return value;
}
/* The lane that is meant, or this one where that would be outside of its part of the warp. */
static inline unsigned emu_lane_or_self(long lane, unsigned width)
{
    long first = (long)(emu_self->lane / width * width);
    return (unsigned)(lane < first || lane >= first + (long)width ? (long)emu_self->lane : lane);
}
template <class T>
static inline T __shfl_sync(uint32_t mask, T value, int from, unsigned width = 32)
{
    unsigned first = emu_self->lane / width * width;
    return emu_shuffle_as(mask, value, first + (unsigned)from % width);
}
template <class T>
static inline T __shfl_up_sync(uint32_t mask, T value, unsigned delta, unsigned width = 32)
{
    return emu_shuffle_as(mask, value, emu_lane_or_self((long)emu_self->lane - (long)delta, width));
}
template <class T>
static inline T __shfl_down_sync(uint32_t mask, T value, unsigned delta, unsigned width = 32)
{
    return emu_shuffle_as(mask, value, emu_lane_or_self((long)emu_self->lane + (long)delta, width));
}
template <class T>
static inline T __shfl_xor_sync(uint32_t mask, T value, unsigned bits, unsigned width = 32)
{
    return emu_shuffle_as(mask, value, emu_lane_or_self((long)(emu_self->lane ^ bits), width));
}
template <class T> static inline uint32_t __match_any_sync(uint32_t mask, T value)
{
    uint32_t same = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1 && emu_shuffle_as(mask, value, lane) == value)
            same |= 1u << lane;
    return same;
}
static inline unsigned __reduce_add_sync(uint32_t mask, unsigned value)
{
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            sum += emu_shuffle_as(mask, value, lane);
    return sum;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static inline void __threadfence_block(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
template <class T> static inline T __ldg(const T *ptr)
{
    return *ptr;
}
template <class T> static inline T atomicAdd(T *ptr, T operand)
{
    return __atomic_fetch_add(ptr, operand, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicOr(T *ptr, T operand)
{
    return __atomic_fetch_or(ptr, operand, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicAnd(T *ptr, T operand)
{
    return __atomic_fetch_and(ptr, operand, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicExch(T *ptr, T value)
{
    return __atomic_exchange_n(ptr, value, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicCAS(T *ptr, T compare, T value)
{
    __atomic_compare_exchange_n(ptr, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}

/* ---- bits and time --------------------------------------------------------------------------- */

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline int __popcll(unsigned long long bits)
{
    return __builtin_popcountll(bits);
}
static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}
static inline int __ffsll(long long bits)
{
    return __builtin_ffsll(bits);
}
static inline int __clz(int bits)
{
    return bits ? __builtin_clz((unsigned)bits) : 32;
}
static inline int __clzll(long long bits)
{
    return bits ? __builtin_clzll((unsigned long long)bits) : 64;
}
static inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline float __uint_as_float(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline long long clock64(void)
{
    return (long long)emu_nanoseconds();
}
[[noreturn]] static inline void __trap(void)
{
    __builtin_trap();
}

#endif
