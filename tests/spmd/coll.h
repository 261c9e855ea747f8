/*
 * coll.h - what the tests of collectives know on their own: the inputs of every PE by a formula,
 * and a naive fold. A PE computes the result of any collective without asking anybody.
 *
 * The fold is one element at a time, in the order of PEs, in the element's own type; half types are
 * added in float and rounded once. Results must be the same bits. It shares no code with the
 * library.
 */
#ifndef TESTS_SPMD_COLL_H
#define TESTS_SPMD_COLL_H

#include <complex.h>
#include <nvs.h>
#include <nvshmem.h>

#include "spmd.h"

/* The types of nvs.h, and those that only OpenSHMEM and NVSHMEM have. */
enum { T_INT16 = NVS_BFLOAT16 + 1, T_UINT16, T_LONGDOUBLE, T_COMPLEXF, T_COMPLEXD, NUM_TYPES };
/* The operators of nvs.h, and the bitwise ones. */
enum { OP_AND = NVS_AVG + 1, OP_OR, OP_XOR };

enum { MAX_ELEM_BYTES = 16 };

static inline size_t type_bytes(int type)
{
    static const size_t bytes[NUM_TYPES] = {
        [NVS_INT8] = 1,      [NVS_UINT8] = 1,    [NVS_INT32] = 4,   [NVS_UINT32] = 4,
        [NVS_INT64] = 8,     [NVS_UINT64] = 8,   [NVS_FLOAT16] = 2, [NVS_FLOAT32] = 4,
        [NVS_FLOAT64] = 8,   [NVS_BFLOAT16] = 2, [T_INT16] = 2,     [T_UINT16] = 2,
        [T_LONGDOUBLE] = 16, [T_COMPLEXF] = 8,   [T_COMPLEXD] = 16};
    return bytes[type];
}

/* ---- 16-bit floats by their definition ------------------------------------------------------- */

struct small_float {
    int fraction, min_exponent; /* bits; exponent of the least normal value */
    unsigned infinity;
};

static inline const struct small_float *small_float(int type)
{
    static const struct small_float half = {10, -14, 0x7c00}, bfloat = {7, -126, 0x7f80};
    return type == NVS_FLOAT16 ? &half : &bfloat;
}

static inline double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float small_float_value(const struct small_float *format, uint16_t bits)
{
    unsigned magnitude = bits & 0x7fff, above = magnitude >> format->fraction;
    unsigned digits = magnitude & ((1u << format->fraction) - 1);
    if (above)
        digits += 1u << format->fraction;
    double value = digits * power_of_two(format->min_exponent - format->fraction +
                                         (above ? (int)above - 1 : 0));
    return (float)(bits & 0x8000 ? -value : value);
}

