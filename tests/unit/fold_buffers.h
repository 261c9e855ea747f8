/*
 * fold_buffers.h - random inputs for the tests of the folds, in buffers between guard bytes at
 * random element-aligned addresses.
 */
#ifndef TESTS_UNIT_FOLD_BUFFERS_H
#define TESTS_UNIT_FOLD_BUFFERS_H

#include "../../src/coll/fold.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD_BYTES = 128, GUARD = 0xa5 };

static uint64_t random_state;
static int failures;

static inline uint64_t random_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t random_below(size_t limit)
{
    return (size_t)(random_next() % limit);
}

/* The seed is the program's argument, or new; it is printed, so that a failure can be run again. */
static inline void random_begin(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);
}

/* ---- buffers ---- */

struct buffer {
    char *base, *data; /* data lies in base, between guards, at a random element-aligned address */
    size_t nbytes;
};

static inline size_t dtype_alignment(int dtype)
{
    size_t size = nvsi_dtype_size(dtype);
    return dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD ? size / 2 : size;
}

static inline void buffer_open(struct buffer *buffer, size_t nbytes, int dtype)
{
    size_t alignment = dtype_alignment(dtype), slack = 128;
    size_t size = nbytes + 2 * GUARD_BYTES + slack;
    buffer->base = aligned_alloc(128, (size + 127) / 128 * 128);
    if (!buffer->base)
        abort();
    buffer->data = buffer->base + GUARD_BYTES + random_below(slack / alignment) * alignment;
    buffer->nbytes = nbytes;
    memset(buffer->data - GUARD_BYTES, GUARD, nbytes + 2 * GUARD_BYTES);
}

static inline int buffer_guarded(const struct buffer *buffer)
{
    const unsigned char *below = (const unsigned char *)buffer->data - GUARD_BYTES;
    const unsigned char *above = (const unsigned char *)buffer->data + buffer->nbytes;
    for (int k = 0; k < GUARD_BYTES; k++)
        if (below[k] != GUARD || above[k] != GUARD)
            return 0;
    return 1;
}

static inline void fill_part(char *to, int dtype)
{
    static const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 6e-8f};
    int special = random_below(16) == 0;
    double value = special ? (double)specials[random_below(8)]
                           : ldexp((double)(int64_t)random_next(), -60 - (int)random_below(8));
    if (dtype == NVSI_LONGDOUBLE) {
        long double wide = value;
        memcpy(to, &wide, sizeof(wide));
    } else if (dtype == NVSI_FLOAT64 || dtype == NVSI_COMPLEXD) {
        memcpy(to, &value, sizeof(value));
    } else {
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof(narrow));
    }
}

static inline void fill(char *to, size_t nelems, int dtype)
{
    size_t size = nvsi_dtype_size(dtype);
    for (size_t i = 0; i < nelems; i++, to += size) {
        uint64_t bits = random_next(); /* any integer and any 16-bit float is an input */
        if (dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD) {
            fill_part(to, dtype);
            fill_part(to + size / 2, dtype);
        } else if (dtype == NVSI_FLOAT32 || dtype == NVSI_FLOAT64 || dtype == NVSI_LONGDOUBLE) {
            fill_part(to, dtype);
        } else {
            if (random_below(8) == 0 && (dtype == NVSI_FLOAT16 || dtype == NVSI_BFLOAT16))
                bits &= 0x83ff; /* more denormals */
            memcpy(to, &bits, size);
        }
    }
}

#endif
