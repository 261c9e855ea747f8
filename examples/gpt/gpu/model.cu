/*
 * model.cu - where the activations of a model lie in the memory of the GPU.
 */
#include <stdlib.h>

#include "model.h"

/* Cuts one allocation into arrays. With base NULL it only counts. */
struct arena {
    char *base;
    size_t used;
};

template <typename E> static void take(struct arena *arena, E **array, size_t nelems)
{
    *array = arena->base ? (E *)(void *)(arena->base + arena->used) : NULL;
    arena->used += (nelems * sizeof(E) + 255) / 256 * 256; /* vectors and tensor cores want this */
}

/* An array in T that stands beside one in float: the same one if T is float. */
template <typename T>
static void take_copy(struct arena *arena, T **copy, float *original, size_t nelems)
{
    if (sizeof(T) == sizeof(float))
        *copy = (T *)(void *)original;
    else
        take(arena, copy, nelems);
}

struct sizes {
    size_t rows, stream, squares;
};

static struct sizes sizes_of(const struct gpt_config *c, int sequences)
{
    size_t rows = (size_t)sequences * (size_t)c->context;
    return {rows, rows * (size_t)c->width, rows * (size_t)c->context * (size_t)c->heads};
}

template <typename T>
static void layer_carve(struct layer_state<T> *l, struct sizes n, struct arena *arena)
{
    take(arena, &l->input, n.stream);
    take(arena, &l->norm1, n.stream);
    take(arena, &l->stats1, 2 * n.rows);
    take(arena, &l->qkv, 3 * n.stream);
    take(arena, &l->weights, n.squares);
    take(arena, &l->heads, n.stream);
    take(arena, &l->middle, n.stream);
    take(arena, &l->norm2, n.stream);
    take(arena, &l->stats2, 2 * n.rows);
    take(arena, &l->up, 4 * n.stream);
    take(arena, &l->gelu, 4 * n.stream);
}

template <typename T> static size_t memory_carve(struct gpu_model<T> *m, char *base)
{
    struct arena arena = {base, 0};
    const struct gpt_config *c = &m->gpt->config;
    struct sizes n = sizes_of(c, m->max_sequences);
    size_t widest = (size_t)COLUMN_PIECES * 4 * (size_t)c->width;
    for (int l = 0; l < c->layers; l++)
        layer_carve(&m->layers[l], n, &arena);
    take(&arena, &m->layers[c->layers].input, n.stream);
    take_copy(&arena, &m->weights, m->params, m->gpt->nparams);
    take(&arena, &m->final_norm, n.stream);
    take(&arena, &m->final_stats, 2 * n.rows);
    take(&arena, &m->logits, n.rows * GPT_CLASSES);
    take_copy(&arena, &m->d_logits, m->logits, n.rows * GPT_CLASSES);
    take(&arena, &m->row_losses, n.rows);
    take(&arena, &m->d_stream, n.stream);
    take_copy(&arena, &m->d_stream_copy, m->d_stream, n.stream);
    take(&arena, &m->d_norm, n.stream);
    take(&arena, &m->d_wide, 4 * n.stream);
    take(&arena, &m->scores, n.squares);
    take_copy(&arena, &m->d_weights, m->scores, n.squares);
    take(&arena, &m->scratch.partials,
         widest > (size_t)PARTIAL_NELEMS ? widest : (size_t)PARTIAL_NELEMS);
    return arena.used;
}

template <typename T> int model_chunk(const struct gpt *gpt, long sequences)
{
    const struct gpt_config *c = &gpt->config;
    const size_t budget = (size_t)4 << 30, max_batch = 65535; /* blocks along z */
    struct sizes n = sizes_of(c, 1);
    size_t layer = n.stream * (13 * sizeof(T) + 2 * sizeof(float)) + n.squares * sizeof(T);
    size_t chunk = budget / (layer * (size_t)c->layers);
    chunk = chunk < max_batch / (size_t)c->heads ? chunk : max_batch / (size_t)c->heads;
    chunk = chunk < (size_t)sequences ? chunk : (size_t)sequences;
    return chunk > 0 ? (int)chunk : 1;
}

template <typename T>
cudaError_t model_create(struct gpu_model<T> *m, const struct gpt *gpt, int max_sequences,
                         float *params, float *grads)
{
    *m = {};
    m->gpt = gpt;
    m->max_sequences = max_sequences;
    m->params = params;
    m->grads = grads;
    m->layers = (struct layer_state<T> *)calloc((size_t)gpt->config.layers + 1, sizeof(*m->layers));
    if (!m->layers)
        return cudaErrorMemoryAllocation;
    cudaError_t result = cudaMalloc(&m->memory, memory_carve(m, NULL));
    if (result == cudaSuccess)
        memory_carve(m, (char *)m->memory);
    return result;
}

template <typename T> void model_destroy(struct gpu_model<T> *m)
{
    cudaFree(m->memory);
    free(m->layers);
    *m = {};
}

template int model_chunk<float>(const struct gpt *, long);
template int model_chunk<bfloat16>(const struct gpt *, long);
template cudaError_t model_create(struct gpu_model<float> *, const struct gpt *, int, float *,
                                  float *);
template cudaError_t model_create(struct gpu_model<bfloat16> *, const struct gpt *, int, float *,
                                  float *);
template void model_destroy(struct gpu_model<float> *);
template void model_destroy(struct gpu_model<bfloat16> *);
