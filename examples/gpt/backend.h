/*
 * backend.h - where a step is computed: the seam between training and the machine.
 *
 * train.c decides when and how fast to learn; a back end has the parameters, makes the gradient of
 * its PE's share of the batch, adds it to those of the others, and updates the parameters. Adding
 * up is in here, since a GPU does it while it still computes.
 */
#ifndef GPT_BACKEND_H
#define GPT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

/* With the gradients travel two numbers that all PEs need after each step: its loss, and how much
 * of the run is over. */
enum { TAIL_LOSS, TAIL_PROGRESS, TAIL_NELEMS };

struct options;
struct trainer;

struct backend {
    const char *name;
    /* Whether this PE could use it; if not, `reason` says why. */
    bool (*usable)(char *reason, size_t size);
    /* Collective. t->gpt has the initial parameters, the same on all PEs. Dies on failure, as all
     * of these do. */
    void (*create)(struct trainer *t);
    /* What it computes with, in words. */
    void (*describe)(const struct trainer *t, char *text, size_t size);
    /* Collective. One step with this learning rate. tail: on all PEs alike. */
    void (*step)(struct trainer *t, double lr, float tail[TAIL_NELEMS]);
    /* Brings the parameters to t->gpt. */
    void (*params_fetch)(struct trainer *t);
    void (*destroy)(struct trainer *t);
};

extern const struct backend backend_cpu;
extern const struct backend backend_gpu; /* backend_gpu.c, or without nvcc backend_no_gpu.c */

/* Collective. The back end that the options ask for; NULL on all PEs alike if there is none, and
 * then one of them has said why. */
const struct backend *backend_choose(const struct options *options);

#endif
