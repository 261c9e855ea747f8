/*
 * stream_errors.c - wrong calls are refused by the call, with a sentence; what goes wrong in a
 * stream reaches the call that synchronises. With NVS_ON_ERROR=return.
 */
#include "stream.h"

static void refused(int status, const char *words)
{
    int recorded = nvshmemx_error_check();
    CHECK(recorded == status, "%d is not %d (%s)", recorded, status, nvs_last_error());
    CHECK(strstr(nvs_last_error(), words), "\"%s\" is not in \"%s\"", words, nvs_last_error());
}

static void wrong_arguments(void)
{
    int *word = nvshmem_calloc(4, sizeof *word), local = 0;
    uint64_t *sig = nvshmem_calloc(1, sizeof *sig);
    cudaStream_t gone = stream_new(0);
    CUDA(cudaStreamDestroy(gone));
    nvshmemx_int_put_on_stream(word, &local, 1, spmd_npes, NULL);
    refused(NVS_ERR_INVALID, "nvshmemx_int_put_on_stream: pe: PE");
    nvshmemx_int_put_on_stream(&local, word, 1, 0, NULL);
    refused(NVS_ERR_SYMMETRIC, "dst");
    nvshmemx_int_put_on_stream(word, NULL, 1, 0, NULL);
    refused(NVS_ERR_INVALID, "src is NULL");
    nvshmemx_int_get_on_stream(&local, &local, 1, 0, NULL);
    refused(NVS_ERR_SYMMETRIC, "src");
    nvshmemx_int_iput_on_stream(word, &local, 0, 1, 2, 0, NULL);
    refused(NVS_ERR_INVALID, "dst_stride");
    nvshmemx_signal_op_on_stream(sig, 1, 3, 0, NULL);
    refused(NVS_ERR_INVALID, "signal operation 3");
    nvshmemx_int_wait_until_on_stream(word, 9, 1, NULL);
    refused(NVS_ERR_INVALID, "cmp");
    nvshmemx_int_wait_until_on_stream(&local, NVSHMEM_CMP_EQ, 1, NULL);
    refused(NVS_ERR_SYMMETRIC, "ivar");
    nvshmemx_int_wait_until_all_vector_on_stream(word, 2, NULL, NVSHMEM_CMP_EQ, NULL, NULL);
    refused(NVS_ERR_INVALID, "cmp_values");
    CHECK(nvshmemx_int_sum_reduce_on_stream(77, word, word, 1, NULL) < 0, "team 77");
    refused(NVS_ERR_INVALID, "team 77");
    CHECK(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, word, &local, 1, NULL) < 0, "src");
    refused(NVS_ERR_SYMMETRIC, "src");
    CHECK(nvshmemx_int_broadcast_on_stream(NVSHMEM_TEAM_WORLD, word, word, 1, -1, NULL) < 0,
          "root");
    refused(NVS_ERR_INVALID, "PE_root -1");
    nvshmemx_int_p_on_stream(word, 1, 0, gone);
    refused(NVS_ERR_INVALID, "does not exist");
    nvshmemx_quiet_on_stream((cudaStream_t)&local);
    refused(NVS_ERR_INVALID, "does not exist");
    CHECK(nvs_all_reduce(NVS_TEAM_WORLD, word, word, 1, NVS_INT32, NVS_SUM,
                         NVS_CALL(.stream = gone, .label = "lost")) == NVS_ERR_INVALID,
          "a stream that is gone");
    refused(NVS_ERR_INVALID, "nvs_all_reduce [lost]: stream");
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all(); /* no PE took a turn */
    nvshmem_free(word);
    nvshmem_free(sig);
}

/* Part of a graph can be neither what returns a value nor what waits for the stream. */
static void captured(void)
{
    int *word = nvshmem_calloc(1, sizeof *word);
    cudaStream_t stream = stream_new(cudaStreamNonBlocking), other = stream_new(0);
    cudaGraph_t graph;
    cudaEvent_t event;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    (void)nvshmemx_int_g_on_stream(word, spmd_me, stream);
    refused(NVS_ERR_INVALID, "captured");
    CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported, "synchronize");
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaErrorIllegalState,
          "begin");
    CUDA(cudaEventRecord(event, other));
    CHECK(cudaStreamWaitEvent(stream, event, 0) == cudaErrorStreamCaptureIsolation, "isolation");
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaStreamWaitEvent(other, event, 0));
    nvshmemx_int_p_on_stream(word, 1, spmd_me, other);
    CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent, "captured event");
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined, "unjoined");
    CHECK(!graph, "a graph");
    CHECK(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed) ==
              cudaErrorStreamCaptureUnsupported,
          "default stream");
    CHECK(cudaGetLastError() == cudaErrorStreamCaptureUnsupported, "last error");
    CHECK(cudaGetLastError() == cudaSuccess, "forgotten");
    nvshmemx_int_p_on_stream(word, 2, spmd_me, other); /* not captured any more */
    nvshmemx_quiet_on_stream(other);
    CUDA(cudaStreamSynchronize(other));
    CHECK(*word == 2, "%d", *word);
    CUDA(cudaEventDestroy(event));
    nvshmem_barrier_all();
    nvshmem_free(word);
}

/* A graph of a team that is no more. */
static void team_gone(void)
{
    int *word = nvshmem_calloc(1, sizeof *word);
    nvshmem_team_t team;
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &team);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    nvshmemx_int_sum_reduce_on_stream(team, word, word, 1, stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    nvshmem_team_destroy(team);
    CHECK(cudaGraphLaunch(exec, stream) == cudaErrorInvalidValue, "the launch was not refused");
    refused(NVS_ERR_INVALID, "was destroyed");
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    nvshmem_barrier_all();
    nvshmem_free(word);
    (void)cudaGetLastError();
}

static void inside(void *arg)
{
    *(cudaError_t *)arg = cudaStreamSynchronize(NULL);
}

/* PEs that disagree: the error is that of the team, and of the process from then on. The last test.
 */
static void disagree(void)
{
    nvshmem_team_t team;
    int *word = nvshmem_calloc(4, sizeof *word);
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    cudaError_t from_inside = cudaSuccess;
    CUDA(cudaLaunchHostFunc(stream, inside, &from_inside));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(from_inside == cudaErrorNotPermitted, "%d", (int)from_inside);
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &team);
    nvshmem_barrier_all();
    CHECK(!nvshmemx_int_sum_reduce_on_stream(team, word, word + 2, spmd_me == 0 ? 1 : 2, stream),
          "refused too early");
    if (spmd_npes == 1) {
        CUDA(cudaStreamSynchronize(stream));
        return;
    }
    CHECK(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure, "no failure");
    refused(NVS_ERR_MISMATCH, "disagree");
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure, "not the last error");
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure, "forgotten");
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure, "forgotten");
    CHECK(nvshmemx_int_sum_reduce_on_stream(team, word, word + 2, 1, stream) == NVS_ERR_MISMATCH,
          "the team is not broken");
    (void)nvshmemx_error_check();
}

int main(int argc, char **argv)
{
    setenv("NVS_ON_ERROR", "return", 1);
    spmd_begin(argc, argv);
    wrong_arguments();
    captured();
    team_gone();
    disagree();
    nvshmem_barrier_all();
    return spmd_end();
}
