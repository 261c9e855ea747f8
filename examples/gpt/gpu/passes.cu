/*
 * passes.cu - the forward and the backward pass, as ../passes.c says them.
 *
 * Beside `d_stream`, the derivative of the residual stream, there is always its copy in T for the
 * products. All calls only put kernels into the stream.
 */
#include "model.h"

/* Gains and biases are read from the parameters themselves, in float. */
template <typename T> static const float *param(const struct gpu_model<T> *m, int layer, int tensor)
{
    return m->params + gpt_offset(m->gpt, layer, tensor);
}
template <typename T> static const T *weight(const struct gpu_model<T> *m, int layer, int tensor)
{
    return m->weights + gpt_offset(m->gpt, layer, tensor);
}
template <typename T> static float *grad(const struct gpu_model<T> *m, int layer, int tensor)
{
    return m->grads + gpt_offset(m->gpt, layer, tensor);
}

template <typename T>
static struct attention_sizes attention_sizes_of(const struct gpu_model<T> *m, int sequences)
{
    const struct gpt_config *c = &m->gpt->config;
    return {sequences, c->context, c->width, c->heads};
}

template <typename T>
static void layer_forward(struct gpu_model<T> *m, int l, int sequences, cudaStream_t stream)
{
    struct layer_state<T> *s = &m->layers[l];
    int rows = sequences * m->gpt->config.context, width = m->gpt->config.width;
    float *output = m->layers[l + 1].input;
    norm_forward(s->norm1, s->stats1, s->input, param(m, l, NORM1_GAIN), param(m, l, NORM1_BIAS),
                 rows, width, stream);
    linear_forward(s->qkv, s->norm1, weight(m, l, QKV_WEIGHT), param(m, l, QKV_BIAS), NULL, rows,
                   width, 3 * width, stream);
    attention_forward(s->heads, s->weights, m->scores, s->qkv, attention_sizes_of(m, sequences),
                      stream);
    linear_forward(s->middle, s->heads, weight(m, l, MIX_WEIGHT), param(m, l, MIX_BIAS), s->input,
                   rows, width, width, stream);
    norm_forward(s->norm2, s->stats2, s->middle, param(m, l, NORM2_GAIN), param(m, l, NORM2_BIAS),
                 rows, width, stream);
    linear_forward(s->up, s->norm2, weight(m, l, UP_WEIGHT), param(m, l, UP_BIAS), NULL, rows,
                   width, 4 * width, stream);
    gelu_forward(s->gelu, s->up, (long)rows * 4 * width, stream);
    linear_forward(output, s->gelu, weight(m, l, DOWN_WEIGHT), param(m, l, DOWN_BIAS), s->middle,
                   rows, 4 * width, width, stream);
}

template <typename T>
void model_forward(struct gpu_model<T> *m, const unsigned char *bytes, const unsigned char *targets,
                   int sequences, float scale, float *loss, cudaStream_t stream)
{
    const struct gpt_config *c = &m->gpt->config;
    int rows = sequences * c->context, width = c->width;
    embed_forward(m->layers[0].input, bytes, param(m, -1, TOKEN), param(m, -1, POSITION), sequences,
                  c->context, width, stream);
    for (int l = 0; l < c->layers; l++)
        layer_forward(m, l, sequences, stream);
    norm_forward(m->final_norm, m->final_stats, m->layers[c->layers].input,
                 param(m, -1, FINAL_GAIN), param(m, -1, FINAL_BIAS), rows, width, stream);
    product<T, float> logits = {};
    logits.rows = rows, logits.cols = GPT_CLASSES, logits.depth = width;
    logits.a = plain((const T *)m->final_norm, width);
    logits.b = transposed(weight(m, -1, TOKEN), width);
    logits.c = plain(m->logits, GPT_CLASSES);
    logits.count = logits.inner_count = 1;
    multiply(logits, stream);
    cross_entropy(m->d_logits, m->row_losses, loss, m->logits, targets, rows, GPT_CLASSES, scale,
                  scale, stream);
}

/* d_stream is that of the layer's output and becomes that of `middle`. */
template <typename T>
static void mlp_backward(struct gpu_model<T> *m, int l, int rows, cudaStream_t stream)
{
    struct layer_state<T> *s = &m->layers[l];
    int width = m->gpt->config.width;
    linear_backward(m->d_wide, grad(m, l, DOWN_WEIGHT), grad(m, l, DOWN_BIAS), m->d_stream_copy,
                    s->gelu, weight(m, l, DOWN_WEIGHT), rows, 4 * width, width, m->scratch, stream);
    gelu_backward(m->d_wide, s->up, (long)rows * 4 * width, stream);
    linear_backward(m->d_norm, grad(m, l, UP_WEIGHT), grad(m, l, UP_BIAS), m->d_wide, s->norm2,
                    weight(m, l, UP_WEIGHT), rows, width, 4 * width, m->scratch, stream);
    norm_backward(m->d_stream, m->d_stream_copy, grad(m, l, NORM2_GAIN), grad(m, l, NORM2_BIAS),
                  m->d_norm, s->middle, s->stats2, param(m, l, NORM2_GAIN), rows, width, m->scratch,
                  stream);
}

