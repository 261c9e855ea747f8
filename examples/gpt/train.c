/*
 * train.c - data-parallel training over nvs.
 *
 * Every PE holds the whole model and learns from its own share of each global batch. Derivatives
 * are scaled by 1 / (positions of the global batch) from the start, so that the sum over PEs is the
 * average over the batch also when shares differ in size. One nvs_all_reduce for each step adds the
 * gradients, in place, in symmetric memory; loss and progress travel behind them in the same call.
 * Then every PE makes the same update.
 *
 * The clock of PE 0 decides when to stop: PEs that each looked at their own would disagree about
 * the last step, and one of them would wait for ever.
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvs.h"

enum { CHUNK_POSITIONS = 256, FINAL_STEPS = 10 };

_Noreturn void die(const char *what, const char *reason)
{
    fprintf(stderr, "gpt: PE %d: %s: %s\n", nvs_my_pe(), what, reason);
    exit(1);
}

/* Only what PE 0 drew counts. */
static void params_share(struct trainer *t)
{
    gpt_init_params(t->gpt, (uint64_t)t->options->seed);
    if (nvs_broadcast(NVS_TEAM_WORLD, t->params, t->params, t->gpt->nparams, NVS_FLOAT32, 0, NULL))
        die("nvs_broadcast", nvs_last_error());
}

void trainer_create(struct trainer *t, const struct options *options, const struct text *text)
{
    int context = options->model.context;
    size_t nparams = gpt_nparams(&options->model);
    *t = (struct trainer){.options = options, .text = text, .pe = nvs_my_pe(), .npes = nvs_n_pes()};
    t->chunk = context < CHUNK_POSITIONS ? CHUNK_POSITIONS / context : 1;
    t->params = nvs_malloc(nparams * sizeof(float));
    t->grads = nvs_malloc((nparams + TAIL_NELEMS) * sizeof(float));
    if (!t->params || !t->grads)
        die("nvs_malloc", nvs_last_error());
    t->gpt = gpt_create(&options->model, t->chunk, t->params, t->grads);
    t->bytes = malloc((size_t)t->chunk * (size_t)context);
    t->targets = malloc((size_t)t->chunk * (size_t)context);
    if (!t->gpt || !t->bytes || !t->targets || adamw_create(&t->adamw, nparams))
        die("the model", "out of memory");
    params_share(t);
}

void trainer_destroy(struct trainer *t)
{
    free(t->losses);
    adamw_destroy(&t->adamw);
    free(t->targets);
    free(t->bytes);
    gpt_destroy(t->gpt);
    nvs_free(t->grads);
    nvs_free(t->params);
}

/* Adds the gradients of sequences first .. end - 1 of the global batch; returns their loss. */
static double share_compute(struct trainer *t, long first, long end)
{
    const struct options *o = t->options;
    int context = o->model.context;
    double loss = 0;
    float scale = (float)(1 / ((double)o->batch * context));
    for (long at = first; at < end; at += t->chunk) {
        int count = end - at < t->chunk ? (int)(end - at) : t->chunk;
        for (int i = 0; i < count; i++)
            text_draw(t->text, (uint64_t)o->seed, t->progress.step, at + i, context,
                      t->bytes + i * context, t->targets + i * context);
        loss += gpt_forward_backward(t->gpt, t->bytes, t->targets, count, scale);
    }
    return loss / ((double)o->batch * context);
}

/* The part of the run that is over when the current step is done, by the steps or by the clock. */
static double progress_now(const struct trainer *t, double began)
{
    const struct options *o = t->options;
    double by_steps = o->steps ? (double)(t->progress.step + 1) / (double)o->steps : 0;
    double by_clock = o->seconds > 0 ? (clock_seconds() - began) / o->seconds : 0;
    return fmax(by_steps, by_clock);
}

/* Computes this PE's share and adds it to those of the others. */
static void gradients_average(struct trainer *t, double began)
{
    long batch = t->options->batch;
    size_t nparams = t->gpt->nparams;
    float *tail = t->grads + nparams;
    memset(t->grads, 0, nparams * sizeof(float));
    tail[TAIL_LOSS] =
        (float)share_compute(t, batch * t->pe / t->npes, batch * (t->pe + 1) / t->npes);
    tail[TAIL_PROGRESS] = t->pe == 0 ? (float)progress_now(t, began) : 0;
    double entered = clock_seconds();
    if (nvs_all_reduce(NVS_TEAM_WORLD, t->grads, t->grads, nparams + TAIL_NELEMS, NVS_FLOAT32,
                       NVS_SUM, NULL))
        die("nvs_all_reduce", nvs_last_error());
    t->progress.comm_seconds += clock_seconds() - entered;
}

static void loss_record(struct trainer *t, float loss)
{
    struct progress *p = &t->progress;
    if (p->step == t->max_losses) {
        t->max_losses = 2 * t->max_losses + 1024;
        float *losses = realloc(t->losses, (size_t)t->max_losses * sizeof(float));
        if (!losses)
            die("the losses", "out of memory");
        t->losses = losses;
    }
    t->losses[p->step++] = loss;
    p->loss = (double)loss;
    p->tokens += (double)t->options->batch * t->options->model.context;
}

int trainer_run(struct trainer *t)
{
    struct reporter reporter;
    const float *tail = t->grads + t->gpt->nparams;
    double began = clock_seconds(), progress = 0;
    reporter_init(&reporter);
    while (progress < 1) {
        double lr = learning_rate(t->options->lr, t->progress.step, progress);
        gradients_average(t, began);
        loss_record(t, tail[TAIL_LOSS]);
        if (!isfinite(tail[TAIL_LOSS])) {
            if (t->pe == 0)
                fprintf(stderr, "gpt: the loss of step %ld is not a number: try a smaller --lr\n",
                        t->progress.step);
            return -1;
        }
        progress = (double)tail[TAIL_PROGRESS];
        adamw_step(&t->adamw, t->params, t->grads, lr);
        t->progress.seconds = clock_seconds() - began;
        if (t->pe == 0)
            reporter_step(&reporter, &t->progress, progress >= 1);
    }
    return 0;
}

double trainer_final_loss(const struct trainer *t)
{
    long n = t->progress.step, count = n < FINAL_STEPS ? n : FINAL_STEPS;
    double sum = 0;
    for (long i = n - count; i < n; i++)
        sum += (double)t->losses[i];
    return sum / (double)count;
}
