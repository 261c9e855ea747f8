/*
 * model.c - where everything of a model lies in memory, and how it starts.
 */
#include "model.h"

#include <stdlib.h>

#include "rng.h"

/* Initial values as in GPT-2, except that small models learn faster from larger ones: weights are
 * normal with deviation 1 / sqrt(inputs), the two that write to the residual stream are divided by
 * the root of the number of writers. */
static void model_tensors_describe(struct gpt_tensor *t, const struct gpt_config *c)
{
    size_t width = (size_t)c->width;
    t[TOKEN] = (struct gpt_tensor){"token", 0, GPT_CLASSES * width, (real)0.04, 0};
    t[POSITION] = (struct gpt_tensor){"position", 0, (size_t)c->context * width, (real)0.02, 0};
    t[FINAL_GAIN] = (struct gpt_tensor){"final_gain", 0, width, 0, 1};
    t[FINAL_BIAS] = (struct gpt_tensor){"final_bias", 0, width, 0, 0};
}

static void layer_tensors_describe(struct gpt_tensor *t, const struct gpt_config *c)
{
    size_t width = (size_t)c->width;
    real root = 1 / real_sqrt((real)width), writers = real_sqrt((real)(2 * c->layers));
    t[NORM1_GAIN] = (struct gpt_tensor){"norm1_gain", 0, width, 0, 1};
    t[NORM1_BIAS] = (struct gpt_tensor){"norm1_bias", 0, width, 0, 0};
    t[QKV_WEIGHT] = (struct gpt_tensor){"qkv_weight", 0, 3 * width * width, root, 0};
    t[QKV_BIAS] = (struct gpt_tensor){"qkv_bias", 0, 3 * width, 0, 0};
    t[MIX_WEIGHT] = (struct gpt_tensor){"mix_weight", 0, width * width, root / writers, 0};
    t[MIX_BIAS] = (struct gpt_tensor){"mix_bias", 0, width, 0, 0};
    t[NORM2_GAIN] = (struct gpt_tensor){"norm2_gain", 0, width, 0, 1};
    t[NORM2_BIAS] = (struct gpt_tensor){"norm2_bias", 0, width, 0, 0};
    t[UP_WEIGHT] = (struct gpt_tensor){"up_weight", 0, 4 * width * width, root, 0};
    t[UP_BIAS] = (struct gpt_tensor){"up_bias", 0, 4 * width, 0, 0};
    t[DOWN_WEIGHT] =
        (struct gpt_tensor){"down_weight", 0, 4 * width * width, root / 2 / writers, 0};
    t[DOWN_BIAS] = (struct gpt_tensor){"down_bias", 0, width, 0, 0};
}

/* Describes all tensors, in order; NULL if out of memory. */
static struct gpt_tensor *tensors_create(const struct gpt_config *c, int *ntensors, size_t *nparams)
{
    *ntensors = MODEL_TENSORS + c->layers * LAYER_TENSORS;
    struct gpt_tensor *tensors = calloc((size_t)*ntensors, sizeof(*tensors));
    if (!tensors)
        return NULL;
    model_tensors_describe(tensors, c);
    for (int l = 0; l < c->layers; l++)
        layer_tensors_describe(tensors + MODEL_TENSORS + l * LAYER_TENSORS, c);
    *nparams = 0;
    for (int i = 0; i < *ntensors; i++) {
        tensors[i].offset = *nparams;
        *nparams += tensors[i].nelems;
    }
    return tensors;
}

size_t gpt_nparams(const struct gpt_config *c)
{
    size_t width = (size_t)c->width;
    size_t layer = 12 * width * width + 13 * width;
    return (GPT_CLASSES + (size_t)c->context + 2) * width + (size_t)c->layers * layer;
}

/* Cuts one allocation into arrays. With base NULL it only counts. */
struct arena {
    real *base;
    size_t used;
};

static real *arena_take(struct arena *arena, size_t nelems)
{
    real *at = arena->base ? arena->base + arena->used : NULL;
    arena->used += (nelems + 15) & ~(size_t)15; /* whole cache lines */
    return at;
}

static void layer_state_carve(struct gpt_layer_state *s, const struct gpt *g, struct arena *arena)
{
    size_t context = (size_t)g->config.context, rows = (size_t)g->max_sequences * context;
    size_t stream = rows * (size_t)g->config.width;
    s->norm1 = arena_take(arena, stream);
    s->stats1 = arena_take(arena, 2 * rows);
    s->qkv = arena_take(arena, 3 * stream);
    s->weights = arena_take(arena, rows * context * (size_t)g->config.heads);
    s->heads = arena_take(arena, stream);
    s->middle = arena_take(arena, stream);
    s->norm2 = arena_take(arena, stream);
    s->stats2 = arena_take(arena, 2 * rows);
    s->up = arena_take(arena, 4 * stream);
    s->gelu = arena_take(arena, 4 * stream);
}

static size_t memory_carve(struct gpt *g, real *base)
{
    struct arena arena = {base, 0};
    size_t context = (size_t)g->config.context, rows = (size_t)g->max_sequences * context;
    size_t stream = rows * (size_t)g->config.width;
    for (int l = 0; l < g->config.layers; l++) {
        g->layers[l].input = arena_take(&arena, stream);
        layer_state_carve(&g->layers[l], g, &arena);
    }
    g->layers[g->config.layers].input = arena_take(&arena, stream);
    g->final_norm = arena_take(&arena, stream);
    g->final_stats = arena_take(&arena, 2 * rows);
    g->logits = arena_take(&arena, rows * GPT_CLASSES);
    g->d_stream = arena_take(&arena, stream);
    g->d_norm = arena_take(&arena, stream);
    g->d_wide = arena_take(&arena, 4 * stream);
    g->d_scores = arena_take(&arena, context * context);
    return arena.used;
}

struct gpt *gpt_create(const struct gpt_config *config, int max_sequences, real *params,
                       real *grads)
{
    struct gpt *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->config = *config;
    g->max_sequences = max_sequences;
    g->params = params;
    g->grads = grads;
    g->tensors = tensors_create(config, &g->ntensors, &g->nparams);
    g->layers = calloc((size_t)config->layers + 1, sizeof(*g->layers));
    if (!g->tensors || !g->layers)
        goto fail;
    g->memory = aligned_alloc(64, memory_carve(g, NULL) * sizeof(real));
    if (!g->memory)
        goto fail;
    memory_carve(g, g->memory);
    return g;
fail:
    gpt_destroy(g);
    return NULL;
}

void gpt_destroy(struct gpt *g)
{
    if (!g)
        return;
    free(g->memory);
    free(g->layers);
    free(g->tensors);
    free(g);
}

void gpt_init_params(struct gpt *g, uint64_t seed)
{
    for (int i = 0; i < g->ntensors; i++) {
        const struct gpt_tensor *t = &g->tensors[i];
        for (size_t j = 0; j < t->nelems; j++) {
            double noise = t->deviation > 0 ? rng_normal(seed, (uint64_t)i, j) : 0;
            g->params[t->offset + j] = t->initial + t->deviation * (real)noise;
        }
    }
}
