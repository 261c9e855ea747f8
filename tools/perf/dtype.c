/*
 * dtype.c - element types and reduction operators, under nccl-tests' names and those of nvs.h.
 *
 * Data is made and judged in wide values (64 bits); a type says how these become elements. Encoding
 * need not round: data.c makes values that the type can hold.
 */
#include "perf.h"

#include <float.h>
#include <string.h>

/* `type` is unsigned; `sign` is the bit of the sign, or 0. */
#define INTEGER(name, type, sign)                                                                  \
    static void name##_encode(const union value *values, size_t count, void *elems)                \
    {                                                                                              \
        type *out = elems;                                                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (type)values[i].u;                                                            \
    }                                                                                              \
    static void name##_decode(const void *elems, size_t count, union value *values)                \
    {                                                                                              \
        const type *in = elems;                                                                    \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i].u = ((uint64_t)in[i] ^ (sign)) - (sign);                                     \
    }

#define FLOATING(name, type, pack, unpack)                                                         \
    static void name##_encode(const union value *values, size_t count, void *elems)                \
    {                                                                                              \
        type *out = elems;                                                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = pack(values[i].f);                                                            \
    }                                                                                              \
    static void name##_decode(const void *elems, size_t count, union value *values)                \
    {                                                                                              \
        const type *in = elems;                                                                    \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i].f = unpack(in[i]);                                                           \
    }

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* A number of float16 that is finite. */
static uint16_t half_pack(double value)
{
    uint32_t bits = bits_of((float)value);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size < 113u << 23) /* subnormal: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)(float_of(size) * 0x1p24f));
    return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

/* Any number of float16, as it may come out of a reduction. */
static double half_unpack(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t fraction = half & 1023;
    if (exponent == 31)
        return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return (sign ? -1.0 : 1.0) * fraction * 0x1p-24;
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

static uint16_t bfloat_pack(double value)
{
    return (uint16_t)(bits_of((float)value) >> 16);
}
static double bfloat_unpack(uint16_t bfloat)
{
    return float_of((uint32_t)bfloat << 16);
}

INTEGER(int8, uint8_t, UINT64_C(1) << 7)
INTEGER(uint8, uint8_t, UINT64_C(0))
INTEGER(int32, uint32_t, UINT64_C(1) << 31)
INTEGER(uint32, uint32_t, UINT64_C(0))
INTEGER(int64, uint64_t, UINT64_C(0))
INTEGER(uint64, uint64_t, UINT64_C(0))
FLOATING(half, uint16_t, half_pack, half_unpack)
FLOATING(float, float, (float), )
FLOATING(double, double, , )
FLOATING(bfloat, uint16_t, bfloat_pack, bfloat_unpack)

/* In the order of enum nvs_dtype. The half types are added in float and rounded once (nvs.h). */
const struct dtype dtypes[NUM_DTYPES] = {
    {"int8", NULL, NVS_INT8, KIND_SIGNED, 1, 8, 8, 0, int8_encode, int8_decode},
    {"uint8", NULL, NVS_UINT8, KIND_UNSIGNED, 1, 8, 8, 0, uint8_encode, uint8_decode},
    {"int32", NULL, NVS_INT32, KIND_SIGNED, 4, 32, 32, 0, int32_encode, int32_decode},
    {"uint32", NULL, NVS_UINT32, KIND_UNSIGNED, 4, 32, 32, 0, uint32_encode, uint32_decode},
    {"int64", NULL, NVS_INT64, KIND_SIGNED, 8, 64, 64, 0, int64_encode, int64_decode},
    {"uint64", NULL, NVS_UINT64, KIND_UNSIGNED, 8, 64, 64, 0, uint64_encode, uint64_decode},
    {"half", "float16", NVS_FLOAT16, KIND_FLOAT, 2, 11, 24, 0x1p-25, half_encode, half_decode},
    {"float", "float32", NVS_FLOAT32, KIND_FLOAT, 4, 24, 24, 0, float_encode, float_decode},
    {"double", "float64", NVS_FLOAT64, KIND_FLOAT, 8, 53, 53, 0, double_encode, double_decode},
    {"bfloat16", "bf16", NVS_BFLOAT16, KIND_FLOAT, 2, 8, 24, 0, bfloat_encode, bfloat_decode},
};

const struct dtype *dtype_find(const char *name)
{
    for (int i = 0; i < NUM_DTYPES; i++)
        if (!strcmp(name, dtypes[i].name) || (dtypes[i].alias && !strcmp(name, dtypes[i].alias)))
            return &dtypes[i];
    return NULL;
}

const char *dtype_name(size_t index)
{
    return index < NUM_DTYPES ? dtypes[index].name : NULL;
}

const char *const redop_names[NUM_REDOPS + 1] = {"sum", "prod", "max", "min", "avg", "none"};

int redop_find(const char *name)
{
    for (int i = 0; i < NUM_REDOPS; i++)
        if (!strcmp(name, redop_names[i]))
            return i;
    return REDOP_NONE;
}

const char *redop_name(size_t index)
{
    return index < NUM_REDOPS ? redop_names[index] : NULL;
}
