/*
 * layers.c - layer norm, GELU, embedding and cross-entropy: everything that works row by row.
 *
 * Their cost is memory traffic, so each makes as few passes as it can. Sums over a row are marked
 * `omp simd`: that allows the compiler to keep several partial sums, always the same ones.
 */
#include "layers.h"

static const real NORM_EPSILON = (real)1e-5;
static const real GELU_SLOPE = (real)1.5957691216057308; /* 2 sqrt(2 / pi) */
static const real GELU_CUBE = (real)0.044715;

static ALWAYS_INLINE void norm_forward_body(real *y, real *stats, const real *x, const real *gain,
                                            const real *bias, int rows, int width)
{
    for (int r = 0; r < rows; r++, x += width, y += width) {
        real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < width; i++)
            sum += x[i];
        real mean = sum / width;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < width; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        real scale = 1 / real_sqrt(squares / width + NORM_EPSILON);
        for (int i = 0; i < width; i++)
            y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
        stats[2 * r] = mean;
        stats[2 * r + 1] = scale;
    }
}

SIMD_FUNCTION(extern, norm_forward,
              (real * y, real *stats, const real *x, const real *gain, const real *bias, int rows,
               int width),
              (y, stats, x, gain, bias, rows, width))

/*
 * With n = (x - mean) * scale and g = d_y * gain:
 * d_x = scale * (g - average(g) - n * average(g n)).
 */
static ALWAYS_INLINE void norm_backward_body(real *d_x, real *d_gain, real *d_bias, const real *d_y,
                                             const real *x, const real *stats, const real *gain,
                                             int rows, int width)
{
    for (int r = 0; r < rows; r++, x += width, d_x += width, d_y += width) {
        real mean = stats[2 * r], scale = stats[2 * r + 1], g_sum = 0, gn_sum = 0;
#pragma omp simd reduction(+ : g_sum, gn_sum)
        for (int i = 0; i < width; i++) {
            real n = (x[i] - mean) * scale, g = d_y[i] * gain[i];
            g_sum += g;
            gn_sum += g * n;
            d_gain[i] += d_y[i] * n;
            d_bias[i] += d_y[i];
        }
        for (int i = 0; i < width; i++) {
            real n = (x[i] - mean) * scale, g = d_y[i] * gain[i];
            d_x[i] += scale * (g - g_sum / width - n * gn_sum / width);
        }
    }
}

SIMD_FUNCTION(extern, norm_backward,
              (real * d_x, real *d_gain, real *d_bias, const real *d_y, const real *x,
               const real *stats, const real *gain, int rows, int width),
              (d_x, d_gain, d_bias, d_y, x, stats, gain, rows, width))

/* (1 + tanh(u)) / 2 is the logistic function of 2 u, which takes one exponential. */
static ALWAYS_INLINE real gelu_gate(real x)
{
    real u = GELU_SLOPE * (x + GELU_CUBE * x * x * x);
    return 1 / (1 + real_exp(-u));
}

static ALWAYS_INLINE void gelu_forward_body(real *y, const real *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * gelu_gate(x[i]);
}

SIMD_FUNCTION(extern, gelu_forward, (real * y, const real *x, int n), (y, x, n))

static ALWAYS_INLINE void gelu_backward_body(real *d, const real *x, int n)
{
    for (int i = 0; i < n; i++) {
        real gate = gelu_gate(x[i]);
        real slope = GELU_SLOPE * (1 + 3 * GELU_CUBE * x[i] * x[i]);
        d[i] *= gate + x[i] * gate * (1 - gate) * slope;
    }
}

SIMD_FUNCTION(extern, gelu_backward, (real * d, const real *x, int n), (d, x, n))

void embed_forward(real *y, const unsigned char *bytes, const real *token, const real *position,
                   int sequences, int context, int width)
{
    for (int row = 0; row < sequences * context; row++, y += width) {
        const real *t = token + bytes[row] * width, *p = position + row % context * width;
        for (int i = 0; i < width; i++)
            y[i] = t[i] + p[i];
    }
}

void embed_backward(real *d_token, real *d_position, const real *d_y, const unsigned char *bytes,
                    int sequences, int context, int width)
{
    for (int row = 0; row < sequences * context; row++, d_y += width) {
        real *t = d_token + bytes[row] * width, *p = d_position + row % context * width;
        for (int i = 0; i < width; i++) {
            t[i] += d_y[i];
            p[i] += d_y[i];
        }
    }
}

static ALWAYS_INLINE void cross_entropy_body(real *logits, const unsigned char *targets, int rows,
                                             int classes, real scale, double *loss)
{
    *loss = 0;
    for (int r = 0; r < rows; r++, logits += classes) {
        real top = real_max(logits, classes), sum = 0;
        real target = logits[targets[r]] - top;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < classes; i++) {
            logits[i] = real_exp(logits[i] - top);
            sum += logits[i];
        }
        for (int i = 0; i < classes; i++)
            logits[i] *= scale / sum;
        logits[targets[r]] -= scale;
        *loss += log((double)sum) - (double)target;
    }
}

SIMD_FUNCTION(extern, cross_entropy,
              (real * logits, const unsigned char *targets, int rows, int classes, real scale,
               double *loss),
              (logits, targets, rows, classes, scale, loss))
