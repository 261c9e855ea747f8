/*
 * norm.cu - layer norm: a warp for each row.
 */
#include "columns.h"
#include "layers.h"

static const float NORM_EPSILON = 1e-5f;

template <typename T>
static __global__ void norm_forward_kernel(T *y, float *stats, const float *x, const float *gain,
                                           const float *bias, int rows, int width)
{
    long row = warp_row();
    if (row >= rows)
        return;
    x += row * width;
    y += row * width;
    float sum = 0, squares = 0;
    for (int i = warp_lane(); i < width; i += WARP)
        sum += x[i];
    float mean = warp_sum(sum) / (float)width;
    for (int i = warp_lane(); i < width; i += WARP)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(warp_sum(squares) / (float)width + NORM_EPSILON);
    for (int i = warp_lane(); i < width; i += WARP)
        store(y + i, (x[i] - mean) * scale * gain[i] + bias[i]);
    if (warp_lane() == 0) {
        stats[2 * row] = mean;
        stats[2 * row + 1] = scale;
    }
}

template <typename T>
void norm_forward(T *y, float *stats, const float *x, const float *gain, const float *bias,
                  int rows, int width, cudaStream_t stream)
{
    LAUNCH(norm_forward_kernel<T>, (unsigned)blocks_for(rows, BLOCK_WARPS), BLOCK_THREADS, stream,
           y, stats, x, gain, bias, rows, width);
}

/* The formula stands in ../layers.c. */
template <typename T>
static __global__ void norm_backward_kernel(float *d_x, T *d_x_copy, const T *d_y, const float *x,
                                            const float *stats, const float *gain, int rows,
                                            int width)
{
    long row = warp_row(), at = row * width;
    if (row >= rows)
        return;
    float mean = stats[2 * row], scale = stats[2 * row + 1], g_sum = 0, gn_sum = 0;
    for (int i = warp_lane(); i < width; i += WARP) {
        float n = (x[at + i] - mean) * scale, g = to_float(d_y[at + i]) * gain[i];
        g_sum += g;
        gn_sum += g * n;
    }
    g_sum = warp_sum(g_sum) / (float)width;
    gn_sum = warp_sum(gn_sum) / (float)width;
    for (int i = warp_lane(); i < width; i += WARP) {
        float n = (x[at + i] - mean) * scale, g = to_float(d_y[at + i]) * gain[i];
        float d = d_x[at + i] + scale * (g - g_sum - n * gn_sum);
        d_x[at + i] = d;
        store(d_x_copy + at + i, d);
    }
}

template <typename T> struct gain_term {
    const T *d_y;
    const float *x, *stats;
    int width;
    __device__ float operator()(long row, int col) const
    {
        float n = (x[row * width + col] - stats[2 * row]) * stats[2 * row + 1];
        return to_float(d_y[row * width + col]) * n;
    }
};

template <typename T>
void norm_backward(float *d_x, T *d_x_copy, float *d_gain, float *d_bias, const T *d_y,
                   const float *x, const float *stats, const float *gain, int rows, int width,
                   struct scratch s, cudaStream_t stream)
{
    LAUNCH(norm_backward_kernel<T>, (unsigned)blocks_for(rows, BLOCK_WARPS), BLOCK_THREADS, stream,
           d_x, d_x_copy, d_y, x, stats, gain, rows, width);
    columns_fold(d_gain, gain_term<T>{d_y, x, stats, width}, rows, width, s, stream);
    columns_add(d_bias, d_y, rows, width, s, stream);
}

template void norm_forward(float *, float *, const float *, const float *, const float *, int, int,
                           cudaStream_t);
template void norm_forward(bfloat16 *, float *, const float *, const float *, const float *, int,
                           int, cudaStream_t);
template void norm_backward(float *, float *, float *, float *, const float *, const float *,
                            const float *, const float *, int, int, struct scratch, cudaStream_t);
template void norm_backward(float *, bfloat16 *, float *, float *, const bfloat16 *, const float *,
                            const float *, const float *, int, int, struct scratch, cudaStream_t);
