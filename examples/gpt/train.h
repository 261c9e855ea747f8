/*
 * train.h - data-parallel training: the part of this example that is about nvs.
 */
#ifndef GPT_TRAIN_H
#define GPT_TRAIN_H

#include "adamw.h"
#include "model.h"
#include "options.h"
#include "report.h"
#include "text.h"

/* Behind the gradients travel two numbers that all PEs need after each step: its loss, and how much
 * of the run is over. */
enum { TAIL_LOSS, TAIL_PROGRESS, TAIL_NELEMS };

struct trainer {
    const struct options *options;
    const struct text *text;
    int pe, npes;
    struct gpt *gpt;
    struct adamw adamw;
    float *params; /* symmetric memory, nparams */
    float *grads;  /* symmetric memory, nparams + TAIL_NELEMS */
    unsigned char *bytes, *targets;
    int chunk;     /* sequences that are computed at once */
    float *losses; /* of every step, averaged over the global batch */
    long max_losses;
    struct progress progress;
};

/* Ends this PE with a sentence. For what may happen to one PE alone: the others may be waiting for
 * it, so it must not wait for them. It leaves without nvs_finalize, and nvsrun ends the job. */
_Noreturn void die(const char *what, const char *reason);

/* Collective. */
void trainer_create(struct trainer *t, const struct options *options, const struct text *text);

/* Collective. Returns 0, or -1, on all PEs alike, if training went wrong; PE 0 has told how. */
int trainer_run(struct trainer *t);

/* Collective. */
void trainer_destroy(struct trainer *t);

/* The mean loss of the last ten steps: the loss of a single one depends on the luck of its batch.
 */
double trainer_final_loss(const struct trainer *t);

#endif
