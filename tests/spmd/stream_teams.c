/*
 * stream_teams.c - collectives of several teams on several streams at once, mixed with blocking
 * ones on the same teams, which take their turn behind what is in streams.
 */
#include "stream.h"

enum { ROUNDS = 60, TEAMS = 3, STREAMS = 3, MAX_ELEMS = 3000 };

static nvshmem_team_t teams[TEAMS];
static cudaStream_t streams[STREAMS];

static void make_teams(void)
{
    teams[0] = NVSHMEM_TEAM_WORLD;
    for (int i = 1; i < TEAMS; i++)
        CHECK(!nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, teams + i),
              "no team %d", i);
    for (int i = 0; i < STREAMS; i++)
        streams[i] = stream_new(cudaStreamNonBlocking);
}

static long expected(int round, size_t i)
{
    return (long)spmd_npes * (spmd_npes + 1) / 2 * (round + 1) + (long)i * spmd_npes;
}

static void fill_in(long *src, int round, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++)
        src[i] = (long)(spmd_me + 1) * (round + 1) + (long)i;
}

/* Every PE puts the same sums into the same streams; which stream comes first is up to chance. */
static void sums(void)
{
    long *src = nvshmem_malloc(ROUNDS * MAX_ELEMS * sizeof *src);
    long *dst = nvshmem_calloc(ROUNDS * MAX_ELEMS, sizeof *dst);
    struct rng rng = rng_of(1, 1);
    size_t nelems[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        nelems[round] = rng_below(&rng, 2) ? rng_below(&rng, 200) : rng_below(&rng, MAX_ELEMS);
        fill_in(src + round * MAX_ELEMS, round, nelems[round]);
    }
    nvshmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        long *in = src + round * MAX_ELEMS, *out = dst + round * MAX_ELEMS;
        nvshmem_team_t team = teams[rng_below(&rng, TEAMS)];
        size_t way = rng_below(&rng, STREAMS + 1);
        if (way < STREAMS)
            nvshmemx_long_sum_reduce_on_stream(team, out, in, nelems[round], streams[way]);
        else
            nvshmem_long_sum_reduce(team, out, in, nelems[round]);
    }
    CUDA(cudaDeviceSynchronize());
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < nelems[round]; i++)
            CHECK(dst[round * MAX_ELEMS + i] == expected(round, i), "round %d, %zu: %ld is not %ld",
                  round, i, dst[round * MAX_ELEMS + i], expected(round, i));
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
}

/* A blocking collective behind one in a stream that waits until this very PE goes on would hang; on
 * another team it must not. */
static void other_team(void)
{
    uint64_t *go = nvshmem_calloc(1, sizeof *go);
    int *dst = nvshmem_calloc(2, sizeof *dst), *src = nvshmem_calloc(1, sizeof *src);
    *src = 1;
    nvshmem_barrier_all();
    nvshmemx_signal_wait_until_on_stream(go, NVSHMEM_CMP_EQ, 1, streams[0]);
    nvshmemx_int_sum_reduce_on_stream(teams[1], dst, src, 1, streams[0]);
    nvshmem_int_sum_reduce(teams[2], dst + 1, src, 1);
    nvshmem_barrier(teams[2]);
    CHECK(cudaStreamQuery(streams[0]) == cudaErrorNotReady, "the sum did not wait");
    CHECK(dst[1] == spmd_npes, "%d", dst[1]);
    nvshmem_barrier(teams[2]);
    nvshmemx_signal_op(go, 1, NVSHMEM_SIGNAL_SET, right_pe());
    nvshmem_barrier(teams[1]); /* behind the sum */
    CHECK(dst[0] == spmd_npes, "%d", dst[0]);
    nvshmem_barrier_all();
    nvshmem_free(go);
    nvshmem_free(src);
    nvshmem_free(dst);
}

/* A team is destroyed when what is in streams on it is over; many of them reuse one place. */
static void short_lives(void)
{
    int *dst = nvshmem_calloc(20, sizeof *dst), *src = nvshmem_calloc(1, sizeof *src);
    *src = 2;
    nvshmem_barrier_all();
    for (int i = 0; i < 20; i++) {
        nvshmem_team_t team;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &team);
        nvshmemx_int_sum_reduce_on_stream(team, dst + i, src, 1, streams[i % STREAMS]);
        nvshmem_team_destroy(team);
        CHECK(dst[i] == 2 * spmd_npes, "%d", dst[i]);
    }
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
}

/* More broadcasts than the ring of a team has entries, with nobody in between to wait for all. */
static void broadcasts(void)
{
    enum { COUNT = 200 };
    int *dst = nvshmem_calloc(COUNT, sizeof *dst), *src = nvshmem_calloc(COUNT, sizeof *src);
    for (int i = 0; i < COUNT; i++)
        src[i] = 100 * spmd_me + i;
    nvshmem_barrier_all();
    for (int i = 0; i < COUNT; i++)
        nvshmemx_int_broadcast_on_stream(teams[i % TEAMS], dst + i, src + i, 1, 0,
                                         streams[i % STREAMS]);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        CHECK(dst[i] == i, "%d: %d", i, dst[i]);
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    make_teams();
    for (int i = 0; i < 3; i++)
        sums();
    other_team();
    short_lives();
    broadcasts();
    CHECK(nvshmemx_error_check() == 0, "an error was recorded");
    for (int i = 1; i < TEAMS; i++)
        nvshmem_team_destroy(teams[i]);
    return spmd_end();
}
