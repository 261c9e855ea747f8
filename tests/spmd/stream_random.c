/*
 * stream_random.c - random mixes of puts, signals, waits, collectives and events on several streams
 * against a model.
 *
 * All PEs draw the same program. Each step is put into a stream that it names, so a PE's own copy
 * of the model can be kept by running the program in its order: steps of different streams touch
 * different memory, unless an event orders them.
 */
#include "stream.h"

enum { STREAMS = 4, CELLS = 64, STEPS = 120, ROUNDS = 12 };

static cudaStream_t streams[STREAMS];
static nvshmem_team_t teams[STREAMS];

/* The memory of one stream on one PE. */
struct strip {
    long cells[CELLS], sums[CELLS], gathered[CELLS];
};
static struct strip *strips;             /* symmetric: one for each stream */
static struct strip *model;              /* of all PEs: [pe * STREAMS + stream] */
static uint64_t *signals, told[STREAMS]; /* one for each stream; what it has reached */
static long locals[STREAMS][STEPS * ROUNDS];
static int nlocals[STREAMS];

static struct strip *at(int pe, int s)
{
    return &model[pe * STREAMS + s];
}

/* Every PE puts `count` cells of its own to the PE `shift` further, then tells it. */
static void put_step(struct rng *rng, int s, int shift)
{
    size_t from = rng_below(rng, CELLS / 2), to = CELLS / 2 + rng_below(rng, CELLS / 4);
    size_t count = 1 + rng_below(rng, CELLS / 4);
    int pe = (spmd_me + shift) % spmd_npes;
    if (from + count > CELLS / 2)
        count = CELLS / 2 - from;
    uint64_t value = ++told[s];
    /* The target is the source of collectives before, which others may change once it has left. */
    nvshmemx_barrier_on_stream(teams[s], streams[s]);
    nvshmemx_long_put_signal_on_stream(strips[s].cells + to, strips[s].cells + from, count,
                                       signals + s, value, NVSHMEM_SIGNAL_SET, pe, streams[s]);
    nvshmemx_signal_wait_until_on_stream(signals + s, NVSHMEM_CMP_GE, value, streams[s]);
    for (int p = 0; p < spmd_npes; p++)
        memcpy(at((p + shift) % spmd_npes, s)->cells + to, at(p, s)->cells + from,
               count * sizeof(long));
}

static void value_step(struct rng *rng, int s)
{
    size_t cell = rng_below(rng, CELLS / 2);
    long value = (long)rng_below(rng, 1000);
    nvshmemx_long_p_on_stream(strips[s].cells + cell, value + spmd_me, spmd_me, streams[s]);
    nvshmemx_quiet_on_stream(streams[s]);
    for (int p = 0; p < spmd_npes; p++)
        at(p, s)->cells[cell] = value + p;
}

static void sum_step(struct rng *rng, int s, bool typed)
{
    size_t count = 1 + rng_below(rng, CELLS);
    if (typed) {
        struct nvs_call call = {.size = sizeof call, .label = "sum", .stream = streams[s]};
        CHECK(!nvs_all_reduce(teams[s], strips[s].sums, strips[s].cells, count, NVS_INT64, NVS_SUM,
                              &call),
              "%s", nvs_last_error());
    } else {
        nvshmemx_long_sum_reduce_on_stream(teams[s], strips[s].sums, strips[s].cells, count,
                                           streams[s]);
    }
    for (size_t i = 0; i < count; i++) {
        long sum = 0;
        for (int p = 0; p < spmd_npes; p++)
            sum += at(p, s)->cells[i];
        for (int p = 0; p < spmd_npes; p++)
            at(p, s)->sums[i] = sum;
    }
}

