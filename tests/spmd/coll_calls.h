/*
 * coll_calls.h - every typed collective of shmem.h, nvshmem.h and nvs.h behind one signature, as
 * rows of a table. The lists of types are written from the standards, not from the generator of the
 * library, so that a function that is missing there does not compile here.
 */
#ifndef TESTS_SPMD_COLL_CALLS_H
#define TESTS_SPMD_COLL_CALLS_H

#include "coll.h"

enum kind { BROADCAST, GATHER, COLLECT, ALL_TO_ALL, ALL_TO_ALL_STRIDED, REDUCE, REDUCE_SCATTER };

struct coll_fn;

/* The arguments of any collective; each function takes those that it has. */
struct coll_call {
    const struct coll_fn *fn;
    int team;
    void *dst;
    const void *src;
    size_t nelems;
    int root;
    ptrdiff_t dst_stride, src_stride;
    int start, log_stride, size; /* the active set */
    long *sync;
    void *work;
};

struct coll_fn {
    const char *name;
    int kind, type, op;
    int (*call)(const struct coll_call *c);
    bool any_memory; /* not only symmetric */
    bool root_keeps; /* the root's dst is not written */
};

/* ---- lists of types: X(API, OP, name, C type, type) ------------------------------------------ */

#define FIXED_TYPES(X, A, O)                                                                       \
    X(A, O, int8, int8_t, NVS_INT8)                                                                \
    X(A, O, int16, int16_t, T_INT16)                                                               \
    X(A, O, int32, int32_t, NVS_INT32)                                                             \
    X(A, O, int64, int64_t, NVS_INT64)                                                             \
    X(A, O, uint8, uint8_t, NVS_UINT8)                                                             \
    X(A, O, uint16, uint16_t, T_UINT16)                                                            \
    X(A, O, uint32, uint32_t, NVS_UINT32)                                                          \
    X(A, O, uint64, uint64_t, NVS_UINT64)                                                          \
    X(A, O, size, size_t, NVS_UINT64)
#define UNSIGNED_TYPES(X, A, O)                                                                    \
    X(A, O, uchar, unsigned char, NVS_UINT8)                                                       \
    X(A, O, ushort, unsigned short, T_UINT16)                                                      \
    X(A, O, uint, unsigned int, NVS_UINT32)                                                        \
    X(A, O, ulong, unsigned long, NVS_UINT64)                                                      \
    X(A, O, ulonglong, unsigned long long, NVS_UINT64)
#define SIGNED_TYPES(X, A, O)                                                                      \
    X(A, O, short, short, T_INT16)                                                                 \
    X(A, O, int, int, NVS_INT32)                                                                   \
    X(A, O, long, long, NVS_INT64)                                                                 \
    X(A, O, longlong, long long, NVS_INT64)
#define CHAR_TYPES(X, A, O)                                                                        \
    X(A, O, char, char, (char)-1 < 0 ? NVS_INT8 : NVS_UINT8)                                       \
    X(A, O, schar, signed char, NVS_INT8)
#define PTRDIFF_TYPE(X, A, O) X(A, O, ptrdiff, ptrdiff_t, NVS_INT64)
#define FLOAT_TYPES(X, A, O) X(A, O, float, float, NVS_FLOAT32) X(A, O, double, double, NVS_FLOAT64)
#define LONGDOUBLE_TYPE(X, A, O) X(A, O, longdouble, long double, T_LONGDOUBLE)
#define COMPLEX_TYPES(X, A, O)                                                                     \
    X(A, O, complexf, float complex, T_COMPLEXF)                                                   \
    X(A, O, complexd, double complex, T_COMPLEXD)
#define HALF_TYPES(X, A, O)                                                                        \
    X(A, O, half, nvshmem_half, NVS_FLOAT16)                                                       \
    X(A, O, bfloat16, nvshmem_bfloat16, NVS_BFLOAT16)

#define NVSHMEM_ARITHMETIC_TYPES(X, A, O)                                                          \
    HALF_TYPES(X, A, O)                                                                            \
    FLOAT_TYPES(X, A, O)                                                                           \
    CHAR_TYPES(X, A, O) SIGNED_TYPES(X, A, O) UNSIGNED_TYPES(X, A, O) FIXED_TYPES(X, A, O)
#define NVSHMEM_TYPES(X, A, O) NVSHMEM_ARITHMETIC_TYPES(X, A, O) PTRDIFF_TYPE(X, A, O)
#define NVSHMEM_BITWISE_TYPES(X, A, O) UNSIGNED_TYPES(X, A, O) FIXED_TYPES(X, A, O)
#define SHMEM_TYPES(X, A, O)                                                                       \
    FLOAT_TYPES(X, A, O)                                                                           \
    LONGDOUBLE_TYPE(X, A, O)                                                                       \
    CHAR_TYPES(X, A, O)                                                                            \
    SIGNED_TYPES(X, A, O) UNSIGNED_TYPES(X, A, O) FIXED_TYPES(X, A, O) PTRDIFF_TYPE(X, A, O)
