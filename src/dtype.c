/*
 * dtype.c - what the core knows of element types and operators: one row each.
 *
 * A row says which class a type belongs to, and a class says which operators it has, so that a new
 * type is one line here and one row of kernels in coll/fold_kernels.inc.c.
 */
#include "dtype.h"

#include <stdint.h>

#define OP(op) (1u << NVSI_##op)
#define OPS_COMPLEX (OP(SUM) | OP(PROD))
#define OPS_REAL (OPS_COMPLEX | OP(MAX) | OP(MIN) | OP(AVG))
#define OPS_INTEGER (OPS_REAL | OP(AND) | OP(OR) | OP(XOR))

static const struct {
    const char *name;
    unsigned char size;
    unsigned char ops; /* bit set of enum nvsi_op */
} dtypes[NVSI_NUM_DTYPES] = {
    [NVSI_INT8] = {"int8", sizeof(int8_t), OPS_INTEGER},
    [NVSI_UINT8] = {"uint8", sizeof(uint8_t), OPS_INTEGER},
    [NVSI_INT32] = {"int32", sizeof(int32_t), OPS_INTEGER},
    [NVSI_UINT32] = {"uint32", sizeof(uint32_t), OPS_INTEGER},
    [NVSI_INT64] = {"int64", sizeof(int64_t), OPS_INTEGER},
    [NVSI_UINT64] = {"uint64", sizeof(uint64_t), OPS_INTEGER},
    [NVSI_FLOAT16] = {"float16", sizeof(uint16_t), OPS_REAL},
    [NVSI_FLOAT32] = {"float32", sizeof(float), OPS_REAL},
    [NVSI_FLOAT64] = {"float64", sizeof(double), OPS_REAL},
    [NVSI_BFLOAT16] = {"bfloat16", sizeof(uint16_t), OPS_REAL},
    [NVSI_INT16] = {"int16", sizeof(int16_t), OPS_INTEGER},
    [NVSI_UINT16] = {"uint16", sizeof(uint16_t), OPS_INTEGER},
    [NVSI_LONGDOUBLE] = {"longdouble", sizeof(long double), OPS_REAL},
    [NVSI_COMPLEXF] = {"complexf", 2 * sizeof(float), OPS_COMPLEX},
    [NVSI_COMPLEXD] = {"complexd", 2 * sizeof(double), OPS_COMPLEX},
};

static const char *const op_names[NVSI_NUM_OPS] = {
    [NVSI_SUM] = "sum", [NVSI_PROD] = "prod", [NVSI_MAX] = "max", [NVSI_MIN] = "min",
    [NVSI_AVG] = "avg", [NVSI_AND] = "and",   [NVSI_OR] = "or",   [NVSI_XOR] = "xor",
};

_Static_assert(NVSI_NUM_OPS <= 8, "the ops bit set is one byte");

static int dtype_valid(int dtype)
{
    return dtype >= 0 && dtype < NVSI_NUM_DTYPES;
}

static int op_valid(int op)
{
    return op >= 0 && op < NVSI_NUM_OPS;
}

size_t nvsi_dtype_size(int dtype)
{
    return dtype_valid(dtype) ? dtypes[dtype].size : 0;
}

const char *nvsi_dtype_name(int dtype)
{
    return dtype_valid(dtype) ? dtypes[dtype].name : "?";
}

const char *nvsi_op_name(int op)
{
    return op_valid(op) ? op_names[op] : "?";
}

int nvsi_op_defined(int dtype, int op)
{
    return dtype_valid(dtype) && op_valid(op) && (dtypes[dtype].ops >> op & 1);
}
