/*
 * adamw.c - Adam with decoupled weight decay.
 *
 * Every PE makes the same update from the same gradients, which all_reduce gives to all with the
 * same bits; so parameters stay equal without being sent again.
 */
#include "adamw.h"

#include <stdlib.h>

static const double BETA_MEAN = 0.9, BETA_SQUARE = 0.99, DECAY = 0.1, EPSILON = 1e-8;
static const double MAX_LENGTH = 1, FLOOR = 0.1;
enum { WARM_UP_STEPS = 30 };

int adamw_create(struct adamw *a, size_t nparams)
{
    *a = (struct adamw){.nparams = nparams,
                        .mean = calloc(nparams, sizeof(real)),
                        .square = calloc(nparams, sizeof(real))};
    if (a->mean && a->square)
        return 0;
    adamw_destroy(a);
    return -1;
}

void adamw_destroy(struct adamw *a)
{
    free(a->mean);
    free(a->square);
    *a = (struct adamw){0};
}

static ALWAYS_INLINE void squares_sum_body(const real *x, size_t n, double *sum)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++)
        total += (double)x[i] * (double)x[i];
    *sum = total;
}

SIMD_FUNCTION(static, squares_sum, (const real *x, size_t n, double *sum), (x, n, sum))

static ALWAYS_INLINE void update_body(const struct adamw *a, real *restrict p,
                                      const real *restrict grads, real clip, struct adamw_update u)
{
    real *restrict mean = a->mean, *restrict square = a->square;
    for (size_t i = 0; i < a->nparams; i++) {
        real g = grads[i] * clip;
        mean[i] = u.mean_keep * mean[i] + (1 - u.mean_keep) * g;
        square[i] = u.square_keep * square[i] + (1 - u.square_keep) * g * g;
        real deviation = real_sqrt(square[i] * u.square_scale) + (real)EPSILON;
        p[i] = p[i] * u.decay - u.rate * mean[i] / deviation;
    }
}

SIMD_FUNCTION(static, update,
              (const struct adamw *a, real *restrict p, const real *restrict grads, real clip,
               struct adamw_update u),
              (a, p, grads, clip, u))

struct adamw_update adamw_update_at(long step, double lr)
{
    return (struct adamw_update){
        .mean_keep = (real)BETA_MEAN,
        .square_keep = (real)BETA_SQUARE,
        .rate = (real)(lr / (1 - pow(BETA_MEAN, (double)step))),
        .square_scale = (real)(1 / (1 - pow(BETA_SQUARE, (double)step))),
        .decay = (real)(1 - lr * DECAY),
    };
}

void adamw_step(struct adamw *a, real *params, const real *grads, double lr)
{
    double squares;
    squares_sum(grads, a->nparams, &squares);
    double length = sqrt(squares);
    real clip = (real)(length > MAX_LENGTH ? MAX_LENGTH / length : 1);
    update(a, params, grads, clip, adamw_update_at(++a->step, lr));
}

double learning_rate(double peak, long step, double progress)
{
    double warm = step + 1 < WARM_UP_STEPS ? (double)(step + 1) / WARM_UP_STEPS : 1;
    double wave = 0.5 * (1 + cos(3.141592653589793 * progress));
    return peak * warm * (FLOOR + (1 - FLOOR) * wave);
}
