/*
 * backend_cpu.c - steps on CPUs.
 *
 * Derivatives are scaled by 1 / (positions of the global batch) from the start, so that the sum
 * over PEs is the average over the batch also when shares differ in size. One nvs_all_reduce for
 * each step adds the gradients, in place, in symmetric memory; loss and progress travel behind them
 * in the same call. Then every PE makes the same update.
 */
#include <stdio.h>
#include <stdlib.h>

#include "adamw.h"
#include "backend.h"
#include "nvs.h"
#include "train.h"

enum { CHUNK_POSITIONS = 256 };

struct cpu {
    struct gpt *gpt; /* with room for a chunk; its parameters are those of the trainer's */
    struct adamw adamw;
    float *grads; /* symmetric memory, nparams + TAIL_NELEMS */
    unsigned char *bytes, *targets;
    int chunk; /* sequences that are computed at once */
};

static bool cpu_usable(char *reason, size_t size)
{
    if (size > 0)
        *reason = 0;
    return true;
}

static void cpu_create(struct trainer *t)
{
    int context = t->options->model.context;
    size_t nparams = t->gpt->nparams;
    struct cpu *cpu = calloc(1, sizeof(*cpu));
    if (!cpu)
        die("the model", "out of memory");
    t->state = cpu;
    cpu->chunk = context < CHUNK_POSITIONS ? CHUNK_POSITIONS / context : 1;
    cpu->grads = nvs_malloc((nparams + TAIL_NELEMS) * sizeof(float));
    if (!cpu->grads)
        die("nvs_malloc", nvs_last_error());
    cpu->gpt = gpt_create(&t->options->model, cpu->chunk, t->params, cpu->grads);
    cpu->bytes = malloc((size_t)cpu->chunk * (size_t)context);
    cpu->targets = malloc((size_t)cpu->chunk * (size_t)context);
    if (!cpu->gpt || !cpu->bytes || !cpu->targets || adamw_create(&cpu->adamw, nparams))
        die("the model", "out of memory");
}

static void cpu_destroy(struct trainer *t)
{
    struct cpu *cpu = t->state;
    adamw_destroy(&cpu->adamw);
    free(cpu->targets);
    free(cpu->bytes);
    gpt_destroy(cpu->gpt);
    nvs_free(cpu->grads);
    free(cpu);
}

static void cpu_describe(const struct trainer *t, char *text, size_t size)
{
    (void)t;
    snprintf(text, size, "CPUs, float32");
}

/* Adds the gradients of this PE's share of the batch; returns its loss. */
static double share_compute(struct trainer *t)
{
    struct cpu *cpu = t->state;
    int context = t->options->model.context;
    double loss = 0;
    for (long at = t->first; at < t->end; at += cpu->chunk) {
        int count = t->end - at < cpu->chunk ? (int)(t->end - at) : cpu->chunk;
        for (int i = 0; i < count; i++)
            trainer_draw(t, t->progress.step, at + i, cpu->bytes + i * context,
                         cpu->targets + i * context);
        loss += gpt_forward_backward(cpu->gpt, cpu->bytes, cpu->targets, count, (float)t->scale);
    }
    return loss * t->scale;
}

static void cpu_step(struct trainer *t, double lr, float tail[TAIL_NELEMS])
{
    struct cpu *cpu = t->state;
    size_t nparams = t->gpt->nparams;
    memset(cpu->grads, 0, nparams * sizeof(float));
    cpu->grads[nparams + TAIL_LOSS] = (float)share_compute(t);
    cpu->grads[nparams + TAIL_PROGRESS] = trainer_progress(t);
    double entered = clock_seconds();
    if (nvs_all_reduce(NVS_TEAM_WORLD, cpu->grads, cpu->grads, nparams + TAIL_NELEMS, NVS_FLOAT32,
                       NVS_SUM, NULL))
        die("nvs_all_reduce", nvs_last_error());
    t->progress.comm_seconds += clock_seconds() - entered;
    memcpy(tail, cpu->grads + nparams, TAIL_NELEMS * sizeof(float));
    adamw_step(&cpu->adamw, t->params, cpu->grads, lr);
}

/* They are there: the model that learns has the trainer's. */
static void cpu_params_fetch(struct trainer *t)
{
    (void)t;
}

const struct backend backend_cpu = {.name = "cpu",
                                    .usable = cpu_usable,
                                    .create = cpu_create,
                                    .describe = cpu_describe,
                                    .step = cpu_step,
                                    .params_fetch = cpu_params_fetch,
                                    .destroy = cpu_destroy};
