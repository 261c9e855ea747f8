/*
 * matmul.h - matrix views and their product: the one place where the time goes.
 */
#ifndef GPT_MATMUL_H
#define GPT_MATMUL_H

#include <stdbool.h>

#include "real.h"

/* A matrix somewhere in memory: element (r, c) is at[r * row_stride + c * col_stride]. Transposing
 * swaps two numbers, so one product serves the forward pass and both halves of the backward pass.
 */
struct matrix {
    real *at;
    int rows, cols;
    int row_stride, col_stride;
};

/* Rows of `stride` elements, of which the first `cols` are meant. A view never writes through a
 * const pointer: only the result of a product is written. */
static inline struct matrix matrix_view(const real *at, int rows, int cols, int stride)
{
    return (struct matrix){(real *)at, rows, cols, stride, 1};
}

static inline struct matrix transposed(struct matrix m)
{
    return (struct matrix){m.at, m.cols, m.rows, m.col_stride, m.row_stride};
}

/* c = a b, or c += a b if `add`. c is not transposed and overlaps neither a nor b. Each element of
 * c is summed in an order that depends on the inner dimension only, never on its place or on the
 * number of rows: a sequence has the same activations in whatever batch it is computed.
 * Not thread-safe: the packing buffers are static. */
void matmul(struct matrix c, struct matrix a, struct matrix b, bool add);

#endif
