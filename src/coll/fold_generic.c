/*
 * fold_generic.c - the kernels for what every CPU of the target has: SSE2, NEON, or plain
 * registers.
 *
 * Compile with -ffp-contract=off.
 */
#define FOLD_TABLE nvsi_fold_generic
#define FOLD_BYTES 16
#include "fold_kernels.inc.c"
