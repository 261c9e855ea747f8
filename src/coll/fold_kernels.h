/*
 * fold_kernels.h - what fold.c and the kernel tables share; nobody else includes it.
 *
 * fold_kernels.inc.c is compiled once per instruction set (fold_generic.c, fold_avx2.c,
 * fold_avx512.c), each giving one table. Only fold.c looks at the CPU, and only it chooses.
 */
#ifndef NVSI_FOLD_KERNELS_H
#define NVSI_FOLD_KERNELS_H

#include "fold.h"

typedef void nvsi_fold_fn(const struct nvsi_fold *fold);

/* One kernel for each type and operator, NULL where nvsi_op_defined() is false. */
typedef nvsi_fold_fn *nvsi_fold_table[NVSI_NUM_DTYPES][NVSI_NUM_OPS];

extern const nvsi_fold_table nvsi_fold_generic; /* baseline of the target: SSE2, NEON, or none */
extern const nvsi_fold_table nvsi_fold_avx2;    /* AVX2 and F16C */
extern const nvsi_fold_table nvsi_fold_avx512;  /* AVX-512 F, BW, VL, DQ and F16C */

/* fold_scalar.c: types that vectors do not help, shared by all tables. */
nvsi_fold_fn nvsi_fold_longdouble_sum, nvsi_fold_longdouble_prod, nvsi_fold_longdouble_max,
    nvsi_fold_longdouble_min, nvsi_fold_longdouble_avg;
nvsi_fold_fn nvsi_fold_complexf_prod, nvsi_fold_complexd_prod;

#endif
