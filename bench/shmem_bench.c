/*
 * shmem_bench.c - an OpenSHMEM program that measures what floor.c bounds.
 *
 * Plain OpenSHMEM, so that any implementation can be put beside nvs: with team collectives from 1.5
 * on, with active sets before. Built as part of nvs (BENCH_NVS) it has two things more: the
 * reduce-scatter of nvs.h, which OpenSHMEM lacks, and with "beside" on the command line the
 * operations of the floor over the same symmetric memory.
 *
 *     shmem_bench [start] [multiple] [beside] [GROUP | METRIC]...
 *
 * start: only initialise and finalize. multiple: ask for SHMEM_THREAD_MULTIPLE.
 */
#include "shmem_bench.h"

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_FLOOR
#include "floor_ops.h"
#endif

/* A word of its own cache lines, so that neighbours don't count. */
struct line {
    _Alignas(128) long value;
};

static struct objects {
    struct line flag, counter, word;
} static_objects, *objects;

#define PES_MAX 64
static double times[PES_MAX];

char *x, *y, *own;
int me, npes;

static double largest(double value)
{
    double result = 0;
    for (int pe = 0; pe < npes; pe++)
        shmem_double_p(&times[me], value, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        result = times[pe] > result ? times[pe] : result;
    shmem_barrier_all();
    return result;
}

/* ---- one word: in the heap, in the data segment -----------------------------------------------
 */

static void ping_pong_on(long *flag)
{
    static long k;
    k++;
    if (me == 0)
        shmem_long_p(flag, k, 1);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, k);
    if (me == 1)
        shmem_long_p(flag, k, 0);
}

static void put_quiet_to(long *word)
{
    long value = 1;
    shmem_putmem(word, &value, sizeof value, 1);
    shmem_quiet();
}

static void get_from(const long *word)
{
    long value;
    shmem_getmem(&value, word, sizeof value, 1);
}

#define ONE_WORD(suffix, object)                                                                   \
    static void ping_pong##suffix(size_t bytes)                                                    \
    {                                                                                              \
        (void)bytes;                                                                               \
        ping_pong_on(&(object)->flag.value);                                                       \
    }                                                                                              \
    static void fetch_add##suffix(size_t bytes)                                                    \
    {                                                                                              \
        (void)bytes;                                                                               \
        (void)shmem_long_atomic_fetch_add(&(object)->counter.value, 1, 1);                         \
    }                                                                                              \
    static void put_quiet##suffix(size_t bytes)                                                    \
    {                                                                                              \
        (void)bytes;                                                                               \
        put_quiet_to(&(object)->word.value);                                                       \
    }                                                                                              \
    static void get_word##suffix(size_t bytes)                                                     \
    {                                                                                              \
        (void)bytes;                                                                               \
        get_from(&(object)->word.value);                                                           \
    }
ONE_WORD(, objects)
ONE_WORD(_static, &static_objects)

