/*
 * linear.c - the fully connected layer: three matrix products.
 *
 * y = x w + b gives d_x = d_y w^T, d_w = x^T d_y, d_b = the sum of the rows of d_y.
 */
#include "layers.h"
#include "matmul.h"

static ALWAYS_INLINE void bias_forward_body(real *y, const real *b, const real *residual, int rows,
                                            int out)
{
    for (int r = 0; r < rows; r++, y += out)
        for (int i = 0; i < out; i++)
            y[i] = residual ? residual[r * out + i] + b[i] : b[i];
}

SIMD_FUNCTION(static, bias_forward,
              (real * y, const real *b, const real *residual, int rows, int out),
              (y, b, residual, rows, out))

static ALWAYS_INLINE void bias_backward_body(real *d_b, const real *d_y, int rows, int out)
{
    for (int r = 0; r < rows; r++, d_y += out)
        for (int i = 0; i < out; i++)
            d_b[i] += d_y[i];
}

SIMD_FUNCTION(static, bias_backward, (real * d_b, const real *d_y, int rows, int out),
              (d_b, d_y, rows, out))

void linear_forward(real *y, const real *x, const real *w, const real *b, const real *residual,
                    int rows, int in, int out)
{
    bias_forward(y, b, residual, rows, out);
    matmul(matrix_view(y, rows, out, out), matrix_view(x, rows, in, in),
           matrix_view(w, in, out, out), true);
}

void linear_backward(real *d_x, real *d_w, real *d_b, const real *d_y, const real *x, const real *w,
                     int rows, int in, int out)
{
    struct matrix dy = matrix_view(d_y, rows, out, out);
    matmul(matrix_view(d_x, rows, in, in), dy, transposed(matrix_view(w, in, out, out)), false);
    matmul(matrix_view(d_w, in, out, out), transposed(matrix_view(x, rows, in, in)), dy, true);
    bias_backward(d_b, d_y, rows, out);
}
