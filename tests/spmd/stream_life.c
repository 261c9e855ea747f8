/*
 * stream_life.c - finalize waits for streams; nvs is initialised again and the streams go on; a
 * child of fork() has none of it.
 */
#include "stream.h"

#include <sys/wait.h>

static void slowly(void *arg)
{
    spmd_sleep_ms(30);
    ++*(int *)arg;
}

/* What is in streams happens before finalize ends, on all PEs. */
static void life(int number, cudaStream_t stream, cudaGraphExec_t *graph)
{
    static int count;
    static uint64_t signal; /* static data is symmetric, and stays over a finalize */
    nvshmem_init();
    if (*graph) /* of the life before */
        CHECK(cudaGraphLaunch(*graph, stream) == cudaErrorInitializationError, "launched");
    signal = 0;
    int *word = nvshmem_calloc(2, sizeof *word);
    nvshmem_barrier_all();
    CUDA(cudaLaunchHostFunc(stream, slowly, &count));
    nvshmemx_signal_op_on_stream(&signal, (uint64_t)number, NVSHMEM_SIGNAL_SET, right_pe(), stream);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, word, word + 1, 1, NULL);
    cudaGraph_t captured;
    cudaStream_t other = stream_new(cudaStreamNonBlocking);
    CUDA(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    nvshmemx_int_p_on_stream(word, 1, spmd_me, other);
    CUDA(cudaStreamEndCapture(other, &captured));
    CUDA(cudaStreamDestroy(other));
    CUDA(cudaGraphInstantiate(graph, captured, 0));
    CUDA(cudaGraphDestroy(captured));
    nvshmem_finalize();
    CHECK(signal == (uint64_t)number, "%llu", (unsigned long long)signal);
    CHECK(count == number, "%d", count);
}

/* The child's streams have no worker: an error, and no hang. */
static void forks(cudaStream_t stream)
{
    nvshmem_init();
    CUDA(cudaStreamSynchronize(stream));
    pid_t child = fork();
    if (child == 0) {
        cudaStream_t made;
        bool right = cudaStreamSynchronize(stream) == cudaErrorInitializationError &&
                     cudaStreamCreate(&made) == cudaErrorInitializationError &&
                     cudaDeviceSynchronize() == cudaErrorInitializationError;
        _exit(right ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "child: %d", status);
    nvshmemx_barrier_all_on_stream(stream);
    CUDA(cudaStreamSynchronize(stream));
    nvshmem_finalize();
}

int main(int argc, char **argv)
{
    setenv("NVS_ON_ERROR", "return", 1);
    spmd_begin(argc, argv);
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    cudaGraphExec_t graph = NULL;
    shmem_finalize();
    for (int i = 1; i <= 3; i++)
        life(i, stream, &graph);
    forks(stream);
    shmem_init();
    return spmd_end();
}
