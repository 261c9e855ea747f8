/*
 * unordered.c - programs that forget a fence or a quiet: the chaos transport must show the bug.
 *
 * The same message passing as in order.c, with something missing. The test passes if the wrong
 * order is seen within a few hundred tries, for every seed of a fixed list; it fails if chaos is so
 * tame that the broken program looks right.
 */
#include "spmd.h"

enum { TRIES = 300 };

static long data[2], flag, answer;
static long seen; /* violations that this PE saw */

/* One message from PE 0 to the last PE, which answers, so that rounds do not mix. */
static void message(long round, void (*send)(long round, int pe))
{
    int last = spmd_npes - 1;
    if (spmd_me == 0) {
        send(round, last);
        shmem_long_wait_until(&answer, SHMEM_CMP_EQ, round);
    }
    if (spmd_me == last) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        seen += *(volatile long *)&data[0] != round;
        shmem_quiet();
        while (*(volatile long *)&data[0] < round) /* the late put is out of the way */
            spmd_sleep_ms(1);
        shmem_long_p(&answer, round, 0);
        shmem_quiet();
    }
}

static void without_fence(long round, int pe)
{
    shmem_long_p(&data[0], round, pe);
    shmem_long_p(&flag, round, pe);
}

static void without_fence_atomic(long round, int pe)
{
    shmem_long_p(&data[0], round, pe);
    shmem_long_atomic_set(&flag, round, pe);
}

/* The fence is in the wrong place. */
static void fence_too_late(long round, int pe)
{
    shmem_long_p(&data[0], round, pe);
    shmem_long_p(&flag, round, pe);
    shmem_fence();
}

/* Puts first, asks afterwards, without quiet. */
static void without_quiet(long round, int pe)
{
    shmem_long_p(&data[1], round, pe);
    seen += shmem_long_g(&data[1], pe) != round;
    shmem_quiet();
    shmem_long_p(&data[0], round, pe);
    shmem_fence();
    shmem_long_p(&flag, round, pe);
}

/* Uses the source of a non-blocking put again before quiet. */
static void source_reused(long round, int pe)
{
    static long src;
    src = round;
    shmem_long_put_nbi(&data[1], &src, 1, pe);
    src = -1;
    shmem_quiet();
    seen += shmem_long_g(&data[1], pe) != round;
    shmem_long_p(&data[0], round, pe);
    shmem_fence();
    shmem_long_p(&flag, round, pe);
}

/* A non-blocking get whose result is used before quiet. */
static void result_too_early(long round, int pe)
{
    static volatile long got;
    shmem_long_p(&data[1], round, pe);
    shmem_quiet();
    got = -1;
    shmem_long_get_nbi((long *)&got, &data[1], 1, pe);
    seen += got != round;
    shmem_quiet();
    CHECK(got == round, "after quiet: %ld, expected %ld", got, round);
    shmem_long_p(&data[0], round, pe);
    shmem_fence();
    shmem_long_p(&flag, round, pe);
}

static const struct {
    const char *name;
    void (*send)(long round, int pe);
} bugs[] = {{"no fence before the flag", without_fence},
            {"no fence before an atomic flag", without_fence_atomic},
            {"fence after the flag", fence_too_late},
            {"get after put without quiet", without_quiet},
            {"source of put_nbi reused before quiet", source_reused},
            {"result of get_nbi used before quiet", result_too_early}};

static void try_bug(const char *seed, size_t bug)
{
    static long total, stop;
    long tries = 0, enough = 0;
    data[0] = data[1] = flag = answer = seen = total = stop = 0;
    shmem_barrier_all();
    for (; tries < TRIES && !enough; tries++) {
        message(tries + 1, bugs[bug].send);
        if (seen)
            for (int pe = 0; pe < spmd_npes; pe++)
                shmem_long_p(&stop, 1, pe);
        shmem_barrier_all();
        enough = stop;
        shmem_barrier_all(); /* all have looked before the next try may change it */
    }
    shmem_long_atomic_add(&total, seen, 0);
    shmem_barrier_all();
    if (spmd_me == 0) {
        CHECK(total > 0, "chaos seed %s: '%s' was not seen in %ld tries", seed, bugs[bug].name,
              tries);
        printf("chaos seed %s: '%s' seen after %ld tries\n", seed, bugs[bug].name, tries);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    static const char *const seeds[] = {"1", "2", "3", "12345"};
    setenv("NVS_TRANSPORT", "chaos", 1);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        setenv("NVS_CHAOS_SEED", seeds[i], 1);
        spmd_begin(argc, argv);
        for (size_t bug = 0; bug < sizeof bugs / sizeof *bugs; bug++)
            try_bug(seeds[i], bug);
        shmem_finalize();
    }
    /* Only PE 0 has something to check. */
    return spmd_me == 0 ? spmd_result() : spmd_failures != 0;
}
