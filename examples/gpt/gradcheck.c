/*
 * gradcheck.c - proves the backward pass: compares it with finite differences of the forward pass.
 *
 * The same source is built twice. With GPT_DOUBLE every sampled derivative is compared on its own,
 * to six digits. In float, differences of single parameters drown in rounding, so each tensor is
 * moved as a whole along its own gradient; this checks that the arithmetic that trains (its
 * exponential above all) agrees with the one that was proved. Exits 0 if all is well, 1 otherwise.
 */
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"
#include "model.h"
#include "rng.h"

enum { SEQUENCES = 2, CONTEXT = 7, SAMPLES = 12, STREAM_TEXT = 1000, STREAM_PICK = 1001 };

static unsigned char bytes[SEQUENCES * CONTEXT], targets[SEQUENCES * CONTEXT];

static double loss_of(struct gpt *g)
{
    double loss;
    gpt_forward(g, bytes, SEQUENCES);
    cross_entropy(g->logits, targets, SEQUENCES * CONTEXT, GPT_CLASSES, 1, &loss);
    return loss;
}

/* Whether `found` is the derivative `expected`; tells the difference otherwise. */
static int compare(const char *name, size_t index, double found, double expected, double tolerance)
{
    double scale = fabs(found) + fabs(expected) + 1e-4;
    if (fabs(found - expected) <= tolerance * scale)
        return 0;
    printf("%s[%zu]: backward gives %.9g, finite differences %.9g\n", name, index, found, expected);
    return 1;
}

static int element_check(struct gpt *g, const struct gpt_tensor *t, size_t index)
{
    real *p = g->params + t->offset + index, old = *p;
    double step = 1e-5;
    *p = old + (real)step;
    double above = loss_of(g);
    *p = old - (real)step;
    double below = loss_of(g);
    *p = old;
    return compare(t->name, index, (double)g->grads[t->offset + index],
                   (above - below) / (2 * step), 1e-5);
}

/* Along the gradient the derivative of the loss is the length of the gradient. No tensor of these
 * models has a gradient of zero, so one that was forgotten does not pass. */
static int direction_check(struct gpt *g, const struct gpt_tensor *t)
{
    real *p = g->params + t->offset, *d = g->grads + t->offset;
    double squares = 0, at[2] = {0};
    real *old = malloc(t->nelems * sizeof(real));
    if (!old)
        exit(1);
    memcpy(old, p, t->nelems * sizeof(real));
    for (size_t i = 0; i < t->nelems; i++)
        squares += (double)d[i] * (double)d[i];
    double length = sqrt(squares), step = sizeof(real) == sizeof(double) ? 1e-5 : 2e-3;
    for (int side = 0; side < 2 && length > 0; side++) {
        for (size_t i = 0; i < t->nelems; i++)
            p[i] = old[i] + (real)((side ? step : -step) * (double)d[i] / length);
        at[side] = loss_of(g);
    }
    memcpy(p, old, t->nelems * sizeof(real));
    free(old);
    if (!(length > 0)) {
        printf("%s: no gradient\n", t->name);
        return 1;
    }
    return compare(t->name, 0, length, (at[1] - at[0]) / (2 * step),
                   sizeof(real) == sizeof(double) ? 1e-5 : 5e-3);
}

/* The exponential of real.h against libm's. */
static int exponential_check(void)
{
    double worst = 0;
    for (int i = -8000; i <= 8000; i++) {
        real argument = (real)i / 100;
        worst = fmax(worst, fabs((double)real_exp(argument) / exp((double)argument) - 1));
    }
    if (worst < 1e-6)
        return 0;
    printf("real_exp: relative error %g\n", worst);
    return 1;
}

static int model_check(const struct gpt_config *config, uint64_t seed)
{
    size_t nparams = gpt_nparams(config);
    real *params = calloc(nparams, sizeof(real)), *grads = calloc(nparams, sizeof(real));
    struct gpt *g = gpt_create(config, SEQUENCES, params, grads);
    if (!params || !grads || !g || g->nparams != nparams)
        return 1;
    gpt_init_params(g, seed);
    for (size_t i = 0; i < nparams; i++) /* so that no bias is 0 and no gain 1 */
        params[i] += (real)(0.05 * rng_normal(seed, STREAM_PICK, i));
    int bad = 0;
    gpt_forward_backward(g, bytes, targets, SEQUENCES, 1);
    for (int i = 0; i < g->ntensors; i++) {
        const struct gpt_tensor *t = &g->tensors[i];
        bad += direction_check(g, t);
        for (uint64_t k = 0; sizeof(real) == sizeof(double) && k < SAMPLES; k++)
            bad += element_check(g, t, rng_bits(seed, (uint64_t)i, k) % t->nelems);
    }
    gpt_destroy(g);
    free(grads);
    free(params);
    return bad;
}

int main(void)
{
    /* Widths that fill no tile and no vector, one that fills several; one head and several. */
    static const struct gpt_config configs[] = {
        {2, 3, 15, CONTEXT}, {1, 1, 8, CONTEXT}, {2, 2, 36, CONTEXT}};
    int bad = exponential_check();
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)rng_bits(1, STREAM_TEXT, i);
        targets[i] = (unsigned char)rng_bits(2, STREAM_TEXT, i);
    }
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
        bad += model_check(&configs[i], 7 + i);
    printf("gradient check (%s): %s\n", sizeof(real) == sizeof(double) ? "double" : "float",
           bad ? "FAILED" : "passed");
    return bad != 0;
}
