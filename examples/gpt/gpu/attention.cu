/*
 * attention.cu - causal self-attention: batched products with a softmax between.
 *
 * One product for each head of each sequence, all of them in one launch. As on CPUs the mask is
 * stored as zeros and the products run over whole squares.
 */
#include "layers.h"

template <typename T>
static __global__ void causal_softmax_kernel(T *weights, const float *scores, int context,
                                             long rows, float scale)
{
    long row = warp_row();
    if (row >= rows)
        return;
    int count = (int)(row % context) + 1;
    scores += row * context;
    weights += row * context;
    float top = -INFINITY, sum = 0;
    for (int i = warp_lane(); i < count; i += WARP)
        top = fmaxf(top, scores[i]);
    top = warp_max(top);
    for (int i = warp_lane(); i < count; i += WARP)
        sum += expf((scores[i] - top) * scale);
    sum = warp_sum(sum);
    for (int i = warp_lane(); i < context; i += WARP)
        store(weights + i, i < count ? expf((scores[i] - top) * scale) / sum : 0);
}

/* d enters as the derivative of the weights p; d_scores may be d. */
template <typename T>
static __global__ void causal_softmax_backward_kernel(T *d_scores, const float *d, const T *p,
                                                      int context, long rows, float scale)
{
    long row = warp_row(), at = row * context;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = warp_lane(); i < context; i += WARP)
        sum += to_float(p[at + i]) * d[at + i];
    sum = warp_sum(sum);
    for (int i = warp_lane(); i < context; i += WARP)
        store(d_scores + at + i, scale * to_float(p[at + i]) * (d[at + i] - sum));
}

/* The part of all heads in rows that hold `parts` times the width; ../attention.c, head_view(). */
template <typename T>
static operand<T> heads_view(T *at, struct attention_sizes s, int part, int parts, bool transposed)
{
    long stride = (long)parts * s.width;
    return operand<T>{at + (long)part * s.width, stride, transposed, s.context * stride,
                      s.width / s.heads};
}

template <typename T>
static operand<T> square_view(T *at, struct attention_sizes s, bool transposed)
{
    long square = (long)s.context * s.context;
    return operand<T>{at, s.context, transposed, s.heads * square, square};
}

template <typename T, typename Out>
static void heads_multiply(operand<Out> c, operand<const T> a, operand<const T> b, int cols,
                           int depth, struct attention_sizes s, cudaStream_t stream)
{
    product<T, Out> p = {s.context, cols, depth, a, b, c, NULL, NULL, false, s.sequences * s.heads,
                         s.heads};
    multiply(p, stream);
}

template <typename T>
void attention_forward(T *y, T *weights, float *scores, const T *qkv, struct attention_sizes s,
                       cudaStream_t stream)
{
    int size = s.width / s.heads;
    long rows = (long)s.sequences * s.heads * s.context;
    heads_multiply(square_view(scores, s, false), heads_view(qkv, s, 0, 3, false),
                   heads_view(qkv, s, 1, 3, true), s.context, size, s, stream);
    LAUNCH(causal_softmax_kernel<T>, (unsigned)blocks_for(rows, BLOCK_WARPS), BLOCK_THREADS, stream,
           weights, scores, s.context, rows, 1 / sqrtf((float)size));
    heads_multiply(heads_view(y, s, 0, 1, false), square_view((const T *)weights, s, false),
                   heads_view(qkv, s, 2, 3, false), size, s.context, s, stream);
}

template <typename T>
void attention_backward(T *d_qkv, float *scores, T *d_weights, const T *d_y, const T *weights,
                        const T *qkv, struct attention_sizes s, cudaStream_t stream)
{
    int size = s.width / s.heads;
    long rows = (long)s.sequences * s.heads * s.context;
    const T *d_scores = d_weights;
    heads_multiply(heads_view(d_qkv, s, 2, 3, false), square_view(weights, s, true),
                   heads_view(d_y, s, 0, 1, false), size, s.context, s, stream);
    heads_multiply(square_view(scores, s, false), heads_view(d_y, s, 0, 1, false),
                   heads_view(qkv, s, 2, 3, true), s.context, size, s, stream);
    LAUNCH(causal_softmax_backward_kernel<T>, (unsigned)blocks_for(rows, BLOCK_WARPS),
           BLOCK_THREADS, stream, d_weights, scores, weights, s.context, rows,
           1 / sqrtf((float)size));
    heads_multiply(heads_view(d_qkv, s, 0, 3, false), square_view(d_scores, s, false),
                   heads_view(qkv, s, 1, 3, false), size, s.context, s, stream);
    heads_multiply(heads_view(d_qkv, s, 1, 3, false), square_view(d_scores, s, true),
                   heads_view(qkv, s, 0, 3, false), size, s.context, s, stream);
}

template void attention_forward(float *, float *, float *, const float *, struct attention_sizes,
                                cudaStream_t);
template void attention_forward(bfloat16 *, bfloat16 *, float *, const bfloat16 *,
                                struct attention_sizes, cudaStream_t);
template void attention_backward(float *, float *, float *, const float *, const float *,
                                 const float *, struct attention_sizes, cudaStream_t);
template void attention_backward(bfloat16 *, float *, bfloat16 *, const bfloat16 *,
                                 const bfloat16 *, const bfloat16 *, struct attention_sizes,
                                 cudaStream_t);