static void gather_step(struct rng *rng, int s)
{
    size_t count = 1 + rng_below(rng, CELLS / (size_t)spmd_npes);
    size_t from = rng_below(rng, CELLS - count + 1);
    nvshmemx_long_fcollect_on_stream(teams[s], strips[s].gathered, strips[s].cells + from, count,
                                     streams[s]);
    for (int p = 0; p < spmd_npes; p++)
        for (int q = 0; q < spmd_npes; q++)
            memcpy(at(p, s)->gathered + (size_t)q * count, at(q, s)->cells + from,
                   count * sizeof(long));
}

/* A get into memory of the caller, whose expected values go with it. */
static long expected[STREAMS][STEPS * ROUNDS];

static void get_step(struct rng *rng, int s)
{
    size_t cell = rng_below(rng, CELLS);
    int pe = (spmd_me + 1) % spmd_npes, n = nlocals[s]++;
    nvshmemx_barrier_on_stream(teams[s], streams[s]);
    nvshmemx_long_get_on_stream(&locals[s][n], strips[s].cells + cell, 1, pe, streams[s]);
    expected[s][n] = at(pe, s)->cells[cell];
    nvshmemx_barrier_on_stream(teams[s], streams[s]);
}

/* One stream takes the cells of another one, after an event in that, which waits for it in turn. */
static void event_step(struct rng *rng, int s)
{
    int other = (s + 1 + (int)rng_below(rng, STREAMS - 1)) % STREAMS;
    cudaEvent_t there, back;
    CUDA(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
    CUDA(cudaEventRecord(there, streams[other]));
    CUDA(cudaStreamWaitEvent(streams[s], there, 0));
    CUDA(cudaMemcpyAsync(strips[s].cells, strips[other].cells, sizeof strips->cells / 2,
                         cudaMemcpyDeviceToDevice, streams[s]));
    CUDA(cudaEventRecord(back, streams[s]));
    CUDA(cudaStreamWaitEvent(streams[other], back, 0));
    CUDA(cudaEventDestroy(there));
    CUDA(cudaEventDestroy(back));
    for (int p = 0; p < spmd_npes; p++)
        memcpy(at(p, s)->cells, at(p, other)->cells, sizeof strips->cells / 2);
}

static void step(struct rng *rng)
{
    int s = (int)rng_below(rng, STREAMS);
    switch (rng_below(rng, 7)) {
    case 0:
        put_step(rng, s, 1 + (int)rng_below(rng, 3));
        break;
    case 1:
    case 2:
        value_step(rng, s);
        break;
    case 3:
        sum_step(rng, s, rng_below(rng, 2));
        break;
    case 4:
        gather_step(rng, s);
        break;
    case 5:
        get_step(rng, s);
        break;
    default:
        event_step(rng, s);
    }
}

static void compare(int round)
{
    for (int s = 0; s < STREAMS; s++) {
        const long *have = strips[s].cells, *want = at(spmd_me, s)->cells;
        for (size_t i = 0; i < sizeof *strips / sizeof(long); i++)
            CHECK(have[i] == want[i], "round %d, stream %d, word %zu of %d: %ld is not %ld", round,
                  s, i, CELLS, have[i], want[i]);
        for (int i = 0; i < nlocals[s]; i++)
            CHECK(locals[s][i] == expected[s][i], "round %d, stream %d, get %d: %ld is not %ld",
                  round, s, i, locals[s][i], expected[s][i]);
    }
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    strips = nvshmem_calloc(STREAMS, sizeof *strips);
    signals = nvshmem_calloc(STREAMS, sizeof *signals);
    model = calloc((size_t)(STREAMS * spmd_npes), sizeof *model);
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = stream_new(s ? cudaStreamNonBlocking : cudaStreamDefault);
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, teams + s);
    }
    nvshmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        struct rng rng = rng_of(7, (uint64_t)round);
        for (int i = 0; i < STEPS; i++)
            step(&rng);
        CUDA(cudaDeviceSynchronize());
        compare(round);
        nvshmem_barrier_all();
    }
    CHECK(nvshmemx_error_check() == 0, "an error was recorded");
    return spmd_end();
}
