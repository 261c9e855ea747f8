/*
 * product.h - matrix products on the GPU.
 */
#ifndef GPT_GPU_PRODUCT_H
#define GPT_GPU_PRODUCT_H

#include "number.h"

/* An operand: rows of `stride` elements, read as they are or transposed. For a batch of products
 * number z reads at + z / inner_count * outer + z % inner_count * inner: attention has a product
 * for each head of each sequence. */
template <typename T> struct operand {
    T *at;
    long stride;
    bool transposed;
    long outer, inner;
};

/* c = a b + bias + residual, or c += a b. a: rows x depth, b: depth x cols, c: rows x cols, not
 * transposed. bias (of cols) and residual (laid out as c) may be NULL. */
template <typename T, typename Out> struct product {
    int rows, cols, depth;
    operand<const T> a, b;
    operand<Out> c;
    const float *bias, *residual;
    bool add;
    int count, inner_count; /* of the batch; 1, 1: one product */
};

template <typename T> static inline operand<T> plain(T *at, long stride)
{
    return operand<T>{at, stride, false, 0, 0};
}
template <typename T> static inline operand<T> transposed(T *at, long stride)
{
    return operand<T>{at, stride, true, 0, 0};
}

template <typename T, typename Out> void multiply(const product<T, Out> &p, cudaStream_t stream);

/* c += a b for few outputs and a long inner dimension, as gradients of weights are: the inner
 * dimension is cut into pieces that are computed at once and then added in order. partials: room
 * for PARTIAL_NELEMS. */
enum { PRODUCT_TILE = 64, PRODUCT_MAX_BLOCKS = 256 };
static const long PARTIAL_NELEMS = (long)PRODUCT_MAX_BLOCKS * PRODUCT_TILE * PRODUCT_TILE;
template <typename T>
void multiply_long(const product<T, float> &p, float *partials, cudaStream_t stream);

#endif
