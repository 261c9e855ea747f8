/*
 * coll_mismatch.c - PEs that call different things get an error that names both sides, on every PE
 * and without hanging; the team is broken from then on, the world and new teams are not.
 *
 * With the argument "end" instead: a void function's mismatch, which must end the job with the
 * sentence on stderr (coll_end.sh looks).
 */
#include "coll.h"
#include <nvshmemx.h>

enum { BIG = 3000 };

static int64_t *dst, *src;
static int odd; /* the PE that calls something else */

struct scenario {
    const char *name;
    int (*call)(nvs_team_t team, bool is_odd);
    const char *words[2]; /* both must be in the sentence */
};

static int all_reduce(nvs_team_t team, size_t nelems, enum nvs_dtype dtype, enum nvs_op op)
{
    return nvs_all_reduce(team, dst, src, nelems, dtype, op, NULL);
}

static int differ_kind(nvs_team_t team, bool is_odd)
{
    return is_odd ? nvs_all_gather(team, dst, src, 4, NVS_INT64, NULL)
                  : all_reduce(team, 4, NVS_INT64, NVS_SUM);
}

static int differ_count(nvs_team_t team, bool is_odd)
{
    return all_reduce(team, is_odd ? 5 : 4, NVS_INT64, NVS_SUM);
}

static int differ_count_big(nvs_team_t team, bool is_odd)
{
    return all_reduce(team, is_odd ? 5 : BIG, NVS_INT64, NVS_SUM);
}

static int differ_type(nvs_team_t team, bool is_odd)
{
    return all_reduce(team, BIG, is_odd ? NVS_FLOAT64 : NVS_INT64, NVS_SUM);
}

static int differ_op(nvs_team_t team, bool is_odd)
{
    return all_reduce(team, 4, NVS_INT64, is_odd ? NVS_MAX : NVS_SUM);
}

/* Each side takes itself for the root, and a small broadcast does not wait: seen one call later. */
static int differ_root(nvs_team_t team, bool is_odd)
{
    return nvs_broadcast(team, dst, src, 1, NVS_INT64, is_odd ? odd : 0, NULL);
}

static int differ_root_big(nvs_team_t team, bool is_odd)
{
    return nvs_broadcast(team, dst, src, BIG, NVS_INT64, is_odd ? odd : 0, NULL);
}

static int broadcast_or_sync(nvs_team_t team, bool is_odd)
{
    return is_odd ? nvs_broadcast(team, dst, src, BIG, NVS_INT64, odd, NULL)
                  : nvshmem_team_sync(team);
}

static int stride(nvs_team_t team, bool is_odd)
{
    return shmem_int64_alltoalls(team, dst, src, is_odd ? 1 : 2, 1, 2);
}

/* A split begins with an all_gather of one number, which no call of a user's may match. */
static int gather_or_split(nvs_team_t team, bool is_odd)
{
    nvshmem_team_t made;
    if (is_odd)
        return nvs_all_gather(team, dst, src, 1, NVS_INT64, NULL);
    return nvshmem_team_split_strided(team, 0, 1, spmd_npes, NULL, 0, &made) ? NVS_ERR_MISMATCH : 0;
}

static const struct scenario scenarios[] = {
    {"kind", differ_kind, {"all_gather", "all_reduce"}},
    {"count", differ_count, {"5 elements", "4 elements"}},
    {"small and big count", differ_count_big, {"5 elements", "3000 elements"}},
    {"type", differ_type, {"float64", "int64"}},
    {"operator", differ_op, {"max", "sum"}},
    {"root", differ_root, {"root 0", "root"}},
    {"root of a big one", differ_root_big, {"root 0", "root"}},
    {"broadcast and sync", broadcast_or_sync, {"broadcast", "sync"}},
    {"strides", stride, {"all_to_all", "all_to_all"}},
    {"gather and split", gather_or_split, {"all_gather", "team split"}},
};

static nvs_team_t world_again(void)
{
    nvshmem_team_t team;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &team) == 0,
          "%s", nvs_last_error());
    return team;
}

