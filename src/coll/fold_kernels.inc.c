/*
 * fold_kernels.inc.c - every kernel for one instruction set, and the table of them.
 *
 * The includer defines FOLD_TABLE, the name of the table, and FOLD_BYTES, the size of a vector
 * register; its compile options decide the instructions. Structure, so that a kernel can be found:
 *
 *   fold_kernels.inc.c   the types, and the table             uint8_sum, int8_max, float32_prod ...
 *   fold_type.inc.c      one type: walk, tiles, kernels       included once per type
 *   fold_lanes.inc.c     one type in vectors of one width     included twice per type
 *   fold_single.inc.c    one type, element by element
 *   fold_walk.inc.c      what the last two share
 *   fold_vector.h        what needs intrinsics
 *
 * All arithmetic is written in vector extensions, lane by lane, so every instruction set rounds
 * alike; needs -ffp-contract=off, since a fused multiply-add would not.
 */
#include "fold_kernels.h"
#include "fold_vector.h"

#include <stdint.h>
#include <string.h>

#define FOLD_PASTE(a, b, c) a##_##b##_##c
#define FOLD_NAME(a, b, c) FOLD_PASTE(a, b, c)

/* What fold_type.inc.c takes: TYPE names it, ELEM is the element in memory, ACC the lane that it is
 * folded in, ACC_MASK and ACC_BITS the signed and unsigned integer as wide as ACC, ACC_QUOTIENT the
 * type in which an average of integers divides. This may be a float that has 8 bits to spare: a
 * quotient x / y that is no integer is at least a part in x away from one, too far to round to it.
 * FOLD_CLASS is one of: */
#define FOLD_UNSIGNED 0
#define FOLD_SIGNED 1 /* only what depends on the sign; the rest is FOLD_UNSIGNED's */
#define FOLD_FLOAT 2
#define FOLD_FLOAT16 3
#define FOLD_BFLOAT16 4

#define TYPE uint8
#define ELEM uint8_t
#define ACC uint8_t
#define ACC_MASK int8_t
#define ACC_BITS uint8_t
#define ACC_QUOTIENT float
#define FOLD_CLASS FOLD_UNSIGNED
#include "fold_type.inc.c"

#define TYPE int8
#define ELEM int8_t
#define ACC int8_t
#define ACC_MASK int8_t
#define ACC_BITS uint8_t
#define ACC_QUOTIENT float
#define FOLD_CLASS FOLD_SIGNED
#include "fold_type.inc.c"

#define TYPE uint16
#define ELEM uint16_t
#define ACC uint16_t
#define ACC_MASK int16_t
#define ACC_BITS uint16_t
#define ACC_QUOTIENT float
#define FOLD_CLASS FOLD_UNSIGNED
#include "fold_type.inc.c"

#define TYPE int16
#define ELEM int16_t
#define ACC int16_t
#define ACC_MASK int16_t
#define ACC_BITS uint16_t
#define ACC_QUOTIENT float
#define FOLD_CLASS FOLD_SIGNED
#include "fold_type.inc.c"

#define TYPE uint32
#define ELEM uint32_t
#define ACC uint32_t
#define ACC_MASK int32_t
#define ACC_BITS uint32_t
#define ACC_QUOTIENT double
#define FOLD_CLASS FOLD_UNSIGNED
#include "fold_type.inc.c"

#define TYPE int32
#define ELEM int32_t
#define ACC int32_t
#define ACC_MASK int32_t
#define ACC_BITS uint32_t
#define ACC_QUOTIENT double
#define FOLD_CLASS FOLD_SIGNED
#include "fold_type.inc.c"

#define TYPE uint64
#define ELEM uint64_t
#define ACC uint64_t
#define ACC_MASK int64_t
#define ACC_BITS uint64_t
#define ACC_QUOTIENT uint64_t
#define FOLD_CLASS FOLD_UNSIGNED
#include "fold_type.inc.c"

#define TYPE int64
#define ELEM int64_t
#define ACC int64_t
#define ACC_MASK int64_t
#define ACC_BITS uint64_t
#define ACC_QUOTIENT int64_t
#define FOLD_CLASS FOLD_SIGNED
#include "fold_type.inc.c"

