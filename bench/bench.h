/*
 * bench.h - what the benchmark programs share: a clock, medians, and the form of a result.
 *
 * A program takes BATCHES timings of each operation and prints one line with the median:
 *     RESULT <metric> <bytes> <microseconds>
 * run.py runs the programs in turns and compares them as ratios within the same run.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 15

static inline double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* us: BATCHES timings of one operation, in microseconds; sorted by the call. */
static inline void report(const char *metric, size_t bytes, double *us)
{
    qsort(us, BATCHES, sizeof *us, by_value);
    printf("RESULT %s %zu %.4f\n", metric, bytes, us[BATCHES / 2]);
    fflush(stdout);
}

/* Repetitions in one batch: about a millisecond's worth, at least a few. */
static inline int repetitions(size_t bytes)
{
    if (bytes <= 64)
        return 5000;
    if (bytes <= 4096)
        return 2000;
    if (bytes <= 65536)
        return 400;
    return bytes <= 1u << 20 ? 50 : 4;
}

static const size_t reduce_bytes[] = {4, 1024, 65536, 1u << 20, 16u << 20, 64u << 20};
#define NREDUCE (sizeof reduce_bytes / sizeof *reduce_bytes)
#define MAX_BYTES ((size_t)64 << 20)

#endif