/* Calls until the team says that it is broken; the sentence of that call. */
static const char *provoke(const struct scenario *scenario, nvs_team_t team)
{
    int status = scenario->call(team, spmd_me == odd);
    for (int i = 0; i < 2 && status == 0; i++)
        status = all_reduce(team, 1, NVS_INT64, NVS_SUM);
    CHECK(status == NVS_ERR_MISMATCH, "%s: status %d", scenario->name, status);
    return nvs_last_error();
}

static void run_scenario(const struct scenario *scenario)
{
    int64_t one = 1, sum = 0, named, named_by = 0;
    nvs_team_t team = world_again();
    const char *sentence = provoke(scenario, team);
    char me[16];
    snprintf(me, sizeof me, "PE %d", spmd_me);
    named = strstr(sentence, scenario->words[0]) && strstr(sentence, scenario->words[1]) &&
            strstr(sentence, me);
    CHECK(named || strstr(sentence, "given up"), "%s: '%s'", scenario->name, sentence);
    /* From now on the same, for every kind of call. */
    CHECK(all_reduce(team, 1, NVS_INT64, NVS_SUM) == NVS_ERR_MISMATCH, "%s", scenario->name);
    CHECK(nvs_broadcast(team, dst, src, 1, NVS_INT64, 0, NULL) == NVS_ERR_MISMATCH, "%s",
          scenario->name);
    CHECK(nvshmem_barrier(team) != 0, "%s: barrier", scenario->name);
    nvshmem_team_destroy(team);
    /* The world works, and so does the next team, which gets the same place. */
    CHECK(nvs_all_reduce(0, &named_by, &named, 1, NVS_INT64, NVS_SUM, NULL) == 0, "%s",
          nvs_last_error());
    CHECK(named_by >= 1, "%s: no PE names both sides", scenario->name);
    team = world_again();
    CHECK(nvs_all_reduce(team, &sum, &one, 1, NVS_INT64, NVS_SUM, NULL) == 0 && sum == spmd_npes,
          "new team after '%s': %s", scenario->name, nvs_last_error());
    nvshmem_team_destroy(team);
}

/* With NVS_ON_ERROR=return a void function leaves its error for nvshmemx_error_check(). The active
 * set has all PEs but the last, so that the world stays whole. */
static void void_function(void)
{
    static long sync[SHMEM_BCAST_SYNC_SIZE];
    CHECK(nvshmemx_error_check() != 0, "the errors above were not kept");
    CHECK(nvshmemx_error_check() == 0, "an error is reported twice");
    if (spmd_npes < 3 || spmd_me == spmd_npes - 1)
        return;
    shmem_fcollect64(dst, src, spmd_me == 0 ? 1 : 2, 0, 0, spmd_npes - 1, sync);
    int status = nvshmemx_error_check();
    CHECK(status == NVS_ERR_MISMATCH, "error check says %d", status);
}

static int end_job(void)
{
    static long sync[SHMEM_BCAST_SYNC_SIZE];
    shmem_fcollect64(dst, src, spmd_me == 0 ? 1 : 2, 0, 0, spmd_npes, sync);
    fprintf(stderr, "PE %d came back from a mismatch\n", spmd_me);
    return 0;
}

int main(int argc, char **argv)
{
    bool ending = argc > 1 && strcmp(argv[1], "end") == 0;
    if (!ending)
        setenv("NVS_ON_ERROR", "return", 1);
    spmd_begin(argc, argv);
    odd = spmd_npes - 1;
    dst = nvs_malloc(BIG * sizeof *dst * (size_t)spmd_npes);
    src = nvs_malloc(BIG * sizeof *src * (size_t)spmd_npes);
    if (ending)
        return end_job();
    for (size_t i = 0; spmd_npes > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        run_scenario(&scenarios[i]);
    if (spmd_npes > 1)
        void_function();
    int status = spmd_end();
    return spmd_npes > 1 ? status : SPMD_SKIP;
}
