/*
 * bench.c - times operations in batches.
 *
 * A batch is about a millisecond of repetitions: short against the time for which a shared machine
 * stays the same, long against the clock. The first batch is not counted: it brings pages and
 * caches into the state that the others have. What is reported is the median of the batches, which
 * a few interrupted ones do not move, and the best.
 */
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 15
#define BUSY_US 20000
#define CROWD_US 250000
#define HUGE_PAGE ((size_t)2 << 20)

const struct sizes no_bytes = {1, {0}}, word_sizes = {1, {8}};
const struct sizes copy_sizes = {3, {65536, 1u << 20, 16u << 20}};
const struct sizes reduce_sizes = {6, {4, 1024, 65536, 1u << 20, 16u << 20, 64u << 20}};
const struct sizes collective_sizes = {3, {8, 65536, 1u << 20}};

double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

void bench_end(void)
{
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_OTHER, &none);
}

char *private_memory(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, HUGE_PAGE, bytes)) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(3);
    }
    memset(memory, 1, bytes);
    return memory;
}

void bench_fill(void *x, void *y, size_t bytes, int me)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        ((float *)x)[i] = (float)(me + 1);
        ((float *)y)[i] = 0;
    }
}

int bench_differs(const void *memory, size_t bytes, float value)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        if (((const float *)memory)[i] != value)
            return 1;
    }
    return 0;
}

int bench_asked(const char *word, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], word))
            return 1;
    return 0;
}

/* "crowd" is for more PEs than cores and has to be asked for. */
static int is_chosen(const struct operation *op, int argc, char **argv)
{
    if (argc < 2)
        return strcmp(op->group, "crowd") != 0;
    return bench_asked(op->group, argc, argv) || bench_asked(op->metric, argc, argv);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int batches_of(const struct operation *op, size_t bytes)
{
    return bytes >= 16u << 20 || op->timing >= ONCE ? 9 : BATCHES;
}

static int repetitions(const struct operation *op, size_t bytes)
{
    if (op->timing >= ONCE)
        return 1;
    if (bytes <= 64)
        return 3000;
    if (bytes <= 4096)
        return 1500;
    if (bytes <= 65536)
        return 200;
    return bytes <= 1u << 20 ? 24 : 2;
}

static double time_loop(const struct operation *op, size_t bytes, int repeat)
{
    double start = now_us();
    for (int i = 0; i < repeat; i++)
        op->run(bytes);
    return now_us() - start;
}

static double time_each(const struct side *side, const struct operation *op, size_t bytes,
                        int repeat)
{
    double sum = 0;
    for (int i = 0; i < repeat; i++) {
        side->barrier();
        double start = now_us();
        op->run(bytes);
        sum += now_us() - start;
    }
    return sum;
}

static void compute(double us)
{
    double start = now_us();
    while (now_us() - start < us)
        ;
}

static double batch(const struct side *side, const struct operation *op, size_t bytes)
{
    int repeat = repetitions(op, bytes), working = op->timing == ON_ALL || side->me == 0;
    double us = 0;
    side->barrier();
    if (op->timing == EACH) {
        us = time_each(side, op, bytes, repeat);
    } else if (working) {
        /* The others have left the barrier and compute, or wait in the next one. */
        if (op->timing >= ONCE)
            compute(BUSY_US / 10.0);
        us = time_loop(op, bytes, repeat);
        if (op->timing == ONCE) /* as long as WHILE_BUSY, so that caches are equally cold */
            compute(BUSY_US * 0.9);
    } else if (op->timing == WHILE_BUSY) {
        compute(BUSY_US);
    }
    us /= repeat * (op->parts ? op->parts : 1);
    return op->timing == ON_ALL || op->timing == EACH ? side->largest(us) : us;
}

static void report(const char *prefix, const struct operation *op, size_t bytes, double *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    printf("RESULT %s%s %zu %.5f %.5f\n", prefix, op->metric, bytes, us[n / 2], us[0]);
    fflush(stdout);
}

/* In a crowd the time goes by in the slices of the scheduler: one batch, so long that it has many
 * of them. All PEs see the same time, so all repeat equally often. */
static void measure_crowd(const struct side *side, const struct operation *op, size_t bytes)
{
    double us = 0;
    int repeat = 4;
    do {
        repeat *= 4;
        side->barrier();
        us = side->largest(time_loop(op, bytes, repeat));
    } while (us < CROWD_US);
    us /= repeat;
    if (side->me == 0)
        report("", op, bytes, &us, 1);
}

/* Batches of op and of its twin in turns, and of each whether the result is right: a twin that
 * wrote into the same memory last would hide an operation that wrote nothing. */
static int measure(const struct side *side, const struct operation *op,
                   const struct operation *twin, size_t bytes)
{
    const struct operation *pair[2] = {op, twin};
    double us[2][BATCHES];
    int n = batches_of(op, bytes), wrong = 0;
    for (int k = -1; k < n; k++) {
        for (int i = 0; i < 2 && pair[i]; i++) {
            if (k < 0 && pair[i]->prepare)
                pair[i]->prepare(bytes);
            double time = batch(side, pair[i], bytes);
            us[i][k < 0 ? 0 : k] = time;
            if (k < 0 && pair[i]->wrong && pair[i]->wrong(bytes))
                wrong = 1;
        }
    }
    for (int i = 0; side->me == 0 && i < 2 && pair[i]; i++)
        report(i ? "beside:" : "", pair[i], bytes, us[i], n);
    if (wrong)
        fprintf(stderr, "%s: wrong result: %s of %zu bytes on PE %d\n", side->program, op->metric,
                bytes, side->me);
    return wrong;
}

const struct operation *operation_find(const struct operation *table, const char *metric,
                                       size_t bytes)
{
    for (; table && table->metric; table++) {
        for (size_t i = 0; i < table->sizes->n; i++) {
            if (table->sizes->bytes[i] == bytes && !strcmp(table->metric, metric))
                return table;
        }
    }
    return NULL;
}

int bench_run(const struct side *side, const struct operation *table,
              const struct operation *beside, int argc, char **argv)
{
    int wrong = 0;
    for (const struct operation *op = table; op->metric; op++) {
        if (!is_chosen(op, argc, argv))
            continue;
        for (size_t i = 0; i < op->sizes->n; i++) {
            size_t bytes = op->sizes->bytes[i];
            if (!strcmp(op->group, "crowd"))
                measure_crowd(side, op, bytes);
            else
                wrong |= measure(side, op, operation_find(beside, op->metric, bytes), bytes);
        }
    }
    return wrong;
}
