/*
 * coll_order.c - what a collective may touch, and when. Nobody writes the dst of a PE that has not
 * entered; src may be changed right after the return; PEs may run ahead of each other without any
 * barrier, in broadcasts by many calls. PEs come late at random, by more than a time slice.
 */
#include "coll_case.h"

static struct coll_team world, reversed;

static void nap(struct rng *rng, unsigned one_in, unsigned most_us)
{
    if (rng_below(rng, one_in) == 0)
        usleep((useconds_t)rng_below(rng, most_us));
}

/* ---- a late PE owns its dst until it enters -------------------------------------------------- */

static int call_kind(int kind, int64_t *dst, const int64_t *src, size_t nelems)
{
    switch (kind) {
    case BROADCAST:
        return nvs_broadcast(0, dst, src, nelems, NVS_INT64, 0, NULL);
    case GATHER:
        return nvs_all_gather(0, dst, src, nelems, NVS_INT64, NULL);
    case ALL_TO_ALL:
        return nvs_all_to_all(0, dst, src, nelems, NVS_INT64, NULL);
    case REDUCE:
        return nvs_all_reduce(0, dst, src, nelems, NVS_INT64, NVS_MAX, NULL);
    default:
        return nvs_reduce_scatter(0, dst, src, nelems, NVS_INT64, NVS_MAX, NULL);
    }
}

/* Writes dst and looks at it for a while: it holds what this PE wrote, whatever the others do. */
static void linger(int64_t *dst, size_t nelems, int kind)
{
    for (int64_t mark = 1; mark <= 4; mark++) {
        for (size_t i = 0; i < nelems; i++)
            dst[i] = -mark;
        usleep(400);
        size_t i = 0;
        while (i < nelems && dst[i] == -mark)
            i++;
        CHECK(i == nelems, "kind %d of %zu: dst[%zu] is %lld before this PE entered", kind, nelems,
              i, (long long)dst[i]);
    }
}

static void late_pe(int kind, size_t nelems, bool symmetric, int late)
{
    size_t all = nelems * (size_t)spmd_npes, i = 0;
    int64_t *dst = (int64_t *)pools[symmetric ? HEAP : ORDINARY][0];
    int64_t *src = (int64_t *)pools[symmetric ? HEAP : ORDINARY][1];
    for (size_t k = 0; k < all; k++)
        src[k] = 77;
    size_t received = kind == GATHER || kind == ALL_TO_ALL ? all : nelems;
    if (spmd_me == late)
        linger(dst, received, kind);
    CHECK(call_kind(kind, dst, src, nelems) == 0, "kind %d: %s", kind, nvs_last_error());
    memset(src, 1, all * sizeof *src);
    while (i < received && dst[i] == 77)
        i++;
    CHECK(i == received, "kind %d of %zu, late PE %d: dst[%zu] is %lld", kind, nelems, late, i,
          (long long)dst[i]);
}

static void late_pes(void)
{
    static const int kinds[] = {BROADCAST, GATHER, ALL_TO_ALL, REDUCE, REDUCE_SCATTER};
    static const size_t counts[] = {2, 3000};
    for (size_t k = 0; k < 5; k++)
        for (size_t n = 0; n < 2; n++)
            for (int symmetric = 0; symmetric < 2; symmetric++)
                late_pe(kinds[k], counts[n], symmetric, (int)(k + n) % spmd_npes);
}

/* ---- broadcasts back to back ----------------------------------------------------------------- */

/* Every call has its own root and value; the others write something else just before. */
static void alternating_roots(int calls)
{
    struct rng rng = rng_of(1, (uint64_t)spmd_me);
    int32_t *value = (int32_t *)pools[HEAP][0];
    for (int i = 0; i < calls; i++) {
        int root = i % spmd_npes;
        *value = spmd_me == root ? i : -i - 1;
        int status = nvs_broadcast(0, value, value, 1, NVS_INT32, root, NULL);
        CHECK(status == 0 && *value == i, "#%d: status %d, value %d", i, status, *value);
        nap(&rng, 2000, 500);
    }
}

/* One root that never waits, members that do; its src changes at once. */
static void root_ahead(int calls, size_t nelems)
{
    struct rng rng = rng_of(2, (uint64_t)spmd_me);
    int64_t *dst = (int64_t *)pools[HEAP][0], *src = (int64_t *)pools[HEAP][1];
    int root = spmd_npes - 1;
    for (int i = 0; i < calls; i++) {
        for (size_t k = 0; k < nelems && spmd_me == root; k++)
            src[k] = i;
        int status = nvs_broadcast(0, dst, src, nelems, NVS_INT64, root, NULL);
        CHECK(status == 0 && dst[0] == i && dst[nelems - 1] == i, "#%d of %zu: %d, %lld .. %lld", i,
              nelems, status, (long long)dst[0], (long long)dst[nelems - 1]);
        if (spmd_me != root)
            nap(&rng, 100, 1000);
    }
}

