/*
 * number.h - what all GPU code here shares: the number types, launches, sums over a warp.
 *
 * Layers are templates over T, the type of weights and activations: float or bfloat16. Arithmetic
 * is float in both: T is only how numbers are stored between kernels, and what the tensor cores
 * multiply.
 *
 * No sum is made by atomics. Each has one order, which depends on the shapes alone, so that a run
 * can be repeated bit by bit.
 */
#ifndef GPT_GPU_NUMBER_H
#define GPT_GPU_NUMBER_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bfloat16;

static __device__ __forceinline__ float to_float(float x)
{
    return x;
}
static __device__ __forceinline__ float to_float(bfloat16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ void store(float *at, float x)
{
    *at = x;
}
static __device__ __forceinline__ void store(bfloat16 *at, float x)
{
    *at = __float2bfloat16_rn(x);
}

enum { WARP = 32, BLOCK_WARPS = 4, BLOCK_THREADS = WARP * BLOCK_WARPS };

/* The same bits in every lane. */
static __device__ __forceinline__ float warp_sum(float x)
{
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        x += __shfl_xor_sync(~0u, x, mask);
    return x;
}
static __device__ __forceinline__ float warp_max(float x)
{
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, mask));
    return x;
}

/* For kernels that give each row a warp: the row of this one, and the place of this thread in it.
 */
static __device__ __forceinline__ long warp_row(void)
{
    return (long)blockIdx.x * BLOCK_WARPS + threadIdx.x / WARP;
}
static __device__ __forceinline__ int warp_lane(void)
{
    return (int)threadIdx.x % WARP;
}

static inline long blocks_for(long n, long each)
{
    return (n + each - 1) / each;
}

/* A kernel's template arguments contain commas, so launches stand behind a name of their own. */
#ifdef __CUDACC__
#define LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#else /* the tests run kernels on the host */
#define LAUNCH(kernel, grid, block, stream, ...)                                                   \
    emulate_launch(grid, block, stream, [=]() { kernel(__VA_ARGS__); })
#endif

#endif
