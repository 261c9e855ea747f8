/*
 * passes.c - the forward and the backward pass through the whole model.
 *
 * A pre-norm GPT: a residual stream of `width` numbers for each position starts as the embedding;
 * each layer adds attention(norm(stream)) and then mlp(norm(stream)). The logits are the products
 * of the normalised stream with the token embedding, which is thus used at both ends.
 *
 * Backward walks the same way in reverse. `d_stream` holds the derivative of the residual stream:
 * an addition hands its derivative to both summands, so each branch just adds its part.
 */
#include "layers.h"
#include "matmul.h"
#include "model.h"

static const real *param(const struct gpt *g, int layer, int tensor)
{
    return g->params + gpt_offset(g, layer, tensor);
}

static real *grad(const struct gpt *g, int layer, int tensor)
{
    return g->grads + gpt_offset(g, layer, tensor);
}

static struct attention_shape attention_shape(const struct gpt *g, int sequences)
{
    return (struct attention_shape){sequences, g->config.context, g->config.width, g->config.heads};
}

static void layer_forward(struct gpt *g, int l, int sequences)
{
    struct gpt_layer_state *s = &g->layers[l];
    int rows = sequences * g->config.context, width = g->config.width;
    real *output = g->layers[l + 1].input;
    norm_forward(s->norm1, s->stats1, s->input, param(g, l, NORM1_GAIN), param(g, l, NORM1_BIAS),
                 rows, width);
    linear_forward(s->qkv, s->norm1, param(g, l, QKV_WEIGHT), param(g, l, QKV_BIAS), NULL, rows,
                   width, 3 * width);
    attention_forward(s->heads, s->weights, s->qkv, attention_shape(g, sequences));
    linear_forward(s->middle, s->heads, param(g, l, MIX_WEIGHT), param(g, l, MIX_BIAS), s->input,
                   rows, width, width);
    norm_forward(s->norm2, s->stats2, s->middle, param(g, l, NORM2_GAIN), param(g, l, NORM2_BIAS),
                 rows, width);
    linear_forward(s->up, s->norm2, param(g, l, UP_WEIGHT), param(g, l, UP_BIAS), NULL, rows, width,
                   4 * width);
    gelu_forward(s->gelu, s->up, rows * 4 * width);
    linear_forward(output, s->gelu, param(g, l, DOWN_WEIGHT), param(g, l, DOWN_BIAS), s->middle,
                   rows, 4 * width, width);
}

void gpt_forward(struct gpt *g, const unsigned char *bytes, int sequences)
{
    int layers = g->config.layers, width = g->config.width;
    int rows = sequences * g->config.context;
    embed_forward(g->layers[0].input, bytes, param(g, -1, TOKEN), param(g, -1, POSITION), sequences,
                  g->config.context, width);
    for (int l = 0; l < layers; l++)
        layer_forward(g, l, sequences);
    norm_forward(g->final_norm, g->final_stats, g->layers[layers].input, param(g, -1, FINAL_GAIN),
                 param(g, -1, FINAL_BIAS), rows, width);
    matmul(matrix_view(g->logits, rows, GPT_CLASSES, GPT_CLASSES),
           matrix_view(g->final_norm, rows, width, width),
           transposed(matrix_view(param(g, -1, TOKEN), GPT_CLASSES, width, width)), false);
}

/* d_stream is that of the layer's output and becomes that of `middle`. */
static void mlp_backward(struct gpt *g, int l, int rows)
{
    struct gpt_layer_state *s = &g->layers[l];
    int width = g->config.width;
    linear_backward(g->d_wide, grad(g, l, DOWN_WEIGHT), grad(g, l, DOWN_BIAS), g->d_stream, s->gelu,
                    param(g, l, DOWN_WEIGHT), rows, 4 * width, width);
    gelu_backward(g->d_wide, s->up, rows * 4 * width);
    linear_backward(g->d_norm, grad(g, l, UP_WEIGHT), grad(g, l, UP_BIAS), g->d_wide, s->norm2,
                    param(g, l, UP_WEIGHT), rows, width, 4 * width);
    norm_backward(g->d_stream, grad(g, l, NORM2_GAIN), grad(g, l, NORM2_BIAS), g->d_norm, s->middle,
                  s->stats2, param(g, l, NORM2_GAIN), rows, width);
}

/* d_stream is that of `middle` and becomes that of the layer's input. */
static void mixer_backward(struct gpt *g, int l, int sequences)
{
    struct gpt_layer_state *s = &g->layers[l];
    int rows = sequences * g->config.context, width = g->config.width;
    linear_backward(g->d_norm, grad(g, l, MIX_WEIGHT), grad(g, l, MIX_BIAS), g->d_stream, s->heads,
                    param(g, l, MIX_WEIGHT), rows, width, width);
    attention_backward(g->d_wide, g->d_scores, g->d_norm, s->weights, s->qkv,
                       attention_shape(g, sequences));
    linear_backward(g->d_norm, grad(g, l, QKV_WEIGHT), grad(g, l, QKV_BIAS), g->d_wide, s->norm1,
                    param(g, l, QKV_WEIGHT), rows, width, 3 * width);
    norm_backward(g->d_stream, grad(g, l, NORM1_GAIN), grad(g, l, NORM1_BIAS), g->d_norm, s->input,
                  s->stats1, param(g, l, NORM1_GAIN), rows, width);
}

/* From the derivative of the logits, which `logits` holds, to the last layer's output. */
static void logits_backward(struct gpt *g, int rows)
{
    int width = g->config.width;
    struct matrix d_logits = matrix_view(g->logits, rows, GPT_CLASSES, GPT_CLASSES);
    matmul(matrix_view(g->d_norm, rows, width, width), d_logits,
           matrix_view(param(g, -1, TOKEN), GPT_CLASSES, width, width), false);
    matmul(matrix_view(grad(g, -1, TOKEN), GPT_CLASSES, width, width), transposed(d_logits),
           matrix_view(g->final_norm, rows, width, width), true);
    memset(g->d_stream, 0, (size_t)rows * (size_t)width * sizeof(real));
    norm_backward(g->d_stream, grad(g, -1, FINAL_GAIN), grad(g, -1, FINAL_BIAS), g->d_norm,
                  g->layers[g->config.layers].input, g->final_stats, param(g, -1, FINAL_GAIN), rows,
                  width);
}

double gpt_forward_backward(struct gpt *g, const unsigned char *bytes, const unsigned char *targets,
                            int sequences, real scale)
{
    int rows = sequences * g->config.context;
    double loss;
    gpt_forward(g, bytes, sequences);
    cross_entropy(g->logits, targets, rows, GPT_CLASSES, scale, &loss);
    logits_backward(g, rows);
    for (int l = g->config.layers - 1; l >= 0; l--) {
        mlp_backward(g, l, rows);
        mixer_backward(g, l, sequences);
    }
    embed_backward(grad(g, -1, TOKEN), grad(g, -1, POSITION), g->d_stream, bytes, sequences,
                   g->config.context, g->config.width);
    return loss;
}
