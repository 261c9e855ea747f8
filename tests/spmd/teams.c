/*
 * teams.c - splits of all kinds against a plain computation of who must be in them, nested, with
 * overlapping teams in use at the same time, made and destroyed thousands of times, and up to the
 * limit.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>

enum { MAX_PES = 8 };

static long cells[MAX_PES]; /* by world PE: what it last sent here */

/* The members of a team as world numbers, as this test computes them. */
struct members {
    int count, pes[MAX_PES], mine; /* mine: this PE's number in it, -1: none */
};

static void add_member(struct members *team, int pe)
{
    if (pe == spmd_me)
        team->mine = team->count;
    team->pes[team->count++] = pe;
}

static struct members world(void)
{
    struct members all = {.mine = -1};
    for (int pe = 0; pe < spmd_npes; pe++)
        add_member(&all, pe);
    return all;
}

static struct members strided(const struct members *parent, int start, int stride, int size)
{
    struct members team = {.mine = -1};
    for (int i = 0; i < size; i++)
        add_member(&team, parent->pes[start + i * stride]);
    return team;
}

/* Handle and computation agree: numbers, translations both ways. */
static void check_team(shmem_team_t team, const struct members *want, const char *what)
{
    if (want->mine < 0) {
        CHECK(team == SHMEM_TEAM_INVALID, "%s: not a member, but has %d", what, (int)team);
        return;
    }
    CHECK(team != SHMEM_TEAM_INVALID, "%s: a member, but has none", what);
    CHECK(shmem_team_n_pes(team) == want->count, "%s: %d PEs, expected %d", what,
          shmem_team_n_pes(team), want->count);
    CHECK(shmem_team_my_pe(team) == want->mine, "%s: number %d, expected %d", what,
          shmem_team_my_pe(team), want->mine);
    CHECK(nvshmem_team_my_pe(team) == want->mine, "%s: number %d, expected %d", what,
          nvshmem_team_my_pe(team), want->mine);
    for (int i = 0; i < want->count; i++) {
        int pe = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
        CHECK(pe == want->pes[i], "%s: PE %d is world PE %d, expected %d", what, i, pe,
              want->pes[i]);
        pe = nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, want->pes[i], team);
        CHECK(pe == i, "%s: world PE %d is %d, expected %d", what, want->pes[i], pe, i);
    }
    CHECK(shmem_team_translate_pe(team, want->count, SHMEM_TEAM_WORLD) == -1, "%s: one too many",
          what);
    CHECK(shmem_team_translate_pe(team, -1, SHMEM_TEAM_WORLD) == -1, "%s: PE -1", what);
}

/* Everybody sends to the next in the team, then syncs: the message must be there, provided that the
 * sync really waits for everybody. */
static void use_team(shmem_team_t team, const struct members *want, long value)
{
    if (want->mine < 0)
        return;
    int next = (want->mine + 1) % want->count, prev = (want->mine + want->count - 1) % want->count;
    shmem_long_p(&cells[spmd_me], value, shmem_team_translate_pe(team, next, SHMEM_TEAM_WORLD));
    shmem_quiet();
    CHECK(shmem_team_sync(team) == 0, "team_sync");
    long got = cells[want->pes[prev]];
    CHECK(got == value, "%ld from PE %d, expected %ld", got, want->pes[prev], value);
    CHECK(nvshmem_team_sync(team) == 0, "nvshmem_team_sync");
}

/* A random strided split of a team of this many PEs. */
static void draw_split(struct rng *rng, int npes, int *start, int *stride, int *size)
{
    *start = (int)rng_below(rng, (size_t)npes);
    *size = 1 + (int)rng_below(rng, (size_t)npes);
    for (;;) {
        *stride = (int)rng_below(rng, 7) - 3;
        int last = *start + *stride * (*size - 1);
        if (last >= 0 && last < npes && (*stride || *size == 1))
            return;
        if (rng_below(rng, 4) == 0 && *size > 1)
            --*size;
    }
}

/* Splits, and splits what came out of it once more. */
static void test_strided(int rounds)
{
    struct rng rng = rng_of(1, 0);
    struct members all = world();
    for (int round = 0; round < rounds; round++) {
        int start, stride, size;
        char what[80];
        draw_split(&rng, spmd_npes, &start, &stride, &size);
        snprintf(what, sizeof what, "round %d: start %d, stride %d, size %d", round, start, stride,
                 size);
        shmem_team_t team;
        shmem_team_config_t config = {.num_contexts = round % 5};
        int status = shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, &config,
                                              SHMEM_TEAM_NUM_CONTEXTS, &team);
        CHECK(status == 0, "%s: %d", what, status);
        struct members want = strided(&all, start, stride, size), inner_want;
        check_team(team, &want, what);
        use_team(team, &want, round * 10 + 1);
        int i_start, i_stride, i_size;
        draw_split(&rng, size, &i_start, &i_stride, &i_size);
        nvshmem_team_t inner = NVSHMEM_TEAM_INVALID;
        if (want.mine >= 0) {
            shmem_team_config_t got = {0};
            CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0, "%s", what);
            CHECK(got.num_contexts == round % 5, "%s: %d contexts", what, got.num_contexts);
            status = nvshmem_team_split_strided(team, i_start, i_stride, i_size, NULL, 0, &inner);
            CHECK(status == 0, "%s: %d", what, status);
            inner_want = strided(&want, i_start, i_stride, i_size);
            check_team(inner, &inner_want, what);
            use_team(inner, &inner_want, round * 10 + 2);
            use_team(team, &want, round * 10 + 3);
        }
        if (round % 2) {
            nvshmem_team_destroy(inner);
            shmem_team_destroy(team);
        } else {
            shmem_team_destroy(team); /* the child lives on */
            if (inner != NVSHMEM_TEAM_INVALID)
                use_team(inner, &inner_want, round * 10 + 4);
            nvshmem_team_destroy(inner);
        }
    }
}

