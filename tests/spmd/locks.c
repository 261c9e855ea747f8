/*
 * locks.c - mutual exclusion, proved by a counter that is read, kept for a moment and written back
 * without atomics: two holders at once would lose counts.
 */
#include "spmd.h"

#include <sched.h>

enum { ROUNDS = 60, LOCKS = 4 };

static long static_lock;
static long static_locks[LOCKS];
static long counters[LOCKS]; /* on PE 0 */
static long inside[LOCKS];   /* how many are in: on PE 0 */

static void critical(int which)
{
    long before = shmem_long_atomic_fetch_inc(&inside[which], 0);
    CHECK(before == 0, "lock %d: %ld others are inside", which, before);
    long count = shmem_long_g(&counters[which], 0);
    if (count % 5 == 0)
        sched_yield();
    shmem_long_p(&counters[which], count + 1, 0);
    shmem_quiet();
    before = shmem_long_atomic_fetch_add(&inside[which], -1, 0);
    CHECK(before == 1, "lock %d: %ld inside at the end", which, before);
}

/* Every PE was inside ROUNDS times, and no increment was lost. */
static void check_counter(void)
{
    shmem_barrier_all();
    if (spmd_me == 0)
        CHECK(counters[0] == (long)ROUNDS * spmd_npes, "%ld of %d", counters[0],
              ROUNDS * spmd_npes);
    shmem_barrier_all();
}

static void test_set(long *lock)
{
    counters[0] = inside[0] = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(lock);
        critical(0);
        shmem_clear_lock(lock);
    }
    check_counter();
}

/* test_lock and set_lock compete for the same lock. */
static void test_test(long *lock)
{
    struct rng rng = rng_of(2, (uint64_t)spmd_me);
    counters[0] = inside[0] = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        if (rng_below(&rng, 3) == 0)
            shmem_set_lock(lock);
        else
            while (shmem_test_lock(lock))
                sched_yield();
        int again = shmem_test_lock(lock);
        CHECK(again == 1, "the holder gets %d", again);
        critical(0);
        shmem_clear_lock(lock);
    }
    check_counter();
}

/* Several locks, two of them held at once in a fixed order. */
static void test_several(void)
{
    struct rng rng = rng_of(3, (uint64_t)spmd_me);
    memset(counters, 0, sizeof counters);
    memset(inside, 0, sizeof inside);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        int a = (int)rng_below(&rng, LOCKS - 1),
            b = a + 1 + (int)rng_below(&rng, (size_t)(LOCKS - 1 - a));
        shmem_set_lock(&static_locks[a]);
        shmem_set_lock(&static_locks[b]);
        critical(a);
        critical(b);
        if (i % 2) {
            shmem_clear_lock(&static_locks[a]);
            shmem_clear_lock(&static_locks[b]);
        } else {
            shmem_clear_lock(&static_locks[b]);
            shmem_clear_lock(&static_locks[a]);
        }
    }
    shmem_barrier_all();
    long sum = 0;
    for (int k = 0; k < LOCKS; k++)
        sum += counters[k];
    if (spmd_me == 0)
        CHECK(sum == 2L * ROUNDS * spmd_npes, "%ld of %d", sum, 2 * ROUNDS * spmd_npes);
    shmem_barrier_all();
}

/* clear_lock completes the holder's puts: the next holder sees them, on every PE. */
static void test_release(long *lock, long *notes)
{
    notes[0] = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(lock);
        long value = shmem_long_g(notes, 0);
        for (int pe = 0; pe < spmd_npes; pe++) {
            long there = shmem_long_g(notes, pe);
            CHECK(there == value, "PE %d has %ld, PE 0 %ld", pe, there, value);
            shmem_long_p(notes, value + 1, pe);
        }
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(notes[0] == (long)ROUNDS * spmd_npes, "%ld", notes[0]);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    long *heap_lock = shmem_calloc(2, sizeof *heap_lock), *notes = shmem_calloc(1, sizeof *notes);
    test_set(heap_lock);
    test_set(&static_lock);
    test_test(heap_lock);
    test_test(&static_lock);
    test_several();
    test_release(heap_lock, notes);
    return spmd_end();
}
