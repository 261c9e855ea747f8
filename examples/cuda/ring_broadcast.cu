/*
 * ring_broadcast.cu - a broadcast that a kernel does by itself: from PE to PE, around a ring.
 *
 * Each block owns a slice of the data and a signal. It waits until the slice has arrived from the
 * left, and passes it on to the right with a put that sets the right one's signal: whoever sees the
 * signal sees the data. Blocks don't wait for each other, so slices follow one another around the
 * ring. Signals count the broadcasts and are never reset.
 *
 *   nvcc ring_broadcast.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <vector>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
            nvshmem_global_exit(1);                                                                \
        }                                                                                          \
    } while (0)

static const char usage[] =
    "Broadcasts floats from each PE in turn to all others, around a ring, inside a kernel.\n"
    "  --count N    floats to broadcast (1000000)\n"
    "  --blocks N   blocks of the kernel, each with a slice of its own (8)\n"
    "  --help       this text\n";
static int nelems = 1000000, nblocks = 8;

static void read_options(int argc, char **argv)
{
    static const option names[] = {
        {"count", 1, &nelems, 0}, {"blocks", 1, &nblocks, 0}, {"help", 0, nullptr, 'h'}, {}};
    char rest;
    for (int index, c; (c = getopt_long(argc, argv, "", names, &index)) != -1;) {
        int *value = c == 0 ? names[index].flag : nullptr;
        if (value && sscanf(optarg, "%d%c", value, &rest) == 1 && *value > 0)
            continue;
        if (value)
            fprintf(stderr, "--%s %s: not a number from 1 on\n", names[index].name, optarg);
        fputs(usage, c == 'h' ? stdout : stderr);
        exit(c == 'h' ? 0 : 2);
    }
}

/* `round` counts the broadcasts from 1. */
__global__ void ring_broadcast(float *data, int nelems, uint64_t *arrived, uint64_t round, int root)
{
    int me = nvshmem_my_pe(), right = (me + 1) % nvshmem_n_pes();
    long first = (long)nelems * blockIdx.x / gridDim.x;
    long count = (long)nelems * (blockIdx.x + 1) / gridDim.x - first;

    if (me != root) {
        if (threadIdx.x == 0)
            nvshmem_signal_wait_until(&arrived[blockIdx.x], NVSHMEM_CMP_GE, round);
        __syncthreads(); /* what thread 0 has seen, the block may read */
    }
    if (right != root)
        nvshmemx_float_put_signal_block(data + first, data + first, count, &arrived[blockIdx.x],
                                        round, NVSHMEM_SIGNAL_SET, right);
}

static float value(int root, int i)
{
    return (float)((root * 31 + i) % 65521);
}

/* Only the root has the values before. Returns the number of wrong values after. */
static int broadcast_from(int root, float *data, uint64_t *arrived, cudaStream_t stream)
{
    std::vector<float> host(nelems, -1);
    if (nvshmem_my_pe() == root)
        for (int i = 0; i < nelems; i++)
            host[i] = value(root, i);
    size_t nbytes = nelems * sizeof(float);
    CUDA_CHECK(cudaMemcpyAsync(data, host.data(), nbytes, cudaMemcpyHostToDevice, stream));
    /* Nobody's memory is written from outside before it is prepared. */
    nvshmemx_barrier_all_on_stream(stream);

    /* Blocks of different PEs wait for each other: a collective launch makes sure that they run. */
    uint64_t round = root + 1;
    void *args[] = {&data, &nelems, &arrived, &round, &root};
    int status =
        nvshmemx_collective_launch((const void *)ring_broadcast, nblocks, 256, args, 0, stream);
    if (status != 0) {
        fprintf(stderr, "ring_broadcast: the launch failed with status %d\n", status);
        nvshmem_global_exit(1);
    }

    CUDA_CHECK(cudaMemcpyAsync(host.data(), data, nbytes, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    int wrong = 0;
    for (int i = 0; i < nelems; i++)
        wrong += host[i] != value(root, i);
    return wrong;
}

static int sum_over_pes(int mine)
{
    int sum = 0, *both = (int *)nvshmem_malloc(2 * sizeof(int));
    CUDA_CHECK(cudaMemcpy(both, &mine, sizeof mine, cudaMemcpyHostToDevice));
    nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, both + 1, both, 1, nullptr);
    CUDA_CHECK(cudaMemcpy(&sum, both + 1, sizeof sum, cudaMemcpyDeviceToHost));
    nvshmem_free(both);
    return sum;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int ndevices = 0;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0) {
        fputs("ring_broadcast: there is no GPU\n", stderr);
        return 77;
    }
    /* Join the job, then choose a GPU, then allocate. PEs may share a GPU. */
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));

    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    float *data = (float *)nvshmem_malloc(nelems * sizeof(float));
    uint64_t *arrived = (uint64_t *)nvshmem_calloc(nblocks, sizeof(uint64_t));

    int me = nvshmem_my_pe(), npes = nvshmem_n_pes(), wrong = 0;
    for (int root = 0; root < npes; root++)
        wrong += broadcast_from(root, data, arrived, stream);
    wrong = sum_over_pes(wrong);
    if (me == 0)
        printf(
            "ring_broadcast: %d PEs: %d floats from each PE in turn, compared on all: %d wrong\n",
            npes, nelems, wrong);

    nvshmem_free(arrived);
    nvshmem_free(data);
    CUDA_CHECK(cudaStreamDestroy(stream));
    nvshmem_finalize();
    return wrong != 0;
}
