/*
 * generics.h - what the tests of the type-generic names share: lists of the types that each name
 * takes, X(type, name), written from the standard; a check; begin and end.
 *
 * That a name finds the function of the type is seen from the results. Each PE works on its right
 * neighbour, with the default context, without one, and with one made here.
 */
#ifndef TESTS_SPMD_GENERICS_H
#define TESTS_SPMD_GENERICS_H

#include <complex.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static int failures, me, npes, to;
static shmem_ctx_t ctx;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "PE %d: %s: %s\n", me, __func__, #condition);                          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define FOR_STANDARD(X)                                                                            \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(long long, longlong)                                                                         \
    X(unsigned int, uint)                                                                          \
    X(unsigned long, ulong)                                                                        \
    X(unsigned long long, ulonglong)                                                               \
    X(int32_t, int32)                                                                              \
    X(int64_t, int64)                                                                              \
    X(uint32_t, uint32)                                                                            \
    X(uint64_t, uint64)                                                                            \
    X(size_t, size)                                                                                \
    X(ptrdiff_t, ptrdiff)
#define FOR_SMALL(X)                                                                               \
    X(signed char, schar)                                                                          \
    X(unsigned char, uchar)                                                                        \
    X(int8_t, int8)                                                                                \
    X(uint8_t, uint8)                                                                              \
    X(int16_t, int16)                                                                              \
    X(uint16_t, uint16)
#define FOR_SHORT(X) X(short, short) X(unsigned short, ushort)
#define FOR_REAL(X) X(float, float) X(double, double)
#define FOR_RMA(X)                                                                                 \
    FOR_STANDARD(X)                                                                                \
    FOR_SMALL(X) FOR_SHORT(X) FOR_REAL(X) X(char, char) X(long double, longdouble)
#define FOR_BITWISE(X)                                                                             \
    X(unsigned int, uint)                                                                          \
    X(unsigned long, ulong)                                                                        \
    X(unsigned long long, ulonglong)                                                               \
    X(int32_t, int32) X(int64_t, int64) X(uint32_t, uint32) X(uint64_t, uint64)
#define FOR_BITWISE_REDUCE(X) FOR_STANDARD(X) FOR_SMALL(X) FOR_SHORT(X)
#define FOR_COMPLEX(X) X(double complex, complexd) X(float complex, complexf)

static inline void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
}

static inline int end(void)
{
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    return failures != 0;
}

#endif
