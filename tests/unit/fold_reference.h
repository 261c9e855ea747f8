/*
 * fold_reference.h - the naive fold that fold_test.c holds the kernels against.
 *
 * It shares nothing with them: 16-bit floats are converted by way of double and a search through
 * all their values, and one element is folded at a time.
 */
#ifndef NVSI_FOLD_REFERENCE_H
#define NVSI_FOLD_REFERENCE_H

#include "../../src/coll/fold.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- 16-bit floats, the slow and obvious way ---- */

/* The value of a binary float with `fraction` fraction bits and bias `bias`, by its definition. */
static double small_float_value(unsigned magnitude, int fraction, int bias, unsigned max_exponent)
{
    unsigned exponent = magnitude >> fraction, low = magnitude & ((1u << fraction) - 1);
    if (exponent == max_exponent)
        return low ? (double)NAN : (double)INFINITY;
    if (exponent == 0)
        return ldexp(low, 1 - bias - fraction);
    return ldexp((1u << fraction) + low, (int)exponent - bias - fraction);
}

static double half_value(unsigned magnitude, int is_bfloat)
{
    return is_bfloat ? small_float_value(magnitude, 7, 127, 255)
                     : small_float_value(magnitude, 10, 15, 31);
}

static double reference_widen(uint16_t bits, int is_bfloat)
{
    return copysign(half_value(bits & 0x7fff, is_bfloat), bits & 0x8000 ? -1.0 : 1.0);
}

/* Nearest, ties to even: binary search for the neighbours among the finite values; past the last
 * one comes infinity, at the place where the next finite value would be. */
static uint16_t reference_round(float value, int is_bfloat)
{
    unsigned infinity = is_bfloat ? 0x7f80 : 0x7c00, sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs((double)value), next = is_bfloat ? ldexp(1, 128) : 65536;
    unsigned low = 0, high = infinity; /* value(low) <= magnitude < value(high) */

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1); /* callers compare NaNs only as NaNs */
    if (magnitude >= next)
        return (uint16_t)(sign | infinity);
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (half_value(middle, is_bfloat) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = half_value(low, is_bfloat);
    double above = high == infinity ? next : half_value(high, is_bfloat);
    double to_below = magnitude - below, to_above = above - magnitude; /* exact in double */
    unsigned nearest = to_below < to_above || (to_below == to_above && low % 2 == 0) ? low : high;
    return (uint16_t)(sign | nearest);
}

static int half_is_nan(uint16_t bits, int is_bfloat)
{
    return (bits & 0x7fff) > (is_bfloat ? 0x7f80 : 0x7c00);
}

/* ---- the reference fold ---- */

#define REFERENCE_ARITHMETIC(TYPE, WRAP)                                                           \
    switch (op) {                                                                                  \
    case NVSI_PROD:                                                                                \
        return (TYPE)((WRAP)a * (WRAP)b);                                                          \
    case NVSI_MAX:                                                                                 \
        return b > a ? b : a;                                                                      \
    case NVSI_MIN:                                                                                 \
        return b < a ? b : a;                                                                      \
    case NVSI_SUM:                                                                                 \
    case NVSI_AVG:                                                                                 \
        return (TYPE)((WRAP)a + (WRAP)b);                                                          \
    default:                                                                                       \
        break;                                                                                     \
    }

