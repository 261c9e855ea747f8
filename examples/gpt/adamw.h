/*
 * adamw.h - the optimiser and the learning rate.
 */
#ifndef GPT_ADAMW_H
#define GPT_ADAMW_H

#include <stddef.h>

#include "real.h"

struct adamw {
    size_t nparams;
    real *mean, *square; /* running averages of the gradient and of its square */
    long step;
};

/* Returns 0, or -1 if out of memory. */
int adamw_create(struct adamw *a, size_t nparams);
void adamw_destroy(struct adamw *a);

/* The constants of one update, but for the length of the gradient: step counts from 1. */
struct adamw_update {
    real mean_keep, square_keep, rate, square_scale, decay;
};
struct adamw_update adamw_update_at(long step, double lr);

/* One update of params. Gradients longer than 1 (all together) are shortened to 1. */
void adamw_step(struct adamw *a, real *params, const real *grads, double lr);

/* Warm-up over the first steps, then half a cosine wave down to a tenth of `peak`. progress: the
 * part of the run that is over, 0 to 1. */
double learning_rate(double peak, long step, double progress);

#endif
