/*
 * attention.c - causal self-attention, head by head.
 *
 * weights = softmax(q k^T / sqrt(head width)) with the future masked; y = weights v. A head's
 * query, key and value are columns of the same rows, so each is just a view with a larger stride.
 * The mask is stored as zeros: the products below run over whole squares, which costs less than it
 * would to treat triangles.
 */
#include "layers.h"
#include "matmul.h"

/* The part of head `head` in sequence `sequence` of rows that hold `parts` times the width. */
static struct matrix head_view(const real *x, struct attention_shape s, int sequence, int head,
                               int part, int parts)
{
    int size = s.width / s.heads, stride = parts * s.width;
    const real *at = x + (long)sequence * s.context * stride + part * s.width + head * size;
    return matrix_view(at, s.context, size, stride);
}

static ALWAYS_INLINE void causal_softmax_body(real *scores, int context, real scale)
{
    for (int t = 0; t < context; t++, scores += context) {
        real top = real_max(scores, t + 1), sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i <= t; i++) {
            scores[i] = real_exp((scores[i] - top) * scale);
            sum += scores[i];
        }
        for (int i = 0; i <= t; i++)
            scores[i] /= sum;
        for (int i = t + 1; i < context; i++)
            scores[i] = 0;
    }
}

SIMD_FUNCTION(static, causal_softmax, (real * scores, int context, real scale),
              (scores, context, scale))

/* d enters as the derivative of the weights p and leaves as that of the scores:
 * d_score = scale * p * (d - sum(p d)). Where the mask made p zero, so is d_score. */
static ALWAYS_INLINE void causal_softmax_backward_body(real *d, const real *p, int context,
                                                       real scale)
{
    for (int t = 0; t < context; t++, d += context, p += context) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < context; i++)
            sum += p[i] * d[i];
        for (int i = 0; i < context; i++)
            d[i] = scale * p[i] * (d[i] - sum);
    }
}

SIMD_FUNCTION(static, causal_softmax_backward, (real * d, const real *p, int context, real scale),
              (d, p, context, scale))

void attention_forward(real *y, real *weights, const real *qkv, struct attention_shape s)
{
    real scale = 1 / real_sqrt((real)s.width / s.heads);
    for (int sequence = 0; sequence < s.sequences; sequence++)
        for (int head = 0; head < s.heads; head++) {
            struct matrix q = head_view(qkv, s, sequence, head, 0, 3);
            struct matrix k = head_view(qkv, s, sequence, head, 1, 3);
            struct matrix v = head_view(qkv, s, sequence, head, 2, 3);
            struct matrix p = matrix_view(weights, s.context, s.context, s.context);
            matmul(p, q, transposed(k), false);
            causal_softmax(weights, s.context, scale);
            matmul(head_view(y, s, sequence, head, 0, 1), p, v, false);
            weights += s.context * s.context;
        }
}

void attention_backward(real *d_qkv, real *scratch, const real *d_y, const real *weights,
                        const real *qkv, struct attention_shape s)
{
    real scale = 1 / real_sqrt((real)s.width / s.heads);
    for (int sequence = 0; sequence < s.sequences; sequence++)
        for (int head = 0; head < s.heads; head++) {
            struct matrix q = head_view(qkv, s, sequence, head, 0, 3);
            struct matrix k = head_view(qkv, s, sequence, head, 1, 3);
            struct matrix v = head_view(qkv, s, sequence, head, 2, 3);
            struct matrix dy = head_view(d_y, s, sequence, head, 0, 1);
            struct matrix p = matrix_view(weights, s.context, s.context, s.context);
            struct matrix d = matrix_view(scratch, s.context, s.context, s.context);
            matmul(head_view(d_qkv, s, sequence, head, 2, 3), transposed(p), dy, false);
            matmul(d, dy, transposed(v), false);
            causal_softmax_backward(scratch, weights, s.context, scale);
            matmul(head_view(d_qkv, s, sequence, head, 0, 3), d, k, false);
            matmul(head_view(d_qkv, s, sequence, head, 1, 3), transposed(d), q, false);
            weights += s.context * s.context;
        }
}
