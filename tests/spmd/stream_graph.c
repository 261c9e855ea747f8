/*
 * stream_graph.c - graphs of operations on streams, captured once and launched many times, on one
 * stream and on another.
 */
#include "stream.h"

enum { LAUNCHES = 100, N = 700 };

static cudaStream_t origin, branch, elsewhere;

static cudaGraphExec_t end_capture(size_t nodes)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    size_t count = 0;
    CUDA(cudaStreamEndCapture(origin, &graph));
    CUDA(cudaGraphGetNodes(graph, NULL, &count));
    CHECK(count == nodes, "%zu nodes, not %zu", count, nodes);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    /* The branch is an ordinary stream again. */
    CUDA(cudaStreamSynchronize(branch));
    CUDA(cudaDeviceSynchronize());
    return exec;
}

/* What is captured does not happen. */
static void begin_capture(void)
{
    enum cudaStreamCaptureStatus status;
    CUDA(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
    CUDA(cudaStreamIsCapturing(origin, &status));
    CHECK(status == cudaStreamCaptureStatusActive, "%d", (int)status);
}

struct step {
    long *grads, *sums;
};

static void compute(void *arg)
{
    struct step *step = arg;
    for (int i = 0; i < N; i++)
        step->grads[i] = step->sums[i] + spmd_me + i;
}

/* A training step: compute, sum, and what comes next depends on the sum. */
static void steps(void)
{
    struct step step = {nvshmem_calloc(N, sizeof(long)), nvshmem_calloc(N, sizeof(long))};
    nvshmem_barrier_all();
    begin_capture();
    CUDA(cudaLaunchHostFunc(origin, compute, &step));
    nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, step.sums, step.grads, N, origin);
    nvshmemx_barrier_all_on_stream(origin);
    cudaGraphExec_t exec = end_capture(3);
    CHECK(step.sums[1] == 0, "the capture ran");
    uint64_t want[N] = {0};
    for (int i = 0; i < LAUNCHES; i++) {
        CUDA(cudaGraphLaunch(exec, i % 3 ? origin : elsewhere));
        for (int k = 0; k < N; k++) /* wraps, as the sums do */
            want[k] = want[k] * (uint64_t)spmd_npes +
                      (uint64_t)(spmd_npes * (spmd_npes - 1) / 2 + k * spmd_npes);
    }
    CUDA(cudaDeviceSynchronize());
    for (int k = 0; k < N; k++)
        CHECK((uint64_t)step.sums[k] == want[k], "%d: %ld", k, step.sums[k]);
    CUDA(cudaGraphExecDestroy(exec));
    nvshmem_barrier_all();
    nvshmem_free(step.grads);
    nvshmem_free(step.sums);
}

/* Two branches: one waits for what the other one of the neighbour puts. The wait was captured
 * first, so a runner that took one node after the other would hang. */
static void branches(void)
{
    uint64_t *sig = nvshmem_calloc(2, sizeof *sig);
    long *data = nvshmem_calloc(N, sizeof *data), *src = nvshmem_calloc(N, sizeof *src);
    cudaEvent_t fork, join;
    CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    for (int i = 0; i < N; i++)
        src[i] = spmd_me + 5 * i;
    nvshmem_barrier_all();
    begin_capture();
    CUDA(cudaEventRecord(fork, origin));
    CUDA(cudaStreamWaitEvent(branch, fork, 0));
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 1, branch);
    nvshmemx_uint64_p_on_stream(sig, 0, spmd_me, branch);
    nvshmemx_quiet_on_stream(branch);
    nvshmemx_long_put_signal_on_stream(data, src, N, sig, 1, NVSHMEM_SIGNAL_SET, right_pe(),
                                       origin);
    CUDA(cudaEventRecord(join, branch));
    CUDA(cudaStreamWaitEvent(origin, join, 0));
    nvshmemx_barrier_all_on_stream(origin);
    nvshmemx_signal_op_on_stream(sig + 1, 1, NVSHMEM_SIGNAL_ADD, right_pe(), origin);
    nvshmemx_barrier_all_on_stream(origin);
    cudaGraphExec_t exec = end_capture(7);
    CUDA(cudaEventRecord(join, branch));
    CUDA(cudaEventSynchronize(join));
    for (int i = 0; i < LAUNCHES; i++)
        CUDA(cudaGraphLaunch(exec, origin));
    CUDA(cudaStreamSynchronize(origin));
    CHECK(sig[0] == 0 && sig[1] == LAUNCHES, "%llu", (unsigned long long)sig[1]);
    for (int i = 0; i < N; i++)
        CHECK(data[i] == left_pe() + 5 * i, "%d: %ld", i, data[i]);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaEventDestroy(fork));
    CUDA(cudaEventDestroy(join));
    nvshmem_barrier_all();
    nvshmem_free(sig);
    nvshmem_free(data);
    nvshmem_free(src);
}

/* Graphs in turns with other collectives on the same team, and a graph within a graph. */
static void mixed(void)
{
    int *src = nvshmem_calloc(1, sizeof *src), *dst = nvshmem_calloc(3, sizeof *dst);
    *src = 1;
    nvshmem_barrier_all();
    begin_capture();
    nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dst, src, 1, origin);
    nvshmemx_int_put_on_stream(src, dst, 1, spmd_me, origin);
    nvshmemx_quiet_on_stream(origin);
    cudaGraphExec_t inner = end_capture(3);
    begin_capture();
    CUDA(cudaGraphLaunch(inner, origin));
    nvshmemx_int_p_on_stream(src, 1, spmd_me, origin);
    nvshmemx_quiet_on_stream(origin);
    CUDA(cudaGraphLaunch(inner, origin));
    cudaGraphExec_t outer = end_capture(8);
    for (int i = 0; i < 20; i++) {
        CUDA(cudaGraphLaunch(outer, origin));
        nvshmemx_int_max_reduce_on_stream(NVSHMEM_TEAM_WORLD, dst + 1, dst, 1, origin);
        nvshmem_int_max_reduce(NVSHMEM_TEAM_WORLD, dst + 2, dst + 1, 1);
        CHECK(dst[1] == spmd_npes && dst[2] == spmd_npes, "%d: %d %d", i, dst[1], dst[2]);
        nvshmemx_int_p_on_stream(src, 1, spmd_me, origin);
        nvshmemx_quiet_on_stream(origin);
        CUDA(cudaStreamSynchronize(origin));
    }
    CUDA(cudaGraphExecDestroy(outer));
    CUDA(cudaGraphExecDestroy(inner));
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    origin = stream_new(cudaStreamNonBlocking);
    branch = stream_new(cudaStreamNonBlocking);
    elsewhere = stream_new(cudaStreamNonBlocking);
    steps();
    branches();
    mixed();
    CHECK(nvshmemx_error_check() == 0, "an error was recorded");
    return spmd_end();
}
