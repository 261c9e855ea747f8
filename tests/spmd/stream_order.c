/*
 * stream_order.c - operations happen in the order of their stream and when the stream comes to
 * them; the caller goes on at once; what waits in one stream is set off by another one.
 */
#include "stream.h"

enum { N = 1000 };

/* All kinds of one-sided operations in one stream, each on what the one before has done. */
static void chain(cudaStream_t stream)
{
    long *ring = nvshmem_calloc(4 * N, sizeof *ring), *local = calloc(4 * N, sizeof *local);
    uint64_t *sig = nvshmem_calloc(4, sizeof *sig);
    int to = right_pe(), from = left_pe();
    for (int i = 0; i < N; i++)
        local[i] = 1000 * spmd_me + i;
    nvshmem_barrier_all();
    nvshmemx_long_put_on_stream(ring, local, N, to, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmemx_signal_op_on_stream(sig, 1, NVSHMEM_SIGNAL_SET, to, stream);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 1, stream);
    /* What came from the left goes on, and is read back. */
    nvshmemx_long_put_signal_on_stream(ring + N, ring, N, sig + 1, 7, NVSHMEM_SIGNAL_ADD, to,
                                       stream);
    nvshmemx_ulong_wait_until_on_stream((unsigned long *)sig + 1, NVSHMEM_CMP_GE, 7, stream);
    nvshmemx_long_get_on_stream(local + N, ring + N, N, spmd_me, stream);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_long_iput_on_stream(ring + 2 * N, local, 2, 1, N / 2, to, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmemx_sync_all_on_stream(stream);
    nvshmemx_long_iget_on_stream(local + 2 * N, ring + 2 * N, 1, 2, N / 2, to, stream);
    CUDA(cudaStreamSynchronize(stream));
    int before = (from + spmd_npes - 1) % spmd_npes;
    for (int i = 0; i < N; i++) {
        CHECK(ring[i] == 1000 * from + i, "%d: %ld", i, ring[i]);
        CHECK(local[N + i] == 1000 * before + i, "%d: %ld", i, local[N + i]);
        if (i < N / 2)
            CHECK(local[2 * N + i] == 1000 * spmd_me + i, "%d: %ld", i, local[2 * N + i]);
    }
    nvshmem_barrier_all();
    free(local);
    nvshmem_free(ring);
    nvshmem_free(sig);
}

/* p takes its value at the call, and the last one stays; g sees it. */
static void values(cudaStream_t stream)
{
    int *word = nvshmem_calloc(1, sizeof *word);
    nvshmem_barrier_all();
    for (int i = 0; i <= 500; i++) {
        int value = 2 * i + spmd_me;
        nvshmemx_int_p_on_stream(word, value, right_pe(), stream);
        nvshmemx_quiet_on_stream(stream);
        value = -1;
        (void)value;
    }
    int seen = nvshmemx_int_g_on_stream(word, right_pe(), stream);
    CHECK(seen == 1000 + spmd_me, "%d", seen);
    nvshmem_barrier_all();
    nvshmem_free(word);
}

/* The memory is read when the operation runs, and the caller is not held up by a stream that waits:
 * it sets the wait off itself, later. */
static void late(cudaStream_t stream)
{
    int *data = nvshmem_calloc(2, sizeof *data);
    uint64_t *go = nvshmem_calloc(1, sizeof *go);
    data[0] = -1;
    nvshmem_barrier_all();
    nvshmemx_signal_wait_until_on_stream(go, NVSHMEM_CMP_EQ, 1, stream);
    nvshmemx_int_put_on_stream(data + 1, data, 1, right_pe(), stream);
    nvshmemx_quiet_on_stream(stream);
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady, "the stream did not wait");
    data[0] = spmd_me + 1;
    nvshmemx_signal_op(go, 1, NVSHMEM_SIGNAL_SET, spmd_me);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(cudaStreamQuery(stream) == cudaSuccess, "the stream is not done");
    nvshmem_barrier_all();
    CHECK(data[1] == left_pe() + 1, "%d", data[1]);
    nvshmem_barrier_all();
    nvshmem_free(data);
    nvshmem_free(go);
}

/* Every PE waits in one stream for what its neighbour puts from another one, put in later: with one
 * worker for all streams this would hang. */
