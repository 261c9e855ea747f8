/*
 * train.h - data-parallel training.
 */
#ifndef GPT_TRAIN_H
#define GPT_TRAIN_H

#include "backend.h"
#include "model.h"
#include "options.h"
#include "report.h"
#include "text.h"

struct trainer {
    const struct options *options;
    const struct text *text;
    const struct backend *backend;
    void *state; /* the back end's */
    int pe, npes;
    long first, end; /* this PE's share of each batch: sequences first .. end - 1 */
    double scale;    /* 1 / positions of the global batch */
    struct gpt *gpt; /* the parameters on the host, and what sample.c needs */
    float *params;   /* symmetric memory, nparams */
    float *losses;   /* of every step, averaged over the global batch */
    long max_losses;
    double began;
    struct progress progress;
};

/* Ends this PE with a sentence. For what may happen to one PE alone: the others may be waiting for
 * it, so it must not wait for them. It leaves without nvs_finalize, and nvsrun ends the job. */
_Noreturn void die(const char *what, const char *reason);

/* Collective. */
void trainer_create(struct trainer *t, const struct options *options, const struct text *text,
                    const struct backend *backend);

/* Collective. Returns 0, or -1, on all PEs alike, if training went wrong; PE 0 has told how. Then
 * t->gpt has what was learnt. */
int trainer_run(struct trainer *t);

/* Collective. */
void trainer_destroy(struct trainer *t);

/* The mean loss of the last ten steps: the loss of a single one depends on the luck of its batch.
 */
double trainer_final_loss(const struct trainer *t);

/* ---- for back ends ---- */

/* A sequence of the global batch of a step, and the same moved on by one byte. */
void trainer_draw(const struct trainer *t, long step, long index, unsigned char *bytes,
                  unsigned char *targets);
/* What this PE adds to TAIL_PROGRESS: PE 0 the part of the run that is over with the current step,
 * the others nothing. */
float trainer_progress(const struct trainer *t);

#endif
