/*
 * fold_avx2.c - the kernels for AVX2 and F16C.
 *
 * Compile with -ffp-contract=off -mavx2 -mf16c on x86-64; empty elsewhere.
 */
#ifdef __x86_64__
#ifndef __F16C__
#error "this file needs -mavx2 -mf16c"
#endif
#define FOLD_TABLE nvsi_fold_avx2
#define FOLD_BYTES 32
#include "fold_kernels.inc.c"
#else
typedef int fold_avx2_is_empty; /* ISO C wants a declaration */
#endif
