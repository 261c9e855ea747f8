/*
 * measure.c - the clock.
 *
 * As nccl-tests: n iterations back to back, divided by n. The PE that takes longest counts. On
 * request a second series reads the clock around every iteration, for percentiles; its reads (some
 * 25 ns each) would spoil the first.
 */
#include "perf.h"

#include <stdlib.h>
#include <time.h>

/* Without -n: as many iterations as take TARGET seconds, within limits. */
#define TARGET 0.02
enum { MIN_ITERS = 20, MAX_ITERS = 100000, MAX_SAMPLES = 1000000 };

const char *const percentile_names[NUM_PERCENTILES] = {"p50", "p90", "p99", "p99.9", "max"};
static const double percentile_shares[NUM_PERCENTILES] = {0.5, 0.9, 0.99, 0.999, 1};

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds_here(struct call *call, size_t first, size_t n)
{
    if (call->op->seconds)
        return call->op->seconds(call, n);
    double start = now();
    call_run(call, first, n);
    return now() - start;
}

/* The longest time that a PE needs for n iterations; all begin at once. */
static double seconds(struct call *call, size_t first, size_t n)
{
    call_prepare(call, first, n);
    shmem_barrier_all();
    double mine = seconds_here(call, first, n);
    return max_of_all(call->op->routed && call->route.to < 0 && call->route.from < 0 ? 0 : mine);
}

/* Messages of a PE, one after the other in its sense of time, in an iteration. */
static double messages_in_iteration(const struct call *call)
{
    if (call->op->threaded)
        return (double)call->options->threads;
    bool there_and_back =
        call->op->ping_pong && call->npes > 1 && call->options->pattern != PATTERN_RING;
    return there_and_back ? 2 : 1;
}

static void fill_all(struct call *call)
{
    struct data data = {.type = call->type,
                        .redop = call->op->reduces ? call->redop : REDOP_NONE,
                        .npes = call->npes};
    /* The host is slow with a GPU's memory; what is not checked may hold anything. */
    if (call->type && (!call->options->device || call->options->check))
        copies_fill(call, &data);
    shmem_barrier_all();
    call_touch(call);
    shmem_barrier_all();
}

/* From the fastest of a few series: a busy neighbour must not make a line of few iterations. */
long measure_iters(struct call *call)
{
    if (call->options->iters != ITERS_AUTO)
        return call->options->iters;
    fill_all(call);
    call_run(call, 0, 1);
    double took = 0, fastest = TARGET;
    for (size_t n = 1; took < TARGET / 20 && n < MAX_ITERS; n *= 4) {
        took = seconds(call, 0, n);
        if (took / (double)n < fastest)
            fastest = took / (double)n;
    }
    double iters = TARGET / fastest;
    return iters < MIN_ITERS ? MIN_ITERS : iters > MAX_ITERS ? MAX_ITERS : (long)iters;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The slowest PE's time of each iteration; nearest rank. */
static void measure_percentiles(struct call *call, long iters, struct figures *figures)
{
    size_t n = iters < MAX_SAMPLES ? (size_t)iters : MAX_SAMPLES;
    double *times = calloc(n, sizeof(*times)), messages = messages_in_iteration(call);
    if (!times) {
        fprintf(stderr, "nvs-perf: PE %d: no memory for the times of %zu iterations\n", call->me,
                n);
        shmem_global_exit(2);
    }
    bool idle = call->op->routed && call->route.to < 0 && call->route.from < 0;
    for (size_t i = 0; i < n; i++) {
        call_prepare(call, i, 1);
        if (i == 0)
            shmem_barrier_all();
        double took = seconds_here(call, i, 1);
        times[i] = idle ? 0 : took;
    }
    must(nvs_all_reduce(NVS_TEAM_WORLD, times, times, n, NVS_FLOAT64, NVS_MAX, NULL));
    qsort(times, n, sizeof(*times), ascending);
    for (int i = 0; i < NUM_PERCENTILES; i++) {
        size_t rank = (size_t)(percentile_shares[i] * (double)n + 0.999999);
        figures->percentiles[i] = times[rank ? rank - 1 : 0] * 1e6 / messages;
    }
    free(times);
}

/* PEs that send. */
static int senders(const struct call *call)
{
    if (call->options->pattern == PATTERN_ONE || call->npes == 1)
        return 1;
    return call->options->pattern == PATTERN_PAIRS ? call->npes / 2 : call->npes;
}

void measure(struct call *call, long iters, struct figures *figures)
{
    fill_all(call);
    size_t warmup = (size_t)call->options->warmup;
    if (warmup)
        call_run(call, 0, warmup);
    double took = seconds(call, warmup, (size_t)iters), messages = messages_in_iteration(call);
    figures->there = true;
    figures->us = took * 1e6 / (double)iters / messages;
    figures->alg = figures->us > 0 ? (double)call->size / figures->us * 1e-3 : 0;
    figures->bus = figures->alg * (call->op->bus ? call->op->bus(call->npes) : 1);
    if (call->op->threaded && figures->us > 0)
        figures->rate = senders(call) / figures->us;
    if (call->options->percentiles)
        measure_percentiles(call, iters, figures);
}
