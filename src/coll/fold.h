/*
 * fold.h - the arithmetic of every reduction: dst[0..] = src[0] op src[1] op ... op src[nsrc - 1].
 *
 * One call reads each input once and writes each output once; partial results stay in registers.
 * The result is a strict left fold, element by element, so its bits depend on nothing but the
 * inputs and their order: not on the instruction set, the count, the alignment or `stream`.
 *
 *  - Integers wrap around. NVSI_AVG of integers divides the wrapped sum and truncates towards zero.
 *  - float16 and bfloat16 are folded in float and rounded once, to nearest even, at the end.
 *  - NVSI_MIN keeps the left value unless the right one is less (`b < a ? b : a`), NVSI_MAX
 *    likewise with greater. So a NaN in src[0] stays, a NaN in a later source is ignored, and of
 *    two zeros of unlike sign the left one stays.
 *  - Otherwise a NaN gives a NaN; where several meet, which one's sign and payload survives is the
 *    one thing left to the compiler.
 */
#ifndef NVSI_FOLD_H
#define NVSI_FOLD_H

#include "../dtype.h"

#include <stddef.h>

struct nvsi_fold {
    void *const *dst;       /* ndst outputs; each may be exactly one of src, never partly overlap */
    const void *const *src; /* nsrc >= 1 inputs; aligned as their element is, as dst */
    int ndst, nsrc;
    size_t nelems;
    int dtype, op; /* nvsi_op_defined(dtype, op) holds */
    int divisor;   /* NVSI_AVG only, >= 1: divides the sum once, after the last source */
    int stream;    /* store around the caches, for results larger than these; fenced on return */
};

/* Does not block, allocate or fail. Safe from any thread, before nvsi_fold_setup() too. */
void nvsi_fold(const struct nvsi_fold *fold);

/* Picks the best instruction set of this CPU; to be called before threads exist. Idempotent, and
 * leaves a choice made by nvsi_fold_select() alone. */
void nvsi_fold_setup(void);

/* Forces "generic", "avx2", "avx512" or "neon" for tests and benchmarks. 0, or -1 and no change
 * if this CPU or this build has not got it. */
int nvsi_fold_select(const char *isa);

/* The instruction set in use. */
const char *nvsi_fold_isa(void);

/* The instruction sets that this build has kernels for, best first: the name of number k, and
 * whether this CPU has it. NULL, *available untouched, after the last. */
const char *nvsi_fold_isa_at(size_t k, int *available);

#endif
