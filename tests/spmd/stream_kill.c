/*
 * stream_kill.c - PE 1 dies while the streams of all others wait for it: in a collective, or for a
 * signal that it should have set. They get the error, with its number, from the call that
 * synchronises. Run by stream_kill.sh with --on-loss continue.
 *
 *     stream_kill collective|signal|graph|blocking
 */
#include "stream.h"

#include <signal.h>

static uint64_t *sig;
static int *word;

static void put_work(const char *what, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    bool graphs = strcmp(what, "graph") == 0;
    if (graphs)
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    if (strcmp(what, "signal") == 0)
        nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 1, stream);
    else
        CHECK(!nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, word, word + 1, 1, stream),
              "refused");
    if (!graphs)
        return;
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
}

int main(int argc, char **argv)
{
    setenv("NVS_ON_ERROR", "return", 0); /* unless the script says otherwise */
    spmd_begin(argc, argv);
    const char *what = argc > 1 ? argv[1] : "collective";
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    sig = nvshmem_calloc(2, sizeof *sig);
    word = nvshmem_calloc(2, sizeof *word);
    nvshmem_barrier_all();
    if (spmd_me == 1) {
        spmd_sleep_ms(100); /* the others wait by now, most likely */
        kill(getpid(), SIGKILL);
    }
    put_work(what, stream);
    if (strcmp(what, "blocking") == 0) { /* behind the one that fails */
        int status = nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, word, word + 1, 1);
        CHECK(status == NVS_ERR_PE_LOST, "%d", status);
    }
    cudaError_t error = cudaStreamSynchronize(stream);
    const char *sentence = nvs_last_error();
    CHECK(error == cudaErrorLaunchFailure, "%s", cudaGetErrorName(error));
    CHECK(strstr(sentence, "PE 1 was lost"), "%s", sentence);
    CHECK(nvshmemx_error_check() == NVS_ERR_PE_LOST, "no error was recorded");
    /* Nobody leaves, which is a loss too, before all have noticed this one. */
    nvshmem_uint64_atomic_inc(sig + 1, 0);
    for (int ms = 0; ms < 20000 && nvshmem_uint64_atomic_fetch(sig + 1, 0) < 3; ms++)
        spmd_sleep_ms(1);
    printf("PE %d: %s\n", spmd_me, spmd_failures ? "wrong" : "noticed");
    fflush(stdout);
    _exit(0);
}
