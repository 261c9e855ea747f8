/*
 * coll_random.c - random collectives against the reference: any function of the three APIs, on any
 * team, with any count, place and kind of memory. One seed, which PE 0 prints, decides all of it.
 *
 * What the PEs of a team must agree on comes from a generator that is the same on all; what each
 * may choose alone (kind of memory, shift, in place, when it arrives) from one of its own.
 */
#include "coll_case.h"

enum { MAX_TEAMS = 8, ROUND_CASES = 100, EAGER_BYTES = 2048 };

static struct coll_team teams[MAX_TEAMS];
static int num_teams;

/* ---- teams ----------------------------------------------------------------------------------- */

/* Adds the team that this PE is in, or an empty place, so that all PEs count alike. */
static void add_team(int handle, int npes, int first, int stride)
{
    struct coll_team *team = &teams[num_teams++];
    team->handle = handle;
    if (handle == NVSHMEM_TEAM_INVALID)
        return;
    team->npes = npes;
    for (int p = 0; p < npes; p++) {
        team->pes[p] = first + p * stride;
        if (team->pes[p] == spmd_me)
            team->me = p;
    }
    CHECK(nvshmem_team_n_pes(handle) == npes && nvshmem_team_my_pe(handle) == team->me,
          "team of %d says %d PEs, me %d", npes, nvshmem_team_n_pes(handle),
          nvshmem_team_my_pe(handle));
}

static void add_strided(int parent, int first, int stride, int npes, int world_first,
                        int world_stride)
{
    nvshmem_team_t handle = NVSHMEM_TEAM_INVALID;
    if (parent != NVSHMEM_TEAM_INVALID)
        nvshmem_team_split_strided(parent, first, stride, npes, NULL, 0, &handle);
    add_team(handle, npes, world_first, world_stride);
}

static void add_2d(int xrange)
{
    nvshmem_team_t x, y;
    int row = spmd_me / xrange, column = spmd_me % xrange;
    int last_row = (spmd_npes - 1) / xrange, last_columns = spmd_npes - last_row * xrange;
    CHECK(nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y) == 0,
          "2d split by %d", xrange);
    add_team(x, row == last_row ? last_columns : xrange, row * xrange, 1);
    add_team(y, column < last_columns ? last_row + 1 : last_row, column, xrange);
}

static void make_teams(void)
{
    int odd = spmd_me % 2, halves[2] = {(spmd_npes + 1) / 2, spmd_npes / 2};
    nvshmem_team_t half = NVSHMEM_TEAM_INVALID, none;
    add_team(NVSHMEM_TEAM_WORLD, spmd_npes, 0, 1);
    /* Even and odd PEs at once; a PE that is not in a team gets none. */
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, halves[0], NULL, 0, odd ? &none : &half);
    if (halves[1])
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 2, halves[1], NULL, 0,
                                   odd ? &half : &none);
    add_team(half, halves[odd], odd, 2);
    /* Nested: all but the first of my half. */
    add_strided(halves[odd] > 1 ? half : NVSHMEM_TEAM_INVALID, 1, 1, halves[odd] - 1, odd + 2, 2);
    add_strided(NVSHMEM_TEAM_WORLD, spmd_npes - 1, -1, spmd_npes, spmd_npes - 1, -1);
    add_strided(NVSHMEM_TEAM_WORLD, spmd_npes / 2, 1, 1, spmd_npes / 2, 1);
    add_2d(spmd_npes > 4 ? 3 : 2);
}

/* ---- one random case ------------------------------------------------------------------------- */

static size_t random_count(struct rng *rng, const struct coll_case *k)
{
    size_t size = type_bytes(k->fn->type), npes = (size_t)k->team->npes;
    bool whole = k->fn->kind == REDUCE_SCATTER || k->fn->kind == ALL_TO_ALL;
    size_t eager = EAGER_BYTES / size / (whole ? npes : 1);
    size_t stride = (size_t)(k->dst_stride > k->src_stride ? k->dst_stride : k->src_stride);
    size_t most = MAX_BUFFER_BYTES / size / npes / stride;
    size_t dice = rng_below(rng, 2000), count;
    if (dice < 100)
        count = 0;
    else if (dice < 300)
        count = 1;
    else if (dice < 1000)
        count = rng_below(rng, 20);
    else if (dice < 1350)
        count = eager + rng_below(rng, 7) - (eager < 3 ? eager : 3);
    else if (dice < 1950)
        count = rng_below(rng, 1500);
    else if (dice < 1996)
        count = rng_below(rng, 30000);
    else
        count = ((size_t)1 << 20) / size + rng_below(rng, most);
    return count < most ? count : most;
}