static void crosswise(void)
{
    enum { STREAMS = 6 };
    uint64_t *sig = nvshmem_calloc(2 * STREAMS, sizeof *sig);
    cudaStream_t waits[STREAMS], puts = stream_new(cudaStreamNonBlocking);
    nvshmem_barrier_all();
    for (int i = 0; i < STREAMS; i++) {
        waits[i] = stream_new(cudaStreamNonBlocking);
        nvshmemx_signal_wait_until_on_stream(sig + i, NVSHMEM_CMP_EQ, 1, waits[i]);
        nvshmemx_signal_op_on_stream(sig + STREAMS + i, 1, NVSHMEM_SIGNAL_SET, left_pe(), waits[i]);
    }
    for (int i = STREAMS - 1; i >= 0; i--)
        nvshmemx_signal_op_on_stream(sig + i, 1, NVSHMEM_SIGNAL_SET, right_pe(), puts);
    nvshmemx_uint64_wait_until_all_on_stream(sig + STREAMS, STREAMS, NULL, NVSHMEM_CMP_EQ, 1, puts);
    CUDA(cudaStreamSynchronize(puts));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2 * STREAMS; i++)
        CHECK(sig[i] == 1, "%d: %llu", i, (unsigned long long)sig[i]);
    for (int i = 0; i < STREAMS; i++)
        CUDA(cudaStreamDestroy(waits[i]));
    CUDA(cudaStreamDestroy(puts));
    nvshmem_barrier_all();
    nvshmem_free(sig);
}

/* Arrays: elements with a status do not count, values of a vector are read when the wait runs. */
static void arrays(cudaStream_t stream)
{
    int *words = nvshmem_calloc(3, sizeof *words), status[3] = {0, 1, 0}, wanted[3] = {0, 0, 0};
    nvshmem_barrier_all();
    nvshmemx_int_wait_until_all_on_stream(words, 3, status, NVSHMEM_CMP_EQ, 5, stream);
    nvshmem_int_p(words, 5, right_pe());
    nvshmem_int_p(words + 2, 5, right_pe());
    nvshmem_quiet();
    CUDA(cudaStreamSynchronize(stream));
    CHECK(words[0] == 5 && words[1] == 0 && words[2] == 5, "%d %d", words[0], words[2]);
    nvshmem_barrier_all();
    for (int i = 0; i < 3; i++)
        wanted[i] = i == 1 ? 9 : 5;
    nvshmemx_int_wait_until_all_vector_on_stream(words, 3, NULL, NVSHMEM_CMP_EQ, wanted, stream);
    nvshmemx_int_wait_until_on_stream(words + 1, NVSHMEM_CMP_GT, -3, stream);
    nvshmem_int_p(words + 1, 9, right_pe());
    nvshmem_quiet();
    CUDA(cudaStreamSynchronize(stream));
    CHECK(words[1] == 9, "%d", words[1]);
    nvshmem_barrier_all();
    nvshmem_free(words);
}

static void sleep_then_add(void *arg)
{
    spmd_sleep_ms(20);
    ++*(int *)arg;
}

/* The default stream and a blocking one wait for each other, a non-blocking one for nobody. */
static void defaults(void)
{
    int count = 0, *word = nvshmem_calloc(3, sizeof *word);
    cudaStream_t blocking = stream_new(cudaStreamDefault),
                 other = stream_new(cudaStreamNonBlocking);
    nvshmem_barrier_all();
    CUDA(cudaLaunchHostFunc(blocking, sleep_then_add, &count));
    nvshmemx_int_put_on_stream(word, &count, 1, right_pe(), NULL); /* after the sleeper */
    CUDA(cudaLaunchHostFunc(NULL, sleep_then_add, &count));
    nvshmemx_int_put_on_stream(word + 1, &count, 1, right_pe(), blocking);
    nvshmemx_quiet_on_stream(blocking);
    nvshmemx_int_p_on_stream(word + 2, 3, right_pe(), other);
    nvshmemx_quiet_on_stream(other);
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    CHECK(word[0] == 1 && word[1] == 2 && word[2] == 3, "%d %d %d", word[0], word[1], word[2]);
    CUDA(cudaStreamDestroy(blocking));
    CUDA(cudaStreamDestroy(other));
    nvshmem_barrier_all();
    nvshmem_free(word);
}

/* A stream that is destroyed while it has work finishes it. */
static void destroyed(void)
{
    uint64_t *sig = nvshmem_calloc(1, sizeof *sig);
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    nvshmem_barrier_all();
    int count = 0;
    CUDA(cudaLaunchHostFunc(stream, sleep_then_add, &count));
    nvshmemx_signal_op_on_stream(sig, 4, NVSHMEM_SIGNAL_SET, right_pe(), stream);
    CUDA(cudaStreamDestroy(stream));
    nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, 4);
    CHECK(cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle, "the stream is still there");
    (void)cudaGetLastError();
    nvshmem_barrier_all();
    nvshmem_free(sig);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    cudaStream_t streams[] = {stream_new(cudaStreamDefault), stream_new(cudaStreamNonBlocking),
                              NULL, cudaStreamPerThread};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        chain(streams[i]);
        values(streams[i]);
        late(streams[i]);
        arrays(streams[i]);
    }
    crosswise();
    defaults();
    destroyed();
    CHECK(nvshmemx_error_check() == 0, "an error was recorded");
    return spmd_end();
}