/* One element from all sources: reference_NAME(result, fold, index). */
#define REFERENCE_FOLD(NAME, TYPE)                                                                 \
    static void reference_##NAME(void *result, const struct nvsi_fold *fold, size_t i)             \
    {                                                                                              \
        TYPE acc = ((const TYPE *)fold->src[0])[i];                                                \
        for (int s = 1; s < fold->nsrc; s++)                                                       \
            acc = NAME##_combine(acc, ((const TYPE *)fold->src[s])[i], fold->op);                  \
        if (fold->op == NVSI_AVG)                                                                  \
            acc = (TYPE)(acc / (TYPE##_quotient)fold->divisor);                                    \
        memcpy(result, &acc, sizeof(acc));                                                         \
    }

#define REFERENCE_INTEGER(NAME, TYPE)                                                              \
    static TYPE NAME##_combine(TYPE a, TYPE b, int op)                                             \
    {                                                                                              \
        REFERENCE_ARITHMETIC(TYPE, uint64_t)                                                       \
        return (TYPE)(op == NVSI_AND ? a & b : op == NVSI_OR ? a | b : a ^ b);                     \
    }                                                                                              \
    REFERENCE_FOLD(NAME, TYPE)

#define REFERENCE_REAL(NAME, TYPE)                                                                 \
    static TYPE NAME##_combine(TYPE a, TYPE b, int op)                                             \
    {                                                                                              \
        REFERENCE_ARITHMETIC(TYPE, TYPE)                                                           \
        abort();                                                                                   \
    }

typedef int64_t int8_t_quotient, int16_t_quotient, int32_t_quotient, int64_t_quotient;
typedef uint64_t uint8_t_quotient, uint16_t_quotient, uint32_t_quotient, uint64_t_quotient;
typedef float float_quotient;
typedef double double_quotient;
typedef long double long_double, long_double_quotient;

REFERENCE_INTEGER(int8, int8_t)
REFERENCE_INTEGER(uint8, uint8_t)
REFERENCE_INTEGER(int16, int16_t)
REFERENCE_INTEGER(uint16, uint16_t)
REFERENCE_INTEGER(int32, int32_t)
REFERENCE_INTEGER(uint32, uint32_t)
REFERENCE_INTEGER(int64, int64_t)
REFERENCE_INTEGER(uint64, uint64_t)
REFERENCE_REAL(float32, float)
REFERENCE_FOLD(float32, float)
REFERENCE_REAL(float64, double)
REFERENCE_FOLD(float64, double)
REFERENCE_REAL(longdouble, long_double)
REFERENCE_FOLD(longdouble, long_double)

static void reference_half(void *result, const struct nvsi_fold *fold, size_t i)
{
    int is_bfloat = fold->dtype == NVSI_BFLOAT16;
    float acc = (float)reference_widen(((const uint16_t *)fold->src[0])[i], is_bfloat);
    for (int s = 1; s < fold->nsrc; s++) {
        float next = (float)reference_widen(((const uint16_t *)fold->src[s])[i], is_bfloat);
        acc = float32_combine(acc, next, fold->op);
    }
    if (fold->op == NVSI_AVG)
        acc = acc / (float)fold->divisor;
    uint16_t rounded = reference_round(acc, is_bfloat);
    memcpy(result, &rounded, sizeof(rounded));
}

#define REFERENCE_COMPLEX(NAME, TYPE)                                                              \
    static void reference_##NAME(void *result, const struct nvsi_fold *fold, size_t i)             \
    {                                                                                              \
        TYPE acc[2];                                                                               \
        memcpy(acc, (const TYPE *)fold->src[0] + 2 * i, sizeof(acc));                              \
        for (int s = 1; s < fold->nsrc; s++) {                                                     \
            const TYPE *next = (const TYPE *)fold->src[s] + 2 * i;                                 \
            TYPE re = acc[0], im = acc[1];                                                         \
            int product = fold->op == NVSI_PROD;                                                   \
            acc[0] = product ? re * next[0] - im * next[1] : re + next[0];                         \
            acc[1] = product ? re * next[1] + im * next[0] : im + next[1];                         \
        }                                                                                          \
        memcpy(result, acc, sizeof(acc));                                                          \
    }

REFERENCE_COMPLEX(complexf, float)
REFERENCE_COMPLEX(complexd, double)

static void (*const references[NVSI_NUM_DTYPES])(void *, const struct nvsi_fold *, size_t) = {
    [NVSI_INT8] = reference_int8,
    [NVSI_UINT8] = reference_uint8,
    [NVSI_INT32] = reference_int32,
    [NVSI_UINT32] = reference_uint32,
    [NVSI_INT64] = reference_int64,
    [NVSI_UINT64] = reference_uint64,
    [NVSI_FLOAT16] = reference_half,
    [NVSI_FLOAT32] = reference_float32,
    [NVSI_FLOAT64] = reference_float64,
    [NVSI_BFLOAT16] = reference_half,
    [NVSI_INT16] = reference_int16,
    [NVSI_UINT16] = reference_uint16,
    [NVSI_LONGDOUBLE] = reference_longdouble,
    [NVSI_COMPLEXF] = reference_complexf,
    [NVSI_COMPLEXD] = reference_complexd,
};

/* ---- comparing ---- */

/* Bits of one real part; long double has padding, and where NaNs meet only NaN-ness counts. */
static int part_equal(const void *a, const void *b, int dtype, int op)
{
    int any_nan = op != NVSI_MIN && op != NVSI_MAX; /* those pass one input through */
    switch (dtype) {
    case NVSI_FLOAT16:
    case NVSI_BFLOAT16: {
        uint16_t x, y;
        memcpy(&x, a, 2);
        memcpy(&y, b, 2);
        return x == y ||
               (half_is_nan(x, dtype == NVSI_BFLOAT16) && half_is_nan(y, dtype == NVSI_BFLOAT16));
    }
    case NVSI_FLOAT32:
    case NVSI_COMPLEXF: {
        float x, y;
        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        return memcmp(a, b, sizeof(x)) == 0 || (any_nan && isnan(x) && isnan(y));
    }
    case NVSI_FLOAT64:
    case NVSI_COMPLEXD: {
        double x, y;
        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        return memcmp(a, b, sizeof(x)) == 0 || (any_nan && isnan(x) && isnan(y));
    }
    case NVSI_LONGDOUBLE: {
        long double x, y;
        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        return isnan(x) ? isnan(y) : x == y && !signbit(x) == !signbit(y);
    }
    default:
        return memcmp(a, b, nvsi_dtype_size(dtype)) == 0;
    }
}

static inline int element_equal(const char *a, const char *b, int dtype, int op)
{
    size_t size = nvsi_dtype_size(dtype);
    if (dtype != NVSI_COMPLEXF && dtype != NVSI_COMPLEXD)
        return part_equal(a, b, dtype, op);
    return part_equal(a, b, dtype, op) && part_equal(a + size / 2, b + size / 2, dtype, op);
}

#endif