#define SHMEM_SUM_TYPES(X, A, O) SHMEM_TYPES(X, A, O) COMPLEX_TYPES(X, A, O)
#define SHMEM_BITWISE_TYPES(X, A, O)                                                               \
    SIGNED_TYPES(X, A, O) UNSIGNED_TYPES(X, A, O) FIXED_TYPES(X, A, O)

#define SHMEM_REDUCTIONS(X)                                                                        \
    SHMEM_BITWISE_TYPES(X, shmem, and)                                                             \
    SHMEM_BITWISE_TYPES(X, shmem, or)                                                              \
    SHMEM_BITWISE_TYPES(X, shmem, xor)                                                             \
    SHMEM_TYPES(X, shmem, max)                                                                     \
    SHMEM_TYPES(X, shmem, min) SHMEM_SUM_TYPES(X, shmem, sum) SHMEM_SUM_TYPES(X, shmem, prod)
#define NVSHMEM_REDUCTIONS(X)                                                                      \
    NVSHMEM_BITWISE_TYPES(X, nvshmem, and)                                                         \
    NVSHMEM_BITWISE_TYPES(X, nvshmem, or)                                                          \
    NVSHMEM_BITWISE_TYPES(X, nvshmem, xor)                                                         \
    NVSHMEM_ARITHMETIC_TYPES(X, nvshmem, max)                                                      \
    NVSHMEM_ARITHMETIC_TYPES(X, nvshmem, min)                                                      \
    NVSHMEM_ARITHMETIC_TYPES(X, nvshmem, sum) NVSHMEM_ARITHMETIC_TYPES(X, nvshmem, prod)

/* The operators as they stand in the names of functions. */
enum {
    NAMED_and = OP_AND,
    NAMED_or = OP_OR,
    NAMED_xor = OP_XOR,
    NAMED_max = NVS_MAX,
    NAMED_min = NVS_MIN,
    NAMED_sum = NVS_SUM,
    NAMED_prod = NVS_PROD
};

/* ---- one signature --------------------------------------------------------------------------- */

#define CALL(function, ...)                                                                        \
    static int call_##function(const struct coll_call *c)                                          \
    {                                                                                              \
        return function(c->team, c->dst, c->src, __VA_ARGS__);                                     \
    }

