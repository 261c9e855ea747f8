/*
 * fold.c - what a reduction must give.
 *
 * Integers and exact sums must be right to the last bit. A sum that rounds may be off by the
 * textbook bound for n terms in any order, n u (|x0| + |x1| + ...), where u is the rounding unit of
 * the type that is added in, plus one rounding to the element's type.
 */
#include "perf.h"

#include <math.h>

static uint64_t fold_bits(const struct data *data, uint64_t a, uint64_t b)
{
    bool less = data->type->kind == KIND_SIGNED ? (int64_t)b < (int64_t)a : b < a;
    switch (data->redop) {
    case NVS_PROD:
        return a * b;
    case NVS_MAX:
        return less ? a : b;
    case NVS_MIN:
        return less ? b : a;
    default:
        return a + b;
    }
}

/* Integers wrap around; their average is the wrapped sum, divided, rounded towards zero. */
static void want_bits(const struct data *data, size_t index, size_t count, union value *want)
{
    union value values[DATA_CHUNK];
    data_make(data, 0, index, count, want);
    for (int pe = 1; pe < data->npes; pe++) {
        data_make(data, pe, index, count, values);
        for (size_t i = 0; i < count; i++)
            want[i].u = fold_bits(data, want[i].u, values[i].u);
    }
    for (size_t i = 0; i < count; i++) {
        want[i].u = data_narrow(data->type, want[i].u);
        if (data->redop == NVS_AVG && data->type->kind == KIND_SIGNED)
            want[i].i /= data->npes;
        else if (data->redop == NVS_AVG)
            want[i].u /= (uint64_t)data->npes;
    }
}

struct want {
    long double value, magnitude; /* the sum, and that of the absolute values */
};

static void fold_real(int redop, struct want *want, double value)
{
    want->magnitude += fabs(value);
    if (redop == NVS_PROD)
        want->value *= value;
    else if (redop == NVS_MAX)
        want->value = value > want->value ? value : want->value;
    else if (redop == NVS_MIN)
        want->value = value < want->value ? value : want->value;
    else
        want->value += value;
}

static void want_real(const struct data *data, size_t index, size_t count, struct want *want)
{
    union value values[DATA_CHUNK];
    data_make(data, 0, index, count, values);
    for (size_t i = 0; i < count; i++)
        want[i] = (struct want){.value = values[i].f, .magnitude = fabs(values[i].f)};
    for (int pe = 1; pe < data->npes; pe++) {
        data_make(data, pe, index, count, values);
        for (size_t i = 0; i < count; i++)
            fold_real(data->redop, &want[i], values[i].f);
    }
    for (size_t i = 0; i < count && data->redop == NVS_AVG; i++) {
        want[i].value /= data->npes;
        want[i].magnitude /= data->npes;
    }
}

/* How far from the right value a result may be. */
static long double allowance(const struct data *data, const struct want *want)
{
    if (!data->rounding || data->redop == NVS_MAX || data->redop == NVS_MIN || data->npes == 1)
        return 0;
    const struct dtype *type = data->type;
    long double unit = ldexpl(1, -type->sum_digits), size = fabsl(want->value);
    long double summed = data->redop == NVS_PROD ? size : want->magnitude;
    /* 1.01 covers the terms of second order, which the bound leaves out. */
    return 1.01L * ((data->npes + 1) * unit * summed + ldexpl(1, -type->digits) * size) +
           type->tiny;
}

static size_t wrong_real(const struct data *data, size_t index, size_t count,
                         const union value *got)
{
    struct want want[DATA_CHUNK];
    size_t wrong = 0;
    want_real(data, index, count, want);
    for (size_t i = 0; i < count; i++) /* so written that a NaN is wrong */
        wrong += !(fabsl(got[i].f - want[i].value) <= allowance(data, &want[i]));
    return wrong;
}

static size_t wrong_bits(const struct data *data, size_t index, size_t count,
                         const union value *got)
{
    union value want[DATA_CHUNK];
    size_t wrong = 0;
    want_bits(data, index, count, want);
    for (size_t i = 0; i < count; i++)
        wrong += got[i].u != want[i].u;
    return wrong;
}

size_t data_wrong_fold(const struct data *data, size_t index, size_t count, const void *elems)
{
    union value got[DATA_CHUNK];
    size_t wrong = 0;
    for (size_t done = 0, n; done < count; done += n) {
        n = data_chunk(count - done);
        data->type->decode((const char *)elems + done * data->type->size, n, got);
        wrong += data->type->kind == KIND_FLOAT ? wrong_real(data, index + done, n, got)
                                                : wrong_bits(data, index + done, n, got);
    }
    return wrong;
}
