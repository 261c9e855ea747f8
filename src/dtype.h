/*
 * dtype.h - element types and reduction operators, as the untyped core names them.
 *
 * The first ten types and first five operators have the values of the public enum nvs_dtype and
 * enum nvs_op (which are NCCL's), so that nvs.h passes its arguments through unchanged. The others
 * exist only because OpenSHMEM and NVSHMEM reduce them.
 */
#ifndef NVSI_DTYPE_H
#define NVSI_DTYPE_H

#include <stddef.h>

enum nvsi_dtype {
    NVSI_INT8 = 0,
    NVSI_UINT8 = 1,
    NVSI_INT32 = 2,
    NVSI_UINT32 = 3,
    NVSI_INT64 = 4,
    NVSI_UINT64 = 5,
    NVSI_FLOAT16 = 6,
    NVSI_FLOAT32 = 7,
    NVSI_FLOAT64 = 8,
    NVSI_BFLOAT16 = 9,
    NVSI_INT16 = 10,
    NVSI_UINT16 = 11,
    NVSI_LONGDOUBLE = 12,
    NVSI_COMPLEXF = 13,
    NVSI_COMPLEXD = 14,
    NVSI_NUM_DTYPES = 15
};

enum nvsi_op {
    NVSI_SUM = 0,
    NVSI_PROD = 1,
    NVSI_MAX = 2,
    NVSI_MIN = 3,
    NVSI_AVG = 4, /* the sum divided by the number of PEs, once, at the end */
    NVSI_AND = 5, /* bitwise; integer types only, as OR and XOR */
    NVSI_OR = 6,
    NVSI_XOR = 7,
    NVSI_NUM_OPS = 8
};

/* Size of one element in bytes; 0 for a value that is no type. */
size_t nvsi_dtype_size(int dtype);

/* Names as people write them ("float32", "sum"); "?" for a value that is none. */
const char *nvsi_dtype_name(int dtype);
const char *nvsi_op_name(int op);

/* Whether the operator is defined for the type (no max of complex, no xor of float, ...). */
int nvsi_op_defined(int dtype, int op);

#endif
