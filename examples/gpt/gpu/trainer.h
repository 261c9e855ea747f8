/*
 * trainer.h - one PE's training on its GPU: what trainer.cu, buckets.cu and device.cu share.
 */
#ifndef GPT_GPU_TRAINER_H
#define GPT_GPU_TRAINER_H

#include "gpu.h"
#include "model.h"

/* 0, or -1 after saying "could not <attempt>" in gpu_error(). */
int gpu_attempt(cudaError_t result, const char *attempt);

/* 0, or -1 with a sentence: ordinary host memory, which kernels can't use. */
int gpu_check_memory(const void *symmetric);

/* A range of the gradients that is sent at once, as soon as backward has finished with it. */
struct bucket {
    int layer; /* whose gradients are the last to be finished; -1: those of the embedding */
    void *elements;
    size_t offset, nelems; /* offset: in the gradients */
    bool tail;             /* loss and progress: float in any case */
    cudaEvent_t ready, began, ended;
};

enum { MAX_BUCKETS = 70 }; /* at most one for each layer, and two */

/* What the host tells the GPU for each step: copied once, since what is recorded reads it there. */
struct step_inputs {
    struct adamw_constants update;
    float progress;
};

struct gpu_trainer {
    struct gpu_settings settings;
    struct gpu_model<float> in_float; /* one of the two is used */
    struct gpu_model<bfloat16> in_bfloat16;
    int chunk; /* sequences that are computed at once */

    float *params, *mean, *square, *grads; /* nparams each */
    float *tail;                           /* symmetric: TAIL_NELEMS */
    bfloat16 *sent;                        /* symmetric: gradients as they are sent; or NULL */
    double *squares;
    struct step_inputs *inputs, *inputs_host;
    unsigned char *batch, *batch_host; /* the bytes, then the targets */
    float *tail_host;

    cudaStream_t compute, comm;
    cudaEvent_t computed, joined; /* backward is done; and so is all communication */
    struct bucket buckets[MAX_BUCKETS];
    int nbuckets;
    long steps;
    bool capturing, failed;
    cudaGraphExec_t graph;
};

/* buckets.cu */
int buckets_create(struct gpu_trainer *t);
void buckets_destroy(struct gpu_trainer *t);
/* Called by backward through a pointer: the gradients of this layer are complete when `compute`
 * comes to here. Starts the buckets that waited for them. arg: the trainer. */
void buckets_start(void *arg, int layer);
/* Makes `compute` wait for all buckets. */
int buckets_join(struct gpu_trainer *t);
/* After the step: seconds. */
int buckets_time(struct gpu_trainer *t, struct gpu_result *result);

#endif