/* ---- mixtures -------------------------------------------------------------------------------- */

static void mixed_case(const char *name, int type, const struct coll_team *team, size_t nelems,
                       enum memory memory, uint64_t round)
{
    struct coll_case k = {.fn = coll_find(name, type, 0),
                          .team = team,
                          .round = round,
                          .nelems = nelems,
                          .root = (int)(round % (uint64_t)team->npes),
                          .dst_stride = 1,
                          .src_stride = 1,
                          .dst_memory = memory,
                          .src_memory = memory};
    run_case(&k);
}

/* Two teams of the same PEs in turn, every way of moving data after every other. */
static void two_teams(int rounds)
{
    static const char *const names[] = {"nvs_broadcast", "nvs_all_reduce", "nvs_all_gather",
                                        "nvs_reduce_scatter", "nvs_all_to_all"};
    static const size_t counts[] = {3, 700, 5000};
    struct rng rng = rng_of(3, 0), own = rng_of(4, (uint64_t)spmd_me);
    for (int i = 0; i < rounds; i++) {
        const struct coll_team *team = rng_below(&rng, 2) ? &world : &reversed;
        const char *name = names[rng_below(&rng, 5)];
        size_t nelems = counts[rng_below(&rng, 3)];
        nap(&own, 40, 300);
        mixed_case(name, NVS_INT32, team, nelems, (enum memory)rng_below(&rng, NUM_MEMORIES),
                   1000 + (uint64_t)i);
    }
}

/* The root of a broadcast through the stages fills its own without waiting; the others may still
 * copy the results of the all_reduce before out of it. The sizes are such that both use all of it.
 */
static void stage_reuse(int rounds)
{
    enum { ELEMS = (1 << 20) / sizeof(int64_t) };
    int64_t *sum = (int64_t *)pools[ORDINARY][0], *data = (int64_t *)pools[ORDINARY][1];
    for (int64_t round = 1; round <= rounds; round++) {
        for (int64_t i = 0; i < ELEMS; i++) {
            sum[i] = i + round;
            data[i] = -round;
        }
        int status = nvs_all_reduce(0, sum, sum, ELEMS, NVS_INT64, NVS_SUM, NULL);
        status |= nvs_broadcast(0, data, data, ELEMS, NVS_INT64, (int)round % spmd_npes, NULL);
        int64_t i = 0;
        while (i < ELEMS && sum[i] == (i + round) * spmd_npes && data[i] == -round)
            i++;
        CHECK(status == 0 && i == ELEMS, "#%lld: %d, element %lld: %lld, %lld", (long long)round,
              status, (long long)i, (long long)sum[i % ELEMS], (long long)data[i % ELEMS]);
    }
}

/* A root may use its new team and leave it before the others have joined. */
static void hasty_root(int rounds)
{
    int32_t *value = (int32_t *)pools[HEAP][0];
    for (int i = 0; i < rounds; i++) {
        nvshmem_team_t team;
        CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &team) == 0,
              "%s", nvs_last_error());
        *value = spmd_me == i % spmd_npes ? i : -1;
        int status = nvs_broadcast(team, value, value, 1, NVS_INT32, i % spmd_npes, NULL);
        CHECK(status == 0 && *value == i, "team %d: %d, %d", i, status, *value);
        nvshmem_team_destroy(team);
    }
}

static void make_teams(void)
{
    nvshmem_team_t handle;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, spmd_npes - 1, -1, spmd_npes, NULL, 0,
                                     &handle) == 0,
          "reversed team");
    world = (struct coll_team){.handle = NVSHMEM_TEAM_WORLD, .npes = spmd_npes, .me = spmd_me};
    reversed =
        (struct coll_team){.handle = handle, .npes = spmd_npes, .me = spmd_npes - 1 - spmd_me};
    for (int p = 0; p < spmd_npes; p++) {
        world.pes[p] = p;
        reversed.pes[p] = spmd_npes - 1 - p;
    }
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    pools_open();
    make_teams();
    late_pes();
    alternating_roots(10000);
    root_ahead(2000, 2);
    root_ahead(100, 4000);
    two_teams(120);
    stage_reuse(20);
    hasty_root(100);
    pools_close();
    return spmd_end();
}
