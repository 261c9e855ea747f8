/*
 * coll_active_set.c - OpenSHMEM's deprecated collectives, on random active sets that overlap: PE i
 * of one set is PE j of the next, and nobody waits in between but by the calls themselves. The root
 * counts inside of the set, and its dst stays as it was.
 */
#include "coll_case.h"

#define CALL_OLD(function, ...)                                                                    \
    static int call_##function(const struct coll_call *c)                                          \
    {                                                                                              \
        function(c->dst, c->src, __VA_ARGS__, c->start, c->log_stride, c->size, c->sync);          \
        return 0;                                                                                  \
    }
CALL_OLD(shmem_broadcast32, c->nelems, c->root)
CALL_OLD(shmem_broadcast64, c->nelems, c->root)
CALL_OLD(shmem_collect32, c->nelems)
CALL_OLD(shmem_collect64, c->nelems)
CALL_OLD(shmem_fcollect32, c->nelems)
CALL_OLD(shmem_fcollect64, c->nelems)
CALL_OLD(shmem_alltoall32, c->nelems)
CALL_OLD(shmem_alltoall64, c->nelems)
CALL_OLD(shmem_alltoalls32, c->dst_stride, c->src_stride, c->nelems)
CALL_OLD(shmem_alltoalls64, c->dst_stride, c->src_stride, c->nelems)

#define OLD_REAL_TYPES(X, A, O) FLOAT_TYPES(X, A, O) LONGDOUBLE_TYPE(X, A, O)
#define OLD_REDUCTIONS(X)                                                                          \
    SIGNED_TYPES(X, shmem, and)                                                                    \
    SIGNED_TYPES(X, shmem, or)                                                                     \
    SIGNED_TYPES(X, shmem, xor)                                                                    \
    SIGNED_TYPES(X, shmem, max)                                                                    \
    OLD_REAL_TYPES(X, shmem, max)                                                                  \
    SIGNED_TYPES(X, shmem, min)                                                                    \
    OLD_REAL_TYPES(X, shmem, min)                                                                  \
    SIGNED_TYPES(X, shmem, sum)                                                                    \
    OLD_REAL_TYPES(X, shmem, sum)                                                                  \
    COMPLEX_TYPES(X, shmem, sum)                                                                   \
    SIGNED_TYPES(X, shmem, prod)                                                                   \
    OLD_REAL_TYPES(X, shmem, prod) COMPLEX_TYPES(X, shmem, prod)

#define CALL_TO_ALL(A, O, N, C, T)                                                                 \
    static int call_##A##_##N##_##O##_to_all(const struct coll_call *c)                            \
    {                                                                                              \
        A##_##N##_##O##_to_all(c->dst, c->src, (int)c->nelems, c->start, c->log_stride, c->size,   \
                               c->work, c->sync);                                                  \
        return 0;                                                                                  \
    }
OLD_REDUCTIONS(CALL_TO_ALL)

#define ROW_OLD(KIND, function, T) {#function, KIND, T, 0, call_##function, false, true},
#define ROW_TO_ALL(A, O, N, C, T) ROW(REDUCE, A##_##N##_##O##_to_all, T, NAMED_##O)

static const struct coll_fn old_fns[] = {
    ROW_OLD(BROADCAST, shmem_broadcast32, NVS_UINT32) ROW_OLD(
        BROADCAST, shmem_broadcast64, NVS_UINT64) ROW_OLD(COLLECT, shmem_collect32, NVS_UINT32)
        ROW_OLD(COLLECT, shmem_collect64, NVS_UINT64) ROW_OLD(GATHER, shmem_fcollect32, NVS_UINT32)
            ROW_OLD(GATHER, shmem_fcollect64, NVS_UINT64)
                ROW_OLD(ALL_TO_ALL, shmem_alltoall32, NVS_UINT32)
                    ROW_OLD(ALL_TO_ALL, shmem_alltoall64, NVS_UINT64)
                        ROW_OLD(ALL_TO_ALL_STRIDED, shmem_alltoalls32, NVS_UINT32)
                            ROW_OLD(ALL_TO_ALL_STRIDED, shmem_alltoalls64, NVS_UINT64)
                                OLD_REDUCTIONS(ROW_TO_ALL)};
enum { NUM_OLD_FNS = sizeof old_fns / sizeof old_fns[0], NUM_MOVES = 10, NUM_SYNCS = 2 };

/* Large enough for all kinds; two sets of them, used in turn as programs do. */
#define SYNC_SIZE                                                                                  \
    (SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE +                    \
     SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE)
