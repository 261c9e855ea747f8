/*
 * adamw.cu - the optimiser of ../adamw.c on the GPU.
 *
 * The length of the gradient is known only when all of it has been added up, so there are two
 * kernels: sums of squares of pieces, then the update, in which every block adds up those sums in
 * the same order.
 */
#include "layers.h"

/* As in ../adamw.c. */
static const float BETA_MEAN = 0.9f, BETA_SQUARE = 0.99f, EPSILON = 1e-8f;

static __global__ void squares_sum(double *squares, const float *x, long n)
{
    __shared__ double sums[BLOCK_THREADS];
    double sum = 0;
    for (long i = (long)blockIdx.x * BLOCK_THREADS + threadIdx.x; i < n;
         i += (long)BLOCK_THREADS * ADAMW_BLOCKS)
        sum += (double)x[i] * (double)x[i];
    sums[threadIdx.x] = sum;
    for (int half = BLOCK_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        squares[blockIdx.x] = sums[0];
}

/* By which gradients are multiplied so that they are not longer than 1. The same in all threads. */
static __device__ float clip_of(const double *squares)
{
    __shared__ float clip;
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < ADAMW_BLOCKS; i++)
            sum += squares[i];
        clip = sum > 1 ? (float)(1 / sqrt(sum)) : 1;
    }
    __syncthreads();
    return clip;
}

template <typename T>
static __global__ void update_kernel(float *params, T *weights, float *mean, float *square,
                                     const float *grads, long n,
                                     const struct adamw_constants *constants, const double *squares)
{
    float clip = clip_of(squares);
    struct adamw_constants c = *constants;
    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (long)gridDim.x * blockDim.x) {
        float g = grads[i] * clip;
        mean[i] = BETA_MEAN * mean[i] + (1 - BETA_MEAN) * g;
        square[i] = BETA_SQUARE * square[i] + (1 - BETA_SQUARE) * g * g;
        float deviation = sqrtf(square[i] * c.square_scale) + EPSILON;
        float p = params[i] * c.decay - c.rate * mean[i] / deviation;
        params[i] = p;
        store(weights + i, p);
    }
}

template <typename T>
void adamw_update(float *params, T *weights, float *mean, float *square, const float *grads, long n,
                  const struct adamw_constants *constants, double *squares, cudaStream_t stream)
{
    const long max_blocks = 1024;
    long blocks = blocks_for(n, BLOCK_THREADS);
    LAUNCH(squares_sum, ADAMW_BLOCKS, BLOCK_THREADS, stream, squares, grads, n);
    LAUNCH(update_kernel<T>, (unsigned)(blocks < max_blocks ? blocks : max_blocks), BLOCK_THREADS,
           stream, params, weights, mean, square, grads, n, constants, squares);
}

template void adamw_update(float *, float *, float *, float *, const float *, long,
                           const struct adamw_constants *, double *, cudaStream_t);
template void adamw_update(float *, bfloat16 *, float *, float *, const float *, long,
                           const struct adamw_constants *, double *, cudaStream_t);