/* d_stream is that of `middle` and becomes that of the layer's input. */
template <typename T>
static void mixer_backward(struct gpu_model<T> *m, int l, int sequences, cudaStream_t stream)
{
    struct layer_state<T> *s = &m->layers[l];
    int rows = sequences * m->gpt->config.context, width = m->gpt->config.width;
    linear_backward(m->d_norm, grad(m, l, MIX_WEIGHT), grad(m, l, MIX_BIAS), m->d_stream_copy,
                    s->heads, weight(m, l, MIX_WEIGHT), rows, width, width, m->scratch, stream);
    attention_backward(m->d_wide, m->scores, m->d_weights, m->d_norm, s->weights, s->qkv,
                       attention_sizes_of(m, sequences), stream);
    linear_backward(m->d_norm, grad(m, l, QKV_WEIGHT), grad(m, l, QKV_BIAS), m->d_wide, s->norm1,
                    weight(m, l, QKV_WEIGHT), rows, width, 3 * width, m->scratch, stream);
    norm_backward(m->d_stream, m->d_stream_copy, grad(m, l, NORM1_GAIN), grad(m, l, NORM1_BIAS),
                  m->d_norm, s->input, s->stats1, param(m, l, NORM1_GAIN), rows, width, m->scratch,
                  stream);
}

/* From the derivative of the logits to that of the last layer's output. */
template <typename T>
static void logits_backward(struct gpu_model<T> *m, int rows, cudaStream_t stream)
{
    int width = m->gpt->config.width;
    product<T, T> inputs = {};
    inputs.rows = rows, inputs.cols = width, inputs.depth = GPT_CLASSES;
    inputs.a = plain((const T *)m->d_logits, GPT_CLASSES);
    inputs.b = plain(weight(m, -1, TOKEN), width);
    inputs.c = plain(m->d_norm, width);
    inputs.count = inputs.inner_count = 1;
    multiply(inputs, stream);
    product<T, float> tokens = {};
    tokens.rows = GPT_CLASSES, tokens.cols = width, tokens.depth = rows;
    tokens.a = transposed((const T *)m->d_logits, GPT_CLASSES);
    tokens.b = plain((const T *)m->final_norm, width);
    tokens.c = plain(grad(m, -1, TOKEN), width);
    tokens.add = true;
    tokens.count = tokens.inner_count = 1;
    multiply_long(tokens, m->scratch.partials, stream);
    cudaMemsetAsync(m->d_stream, 0, (size_t)rows * (size_t)width * sizeof(float), stream);
    norm_backward(m->d_stream, m->d_stream_copy, grad(m, -1, FINAL_GAIN), grad(m, -1, FINAL_BIAS),
                  m->d_norm, m->layers[m->gpt->config.layers].input, m->final_stats,
                  param(m, -1, FINAL_GAIN), rows, width, m->scratch, stream);
}

template <typename T>
void model_backward(struct gpu_model<T> *m, const unsigned char *bytes, int sequences,
                    cudaStream_t stream, void (*done)(void *arg, int layer), void *arg)
{
    const struct gpt_config *c = &m->gpt->config;
    int rows = sequences * c->context;
    logits_backward(m, rows, stream);
    for (int l = c->layers - 1; l >= 0; l--) {
        mlp_backward(m, l, rows, stream);
        mixer_backward(m, l, sequences, stream);
        if (done)
            done(arg, l);
    }
    embed_backward(grad(m, -1, TOKEN), grad(m, -1, POSITION), m->d_stream, bytes, sequences,
                   c->context, c->width, stream);
    if (done)
        done(arg, -1);
}

template void model_forward(struct gpu_model<float> *, const unsigned char *, const unsigned char *,
                            int, float, float *, cudaStream_t);
template void model_forward(struct gpu_model<bfloat16> *, const unsigned char *,
                            const unsigned char *, int, float, float *, cudaStream_t);
template void model_backward(struct gpu_model<float> *, const unsigned char *, int, cudaStream_t,
                             void (*)(void *, int), void *);
template void model_backward(struct gpu_model<bfloat16> *, const unsigned char *, int, cudaStream_t,
                             void (*)(void *, int), void *);