/* To nearest, ties to even. */
static inline uint16_t small_float_round(const struct small_float *format, float value)
{
    double magnitude = __builtin_fabs((double)value);
    uint64_t pattern;
    memcpy(&pattern, &magnitude, sizeof pattern);
    int steps = (int)(pattern >> 52) - 1023 - format->min_exponent; /* binades above the least */
    if (steps < 0)
        steps = 0;
    double digits = magnitude / power_of_two(format->min_exponent - format->fraction + steps);
    digits = digits + 0x1p52 - 0x1p52; /* no fraction bit is left: rounded by the addition */
    unsigned bits = ((unsigned)steps << format->fraction) + (unsigned)digits;
    if (bits > format->infinity)
        bits = format->infinity;
    return (uint16_t)(bits | (__builtin_signbit(value) ? 0x8000u : 0));
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Values of many magnitudes, so that sums round; near one for products, so that they stay finite.
 */
static inline double real_input(uint64_t random, int op)
{
    double value;
    if (op == NVS_PROD)
        value = 0.5 + (double)(random >> 8 & 0xfffff) / 0x1p20;
    else
        value = (double)(random >> 8 & 0xfffff) * power_of_two((int)(random >> 32 & 15) - 26);
    return random & 1 ? -value : value;
}

/* Element i of the input of world PE pe in the collective number `round`. */
static inline void coll_input(void *out, int type, int op, uint64_t round, int pe, size_t i)
{
    uint64_t random = rng_mix(spmd_seed + round * UINT64_C(0x9e3779b97f4a7c15) +
                              (uint64_t)pe * UINT64_C(0xd1342543de82ef95) + i * 3);
    double value = real_input(random, op), other = real_input(rng_mix(random), op);
    memset(out, 0, type_bytes(type));
    switch (type) {
    case NVS_FLOAT16:
    case NVS_BFLOAT16:
        *(uint16_t *)out = small_float_round(small_float(type), (float)value);
        break;
    case NVS_FLOAT32:
        *(float *)out = (float)value;
        break;
    case NVS_FLOAT64:
        *(double *)out = value / 3;
        break;
    case T_LONGDOUBLE:
        *(long double *)out = (long double)value / 3;
        break;
    case T_COMPLEXF:
        *(float complex *)out = (float)value + (float)other * I;
        break;
    case T_COMPLEXD:
        *(double complex *)out = value / 3 + other / 3 * I;
        break;
    default:
        memcpy(out, &random, type_bytes(type));
    }
}

/* ---- the fold -------------------------------------------------------------------------------- */

#define FOLD_STEP(TYPE, WIDE)                                                                      \
    case NVS_SUM:                                                                                  \
    case NVS_AVG:                                                                                  \
        acc = (TYPE)((WIDE)acc + (WIDE)next);                                                      \
        break;                                                                                     \
    case NVS_PROD:                                                                                 \
        acc = (TYPE)((WIDE)acc * (WIDE)next);                                                      \
        break;

#define FOLD_ORDER_STEP                                                                            \
    case NVS_MAX:                                                                                  \
        acc = next > acc ? next : acc;                                                             \
        break;                                                                                     \
    case NVS_MIN:                                                                                  \
        acc = next < acc ? next : acc;                                                             \
        break;

#define FOLD_BITS_STEP                                                                             \
    case OP_AND:                                                                                   \
        acc &= next;                                                                               \
        break;                                                                                     \
    case OP_OR:                                                                                    \
        acc |= next;                                                                               \
        break;                                                                                     \
    case OP_XOR:                                                                                   \
        acc ^= next;                                                                               \
        break;

/* fold_NAME(acc, next, op, n, last): folds next into *acc, and divides after the last of n. */
#define FOLD(NAME, TYPE, WIDE, STEPS, QUOTIENT)                                                    \
    static inline void fold_##NAME(void *out, const void *in, int op, int n, bool last)            \
    {                                                                                              \
        TYPE acc, next;                                                                            \
        memcpy(&acc, out, sizeof acc);                                                             \
        memcpy(&next, in, sizeof next);                                                            \
        switch (op) {                                                                              \
            FOLD_STEP(TYPE, WIDE)                                                                  \
            STEPS                                                                                  \
        }                                                                                          \
        if (last && op == NVS_AVG)                                                                 \
            acc = (TYPE)((QUOTIENT)acc / (QUOTIENT)n);                                             \
        memcpy(out, &acc, sizeof acc);                                                             \
    }

FOLD(int8, int8_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, int64_t)
FOLD(uint8, uint8_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, uint64_t)
FOLD(int16, int16_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, int64_t)
FOLD(uint16, uint16_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, uint64_t)
FOLD(int32, int32_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, int64_t)
FOLD(uint32, uint32_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, uint64_t)
FOLD(int64, int64_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, int64_t)
FOLD(uint64, uint64_t, uint64_t, FOLD_ORDER_STEP FOLD_BITS_STEP, uint64_t)
FOLD(float32, float, float, FOLD_ORDER_STEP, float)
FOLD(float64, double, double, FOLD_ORDER_STEP, double)
FOLD(longdouble, long double, long double, FOLD_ORDER_STEP, long double)

/* Complex products by the formula of schoolbooks; C's own also repairs infinities. */
#define FOLD_COMPLEX(NAME, TYPE)                                                                   \
    static inline void fold_##NAME(void *out, const void *in, int op, int n, bool last)            \
    {                                                                                              \
        TYPE *a = out, re = a[0], im = a[1];                                                       \
        const TYPE *b = in;                                                                        \
        (void)n, (void)last;                                                                       \
        a[0] = op == NVS_PROD ? re * b[0] - im * b[1] : re + b[0];                                 \
        a[1] = op == NVS_PROD ? re * b[1] + im * b[0] : im + b[1];                                 \
    }

FOLD_COMPLEX(complexf, float)
FOLD_COMPLEX(complexd, double)

typedef void fold_fn(void *out, const void *in, int op, int n, bool last);

static fold_fn *const folds[NUM_TYPES] = {
    [NVS_INT8] = fold_int8,       [NVS_UINT8] = fold_uint8,         [NVS_INT32] = fold_int32,
    [NVS_UINT32] = fold_uint32,   [NVS_INT64] = fold_int64,         [NVS_UINT64] = fold_uint64,
    [NVS_FLOAT32] = fold_float32, [NVS_FLOAT64] = fold_float64,     [T_INT16] = fold_int16,
    [T_UINT16] = fold_uint16,     [T_LONGDOUBLE] = fold_longdouble, [T_COMPLEXF] = fold_complexf,
    [T_COMPLEXD] = fold_complexd,
};

/* Element i of the inputs of PEs pes[0 .. n-1], folded in this order. */
static inline void coll_fold(void *out, int type, int op, uint64_t round, const int *pes, int n,
                             size_t i)
{
    bool small = type == NVS_FLOAT16 || type == NVS_BFLOAT16;
    _Alignas(16) char acc[MAX_ELEM_BYTES], next[MAX_ELEM_BYTES];
    float wide;
    for (int p = 0; p < n; p++) {
        coll_input(next, type, op, round, pes[p], i);
        if (small) {
            wide = small_float_value(small_float(type), *(const uint16_t *)next);
            memcpy(next, &wide, sizeof wide);
        }
        if (p == 0)
            memcpy(acc, next, sizeof acc);
        else
            folds[small ? NVS_FLOAT32 : type](acc, next, op, n, p == n - 1);
    }
    if (small) {
        memcpy(&wide, acc, sizeof wide);
        *(uint16_t *)acc = small_float_round(small_float(type), wide);
    }
    memcpy(out, acc, type_bytes(type));
}

#endif
