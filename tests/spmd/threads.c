/*
 * threads.c - all four thread levels, then several threads per PE that do everything at once: puts
 * and gets through contexts of their own, atomics on shared words, waits for the same thread of the
 * neighbour, collectives on a team per thread, and allocations in one of them.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>
#include <pthread.h>

enum { MAX_PES = 8, THREADS = 4, BLOCK = 300 };

/* What belongs to one thread of every PE. */
struct lane {
    long block[MAX_PES][BLOCK]; /* by sending PE */
    long note;                  /* rounds that the left neighbour's thread has finished */
    long word;                  /* what comes with the signal */
    uint64_t signal;
    long in, out;
    shmem_team_t team;
    int rounds;
};

static struct lane lanes[THREADS];
static long total;      /* all threads of all PEs add to it, on each PE */
static int *heap_total; /* the same on the heap */
static long lock, locked_count;
static double stop_at;

static void check_block(const long *block, long value, const char *what)
{
    for (int i = 0; i < BLOCK; i++) {
        CHECK(block[i] == value + i, "%s: word %d is %ld, expected %ld", what, i, block[i],
              value + i);
        if (block[i] != value + i)
            return;
    }
}

/* Data to the right, through the thread's context, then the note; and wait for the left. */
static void exchange(struct lane *lane, shmem_ctx_t ctx, long *src, long round)
{
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    for (int i = 0; i < BLOCK; i++)
        src[i] = round * 1000 + spmd_me + i;
    if (round % 2) {
        shmem_ctx_long_put(ctx, lane->block[spmd_me], src, BLOCK, right);
        shmem_ctx_fence(ctx);
        shmem_ctx_long_p(ctx, &lane->note, round, right);
    } else {
        shmem_ctx_long_put_nbi(ctx, lane->block[spmd_me], src, BLOCK, right);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_atomic_inc(ctx, &lane->note, right);
    }
    shmem_ctx_quiet(ctx);
    shmem_long_wait_until(&lane->note, SHMEM_CMP_GE, round);
    check_block(lane->block[left], round * 1000 + left, "put");
    long got[BLOCK];
    shmem_ctx_long_get(ctx, got, lane->block[spmd_me], BLOCK, right);
    check_block(got, round * 1000 + spmd_me, "get");
}

static void collective(struct lane *lane, long round)
{
    lane->in = round + spmd_me;
    CHECK(shmem_long_sum_reduce(lane->team, &lane->out, &lane->in, 1) == 0, "sum_reduce");
    long want = round * spmd_npes + (long)spmd_npes * (spmd_npes - 1) / 2;
    CHECK(lane->out == want, "round %ld: the sum is %ld, expected %ld", round, lane->out, want);
    CHECK(shmem_team_sync(lane->team) == 0, "team_sync");
}

static void signals(struct lane *lane, long round)
{
    int right = (spmd_me + 1) % spmd_npes;
    long word = round;
    shmem_long_put_signal(&lane->word, &word, 1, &lane->signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_signal_wait_until(&lane->signal, SHMEM_CMP_GE, (uint64_t)round);
    CHECK(lane->word == round, "the signal of round %ld came with %ld", round, lane->word);
}

static void *work(void *arg)
{
    struct lane *lane = arg;
    int number = (int)(lane - lanes);
    static long sources[THREADS][BLOCK];
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(number % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx) == 0, "no context");
    struct rng rng = rng_of(9, (uint64_t)(spmd_me * THREADS + number));
    long round = 0;
    int go_on = 1;
    while (go_on) {
        round++;
        exchange(lane, ctx, sources[number], round);
        signals(lane, round);
        collective(lane, round);
        for (int i = 0; i < 20; i++) {
            int pe = (int)rng_below(&rng, (size_t)spmd_npes);
            shmem_ctx_long_atomic_add(ctx, &total, 3, pe);
            (void)nvshmem_int_atomic_fetch_inc(heap_total, pe);
        }
        if (number == 0) { /* allocations are collective: one thread does them */
            char *object = shmem_malloc(1000 + (size_t)round % 7 * 5000);
            CHECK(object, "no memory");
            nvshmem_free(object);
        }
        if (number == 1) { /* locks belong to PEs, not to threads: one thread uses them */
            shmem_set_lock(&lock);
            long count = shmem_long_g(&locked_count, 0);
            shmem_long_p(&locked_count, count + 1, 0);
            shmem_clear_lock(&lock);
        }
        /* All PEs stop in the same round: PE 0 decides. */
        lane->in = spmd_me == 0 && (spmd_seconds() < stop_at || round < 3);
        CHECK(shmem_long_max_reduce(lane->team, &lane->out, &lane->in, 1) == 0, "max_reduce");
        go_on = (int)lane->out;
        shmem_team_sync(lane->team);
    }
    lane->rounds = (int)round;
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void test_multiple(double seconds)
{
    pthread_t threads[THREADS];
    stop_at = spmd_seconds() + seconds;
    heap_total = shmem_calloc(1, sizeof *heap_total);
    for (int t = 0; t < THREADS; t++)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0,
                                       &lanes[t].team) == 0,
              "split");
    shmem_barrier_all();
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, work, &lanes[t]) == 0, "pthread_create");
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    shmem_barrier_all();
    long rounds = 0, sums[2] = {0, 0};
    for (int t = 0; t < THREADS; t++)
        rounds += lanes[t].rounds;
    for (int pe = 0; pe < spmd_npes; pe++) {
        sums[0] += shmem_long_g(&total, pe);
        sums[1] += shmem_int_g(heap_total, pe);
    }
    CHECK(sums[0] == 60 * rounds * spmd_npes, "%ld, expected %ld", sums[0],
          60 * rounds * spmd_npes);
    CHECK(sums[1] == 20 * rounds * spmd_npes, "%ld, expected %ld", sums[1],
          20 * rounds * spmd_npes);
    if (spmd_me == 0) {
        CHECK(locked_count == (long)lanes[1].rounds * spmd_npes, "%ld", locked_count);
        printf("%ld rounds in %d threads\n", rounds, THREADS);
    }
    for (int t = 0; t < THREADS; t++)
        shmem_team_destroy(lanes[t].team);
    shmem_free(heap_total);
}

static void test_levels(void)
{
    for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; level++) {
        int provided = -1, asked = -1;
        int status =
            level % 2 ? nvshmem_init_thread(level, &provided) : shmem_init_thread(level, &provided);
        CHECK(status == 0 && provided >= level, "level %d: status %d, provided %d", level, status,
              provided);
        shmem_query_thread(&asked);
        CHECK(asked == provided, "level %d: query says %d", level, asked);
        nvshmem_query_thread(&asked);
        CHECK(asked == provided, "level %d: query says %d", level, asked);
        shmem_barrier_all();
        shmem_finalize();
    }
}

int main(int argc, char **argv)
{
    int provided;
    test_levels();
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0, "init");
    CHECK(provided == SHMEM_THREAD_MULTIPLE, "%d", provided);
    spmd_join(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    test_multiple(spmd_stress_seconds(0.5));
    return spmd_end();
}