static enum in_place random_in_place(struct rng *rng, const struct coll_fn *fn)
{
    /* OpenSHMEM allows the same address for reductions only, NVSHMEM likewise. */
    if (fn->kind == COLLECT || fn->kind == ALL_TO_ALL_STRIDED ||
        (!fn->any_memory && fn->kind != REDUCE))
        return NOT_IN_PLACE;
    if (rng_below(rng, 3))
        return NOT_IN_PLACE;
    bool blocks = fn->kind == GATHER || fn->kind == REDUCE_SCATTER;
    return blocks && rng_below(rng, 2) ? OWN_BLOCK : SAME_ADDRESS;
}

/* What this PE chooses alone; half of the time the kind of memory is agreed on, so that the fast
 * ways, which need all PEs, are taken as often as the mixture. */
static void choose_alone(struct rng *rng, struct rng *own, struct coll_case *k)
{
    size_t kinds = k->fn->any_memory ? NUM_MEMORIES : ORDINARY;
    struct rng *memory_rng = rng_below(rng, 2) ? rng : own;
    k->dst_memory = (enum memory)rng_below(memory_rng, kinds);
    k->src_memory = (enum memory)rng_below(memory_rng, kinds);
    k->in_place = random_in_place(own, k->fn);
    k->dst_shift = rng_below(own, 20);
    k->src_shift = rng_below(own, 20);
    if (rng_below(own, 60) == 0)
        usleep((useconds_t)rng_below(own, 300));
}

static void random_case(uint64_t round)
{
    struct rng rng = rng_of(round, 0), own = rng_of(round, 1 + (uint64_t)spmd_me);
    size_t counts[MAX_TEAM_PES];
    const struct coll_team *team = &teams[rng_below(&rng, (size_t)num_teams)];
    if (team->handle == NVSHMEM_TEAM_INVALID)
        return;
    size_t fn = rng_below(&rng, rng_below(&rng, 2) ? NUM_NVS_FNS : NUM_COLL_FNS);
    struct coll_case k = {.fn = &coll_fns[fn], .team = team, .round = round, .counts = counts};
    bool strided = k.fn->kind == ALL_TO_ALL_STRIDED;
    k.dst_stride = strided ? 1 + (ptrdiff_t)rng_below(&rng, 4) : 1;
    k.src_stride = strided ? 1 + (ptrdiff_t)rng_below(&rng, 4) : 1;
    size_t count = random_count(&rng, &k);
    for (int p = 0; p < team->npes; p++)
        counts[p] = rng_below(&rng, 4) ? rng_below(&rng, count + 1) : 0;
    k.nelems = k.fn->kind == COLLECT ? counts[team->me] : count;
    k.root = (int)(rng_next(&rng) % (uint64_t)team->npes);
    choose_alone(&rng, &own, &k);
    if (rng_below(&rng, 12) == 0)
        CHECK((round % 2 ? nvshmem_barrier(team->handle) : shmem_team_sync(team->handle)) == 0,
              "barrier before #%llu", (unsigned long long)round);
    run_case(&k);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    pools_open();
    make_teams();
    bool is_long = argc > 1 && strcmp(argv[argc - 1], "long") == 0;
    double end = spmd_seconds() + (is_long ? spmd_stress_seconds(60) : 1.0);
    uint64_t round = 0;
    int *more = nvs_malloc(sizeof *more);
    do {
        for (int n = 0; n < ROUND_CASES; n++)
            random_case(round++);
        *more = spmd_seconds() < end;
        nvs_broadcast(NVS_TEAM_WORLD, more, more, 1, NVS_INT32, 0, NULL);
    } while (*more);
    if (spmd_me == 0)
        printf("%llu random collectives\n", (unsigned long long)round);
    nvs_free(more);
    pools_close();
    return spmd_end();
}