static void barrier(size_t bytes)
{
    (void)bytes;
    shmem_barrier_all();
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void put(size_t bytes)
{
    shmem_putmem(x, own, bytes, 1);
    shmem_quiet();
}

static void get(size_t bytes)
{
    shmem_getmem(own, x, bytes, 1);
}

static void put_misaligned(size_t bytes)
{
    shmem_putmem(x + 4, own, bytes, 1);
    shmem_quiet();
}

static void get_misaligned(size_t bytes)
{
    shmem_getmem(own + 4, x, bytes, 1);
}

static const struct operation operations[] = {
    {"small", "put_ping_pong", ON_ALL, ping_pong, .sizes = &word_sizes, .parts = 2},
    {"small", "fetch_add", ON_ONE, fetch_add, .sizes = &word_sizes},
    {"small", "put_quiet", ON_ONE, put_quiet, .sizes = &word_sizes},
    {"small", "get_word", ON_ONE, get_word, .sizes = &word_sizes},
    {"small", "barrier", ON_ALL, barrier, .sizes = &no_bytes},
    {"static", "put_ping_pong_static", ON_ALL, ping_pong_static, .sizes = &word_sizes, .parts = 2},
    {"static", "fetch_add_static", ON_ONE, fetch_add_static, .sizes = &word_sizes},
    {"static", "put_quiet_static", ON_ONE, put_quiet_static, .sizes = &word_sizes},
    {"static", "get_word_static", ON_ONE, get_word_static, .sizes = &word_sizes},
    {"busy", "fetch_add_idle", ONCE, fetch_add, .sizes = &word_sizes},
    {"busy", "fetch_add_busy", WHILE_BUSY, fetch_add, .sizes = &word_sizes},
    {"busy", "fetch_add_idle_static", ONCE, fetch_add_static, .sizes = &word_sizes},
    {"busy", "fetch_add_busy_static", WHILE_BUSY, fetch_add_static, .sizes = &word_sizes},
    {"copy", "put", ON_ONE, put, .sizes = &copy_sizes},
    {"copy", "get", ON_ONE, get, .sizes = &copy_sizes},
    {"copy", "put_misaligned", ON_ONE, put_misaligned, .sizes = &copy_sizes},
    {"copy", "get_misaligned", ON_ONE, get_misaligned, .sizes = &copy_sizes},
    {"reduce", "all_reduce", EACH, coll_all_reduce, .sizes = &reduce_sizes, .prepare = coll_fill,
     .wrong = coll_sum_is_wrong},
    {"collective", "broadcast", EACH, coll_broadcast, .sizes = &collective_sizes,
     .prepare = coll_fill, .wrong = coll_copied_is_wrong},
    {"collective", "all_gather", EACH, coll_all_gather, .sizes = &collective_sizes,
     .prepare = coll_fill_blocks, .wrong = coll_gathered_is_wrong},
    {"collective", "all_to_all", EACH, coll_all_to_all, .sizes = &collective_sizes,
     .prepare = coll_fill_blocks, .wrong = coll_gathered_is_wrong},
#ifdef BENCH_NVS
    {"collective", "reduce_scatter", EACH, coll_reduce_scatter, .sizes = &collective_sizes,
     .prepare = coll_fill_blocks, .wrong = coll_sum_is_wrong},
    {"ordinary", "all_reduce_ordinary", EACH, coll_all_reduce_ordinary, .sizes = &ordinary_sizes},
#endif
    {"crowd", "barrier_crowd", ON_ALL, barrier, .sizes = &no_bytes},
    {0},
};

#ifdef BENCH_FLOOR
/* The floor's words lie with PE 0, its buffers are those of the library. */
static const struct operation *open_floor(void)
{
    struct floor_memory memory = {.own = own};
    struct floor_words *words = shmem_calloc(1, sizeof *words);
    if (!words)
        shmem_global_exit(3);
    memory.words = shmem_ptr(words, 0);
    for (int pe = 0; pe < 2; pe++) {
        memory.x[pe] = shmem_ptr(x, pe);
        memory.y[pe] = shmem_ptr(y, pe);
    }
    floor_open(&memory, me);
    return floor_operations;
}
#endif

static void open_memory(void)
{
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (npes < 2 || npes > PES_MAX) {
        fprintf(stderr, "shmem_bench: needs 2 to %d PEs\n", PES_MAX);
        shmem_global_exit(2);
    }
    /* A page more: misaligned destinations end behind the buffer. */
    objects = shmem_align(4096, sizeof *objects);
    x = shmem_align(4096, MAX_BYTES + 4096);
    y = shmem_align(4096, MAX_BYTES + 4096);
    if (!objects || !x || !y) {
        fprintf(stderr, "shmem_bench: no symmetric memory\n");
        shmem_global_exit(3);
    }
    own = private_memory(MAX_BYTES + 4096);
    memset(objects, 0, sizeof *objects);
    memset(x, 1, MAX_BYTES + 4096);
    memset(y, 2, MAX_BYTES + 4096);
    coll_open();
    shmem_barrier_all();
}

/* Takes a word off the command line. */
static int taken(const char *word, int *argc, char **argv)
{
    if (!bench_asked(word, *argc, argv))
        return 0;
    int n = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], word) != 0)
            argv[n++] = argv[i];
    }
    *argc = n;
    return 1;
}

int main(int argc, char **argv)
{
    int provided, start = taken("start", &argc, argv), beside = taken("beside", &argc, argv);
    if (taken("multiple", &argc, argv))
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else
        shmem_init();
    if (!start) {
        open_memory();
        const struct operation *floor = NULL;
#ifdef BENCH_FLOOR
        if (beside && npes == 2)
            floor = open_floor();
#endif
        (void)beside;
        struct side side = {"shmem_bench", me, npes, shmem_barrier_all, largest};
        if (bench_run(&side, operations, floor, argc, argv))
            shmem_global_exit(1);
    }
    bench_end();
    shmem_finalize();
    return 0;
}
