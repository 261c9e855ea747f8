/*
 * layers.h - the layers of ../layers.h on the GPU, by the same names and conventions.
 *
 * T is float or bfloat16. In T are weights of matrices, and activations that products read. Always
 * float are the residual stream and its derivative (the sum of many small parts), gains and biases,
 * statistics, logits, and gradients of parameters. All pointers are device memory; all calls return
 * at once and run in the order of the stream.
 */
#ifndef GPT_GPU_LAYERS_H
#define GPT_GPU_LAYERS_H

#include "product.h"

/* Room that several layers use one after the other: `partials`, PARTIAL_NELEMS and no less than
 * COLUMN_PIECES x the widest row. */
enum { COLUMN_PIECES = 64 };
struct scratch {
    float *partials;
};

/* y = x w + b, plus `residual` unless it is NULL. x: rows x in, w: in x out. */
template <typename T, typename Out>
void linear_forward(Out *y, const T *x, const T *w, const float *b, const float *residual, int rows,
                    int in, int out, cudaStream_t stream);
template <typename T>
void linear_backward(T *d_x, float *d_w, float *d_b, const T *d_y, const T *x, const T *w, int rows,
                     int in, int out, struct scratch s, cudaStream_t stream);

/* d[col] += the sum of the rows of x. */
template <typename T>
void columns_add(float *d, const T *x, int rows, int cols, struct scratch s, cudaStream_t stream);

/* The derivative of the stream is changed in place, and copied to d_x_copy, in T, for the products
 * that read it next. d_x_copy may be d_x. */
template <typename T>
void norm_forward(T *y, float *stats, const float *x, const float *gain, const float *bias,
                  int rows, int width, cudaStream_t stream);
template <typename T>
void norm_backward(float *d_x, T *d_x_copy, float *d_gain, float *d_bias, const T *d_y,
                   const float *x, const float *stats, const float *gain, int rows, int width,
                   struct scratch s, cudaStream_t stream);

template <typename T> void gelu_forward(T *y, const T *x, long n, cudaStream_t stream);
template <typename T> void gelu_backward(T *d, const T *x, long n, cudaStream_t stream);

void embed_forward(float *y, const unsigned char *bytes, const float *token, const float *position,
                   int sequences, int context, int width, cudaStream_t stream);
void embed_backward(float *d_token, float *d_position, const float *d_y, const unsigned char *bytes,
                    int sequences, int context, int width, cudaStream_t stream);

/* *loss += loss_scale * the sum of the rows' losses. d_logits may be logits. row_losses: room for
 * `rows`. */
template <typename T>
void cross_entropy(T *d_logits, float *row_losses, float *loss, const float *logits,
                   const unsigned char *targets, int rows, int classes, float scale,
                   float loss_scale, cudaStream_t stream);

/* scores: room for sequences x heads x context x context floats, d_weights for as many in T; they
 * may be the same if T is float. */
struct attention_sizes {
    int sequences, context, width, heads;
};
template <typename T>
void attention_forward(T *y, T *weights, float *scores, const T *qkv, struct attention_sizes s,
                       cudaStream_t stream);
template <typename T>
void attention_backward(T *d_qkv, float *scores, T *d_weights, const T *d_y, const T *weights,
                        const T *qkv, struct attention_sizes s, cudaStream_t stream);

/* One update of params from grads, as ../adamw.h says it. weights: the copy of params that the
 * layers read; may be params. constants: in device memory, since they change with each step while
 * the calls of a step are recorded once. squares: room for ADAMW_BLOCKS doubles. */
enum { ADAMW_BLOCKS = 256 };
struct adamw_constants {
    float rate, square_scale, decay;
};
template <typename T>
void adamw_update(float *params, T *weights, float *mean, float *square, const float *grads, long n,
                  const struct adamw_constants *constants, double *squares, cudaStream_t stream);

/* dst = src, converted. */
template <typename From, typename To>
void convert(To *dst, const From *src, long n, cudaStream_t stream);

#endif
