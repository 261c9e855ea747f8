/*
 * layers.h - the layers of the model, each with its backward pass.
 *
 * Conventions: activations are row-major, one row per position of a sequence. `d_x` is the
 * derivative of the loss with respect to x. Backward functions overwrite derivatives of activations
 * and add to derivatives of parameters, except where a comment says otherwise.
 */
#ifndef GPT_LAYERS_H
#define GPT_LAYERS_H

#include "real.h"

/* y = x w + b, plus `residual` unless it is NULL. x: rows x in, w: in x out, y: rows x out. */
void linear_forward(real *y, const real *x, const real *w, const real *b, const real *residual,
                    int rows, int in, int out);
void linear_backward(real *d_x, real *d_w, real *d_b, const real *d_y, const real *x, const real *w,
                     int rows, int in, int out);

/* Each row normalised to mean 0 and variance 1, then scaled and shifted. stats: mean and
 * 1/deviation of each row, for the backward pass, which adds to d_x: a residual path runs around
 * every norm. */
void norm_forward(real *y, real *stats, const real *x, const real *gain, const real *bias, int rows,
                  int width);
void norm_backward(real *d_x, real *d_gain, real *d_bias, const real *d_y, const real *x,
                   const real *stats, const real *gain, int rows, int width);

/* GELU in its tanh form. Backward works in place: d enters as d_y and leaves as d_x. */
void gelu_forward(real *y, const real *x, int n);
void gelu_backward(real *d, const real *x, int n);

/* Sum of the vectors of the byte and of its position. */
void embed_forward(real *y, const unsigned char *bytes, const real *token, const real *position,
                   int sequences, int context, int width);
void embed_backward(real *d_token, real *d_position, const real *d_y, const unsigned char *bytes,
                    int sequences, int context, int width);

/* *loss = sum over rows of -log softmax(logits)[target]; logits become their derivatives of
 * scale * loss. */
void cross_entropy(real *logits, const unsigned char *targets, int rows, int classes, real scale,
                   double *loss);

/* Causal attention of several heads. qkv: rows of query, key and value, each `width` wide; head h
 * owns the columns h * width / heads and on. weights: sequences x heads x context x context, kept
 * for the backward pass, which needs `scratch` of the size of one context x context. */
struct attention_shape {
    int sequences, context, width, heads;
};
void attention_forward(real *y, real *weights, const real *qkv, struct attention_shape shape);
void attention_backward(real *d_qkv, real *scratch, const real *d_y, const real *weights,
                        const real *qkv, struct attention_shape shape);

#endif
