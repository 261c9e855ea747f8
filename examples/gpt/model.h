/*
 * model.h - the model: a GPT over bytes, its parameters, its activations.
 *
 * All parameters live in one flat array and all gradients in another of the same layout, so that
 * averaging gradients over PEs is one call, and the optimiser one loop. The model depends on
 * neither nvs nor files: the caller brings both arrays.
 */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "real.h"

enum { GPT_CLASSES = 256 }; /* one for each value of a byte */

struct gpt_config {
    int layers, heads, width, context;
};

/* Which tensor of the model, and which of a layer. "up" and "down" are the two halves of the MLP.
 */
enum { TOKEN, POSITION, FINAL_GAIN, FINAL_BIAS, MODEL_TENSORS };
enum {
    NORM1_GAIN,
    NORM1_BIAS,
    QKV_WEIGHT,
    QKV_BIAS,
    MIX_WEIGHT,
    MIX_BIAS,
    NORM2_GAIN,
    NORM2_BIAS,
    UP_WEIGHT,
    UP_BIAS,
    DOWN_WEIGHT,
    DOWN_BIAS,
    LAYER_TENSORS
};

/* One tensor inside the flat arrays. */
struct gpt_tensor {
    const char *name;
    size_t offset, nelems;
    real deviation; /* of its random initial values; 0: constant */
    real initial;   /* the constant */
};

/* What one layer keeps from the forward pass for the backward pass. */
struct gpt_layer_state {
    real *input; /* the residual stream that enters; layer 0: the embedding */
    real *norm1, *stats1, *qkv, *weights, *heads;
    real *middle; /* the residual stream after attention */
    real *norm2, *stats2, *up, *gelu;
};

struct gpt {
    struct gpt_config config;
    int max_sequences;
    real *params, *grads;
    struct gpt_tensor *tensors; /* MODEL_TENSORS, then LAYER_TENSORS for each layer */
    int ntensors;
    size_t nparams;
    struct gpt_layer_state *layers; /* one more than layers: the last has an input only */
    real *final_norm, *final_stats, *logits;
    real *d_stream, *d_norm, *d_wide, *d_scores; /* scratch of the backward pass */
    real *memory;                                /* holds all activations and scratch */
};

size_t gpt_nparams(const struct gpt_config *config);

/* A model that computes up to max_sequences at once with parameters and gradients (nparams each)
 * that stay the caller's. grads may be NULL if only gpt_forward is used. NULL if out of memory. */
struct gpt *gpt_create(const struct gpt_config *config, int max_sequences, real *params,
                       real *grads);
void gpt_destroy(struct gpt *gpt);

/* Random initial parameters. */
void gpt_init_params(struct gpt *gpt, uint64_t seed);

/* Computes gpt->logits for sequences x context bytes. */
void gpt_forward(struct gpt *gpt, const unsigned char *bytes, int sequences);

/* Forward and backward: adds the gradient of scale * (sum of the losses of all positions) to
 * gpt->grads and returns that sum of losses. targets: the byte that follows each position. */
double gpt_forward_backward(struct gpt *gpt, const unsigned char *bytes,
                            const unsigned char *targets, int sequences, real scale);

static inline size_t gpt_offset(const struct gpt *gpt, int layer, int tensor)
{
    return gpt->tensors[layer < 0 ? tensor : MODEL_TENSORS + layer * LAYER_TENSORS + tensor].offset;
}

#endif
