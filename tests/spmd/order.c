/*
 * order.c - the order that fence, quiet and signals promise, by the classic litmus tests.
 *
 * Nobody waits for an answer between rounds, so that reader and writer really overlap. Each test is
 * an array of independent rounds. The counterpart is unordered.c, which leaves the fences out.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>

enum { MAX_ROUNDS = 2000, BATCHES = 4, WORDS = 40 };
static int rounds = MAX_ROUNDS;

/* Data and flag in different cache lines, and one of them in static memory. */
static long flag, stop_count;
static uint64_t signal_word;
static long static_data[WORDS];
static long *heap_data;
static shmem_ctx_t ctx;

static int right_of(void)
{
    return (spmd_me + 1) % spmd_npes;
}

/* ---- message passing: data, fence, flag ------------------------------------------------------ */

enum { BY_PUT, BY_ATOMIC, BY_CONTEXT, BY_QUIET, BY_NBI, BY_SIGNAL, BY_SIGNAL_OP, WAYS };
static const char *const way_names[] = {"fence, put",      "fence, atomic",  "ctx fence, put",
                                        "quiet, put",      "put_nbi, fence", "put_signal",
                                        "fence, signal_op"};

static void send_round(int way, long *data, const long *src, size_t n, long round, int pe)
{
    switch (way) {
    case BY_PUT:
        shmem_long_put(data, src, n, pe);
        shmem_fence();
        shmem_long_p(&flag, round, pe);
        break;
    case BY_ATOMIC:
        shmem_long_put(data, src, n, pe);
        nvshmem_fence();
        shmem_long_atomic_inc(&flag, pe);
        break;
    case BY_CONTEXT:
        shmem_ctx_long_put(ctx, data, src, n, pe);
        shmem_ctx_fence(ctx);
        shmem_ctx_long_p(ctx, &flag, round, pe);
        break;
    case BY_QUIET: /* another context carries the flag: only quiet orders that */
        shmem_long_put(data, src, n, pe);
        shmem_quiet();
        shmem_ctx_long_p(ctx, &flag, round, pe);
        shmem_ctx_fence(ctx);
        break;
    case BY_NBI:
        shmem_long_put_nbi(data, src, n, pe);
        shmem_fence();
        shmem_long_p(&flag, round, pe);
        shmem_quiet(); /* src is used again */
        break;
    case BY_SIGNAL:
        shmem_long_put_signal(data, src, n, &signal_word, (uint64_t)round, SHMEM_SIGNAL_SET, pe);
        shmem_fence(); /* set signals of different rounds have no order of their own */
        break;
    default:
        shmem_long_put(data, src, n, pe);
        shmem_fence();
        nvshmemx_signal_op(&signal_word, 1, NVSHMEM_SIGNAL_ADD, pe);
    }
}

static long wait_round(int way, long round)
{
    if (way == BY_SIGNAL || way == BY_SIGNAL_OP)
        return (long)shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round);
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
    return shmem_long_atomic_fetch(&flag, spmd_me);
}

/* Sends to the right and checks what comes from the left, round by round. Later rounds may be seen
 * early, never earlier ones late. */
