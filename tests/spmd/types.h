/*
 * types.h - the types of the typed functions, for tests that go through all of them: X(name, type).
 */
#ifndef TESTS_SPMD_TYPES_H
#define TESTS_SPMD_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define INTEGER_TYPES(X)                                                                           \
    X(char, char)                                                                                  \
    X(schar, signed char)                                                                          \
    X(short, short)                                                                                \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(longlong, long long)                                                                         \
    X(uchar, unsigned char)                                                                        \
    X(ushort, unsigned short)                                                                      \
    X(uint, unsigned int)                                                                          \
    X(ulong, unsigned long)                                                                        \
    X(ulonglong, unsigned long long)                                                               \
    X(int8, int8_t)                                                                                \
    X(int16, int16_t)                                                                              \
    X(int32, int32_t)                                                                              \
    X(int64, int64_t)                                                                              \
    X(uint8, uint8_t)                                                                              \
    X(uint16, uint16_t)                                                                            \
    X(uint32, uint32_t)                                                                            \
    X(uint64, uint64_t)                                                                            \
    X(size, size_t)                                                                                \
    X(ptrdiff, ptrdiff_t)

#define SHMEM_RMA_TYPES(X)                                                                         \
    X(float, float) X(double, double) X(longdouble, long double) INTEGER_TYPES(X)
#define NVSHMEM_RMA_TYPES(X)                                                                       \
    X(float, float)                                                                                \
    X(double, double) X(half, nvshmem_half) X(bfloat16, nvshmem_bfloat16) INTEGER_TYPES(X)

#define STANDARD_AMO_TYPES(X)                                                                      \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(longlong, long long)                                                                         \
    X(uint, unsigned int)                                                                          \
    X(ulong, unsigned long)                                                                        \
    X(ulonglong, unsigned long long)                                                               \
    X(int32, int32_t)                                                                              \
    X(int64, int64_t)                                                                              \
    X(uint32, uint32_t)                                                                            \
    X(uint64, uint64_t)                                                                            \
    X(size, size_t)                                                                                \
    X(ptrdiff, ptrdiff_t)
#define EXTENDED_AMO_TYPES(X) X(float, float) X(double, double) STANDARD_AMO_TYPES(X)
#define BITWISE_AMO_TYPES(X)                                                                       \
    X(uint, unsigned int)                                                                          \
    X(ulong, unsigned long)                                                                        \
    X(ulonglong, unsigned long long)                                                               \
    X(int32, int32_t)                                                                              \
    X(int64, int64_t)                                                                              \
    X(uint32, uint32_t)                                                                            \
    X(uint64, uint64_t)

#define WAIT_TYPES(X) X(short, short) X(ushort, unsigned short) STANDARD_AMO_TYPES(X)

#endif
