/*
 * stream_driver.c - operations on streams of the CUDA driver, as programs on GPUs use them:
 * executed by the GPU, or with NVSHMEM_HEAP_KIND=SYSMEM by host functions. The same program for
 * both, so memory is looked at through nvs only.
 */
#include "device.h"

enum { N = 300, LAUNCHES = 10 };

static int (*stream_create)(cudaStream_t *stream, unsigned flags, int priority);
static int (*stream_synchronize)(cudaStream_t stream);
static int (*begin_capture)(cudaStream_t stream, int mode);
static int (*end_capture)(cudaStream_t stream, void **graph);
static int (*instantiate)(void **exec, void *graph, unsigned long long flags);
static int (*launch)(void *exec, cudaStream_t stream);
static int (*graph_destroy)(void *graph), (*exec_destroy)(void *exec);

static void open_more(void)
{
    const char *name = getenv("NVS_CUDA_LIBRARY");
    void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    *(void **)&stream_create = device_symbol(library, "cuStreamCreateWithPriority");
    *(void **)&stream_synchronize = device_symbol(library, "cuStreamSynchronize");
    *(void **)&begin_capture = device_symbol(library, "cuStreamBeginCapture_v2");
    *(void **)&end_capture = device_symbol(library, "cuStreamEndCapture");
    *(void **)&instantiate = device_symbol(library, "cuGraphInstantiateWithFlags");
    *(void **)&launch = device_symbol(library, "cuGraphLaunch");
    *(void **)&graph_destroy = device_symbol(library, "cuGraphDestroy");
    *(void **)&exec_destroy = device_symbol(library, "cuGraphExecDestroy");
}

#define CU(call)                                                                                   \
    do {                                                                                           \
        int cu_error = (call);                                                                     \
        CHECK(cu_error == 0, "%s: %d", #call, cu_error);                                           \
    } while (0)

static int right_pe(void)
{
    return (spmd_me + 1) % spmd_npes;
}

static int left_pe(void)
{
    return (spmd_me + spmd_npes - 1) % spmd_npes;
}

static long value_at(const long *array, size_t i)
{
    long value = -1;
    nvshmem_long_get(&value, array + i, 1, spmd_me);
    return value;
}

static void one_sided(cudaStream_t stream)
{
    long *data = nvshmem_calloc(3 * N, sizeof *data);
    uint64_t *sig = nvshmem_calloc(2, sizeof *sig);
    long local[N];
    for (int i = 0; i < N; i++)
        local[i] = 100 * spmd_me + i;
    nvshmem_long_put(data, local, N, spmd_me);
    nvshmem_barrier_all();
    nvshmemx_long_put_signal_on_stream(data + N, data, N, sig, 5, NVSHMEM_SIGNAL_SET, right_pe(),
                                       stream);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 5, stream);
    nvshmemx_barrier_all_on_stream(stream); /* the neighbour has it, too */
    nvshmemx_long_get_on_stream(data + 2 * N, data + N, N, right_pe(), stream);
    nvshmemx_long_p_on_stream(data, -7, right_pe(), stream);
    nvshmemx_signal_op_on_stream(sig + 1, 2, NVSHMEM_SIGNAL_ADD, right_pe(), stream);
    nvshmemx_uint64_wait_until_on_stream(sig + 1, NVSHMEM_CMP_GE, 2, stream);
    nvshmemx_barrier_all_on_stream(stream);
    CU(stream_synchronize(stream));
    CHECK(value_at(data, 0) == -7, "%ld", value_at(data, 0));
    CHECK(nvshmemx_long_g_on_stream(data + 1, spmd_me, stream) == 100 * spmd_me + 1, "g");
    for (size_t i = 1; i < N; i += 37) {
        CHECK(value_at(data, N + i) == 100 * left_pe() + (long)i, "%zu", i);
        CHECK(value_at(data, 2 * N + i) == 100 * spmd_me + (long)i, "%zu", i);
    }
    nvshmem_barrier_all();
    nvshmem_free(data);
    nvshmem_free(sig);
}

static void sums(cudaStream_t stream)
{
    long *src = nvshmem_calloc(N, sizeof *src), *dst = nvshmem_calloc(2 * N, sizeof *dst);
    long local[N];
    for (int i = 0; i < N; i++)
        local[i] = spmd_me + i;
    nvshmem_long_put(src, local, N, spmd_me);
    nvshmem_barrier_all();
    CHECK(!nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dst, src, N, stream), "refused");
    CHECK(!nvs_all_reduce(NVS_TEAM_WORLD, dst + N, src, N, NVS_INT64, NVS_MAX,
                          NVS_CALL(.stream = stream ? (void *)stream : NVS_STREAM_DEFAULT)),
          "%s", nvs_last_error());
    CU(stream_synchronize(stream));
    for (size_t i = 0; i < N; i += 37) {
        long sum = (long)spmd_npes * (spmd_npes - 1) / 2 + (long)i * spmd_npes;
        CHECK(value_at(dst, i) == sum, "%zu: %ld", i, value_at(dst, i));
        CHECK(value_at(dst, N + i) == spmd_npes - 1 + (long)i, "%zu: %ld", i, value_at(dst, N + i));
    }
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
}

static void graphs(cudaStream_t stream)
{
    long *src = nvshmem_calloc(1, sizeof *src), *dst = nvshmem_calloc(1, sizeof *dst);
    uint64_t *sig = nvshmem_calloc(1, sizeof *sig);
    void *graph, *exec;
    nvshmem_long_p(src, 1, spmd_me);
    nvshmem_barrier_all();
    CU(begin_capture(stream, 2));
    nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dst, src, 1, stream);
    nvshmemx_long_put_on_stream(src, dst, 1, spmd_me, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmemx_signal_op_on_stream(sig, 1, NVSHMEM_SIGNAL_ADD, right_pe(), stream);
    nvshmemx_barrier_all_on_stream(stream);
    CU(end_capture(stream, &graph));
    CU(instantiate(&exec, graph, 0));
    CU(graph_destroy(graph));
    long want = 1;
    for (int i = 0; i < LAUNCHES; i++) {
        CU(launch(exec, stream));
        want *= spmd_npes;
    }
    CU(stream_synchronize(stream));
    CU(exec_destroy(exec));
    CHECK(value_at(dst, 0) == want, "%ld is not %ld", value_at(dst, 0), want);
    CHECK(value_at((long *)sig, 0) == LAUNCHES, "%ld", value_at((long *)sig, 0));
    nvshmem_barrier_all();
    nvshmem_free(src);
    nvshmem_free(dst);
    nvshmem_free(sig);
}

static void wrong(void)
{
    long *word = nvshmem_calloc(1, sizeof *word);
    nvshmemx_long_p_on_stream(word, 1, spmd_npes, NULL);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "no PE %d", spmd_npes);
    nvshmem_barrier_all();
    nvshmem_free(word);
}

int main(int argc, char **argv)
{
    setenv("NVS_ON_ERROR", "return", 0);
    device_open();
    open_more();
    spmd_begin(argc, argv);
    CU(device_select(0));
    cudaStream_t stream, other;
    CU(stream_create(&stream, 1, 0));
    CU(stream_create(&other, 0, 0));
    cudaStream_t streams[] = {stream, other, NULL, (cudaStream_t)2};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        one_sided(streams[i]);
        sums(streams[i]);
    }
    graphs(stream);
    wrong();
    CHECK(nvshmemx_error_check() == 0, "%s", nvs_last_error());
    return spmd_end();
}