static void message_passing(int way, long *data)
{
    long src[WORDS], volatile_read;
    int right = right_of();
    memset(data, 0, WORDS * sizeof *data);
    flag = 0;
    signal_word = 0;
    shmem_barrier_all();
    for (long round = 1; round <= rounds; round++) {
        struct rng rng = rng_of((uint64_t)way, (uint64_t)round);
        size_t n = 1 + rng_below(&rng, WORDS);
        for (size_t i = 0; i < WORDS; i++)
            src[i] = round;
        send_round(way, data, src, n, round, right);
        if (rng_below(&rng, 4))
            continue; /* look now and then only: the sender runs ahead */
        long seen = wait_round(way, round);
        volatile_read = ((volatile long *)data)[0]; /* word 0 is part of every message */
        CHECK(volatile_read >= seen, "%s: flag says %ld, data %ld", way_names[way], seen,
              volatile_read);
        struct rng of_seen = rng_of((uint64_t)way, (uint64_t)seen);
        size_t last = rng_below(&of_seen, WORDS);
        volatile_read = ((volatile long *)data)[last];
        CHECK(volatile_read >= seen, "%s: flag says %ld, word %zu %ld", way_names[way], seen, last,
              volatile_read);
    }
    wait_round(way, rounds);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* ---- store buffering: put mine, quiet, get the other's --------------------------------------- */

struct pair {
    long x[MAX_ROUNDS], y[MAX_ROUNDS], saw[MAX_ROUNDS];
};

static void store_buffering(struct pair *pair)
{
    int partner = spmd_me ^ 1, home = partner < spmd_me ? spmd_me : partner;
    static long saw[MAX_ROUNDS], other[MAX_ROUNDS];
    memset(pair, 0, sizeof *pair);
    shmem_barrier_all();
    if (home < spmd_npes) {
        long *mine = spmd_me % 2 ? pair->x : pair->y, *its = spmd_me % 2 ? pair->y : pair->x;
        for (int i = 0; i < rounds; i++) {
            shmem_long_p(&mine[i], 1, home);
            shmem_quiet();
            saw[i] = shmem_long_g(&its[i], home);
        }
        memcpy(pair->saw, saw, sizeof saw);
    }
    shmem_barrier_all();
    if (home < spmd_npes) {
        shmem_long_get(other, pair->saw, (size_t)rounds, partner);
        for (int i = 0; i < rounds; i++)
            CHECK(saw[i] || other[i], "round %d: neither PE %d nor PE %d saw the other's put", i,
                  spmd_me, partner);
    }
    shmem_barrier_all();
}

/* ---- independent reads of independent writes ------------------------------------------------- */

static void independent_reads(struct pair *pair)
{
    int home = spmd_npes - 1;
    static long first[MAX_ROUNDS], second[MAX_ROUNDS];
    memset(pair, 0, sizeof *pair);
    shmem_barrier_all();
    if (spmd_npes < 4)
        return;
    for (int i = 0; i < rounds; i++) {
        if (spmd_me == 0) {
            shmem_long_p(&pair->x[i], 1, home);
        } else if (spmd_me == 1) {
            shmem_long_p(&pair->y[i], 1, home);
        } else if (spmd_me == 2) {
            first[i] = shmem_long_g(&pair->x[i], home);
            second[i] = shmem_long_g(&pair->y[i], home);
        } else if (spmd_me == 3) {
            first[i] = shmem_long_g(&pair->y[i], home);
            second[i] = shmem_long_g(&pair->x[i], home);
        }
    }
    /* PE 2 tells PE 3 where it saw x without y: there, PE 3 must not have seen y without x. */
    for (int i = 0; i < rounds; i++)
        if (spmd_me == 2)
            shmem_long_p(&pair->saw[i], first[i] && !second[i], 3);
    shmem_barrier_all();
    for (int i = 0; spmd_me == 3 && i < rounds; i++)
        CHECK(!(pair->saw[i] && first[i] && !second[i]),
              "round %d: PE 2 and 3 saw the two puts in opposite orders", i);
    shmem_barrier_all();
}

/* ---- quiet completes everything, to everybody ------------------------------------------------ */

static void quiet_completes(long *data)
{
    static long src[WORDS], got[WORDS];
    for (long round = 1; round <= 30; round++) {
        shmem_barrier_all();
        for (int i = 0; i < WORDS; i++)
            src[i] = round * 1000 + spmd_me;
        int writer = (int)(round % spmd_npes);
        if (spmd_me == writer) {
            for (int pe = 0; pe < spmd_npes; pe++)
                for (int i = 0; i < WORDS; i++)
                    shmem_long_put_nbi(&data[i], &src[i], 1, pe);
            shmem_quiet();
            for (int i = 0; i < WORDS; i++)
                src[i] = -1; /* may be reused now */
            /* An atomic with a result is not delayed: it says "done" to a third PE. */
            shmem_long_atomic_fetch_inc(&stop_count, (writer + 1) % spmd_npes);
        }
        if (spmd_me == (writer + 1) % spmd_npes) {
            shmem_long_wait_until(&stop_count, SHMEM_CMP_NE, 0);
            stop_count = 0;
            for (int pe = 0; pe < spmd_npes; pe++) {
                shmem_long_get_nbi(got, data, WORDS, pe);
                shmem_quiet();
                for (int i = 0; i < WORDS; i++)
                    CHECK(got[i] == round * 1000 + writer, "round %ld: word %d of PE %d is %ld",
                          round, i, pe, got[i]);
            }
        }
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    CHECK(shmem_ctx_create(0, &ctx) == 0, "no context");
    const char *transport = getenv("NVS_TRANSPORT");
    if (transport && strcmp(transport, "chaos") == 0)
        rounds = 150; /* each takes as long as a delay */
    heap_data = shmem_malloc(WORDS * sizeof *heap_data);
    struct pair *pair = shmem_malloc(sizeof *pair);
    for (int way = 0; way < WAYS; way++) {
        message_passing(way, heap_data);
        message_passing(way, static_data);
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        store_buffering(pair);
        independent_reads(pair);
    }
    quiet_completes(heap_data);
    shmem_ctx_destroy(ctx);
    return spmd_end();
}
