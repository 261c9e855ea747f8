/*
 * train.c - data-parallel training over nvs.
 *
 * Every PE holds the whole model and learns from its own share of each global batch; backend_cpu.c
 * and backend_gpu.c say how the gradients of all shares are added up. Afterwards every PE makes the
 * same update, so the parameters stay the same without being sent again.
 *
 * The clock of PE 0 decides when to stop: PEs that each looked at their own would disagree about
 * the last step, and one of them would wait for ever.
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adamw.h"
#include "nvs.h"

enum { FINAL_STEPS = 10 };

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

void trainer_create(struct trainer *t, const struct options *options, const struct text *text,
                    const struct backend *backend)
{
    long batch = options->batch, pe = nvs_my_pe(), npes = nvs_n_pes();
    *t = (struct trainer){.options = options,
                          .text = text,
                          .backend = backend,
                          .pe = (int)pe,
                          .npes = (int)npes,
                          .first = batch * pe / npes,
                          .end = batch * (pe + 1) / npes,
                          .scale = 1 / ((double)batch * options->model.context)};
    t->params = nvs_malloc(gpt_nparams(&options->model) * sizeof(float));
    if (!t->params)
        die("nvs_malloc", nvs_last_error());
    t->gpt = gpt_create(&options->model, 1, t->params, NULL);
    if (!t->gpt)
        die("the model", "out of memory");
    params_share(t);
    backend->create(t);
}

void trainer_destroy(struct trainer *t)
{
    t->backend->destroy(t);
    free(t->losses);
    gpt_destroy(t->gpt);
    nvs_free(t->params);
}

void trainer_draw(const struct trainer *t, long step, long index, unsigned char *bytes,
                  unsigned char *targets)
{
    text_draw(t->text, (uint64_t)t->options->seed, step, index, t->options->model.context, bytes,
              targets);
}

float trainer_progress(const struct trainer *t)
{
    const struct options *o = t->options;
    double by_steps = o->steps ? (double)(t->progress.step + 1) / (double)o->steps : 0;
    double by_clock = o->seconds > 0 ? (clock_seconds() - t->began) / o->seconds : 0;
    return t->pe == 0 ? (float)fmax(by_steps, by_clock) : 0;
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
    double progress = 0;
    t->began = clock_seconds();
    reporter_init(&reporter);
    while (progress < 1) {
        float tail[TAIL_NELEMS];
        t->backend->step(t, learning_rate(t->options->lr, t->progress.step, progress), tail);
        loss_record(t, tail[TAIL_LOSS]);
        if (!isfinite(tail[TAIL_LOSS])) {
            if (t->pe == 0)
                fprintf(stderr, "gpt: the loss of step %ld is not a number: try a smaller --lr\n",
                        t->progress.step);
            return -1;
        }
        progress = (double)tail[TAIL_PROGRESS];
        t->progress.seconds = clock_seconds() - t->began;
        if (t->pe == 0)
            reporter_step(&reporter, &t->progress, progress >= 1);
    }
    t->backend->params_fetch(t);
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
