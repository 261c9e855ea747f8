/*
 * backend_gpu.c - steps on GPUs: what nvs does for them.
 *
 * NVSHMEM's names serve well here: nvshmem_malloc gives device memory, since every PE has selected
 * a GPU before, and the reductions on streams return at once. The GPU does them when it comes to
 * them, and a CUDA graph can record them. Everything that knows CUDA is in gpu/.
 */
#include <stdio.h>
#include <stdlib.h>

#include "adamw.h"
#include "backend.h"
#include "gpu/gpu.h"
#include "nvs.h"
#include "nvshmem.h"
#include "nvshmemx.h"
#include "train.h"

struct gpu {
    struct gpu_trainer *trainer;
    void *symmetric; /* device memory */
    unsigned char *bytes, *targets;
    long steps; /* begun */
};

/* This PE's number on its host: which of the host's GPUs it takes. */
static int local_pe(void)
{
    return nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
}

static bool gpu_usable(char *reason, size_t size)
{
    if (gpu_find(local_pe()) == 0)
        return true;
    snprintf(reason, size, "%s", gpu_error());
    return false;
}

/* Adds up gradients, in place, in the order of the stream. */
static void all_reduce(void *elements, size_t nelems, bool bfloat16, void *stream)
{
    int status = bfloat16 ? nvshmemx_bfloat16_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, elements,
                                                                   elements, nelems, stream)
                          : nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, elements,
                                                                elements, nelems, stream);
    if (status)
        die("sum_reduce_on_stream", nvs_last_error());
}

/* Draws the share of the step after those that have begun. */
static void share_draw(struct trainer *t)
{
    struct gpu *gpu = t->state;
    long context = t->options->model.context;
    for (long i = t->first; i < t->end; i++)
        trainer_draw(t, gpu->steps, i, gpu->bytes + (i - t->first) * context,
                     gpu->targets + (i - t->first) * context);
}

static void gpu_backend_create(struct trainer *t)
{
    const struct options *o = t->options;
    struct gpu *gpu = calloc(1, sizeof(*gpu));
    size_t positions = (size_t)(t->end - t->first) * (size_t)o->model.context;
    if (!gpu)
        die("the model", "out of memory");
    t->state = gpu;
    gpu->bytes = malloc(positions + 1);
    gpu->targets = malloc(positions + 1);
    if (!gpu->bytes || !gpu->targets)
        die("the model", "out of memory");
    if (gpu_select(local_pe()))
        die("--device gpu", gpu_error());
    gpu->symmetric = nvshmem_malloc(gpu_symmetric_bytes(t->gpt->nparams, o->bfloat16_grads));
    if (!gpu->symmetric)
        die("nvshmem_malloc", nvs_last_error());
    struct gpu_settings settings = {.gpt = t->gpt,
                                    .sequences = t->end - t->first,
                                    .scale = (float)t->scale,
                                    .bfloat16 = o->precision != PRECISION_FLOAT32,
                                    .bfloat16_grads = o->bfloat16_grads,
                                    .graph = !o->no_graph,
                                    .symmetric = gpu->symmetric,
                                    .all_reduce = all_reduce};
    gpu->trainer = gpu_create(&settings);
    if (!gpu->trainer)
        die("--device gpu", gpu_error());
    t->progress.overlapped = true;
    share_draw(t);
}

static void gpu_backend_destroy(struct trainer *t)
{
    struct gpu *gpu = t->state;
    gpu_destroy(gpu->trainer);
    nvshmem_free(gpu->symmetric);
    free(gpu->targets);
    free(gpu->bytes);
    free(gpu);
}

static void gpu_backend_describe(const struct trainer *t, char *text, size_t size)
{
    const struct options *o = t->options;
    char name[256];
    if (gpu_describe(name, sizeof(name)))
        die("--device gpu", gpu_error());
    snprintf(text, size, "%s, %s, gradients sent as %s", name,
             o->precision == PRECISION_FLOAT32 ? "float32" : "bfloat16 with float32 masters",
             o->bfloat16_grads ? "bfloat16" : "float32");
}

static void gpu_backend_step(struct trainer *t, double lr, float tail[TAIL_NELEMS])
{
    struct gpu *gpu = t->state;
    struct gpu_result result;
    struct adamw_update u = adamw_update_at(++gpu->steps, lr);
    struct gpu_step step = {.bytes = gpu->bytes,
                            .targets = gpu->targets,
                            .rate = u.rate,
                            .square_scale = u.square_scale,
                            .decay = u.decay,
                            .progress = trainer_progress(t)};
    if (gpu_step_start(gpu->trainer, &step))
        die("--device gpu", gpu_error());
    share_draw(t); /* of the next step, while the GPU computes this one */
    if (gpu_step_finish(gpu->trainer, &result))
        die("--device gpu", gpu_error());
    t->progress.comm_seconds += result.comm_seconds;
    t->progress.exposed_seconds += result.exposed_seconds;
    memcpy(tail, result.tail, sizeof(result.tail));
}

static void gpu_backend_params_fetch(struct trainer *t)
{
    struct gpu *gpu = t->state;
    if (gpu_params_fetch(gpu->trainer, t->params))
        die("--device gpu", gpu_error());
}

const struct backend backend_gpu = {.name = "gpu",
                                    .usable = gpu_usable,
                                    .create = gpu_backend_create,
                                    .describe = gpu_backend_describe,
                                    .step = gpu_backend_step,
                                    .params_fetch = gpu_backend_params_fetch,
                                    .destroy = gpu_backend_destroy};
