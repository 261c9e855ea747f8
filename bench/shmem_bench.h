/* shmem_bench.h - the memory of shmem_bench, and its collectives as operations of bench.h. */
#ifndef SHMEM_BENCH_H
#define SHMEM_BENCH_H

#include "bench.h"

extern char *x, *y; /* symmetric, MAX_BYTES: inputs, outputs */
extern char *own;   /* of this PE alone, MAX_BYTES */
extern int me, npes;

/* `bytes` are those of one PE's block. */
void coll_open(void);
void coll_all_reduce(size_t bytes);
void coll_broadcast(size_t bytes);
void coll_all_gather(size_t bytes);
void coll_all_to_all(size_t bytes);
#ifdef BENCH_NVS
void coll_reduce_scatter(size_t bytes);
void coll_all_reduce_ordinary(size_t bytes);
extern const struct sizes ordinary_sizes;
#endif

void coll_fill(size_t bytes);
void coll_fill_blocks(size_t bytes);
int coll_sum_is_wrong(size_t bytes);
int coll_gathered_is_wrong(size_t bytes);
int coll_copied_is_wrong(size_t bytes);

#endif
