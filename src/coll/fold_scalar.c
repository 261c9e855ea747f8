/*
 * fold_scalar.c - kernels for the types that vectors do not help: long double, which has no vector
 * instructions, and the product of complex numbers, which nobody waits for.
 *
 * A macro per body instead of a loop with a switch inside: the operator must be known at compile
 * time, and the bodies share nothing but the walk over the elements. Compile with
 * -ffp-contract=off, as the other kernels.
 */
#include "fold_kernels.h"

/* Defines NAME: `acc` is the running value, `next` the next source's element, COMBINE a statement
 * that folds next into acc, FINISH one that runs after the last source. */
#define FOLD_SCALAR(NAME, TYPE, COMBINE, FINISH)                                                   \
    void NAME(const struct nvsi_fold *fold)                                                        \
    {                                                                                              \
        for (size_t i = 0; i < fold->nelems; i++) {                                                \
            TYPE acc = ((const TYPE *)fold->src[0])[i];                                            \
            for (int s = 1; s < fold->nsrc; s++) {                                                 \
                const TYPE next = ((const TYPE *)fold->src[s])[i];                                 \
                COMBINE;                                                                           \
            }                                                                                      \
            FINISH;                                                                                \
            for (int d = 0; d < fold->ndst; d++)                                                   \
                ((TYPE *)fold->dst[d])[i] = acc;                                                   \
        }                                                                                          \
    }

#define NOTHING ((void)0)

FOLD_SCALAR(nvsi_fold_longdouble_sum, long double, acc += next, NOTHING)
FOLD_SCALAR(nvsi_fold_longdouble_prod, long double, acc *= next, NOTHING)
FOLD_SCALAR(nvsi_fold_longdouble_max, long double, acc = next > acc ? next : acc, NOTHING)
FOLD_SCALAR(nvsi_fold_longdouble_min, long double, acc = next < acc ? next : acc, NOTHING)
FOLD_SCALAR(nvsi_fold_longdouble_avg, long double, acc += next, acc /= fold->divisor)

/* Plain structs: C's own complex product calls a library function to recover infinities. */
struct complexf {
    float re, im;
};
struct complexd {
    double re, im;
};

static struct complexf complexf_multiply(struct complexf a, struct complexf b)
{
    return (struct complexf){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static struct complexd complexd_multiply(struct complexd a, struct complexd b)
{
    return (struct complexd){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

FOLD_SCALAR(nvsi_fold_complexf_prod, struct complexf, acc = complexf_multiply(acc, next), NOTHING)
FOLD_SCALAR(nvsi_fold_complexd_prod, struct complexd, acc = complexd_multiply(acc, next), NOTHING)
