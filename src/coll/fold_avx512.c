/*
 * fold_avx512.c - the kernels for AVX-512 (F, BW, VL, DQ) and F16C.
 *
 * Compile with -ffp-contract=off -mavx512f -mavx512bw -mavx512vl -mavx512dq -mf16c
 * -mprefer-vector-width=512 on x86-64; empty elsewhere.
 */
#ifdef __x86_64__
#ifndef __AVX512BW__
#error "this file needs -mavx512f -mavx512bw -mavx512vl -mavx512dq -mf16c"
#endif
#define FOLD_TABLE nvsi_fold_avx512
#define FOLD_BYTES 64
#include "fold_kernels.inc.c"
#else
typedef int fold_avx512_is_empty; /* ISO C wants a declaration */
#endif