#define TYPE float32
#define ELEM float
#define ACC float
#define ACC_MASK int32_t
#define ACC_BITS uint32_t
#define FOLD_CLASS FOLD_FLOAT
#include "fold_type.inc.c"

#define TYPE float64
#define ELEM double
#define ACC double
#define ACC_MASK int64_t
#define ACC_BITS uint64_t
#define FOLD_CLASS FOLD_FLOAT
#include "fold_type.inc.c"

#define TYPE float16
#define ELEM uint16_t
#define ACC float
#define ACC_MASK int32_t
#define ACC_BITS uint32_t
#define FOLD_CLASS FOLD_FLOAT16
#include "fold_type.inc.c"

#define TYPE bfloat16
#define ELEM uint16_t
#define ACC float
#define ACC_MASK int32_t
#define ACC_BITS uint32_t
#define FOLD_CLASS FOLD_BFLOAT16
#include "fold_type.inc.c"

/* A sum of complex numbers is one of twice as many real ones. */
static void complexf_sum(const struct nvsi_fold *fold)
{
    struct nvsi_fold parts = *fold;
    parts.nelems *= 2;
    float32_sum(&parts);
}

static void complexd_sum(const struct nvsi_fold *fold)
{
    struct nvsi_fold parts = *fold;
    parts.nelems *= 2;
    float64_sum(&parts);
}

/* Columns in the order of enum nvsi_op: sum prod max min avg and or xor. The sum, the product and
 * the bitwise operators of a signed type have the bits of its unsigned twin. */
const nvsi_fold_table FOLD_TABLE = {
    [NVSI_INT8] = {uint8_sum, uint8_prod, int8_max, int8_min, int8_avg, uint8_and, uint8_or,
                   uint8_xor},
    [NVSI_UINT8] = {uint8_sum, uint8_prod, uint8_max, uint8_min, uint8_avg, uint8_and, uint8_or,
                    uint8_xor},
    [NVSI_INT16] = {uint16_sum, uint16_prod, int16_max, int16_min, int16_avg, uint16_and, uint16_or,
                    uint16_xor},
    [NVSI_UINT16] = {uint16_sum, uint16_prod, uint16_max, uint16_min, uint16_avg, uint16_and,
                     uint16_or, uint16_xor},
    [NVSI_INT32] = {uint32_sum, uint32_prod, int32_max, int32_min, int32_avg, uint32_and, uint32_or,
                    uint32_xor},
    [NVSI_UINT32] = {uint32_sum, uint32_prod, uint32_max, uint32_min, uint32_avg, uint32_and,
                     uint32_or, uint32_xor},
    [NVSI_INT64] = {uint64_sum, uint64_prod, int64_max, int64_min, int64_avg, uint64_and, uint64_or,
                    uint64_xor},
    [NVSI_UINT64] = {uint64_sum, uint64_prod, uint64_max, uint64_min, uint64_avg, uint64_and,
                     uint64_or, uint64_xor},
    [NVSI_FLOAT16] = {float16_sum, float16_prod, float16_max, float16_min, float16_avg},
    [NVSI_FLOAT32] = {float32_sum, float32_prod, float32_max, float32_min, float32_avg},
    [NVSI_FLOAT64] = {float64_sum, float64_prod, float64_max, float64_min, float64_avg},
    [NVSI_BFLOAT16] = {bfloat16_sum, bfloat16_prod, bfloat16_max, bfloat16_min, bfloat16_avg},
    [NVSI_LONGDOUBLE] = {nvsi_fold_longdouble_sum, nvsi_fold_longdouble_prod,
                         nvsi_fold_longdouble_max, nvsi_fold_longdouble_min,
                         nvsi_fold_longdouble_avg},
    [NVSI_COMPLEXF] = {complexf_sum, nvsi_fold_complexf_prod},
    [NVSI_COMPLEXD] = {complexd_sum, nvsi_fold_complexd_prod},
};
