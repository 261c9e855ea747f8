/*
 * kernels.h - what the kernels of nvs-perf are given: one structure by value. Read by kernel.c and
 * kernels.cuh.
 */
#ifndef PERF_KERNELS_H
#define PERF_KERNELS_H

#include <stdint.h>

enum kernel_op {
    KERNEL_NONE,
    KERNEL_PUT,
    KERNEL_PUT_NBI,
    KERNEL_GET,
    KERNEL_GET_NBI,
    KERNEL_PUT_SIGNAL,
    KERNEL_SIGNAL,
    KERNEL_PING_PONG,
    KERNEL_P,
    KERNEL_G,
    KERNEL_BARRIER,
    KERNEL_SYNC,
    KERNEL_BROADCAST,
    KERNEL_ALL_GATHER,
    KERNEL_ALL_TO_ALL,
    KERNEL_ALL_REDUCE,
    KERNEL_REDUCE_SCATTER,
    KERNEL_ATOMIC /* and the ones that follow, in the order of ops_atomic[] */
};

/* Barriers and collectives, which have a kernel each. */
enum { NUM_COLLECTIVES = KERNEL_REDUCE_SCATTER - KERNEL_BARRIER + 1 };

/* The order of ops_atomic[]. */
enum kernel_atomic {
    ATOMIC_FETCH_ADD,
    ATOMIC_ADD,
    ATOMIC_FETCH_INC,
    ATOMIC_INC,
    ATOMIC_SWAP,
    ATOMIC_CSWAP,
    ATOMIC_FETCH,
    ATOMIC_SET,
    ATOMIC_FETCH_AND,
    ATOMIC_AND,
    ATOMIC_FETCH_OR,
    ATOMIC_OR,
    ATOMIC_FETCH_XOR,
    ATOMIC_XOR
};

struct kernel_args {
    char *dst, *src;                /* of copy 0 */
    uint64_t nbytes, count;         /* of a block */
    uint64_t stride, copies;        /* between copies; how many take turns */
    uint64_t first, n;              /* iterations */
    uint64_t *signal, *turn, *word; /* of the board */
    uint64_t answers;               /* that were waited for before: op->answers */
    uint64_t old;                   /* atomics: the last value that came back */
    uint64_t *result;               /* gets the last value that came back */
    int32_t op;                     /* enum kernel_op */
    int32_t to, from;               /* route */
    int32_t root;
    int32_t type; /* enum nvs_dtype */
    int32_t elem_bytes;
};

/* What the check of atomics expects: op_atomic.c. */
#define KERNEL_OPERAND(index) ((index)*0x9e3779b97f4a7c15ull | 1)

#endif
