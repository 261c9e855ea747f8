/*
 * threads_stress.c - what threads of a PE may do at the same time, each as fast as it can: split
 * and destroy teams, create and destroy contexts, run collectives of all sizes on teams of their
 * own, free what another thread allocated, take locks that all of them want, wait for words and be
 * woken, and make errors whose sentences must not get mixed.
 *
 * Thread t of every PE works with thread t of the others, on teams that no other thread uses: that
 * is the one rule of collectives. Only thread 0 allocates, since an allocation is a collective of
 * the world.
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmem.h>
#include <pthread.h>

enum { MAX_PES = 8, THREADS = 6, LARGE = 70000, OBJECTS = 64 };

struct lane {
    shmem_team_t team; /* all PEs, for this thread alone */
    long in[MAX_PES], out[MAX_PES * MAX_PES];
    uint64_t ball; /* comes from the left, goes to the right */
    long go, more;
    long rounds;
};

static struct lane lanes[THREADS];
static long lock, locked_count, shared_sum;
static double stop_at;

/* Objects that thread 0 has allocated; whoever takes one frees it. */
static char *shelf[OBJECTS];

/* ---- what a thread does in a round ----------------------------------------------------------- */

static void reductions(struct lane *lane, shmem_team_t team, long round)
{
    int npes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    long want = npes * round + (long)npes * (npes - 1) / 2;
    lane->in[0] = round + me;
    CHECK(shmem_long_sum_reduce(team, lane->out, lane->in, 1) == 0, "sum_reduce");
    CHECK(lane->out[0] == want, "sum %ld, expected %ld", lane->out[0], want);
    for (int i = 0; i < npes; i++)
        lane->in[i] = round * 100 + me * 10 + i;
    CHECK(shmem_long_alltoall(team, lane->out, lane->in, 1) == 0, "alltoall");
    for (int i = 0; i < npes; i++)
        CHECK(lane->out[i] == round * 100 + i * 10 + me, "from %d: %ld", i, lane->out[i]);
    CHECK(shmem_long_fcollect(team, lane->out, lane->in, 2) == 0, "fcollect");
    for (int i = 0; i < 2 * npes && npes > 1; i++)
        CHECK(lane->out[i] == round * 100 + i / 2 * 10 + i % 2, "word %d: %ld", i, lane->out[i]);
    CHECK(shmem_team_sync(team) == 0, "sync");
}

/* Ordinary memory of the thread, through the team's stages. */
static void large_reduction(shmem_team_t team, float *buffer, long round)
{
    int npes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    size_t nelems = 1 + (size_t)(round * 7919 % LARGE);
    for (size_t i = 0; i < nelems; i++)
        buffer[i] = (float)(me + (long)(i % 100));
    int status =
        nvs_all_reduce((nvs_team_t)team, buffer, buffer, nelems, NVS_FLOAT32, NVS_SUM, NULL);
    CHECK(status == 0, "all_reduce: %s", nvs_last_error());
    for (size_t i = 0; i < nelems; i++) {
        long sum = npes * (npes - 1) / 2 + npes * (long)(i % 100);
        float want = (float)sum;
        CHECK(buffer[i] == want, "element %zu of %zu: %g, expected %g", i, nelems, buffer[i], want);
        if (buffer[i] != want)
            return;
    }
}

/* A new team from the thread's own one, while other threads do the same with theirs. */
static void split(struct lane *lane, long round)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int first = (int)(round % spmd_npes), size = spmd_npes - first;
    CHECK(shmem_team_split_strided(lane->team, first, 1, size, NULL, 0, &team) == 0, "split: %s",
          nvs_last_error());
    if (team == SHMEM_TEAM_INVALID)
        return;
    CHECK(shmem_team_n_pes(team) == size && shmem_team_my_pe(team) == spmd_me - first,
          "PE %d of %d", shmem_team_my_pe(team), shmem_team_n_pes(team));
    reductions(lane, team, round);
    shmem_team_destroy(team);
}