#define CALL_BROADCAST(A, O, N, C, T) CALL(A##_##N##_broadcast, c->nelems, c->root)
#define CALL_FCOLLECT(A, O, N, C, T) CALL(A##_##N##_fcollect, c->nelems)
#define CALL_COLLECT(A, O, N, C, T) CALL(A##_##N##_collect, c->nelems)
#define CALL_ALLTOALL(A, O, N, C, T) CALL(A##_##N##_alltoall, c->nelems)
#define CALL_ALLTOALLS(A, O, N, C, T)                                                              \
    CALL(A##_##N##_alltoalls, c->dst_stride, c->src_stride, c->nelems)
#define CALL_REDUCE(A, O, N, C, T) CALL(A##_##N##_##O##_reduce, c->nelems)
#define CALL_REDUCESCATTER(A, O, N, C, T) CALL(A##_##N##_##O##_reducescatter, c->nelems)

SHMEM_TYPES(CALL_BROADCAST, shmem, )
SHMEM_TYPES(CALL_FCOLLECT, shmem, )
SHMEM_TYPES(CALL_COLLECT, shmem, )
SHMEM_TYPES(CALL_ALLTOALL, shmem, )
SHMEM_TYPES(CALL_ALLTOALLS, shmem, )
SHMEM_REDUCTIONS(CALL_REDUCE)
CALL(shmem_broadcastmem, c->nelems, c->root)
CALL(shmem_fcollectmem, c->nelems)
CALL(shmem_collectmem, c->nelems)
CALL(shmem_alltoallmem, c->nelems)
CALL(shmem_alltoallsmem, c->dst_stride, c->src_stride, c->nelems)

NVSHMEM_TYPES(CALL_BROADCAST, nvshmem, )
NVSHMEM_TYPES(CALL_FCOLLECT, nvshmem, )
NVSHMEM_TYPES(CALL_ALLTOALL, nvshmem, )
NVSHMEM_REDUCTIONS(CALL_REDUCE)
NVSHMEM_REDUCTIONS(CALL_REDUCESCATTER)
CALL(nvshmem_broadcastmem, c->nelems, c->root)
CALL(nvshmem_fcollectmem, c->nelems)
CALL(nvshmem_alltoallmem, c->nelems)

#define TYPE ((enum nvs_dtype)c->fn->type)
#define OPERATOR ((enum nvs_op)c->fn->op)
CALL(nvs_broadcast, c->nelems, TYPE, c->root, NULL)
CALL(nvs_all_gather, c->nelems, TYPE, NULL)
CALL(nvs_all_to_all, c->nelems, TYPE, NULL)
CALL(nvs_all_reduce, c->nelems, TYPE, OPERATOR, NULL)
CALL(nvs_reduce_scatter, c->nelems, TYPE, OPERATOR, NULL)
#undef TYPE
#undef OPERATOR

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(KIND, function, T, O) {#function, KIND, T, O, call_##function, false, false},
#define ROW_BROADCAST(A, O, N, C, T) ROW(BROADCAST, A##_##N##_broadcast, T, 0)
#define ROW_FCOLLECT(A, O, N, C, T) ROW(GATHER, A##_##N##_fcollect, T, 0)
#define ROW_COLLECT(A, O, N, C, T) ROW(COLLECT, A##_##N##_collect, T, 0)
#define ROW_ALLTOALL(A, O, N, C, T) ROW(ALL_TO_ALL, A##_##N##_alltoall, T, 0)
#define ROW_ALLTOALLS(A, O, N, C, T) ROW(ALL_TO_ALL_STRIDED, A##_##N##_alltoalls, T, 0)
#define ROW_REDUCE(A, O, N, C, T) ROW(REDUCE, A##_##N##_##O##_reduce, T, NAMED_##O)
#define ROW_REDUCESCATTER(A, O, N, C, T)                                                           \
    ROW(REDUCE_SCATTER, A##_##N##_##O##_reducescatter, T, NAMED_##O)

#define NVS_ROW(KIND, function, T, O) {#function, KIND, T, O, call_##function, true, false},
#define NVS_REDUCTIONS(T, O)                                                                       \
    NVS_ROW(REDUCE, nvs_all_reduce, T, O) NVS_ROW(REDUCE_SCATTER, nvs_reduce_scatter, T, O)
#define NVS_ROWS(T)                                                                                \
    NVS_ROW(BROADCAST, nvs_broadcast, T, 0)                                                        \
    NVS_ROW(GATHER, nvs_all_gather, T, 0)                                                          \
    NVS_ROW(ALL_TO_ALL, nvs_all_to_all, T, 0)                                                      \
    NVS_REDUCTIONS(T, NVS_SUM)                                                                     \
    NVS_REDUCTIONS(T, NVS_PROD)                                                                    \
    NVS_REDUCTIONS(T, NVS_MAX) NVS_REDUCTIONS(T, NVS_MIN) NVS_REDUCTIONS(T, NVS_AVG)

static const struct coll_fn coll_fns[] = {
    NVS_ROWS(NVS_INT8) NVS_ROWS(NVS_UINT8) NVS_ROWS(NVS_INT32) NVS_ROWS(NVS_UINT32)
        NVS_ROWS(NVS_INT64) NVS_ROWS(NVS_UINT64) NVS_ROWS(NVS_FLOAT16) NVS_ROWS(NVS_FLOAT32)
            NVS_ROWS(NVS_FLOAT64) NVS_ROWS(NVS_BFLOAT16)
#define NUM_NVS_FNS 130 /* they come first; asserted below */
                SHMEM_TYPES(ROW_BROADCAST, shmem, ) SHMEM_TYPES(ROW_FCOLLECT, shmem, ) SHMEM_TYPES(
                    ROW_COLLECT, shmem, ) SHMEM_TYPES(ROW_ALLTOALL,
                                                      shmem, ) SHMEM_TYPES(ROW_ALLTOALLS, shmem, )
                    SHMEM_REDUCTIONS(ROW_REDUCE) ROW(BROADCAST, shmem_broadcastmem, NVS_UINT8,
                                                     0) ROW(GATHER, shmem_fcollectmem, NVS_UINT8, 0)
                        ROW(COLLECT, shmem_collectmem, NVS_UINT8,
                            0) ROW(ALL_TO_ALL, shmem_alltoallmem, NVS_UINT8,
                                   0) ROW(ALL_TO_ALL_STRIDED, shmem_alltoallsmem, NVS_UINT8, 0)
                            NVSHMEM_TYPES(ROW_BROADCAST, nvshmem, ) NVSHMEM_TYPES(
                                ROW_FCOLLECT, nvshmem, ) NVSHMEM_TYPES(ROW_ALLTOALL, nvshmem, )
                                NVSHMEM_REDUCTIONS(ROW_REDUCE) NVSHMEM_REDUCTIONS(ROW_REDUCESCATTER)
                                    ROW(BROADCAST, nvshmem_broadcastmem, NVS_UINT8, 0)
                                        ROW(GATHER, nvshmem_fcollectmem, NVS_UINT8, 0)
                                            ROW(ALL_TO_ALL, nvshmem_alltoallmem, NVS_UINT8, 0)};
enum { NUM_COLL_FNS = sizeof coll_fns / sizeof coll_fns[0] };

/* The first function of this name with this type and operator. */
static inline const struct coll_fn *coll_find(const char *name, int type, int op)
{
    for (int i = 0; i < NUM_COLL_FNS; i++)
        if (strcmp(coll_fns[i].name, name) == 0 && coll_fns[i].type == type && coll_fns[i].op == op)
            return &coll_fns[i];
    fprintf(stderr, "no function %s (type %d, op %d)\n", name, type, op);
    abort();
}

#endif