static long syncs[NUM_SYNCS][SYNC_SIZE];
static char work[(POOL_BYTES / 2 + 1) + SHMEM_REDUCE_MIN_WRKDATA_SIZE * MAX_ELEM_BYTES];

/* A random active set; its size is at least 1 and it always fits. */
static struct coll_team random_set(struct rng *rng)
{
    struct coll_team set = {.me = -1};
    set.log_stride = (int)rng_below(rng, 3);
    set.start = (int)rng_below(rng, (size_t)spmd_npes);
    int most = (spmd_npes - 1 - set.start) / (1 << set.log_stride) + 1;
    set.npes = 1 + (int)rng_below(rng, (size_t)most);
    if (rng_below(rng, 4) == 0) {
        set.start = set.log_stride = 0;
        set.npes = spmd_npes;
    }
    for (int p = 0; p < set.npes; p++) {
        set.pes[p] = set.start + p * (1 << set.log_stride);
        if (set.pes[p] == spmd_me)
            set.me = p;
    }
    return set;
}

static void random_case(uint64_t round)
{
    struct rng rng = rng_of(round, 0), own = rng_of(round, 1 + (uint64_t)spmd_me);
    size_t counts[MAX_TEAM_PES];
    struct coll_team set = random_set(&rng);
    if (set.me < 0)
        return;
    size_t fn = rng_below(&rng, rng_below(&rng, 2) ? NUM_MOVES : NUM_OLD_FNS);
    struct coll_case k = {.fn = &old_fns[fn], .team = &set, .round = round, .counts = counts};
    bool strided = k.fn->kind == ALL_TO_ALL_STRIDED;
    size_t count = rng_below(&rng, rng_below(&rng, 8) ? 30 : 3000);
    for (int p = 0; p < set.npes; p++)
        counts[p] = rng_below(&rng, count + 1);
    k.nelems = k.fn->kind == COLLECT ? counts[set.me] : count;
    k.dst_stride = strided ? 1 + (ptrdiff_t)rng_below(&rng, 3) : 1;
    k.src_stride = strided ? 1 + (ptrdiff_t)rng_below(&rng, 3) : 1;
    k.root = (int)rng_below(&rng, (size_t)set.npes);
    k.sync = syncs[round % NUM_SYNCS];
    k.work = work;
    k.dst_memory = (enum memory)rng_below(&own, ORDINARY);
    k.src_memory = (enum memory)rng_below(&own, ORDINARY);
    k.dst_shift = rng_below(&own, 9);
    k.in_place = k.fn->kind == REDUCE && rng_below(&own, 3) == 0 ? SAME_ADDRESS : NOT_IN_PLACE;
    if (rng_below(&own, 100) == 0)
        usleep((useconds_t)rng_below(&own, 300));
    run_case(&k);
}

/* A barrier completes the puts before it, for the members of its set. */
static void random_barrier(uint64_t round)
{
    static long words[MAX_TEAM_PES];
    struct rng rng = rng_of(round, 7);
    struct coll_team set = random_set(&rng);
    if (set.me < 0)
        return;
    int next = set.pes[(set.me + 1) % set.npes],
        before = set.pes[(set.me + set.npes - 1) % set.npes];
    shmem_long_p(&words[spmd_me], (long)round, next);
    shmem_barrier(set.start, set.log_stride, set.npes, syncs[round % NUM_SYNCS]);
    CHECK(words[before] == (long)round, "barrier #%llu: word of PE %d is %ld",
          (unsigned long long)round, before, words[before]);
    shmem_sync(set.start, set.log_stride, set.npes, syncs[(round + 1) % NUM_SYNCS]);
}

int main(int argc, char **argv)
{
    for (int s = 0; s < NUM_SYNCS; s++)
        for (int i = 0; i < SYNC_SIZE; i++)
            syncs[s][i] = SHMEM_SYNC_VALUE;
    spmd_begin(argc, argv);
    pools_open();
    for (uint64_t round = 0; round < 2000; round++) {
        random_case(round);
        if (round % 8 == 0)
            random_barrier(round);
    }
    for (int s = 0; s < NUM_SYNCS; s++)
        for (int i = 0; i < SYNC_SIZE; i++)
            CHECK(syncs[s][i] == SHMEM_SYNC_VALUE, "pSync %d[%d] is %ld", s, i, syncs[s][i]);
    pools_close();
    return spmd_end();
}