/* The ball goes round the ring of PEs once; whoever waits sleeps if it takes long. */
static void pass_ball(struct lane *lane, struct rng *rng, uint64_t round)
{
    int right = (spmd_me + 1) % spmd_npes;
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(lane->team, 0, &ctx) == 0, "no context: %s", nvs_last_error());
    if (spmd_me != 0)
        shmem_signal_wait_until(&lane->ball, SHMEM_CMP_GE, round);
    if (rng_below(rng, 8) == 0)
        usleep((useconds_t)rng_below(rng, 3000));
    shmem_ctx_uint64_atomic_set(ctx, &lane->ball, round, right);
    shmem_ctx_quiet(ctx);
    if (spmd_me == 0)
        shmem_signal_wait_until(&lane->ball, SHMEM_CMP_GE, round);
    shmem_ctx_destroy(ctx);
}

/* A counter on the last PE that only a lock protects, and one that atomics do. */
static void count(void)
{
    shmem_set_lock(&lock);
    long have = shmem_long_g(&locked_count, spmd_npes - 1);
    shmem_long_p(&locked_count, have + 1, spmd_npes - 1);
    shmem_clear_lock(&lock);
    shmem_long_atomic_inc(&shared_sum, 0);
}

/* The latest error is the thread's own. */
static void make_error(int number)
{
    char want[32];
    int bad = 100000 + number;
    snprintf(want, sizeof want, "%d", bad);
    int status = nvs_broadcast(bad, &bad, &bad, 1, NVS_INT32, 0, NULL);
    CHECK(status == NVS_ERR_INVALID && strstr(nvs_last_error(), want), "status %d: %s", status,
          nvs_last_error());
}

static void fill_shelf(struct rng *rng)
{
    for (int i = 0; i < 4; i++) {
        char **place = &shelf[rng_below(rng, OBJECTS)];
        char *object = nvs_malloc(64 + rng_below(rng, 5000)), *old;
        CHECK(object, "no memory: %s", nvs_last_error());
        memset(object, 0x5a, 64);
        old = __atomic_exchange_n(place, object, __ATOMIC_ACQ_REL);
        CHECK(nvs_free(old) == 0, "%s", nvs_last_error());
    }
}

static void empty_shelf(int from)
{
    for (int i = from; i < OBJECTS; i += THREADS) {
        char *object = __atomic_exchange_n(&shelf[i], NULL, __ATOMIC_ACQ_REL);
        CHECK(!object || object[63] == 0x5a, "object %d holds %d", i, object[63]);
        CHECK(nvs_free(object) == 0, "%s", nvs_last_error());
    }
}

/* All PEs stop after the same round: PE 0 decides. */
static bool go_on(struct lane *lane, long round)
{
    lane->go = spmd_seconds() < stop_at || round < 3;
    CHECK(shmem_long_broadcast(lane->team, &lane->more, &lane->go, 1, 0) == 0, "broadcast");
    return lane->more;
}

static void *work(void *arg)
{
    struct lane *lane = arg;
    int number = (int)(lane - lanes);
    struct rng rng = rng_of((uint64_t)number, 77); /* the same on all PEs */
    float *buffer = malloc(LARGE * sizeof *buffer);
    CHECK(buffer, "no memory");
    do {
        long round = ++lane->rounds;
        reductions(lane, lane->team, round);
        large_reduction(lane->team, buffer, round + number);
        split(lane, round + number);
        pass_ball(lane, &rng, (uint64_t)round);
        count();
        make_error(number);
        if (number == 0)
            fill_shelf(&rng);
        else
            empty_shelf(number);
    } while (go_on(lane, lane->rounds));
    free(buffer);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0, "init");
    spmd_join(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    stop_at = spmd_seconds() + spmd_stress_seconds(0.5);
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
    long rounds = 0;
    for (int t = 0; t < THREADS; t++)
        rounds += lanes[t].rounds;
    CHECK(shmem_long_g(&locked_count, spmd_npes - 1) == rounds * spmd_npes, "%ld, expected %ld",
          shmem_long_g(&locked_count, spmd_npes - 1), rounds * spmd_npes);
    CHECK(shmem_long_g(&shared_sum, 0) == rounds * spmd_npes, "%ld, expected %ld",
          shmem_long_g(&shared_sum, 0), rounds * spmd_npes);
    if (spmd_me == 0)
        printf("%ld rounds in %d threads\n", rounds, THREADS);
    for (int i = 0; i < THREADS; i++)
        empty_shelf(i);
    return spmd_end();
}
