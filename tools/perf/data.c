/*
 * data.c - what is sent.
 *
 * An element is a hash of (seed, PE, index), so any PE can tell what any other sent and nothing is
 * kept for comparison. Where data is only moved, or integers are reduced, every bit pattern will
 * do. Floating point is reduced twice:
 *
 *   exact     small whole numbers, powers of two: every partial result is representable, so the
 *             result is the same in any order of additions, and no error is allowed
 *   rounding  numbers that fill the significand
 *
 * With many PEs, sums of narrow types stay exact, and products finite, because only some PEs
 * contribute to an element, others at the next one.
 */
#include "perf.h"

#include <math.h>
#include <string.h>

static inline uint64_t hash(uint64_t seed, int pe, size_t index)
{
    uint64_t x = seed * 0xa0761d6478bd642fu + (uint64_t)pe * 0xe7037ed1a0b428dbu;
    x ^= x >> 29;
    x += index * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* Whether PE pe is one of the at most `limit` that matter for an element. */
static bool contributes(const struct data *data, int pe, size_t index, int limit)
{
    size_t every = ((size_t)data->npes + (size_t)limit - 1) / (size_t)limit;
    return ((size_t)pe + index) % every == 0;
}

/* A whole number in -limit .. limit. */
static double whole(uint64_t bits, int64_t limit)
{
    return (double)((int64_t)(bits >> 8) % (2 * limit + 1) - limit);
}

/* Largest term of an exact sum; the number of terms that then fit into the significand. */
static int64_t term_limit(const struct data *data)
{
    return 1 << data->type->digits / 3;
}
static int terms_limit(const struct data *data)
{
    int bits = data->type->digits - data->type->digits / 3 - 1;
    return 1 << (bits < 20 ? bits : 20);
}

static double term_exact(const struct data *data, int pe, size_t index)
{
    uint64_t bits = hash(data->seed, pe, index) >> 1;
    return contributes(data, pe, index, terms_limit(data)) ? whole(bits, term_limit(data)) : 0;
}

/* All significant bits of the type, in -1 .. 1. */
static double term_full(const struct data *data, uint64_t bits)
{
    int digits = data->type->digits;
    return ldexp(whole(bits >> 1, ((int64_t)1 << digits) - 1), -digits);
}

/* The average is a whole number, the same for all PEs; what two neighbours add to it and take from
 * it cancels out, so that no PE sends just the result. */
static double average_exact(const struct data *data, int pe, size_t index)
{
    double common = whole(hash(data->seed, data->npes, index) >> 1, term_limit(data) / 2);
    if ((pe ^ 1) >= data->npes)
        return common;
    double apart = whole(hash(data->seed, pe & ~1, index) >> 1, term_limit(data) / 2);
    return pe & 1 ? common - apart : common + apart;
}

/* In 1/2 .. 2 for the PEs that contribute, 1 for the others; any sign. */
static double factor(const struct data *data, int pe, size_t index)
{
    uint64_t bits = hash(data->seed, pe, index);
    double sign = bits & 1 ? -1 : 1, value = 1;
    if (contributes(data, pe, index, 6)) {
        int more = data->type->digits - 1;
        if (data->rounding)
            value += ldexp((double)(bits >> 8 & (((uint64_t)1 << more) - 1)), -more);
        value = bits & 2 ? value : data->rounding ? value / 2 : value * 2;
    }
    return sign * value;
}

static double real_value(const struct data *data, int pe, size_t index)
{
    if (data->redop == NVS_PROD)
        return factor(data, pe, index);
    if (data->rounding)
        return term_full(data, hash(data->seed, pe, index));
    return data->redop == NVS_AVG ? average_exact(data, pe, index) : term_exact(data, pe, index);
}

/* The low bits that the type has, extended to 64 as C would. */
uint64_t data_narrow(const struct dtype *type, uint64_t bits)
{
    int unused = 64 - type->digits;
    if (type->kind == KIND_SIGNED)
        return (uint64_t)((int64_t)(bits << unused) >> unused);
    return bits << unused >> unused;
}

void data_make(const struct data *data, int pe, size_t index, size_t count, union value *values)
{
    bool bits = data->redop == REDOP_NONE || data->type->kind != KIND_FLOAT;
    /* Products of even numbers would soon be zero, whatever was multiplied. */
    uint64_t odd = data->redop == NVS_PROD;
    for (size_t i = 0; i < count; i++) {
        if (!bits)
            values[i].f = real_value(data, pe, index + i);
        else
            values[i].u = hash(data->seed, pe, index + i) | odd;
    }
    if (data->redop != REDOP_NONE && bits)
        for (size_t i = 0; i < count; i++)
            values[i].u = data_narrow(data->type, values[i].u);
}

#define PUT_BITS(type)                                                                             \
    do {                                                                                           \
        type *out = elems;                                                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (type)values[i].u;                                                            \
    } while (0)

/* For data that is only moved: any bits, whatever the type. */
static void put_bits(size_t size, const union value *values, size_t count, void *elems)
{
    switch (size) {
    case 1:
        PUT_BITS(uint8_t);
        break;
    case 2:
        PUT_BITS(uint16_t);
        break;
    case 4:
        PUT_BITS(uint32_t);
        break;
    default:
        PUT_BITS(uint64_t);
    }
}

static void make_elems(const struct data *data, int pe, size_t index, size_t count, void *elems)
{
    union value values[DATA_CHUNK];
    data_make(data, pe, index, count, values);
    if (data->redop == REDOP_NONE)
        put_bits(data->type->size, values, count, elems);
    else
        data->type->encode(values, count, elems);
}

void data_fill(const struct data *data, int pe, size_t index, size_t count, void *elems)
{
    for (size_t done = 0, n; done < count; done += n) {
        n = data_chunk(count - done);
        make_elems(data, pe, index + done, n, (char *)elems + done * data->type->size);
    }
}

static size_t differing(const char *a, const char *b, size_t count, size_t size)
{
    size_t wrong = 0;
    if (memcmp(a, b, count * size) != 0)
        for (size_t i = 0; i < count; i++)
            wrong += memcmp(a + i * size, b + i * size, size) != 0;
    return wrong;
}

size_t data_wrong_copy(const struct data *data, int pe, size_t index, size_t count,
                       const void *elems)
{
    size_t wrong = 0, size = data->type->size;
    uint64_t expected[DATA_CHUNK]; /* room for the widest type, aligned for it */
    for (size_t done = 0, n; done < count; done += n) {
        n = data_chunk(count - done);
        make_elems(data, pe, index + done, n, expected);
        wrong += differing((const char *)expected, (const char *)elems + done * size, n, size);
    }
    return wrong;
}
