/*
 * contexts.c - contexts: options, PE numbers that count in the context's team, quiet and fence of
 * one context, and what a context that goes away leaves behind. Runs with NVS_ON_ERROR=return.
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmemx.h>

enum { MAX_PES = 8, MANY = 300 };

static long cells[MAX_PES], words[64];
static long *heap_cells;

static void test_options(void)
{
    const long all = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    for (long options = 0; options <= all; options++) {
        shmem_ctx_t ctx;
        shmem_team_t team = SHMEM_TEAM_INVALID;
        CHECK(shmem_ctx_create(options, &ctx) == 0, "options %ld", options);
        CHECK(shmem_ctx_get_team(ctx, &team) == 0 && team == SHMEM_TEAM_WORLD, "%d", (int)team);
        shmem_ctx_long_p(ctx, &cells[0], 100 + options * 10 + spmd_me, right);
        shmem_ctx_quiet(ctx);
        shmem_sync_all();
        CHECK(cells[0] == 100 + options * 10 + left, "options %ld: %ld", options, cells[0]);
        long there = shmem_ctx_long_g(ctx, &cells[0], right);
        CHECK(there == 100 + options * 10 + spmd_me, "options %ld: %ld", options, there);
        shmem_ctx_destroy(ctx);
        shmem_sync_all();
    }
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    CHECK(shmem_ctx_create(0x400, &ctx) != 0 && ctx == SHMEM_CTX_INVALID, "unknown option");
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "unknown option");
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD, "%d",
          (int)team);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID, "%d",
          (int)team);
}

/* Contexts of a team that counts backwards: PE i there is world PE npes - 1 - i. */
static void test_team_numbers(void)
{
    shmem_team_t team;
    shmem_ctx_t ctx;
    int last = spmd_npes - 1;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, last, spmd_npes > 1 ? -1 : 1, spmd_npes, NULL,
                                   0, &team) == 0,
          "split");
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0, "team_create_ctx");
    shmem_team_t of_ctx;
    CHECK(shmem_ctx_get_team(ctx, &of_ctx) == 0 && of_ctx == team, "%d", (int)of_ctx);
    memset(heap_cells, 0, MAX_PES * sizeof *heap_cells);
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++) {
        long value = 1000 + spmd_me * 10 + pe;
        shmem_ctx_long_put(ctx, &heap_cells[spmd_me], &value, 1, pe);
    }
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    int my_team_pe = last - spmd_me;
    for (int pe = 0; pe < spmd_npes; pe++) {
        CHECK(heap_cells[pe] == 1000 + pe * 10 + my_team_pe, "%ld from PE %d", heap_cells[pe], pe);
        long value = shmem_ctx_long_g(ctx, &heap_cells[0], pe);
        CHECK(value == 1000 + pe, "%ld at team PE %d", value, pe);
    }
    shmem_sync_all();
    for (int pe = 0; pe < spmd_npes; pe++)
        (void)shmem_ctx_long_atomic_fetch_add(ctx, &heap_cells[0], pe, pe);
    shmem_sync_all();
    long want = 1000 + my_team_pe + (long)spmd_npes * my_team_pe;
    CHECK(heap_cells[0] == want, "%ld, expected %ld", heap_cells[0], want);
    shmem_ctx_long_p(ctx, &heap_cells[0], 1, spmd_npes);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "a team PE that does not exist");
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(team);
    shmem_barrier_all();
}

/* A team of one of the PEs: number 0 is this PE itself. */
static void test_own_team(void)
{
    shmem_team_t team, mine = SHMEM_TEAM_INVALID;
    for (int pe = 0; pe < spmd_npes; pe++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &team) == 0, "%d", pe);
        if (pe == spmd_me)
            mine = team;
    }
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(mine, SHMEM_CTX_PRIVATE, &ctx) == 0, "team_create_ctx");
    shmem_ctx_long_p(ctx, &words[0], 7 + spmd_me, 0);
    shmem_ctx_quiet(ctx);
    CHECK(words[0] == 7 + spmd_me, "%ld", words[0]);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID,
          "a context of no team");
    nvshmemx_error_check();
    shmem_team_destroy(mine); /* destroys the context, too */
    shmem_barrier_all();
}

/* Many contexts at once: each completes its own operations, and destroy completes the rest. */
static void test_many(void)
{
    static shmem_ctx_t ctxs[MANY];
    long *area = shmem_calloc(MANY, sizeof *area);
    int right = (spmd_me + 1) % spmd_npes;
    for (int i = 0; i < MANY; i++)
        CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctxs[i]) == 0, "context %d", i);
    for (int i = 0; i < MANY; i++)
        shmem_ctx_long_p(ctxs[i], &area[i], 5000 + i, right);
    for (int i = 0; i < MANY; i += 2) {
        shmem_ctx_quiet(ctxs[i]);
        CHECK(shmem_long_g(&area[i], right) == 5000 + i, "context %d: %ld", i,
              shmem_long_g(&area[i], right));
    }
    for (int i = 0; i < MANY; i++)
        shmem_ctx_destroy(ctxs[i * 7 % MANY]); /* 7 and MANY have no common divisor */
    shmem_sync_all();
    for (int i = 0; i < MANY; i++)
        CHECK(area[i] == 5000 + i, "context %d: %ld", i, area[i]);
    shmem_free(area);
}

static void test_invalid(void)
{
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    CHECK(nvshmemx_error_check() == 0, "these do nothing");
    shmem_ctx_long_p(SHMEM_CTX_INVALID, &words[1], 1, 0);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "a put on the invalid context");
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "the default context stays");
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0, "create");
    shmem_ctx_destroy(ctx);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    heap_cells = shmem_calloc(MAX_PES, sizeof *heap_cells);
    test_options();
    test_team_numbers();
    test_own_team();
    test_many();
    test_invalid();
    return spmd_end();
}