static void test_2d(void)
{
    for (int xrange = 1; xrange <= spmd_npes + 1; xrange++) {
        shmem_team_t x, y;
        char what[40];
        snprintf(what, sizeof what, "xrange %d", xrange);
        int status = shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y);
        CHECK(status == 0, "%s: %d", what, status);
        struct members row = {.mine = -1}, column = {.mine = -1};
        for (int pe = 0; pe < spmd_npes; pe++) {
            if (pe / xrange == spmd_me / xrange)
                add_member(&row, pe);
            if (pe % xrange == spmd_me % xrange)
                add_member(&column, pe);
        }
        check_team(x, &row, what);
        check_team(y, &column, what);
        use_team(x, &row, 100 + xrange);
        use_team(y, &column, 200 + xrange);
        use_team(x, &row, 300 + xrange);
        shmem_team_destroy(y);
        shmem_team_destroy(x);
    }
}

static void test_predefined(void)
{
    struct members all = world(), self = {.mine = -1};
    add_member(&self, spmd_me);
    check_team(SHMEM_TEAM_WORLD, &all, "world");
    check_team(SHMEM_TEAM_SHARED, &all, "shared");
    check_team(NVSHMEMX_TEAM_NODE, &all, "node");
    check_team(NVSHMEMX_TEAM_SAME_MYNODE_INDEX, &self, "same index");
    use_team(SHMEM_TEAM_SHARED, &all, 5);
    use_team(NVSHMEMX_TEAM_NODE, &all, 6);
    use_team(NVSHMEMX_TEAM_SAME_MYNODE_INDEX, &self, 7);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1, "the invalid team");
    CHECK(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1, "the invalid team");
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1, "invalid");
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    shmem_barrier_all();
}

/* Overlapping teams (neighbours of a ring) all in use at once, in the same order everywhere. */
static void test_overlap(void)
{
    shmem_team_t teams[MAX_PES];
    struct members all = world(), wants[MAX_PES];
    int size = spmd_npes < 3 ? spmd_npes : 3;
    for (int i = 0; i + size <= spmd_npes; i++) {
        wants[i] = strided(&all, i, 1, size);
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, i, 1, size, NULL, 0, &teams[i]) == 0, "%d",
              i);
    }
    for (long round = 0; round < 20; round++)
        for (int i = 0; i + size <= spmd_npes; i++)
            use_team(teams[i], &wants[i], 1000 + round);
    for (int i = 0; i + size <= spmd_npes; i++)
        shmem_team_destroy(teams[i]);
}

/* Wrong arguments: nonzero, the invalid team, everywhere, and nothing is used up. */
static void test_refused(void)
{
    shmem_team_t team = 99, other = 99;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, spmd_npes + 1, NULL, 0, &team),
          "size too large");
    CHECK(team == SHMEM_TEAM_INVALID, "%d", (int)team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, spmd_npes, 1, 1, NULL, 0, &team), "start");
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 0, NULL, 0, &team), "size 0");
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, -1, 2, NULL, 0, &team), "below 0");
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team), "no parent");
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &team, NULL, 0, &other), "xrange 0");
    CHECK(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID, "%d %d", (int)team,
          (int)other);
    while (nvshmemx_error_check())
        ;
}

/* As many teams as there are places, of the world and of one PE: the next is refused on all PEs,
 * and after a destroy there is room again. */
static void test_limit(int size)
{
    static shmem_team_t teams[1000];
    int count = 0, status = 0;
    while (count < 1000 && !status)
        status = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[count++]);
    count--;
    CHECK(status && count >= 200, "%d teams, status %d", count, status);
    CHECK(nvshmemx_error_check() != 0, "no error was recorded");
    long mine = count, *counts = cells;
    shmem_barrier_all();
    shmem_long_p(&counts[0], mine, (spmd_me + 1) % spmd_npes);
    shmem_barrier_all();
    CHECK(counts[0] == mine, "%ld teams here, %ld on another PE", mine, counts[0]);
    for (int i = 0; i < count; i++)
        shmem_team_destroy(teams[spmd_me % 2 ? i : count - 1 - i]);
    shmem_barrier_all();
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[0]) == 0,
          "no room after all were destroyed");
    shmem_team_destroy(teams[0]);
    shmem_barrier_all();
}

/* A team of PEs that agree on a number instead of splitting a parent. */
static void test_unique_id(void)
{
    static nvshmemx_team_uniqueid_t id;
    if (spmd_me == 0) {
        nvshmemx_team_uniqueid_t made;
        CHECK(nvshmemx_team_get_uniqueid(&made) == 0, "no unique id");
        for (int pe = 0; pe < spmd_npes; pe++)
            shmem_uint64_p(&id, made, pe);
    }
    shmem_barrier_all();
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config.uniqueid = id;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    struct members reversed = {.mine = -1};
    for (int pe = spmd_npes - 1; pe >= 0; pe--)
        add_member(&reversed, pe);
    int status = nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, spmd_npes,
                                    spmd_npes - 1 - spmd_me);
    CHECK(status == 0, "%d", status);
    check_team(team, &reversed, "by unique id");
    use_team(team, &reversed, 77);
    nvshmem_team_destroy(team);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    test_predefined();
    test_strided(300);
    test_2d();
    test_overlap();
    test_refused();
    test_limit(spmd_npes);
    test_limit(1);
    test_unique_id();
    test_strided(5);
    return spmd_end();
}
