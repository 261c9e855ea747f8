/*
 * model.h - the model of ../model.h on the GPU: its memory and its two passes.
 */
#ifndef GPT_GPU_MODEL_H
#define GPT_GPU_MODEL_H

#include "layers.h"

extern "C" {
#include "../model.h"
}

/* As struct gpt_layer_state. The residual stream is float, what products read is T. */
template <typename T> struct layer_state {
    float *input;
    T *norm1, *qkv, *weights, *heads;
    float *stats1, *middle;
    T *norm2, *up, *gelu;
    float *stats2;
};

template <typename T> struct gpu_model {
    const struct gpt *gpt;         /* shape and offsets; on the host */
    int max_sequences;             /* that are computed at once */
    float *params, *grads;         /* the caller's, nparams each */
    T *weights;                    /* params as products read them; params itself if T is float */
    struct layer_state<T> *layers; /* on the host; one more than layers, as in struct gpt */
    T *final_norm;
    float *final_stats, *logits, *row_losses;
    T *d_logits;
    float *d_stream;
    T *d_stream_copy, *d_norm, *d_wide;
    float *scores;
    T *d_weights;
    struct scratch scratch;
    void *memory; /* holds all of these */
};

/* How many sequences are computed at once if `sequences` are to be: more need more memory than this
 * program takes for activations. Depends on the shape only, never on what happens to be free, so
 * that runs repeat. */
template <typename T> int model_chunk(const struct gpt *gpt, long sequences);

/* Returns what cudaMalloc() does, or cudaErrorMemoryAllocation. */
template <typename T>
cudaError_t model_create(struct gpu_model<T> *m, const struct gpt *gpt, int max_sequences,
                         float *params, float *grads);
template <typename T> void model_destroy(struct gpu_model<T> *m);

/* *loss += scale * the sum of the losses of all positions; makes their derivatives. */
template <typename T>
void model_forward(struct gpu_model<T> *m, const unsigned char *bytes, const unsigned char *targets,
                   int sequences, float scale, float *loss, cudaStream_t stream);

/* Adds to the gradients. Calls done(arg, l), unless it is NULL, when those of layer l are complete,
 * and with -1 when all are: then `stream` has the work that makes them. */
template <typename T>
void model_backward(struct gpu_model<T> *m, const unsigned char *bytes, int sequences,
                    cudaStream_t stream, void (*done)(void *arg, int layer), void *arg);

#endif
