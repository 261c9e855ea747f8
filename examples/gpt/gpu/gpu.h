/*
 * gpu.h - training steps on a GPU, for C.
 *
 * This side knows CUDA, the other one (../backend_gpu.c) knows nvs: the symmetric memory and the
 * call that adds up gradients come from there. Functions return 0, or -1 with a sentence in
 * gpu_error().
 */
#ifndef GPT_GPU_H
#define GPT_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpt;
struct gpu_trainer;

const char *gpu_error(void);

/* The GPU for the PE with this number among those of its host: PEs share GPUs if there are fewer.
 * find only looks whether it could be used, select makes it the one of this process. */
int gpu_find(int local_pe);
int gpu_select(int local_pe);
/* Its name. */
int gpu_describe(char *text, size_t size);

struct gpu_settings {
    const struct gpt *gpt; /* shape and initial parameters; must outlive the trainer */
    long sequences;        /* of this PE's share of each batch; may be 0 */
    float scale;           /* of losses and derivatives: 1 / positions of the global batch */
    bool bfloat16;         /* weights and activations; float otherwise */
    bool bfloat16_grads;   /* what PEs send each other; float otherwise */
    bool graph;            /* record a step once, then replay it */
    /* gpu_symmetric_bytes() of symmetric memory that kernels can use. */
    void *symmetric;
    /* Adds up, over all PEs, elements in symmetric memory, in the order of the cudaStream_t. */
    void (*all_reduce)(void *elements, size_t nelems, bool bfloat16, void *stream);
};

size_t gpu_symmetric_bytes(size_t nparams, bool bfloat16_grads);

struct gpu_trainer *gpu_create(const struct gpu_settings *settings);
void gpu_destroy(struct gpu_trainer *trainer);

/* Starts a step and returns while it runs. bytes, targets: sequences x context of each, which are
 * read before it returns. rate and the like: adamw.h. */
struct gpu_step {
    const unsigned char *bytes, *targets;
    float rate, square_scale, decay;
    float progress; /* this PE's part of what all learn; see TAIL_PROGRESS */
};
int gpu_step_start(struct gpu_trainer *trainer, const struct gpu_step *step);

/* Waits for the end of the step. */
struct gpu_result {
    float tail[TAIL_NELEMS];
    double comm_seconds;    /* in which gradients were added up */
    double exposed_seconds; /* of these, while nothing was computed */
};
int gpu_step_finish(struct gpu_trainer *trainer, struct gpu_result *result);

/* Copies the parameters back. */
int gpu_params_fetch(struct gpu_trainer *trainer, float *params);

#ifdef __cplusplus
}
#endif
#endif
