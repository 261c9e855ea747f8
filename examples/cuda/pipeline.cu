/*
 * pipeline.cu - chunks flow through a chain of PEs, several in flight, by put with signal.
 *
 * Each PE is a stage that computes something on every chunk and hands it to the next PE. Block b
 * takes chunks b, b + slots, ...; between two stages it has one slot and two signals:
 *
 *   filled[b] at the receiver counts the chunks that were put into the slot; it comes with the data
 *   taken[b] at the sender counts those that the receiver has read, so that the slot is free again
 *
 * So `slots` chunks are on their way between any two PEs, and neither side waits for a whole round.
 *
 *   nvcc pipeline.cu -lnvs
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
    "Sends chunks of floats through all PEs, each of which computes on them, and checks the end.\n"
    "  --chunks N   chunks (100)\n"
    "  --count N    floats in a chunk (4096)\n"
    "  --slots N    chunks in flight between two PEs (4)\n"
    "  --help       this text\n";
static int nchunks = 100, nelems = 4096, nslots = 4;

static void read_options(int argc, char **argv)
{
    static const option names[] = {{"chunks", 1, &nchunks, 0},
                                   {"count", 1, &nelems, 0},
                                   {"slots", 1, &nslots, 0},
                                   {"help", 0, nullptr, 'h'},
                                   {}};
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

/* What stage `pe` does with a value. */
__host__ __device__ static float work(float value, int pe)
{
    return 0.5f * value + (float)(pe + 1);
}

__host__ __device__ static float input(int chunk, int i)
{
    return (float)((chunk * 131 + i) % 1009);
}

__device__ static void wait_for(uint64_t *signal, uint64_t count)
{
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, count);
    __syncthreads();
}

/* slot: what arrives from the previous PE. out: results of this one, and the whole result at the
 * last. Both have a place for each block. */
__global__ void stage(float *slots, float *outs, float *result, uint64_t *filled, uint64_t *taken,
                      int nchunks, int nelems)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
    bool is_first = me == 0, is_last = me == npes - 1;
    float *slot = slots + (long)blockIdx.x * nelems, *out = outs + (long)blockIdx.x * nelems;
    uint64_t *my_filled = &filled[blockIdx.x], *my_taken = &taken[blockIdx.x];

    uint64_t round = 0; /* chunks that this block has done */
    for (int chunk = blockIdx.x; chunk < nchunks; chunk += gridDim.x, round++) {
        if (!is_first)
            wait_for(my_filled, round + 1);
        if (is_last)
            out = result + (long)chunk * nelems;
        for (int i = threadIdx.x; i < nelems; i += blockDim.x)
            out[i] = work(is_first ? input(chunk, i) : slot[i], me);
        __syncthreads(); /* out is complete, and nobody reads the slot any more */

        if (!is_first && threadIdx.x == 0)
            nvshmemx_signal_op(my_taken, round + 1, NVSHMEM_SIGNAL_SET, me - 1);
        if (is_last)
            continue;
        wait_for(my_taken, round); /* the chunk before: the next PE has read it */
        nvshmemx_float_put_signal_block(slot, out, nelems, my_filled, 1, NVSHMEM_SIGNAL_ADD,
                                        me + 1);
    }
}

/* Which of the values at the end of the chain are not what the stages, one after the other, give.
 */
static int wrong_values(const float *result, int npes)
{
    std::vector<float> host((size_t)nchunks * nelems);
    CUDA_CHECK(
        cudaMemcpy(host.data(), result, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int chunk = 0; chunk < nchunks; chunk++)
        for (int i = 0; i < nelems; i++) {
            float expected = input(chunk, i);
            for (int pe = 0; pe < npes; pe++)
                expected = work(expected, pe);
            wrong += host[(size_t)chunk * nelems + i] != expected;
        }
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
        fputs("pipeline: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();

    size_t nbytes = (size_t)nslots * nelems * sizeof(float);
    float *slots = (float *)nvshmem_malloc(nbytes), *outs = (float *)nvshmem_malloc(nbytes);
    uint64_t *signals = (uint64_t *)nvshmem_calloc(2 * nslots, sizeof(uint64_t));
    float *result; /* only this PE uses it */
    CUDA_CHECK(cudaMalloc(&result, (size_t)nchunks * nelems * sizeof(float)));

    uint64_t *filled = signals, *taken = signals + nslots;
    void *args[] = {&slots, &outs, &result, &filled, &taken, &nchunks, &nelems};
    int status = nvshmemx_collective_launch((const void *)stage, nslots, 256, args, 0, nullptr);
    if (status != 0) {
        fprintf(stderr, "pipeline: the launch failed with status %d\n", status);
        nvshmem_global_exit(1);
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    int wrong = sum_over_pes(me == npes - 1 ? wrong_values(result, npes) : 0);
    if (me == 0)
        printf(
            "pipeline: %d chunks of %d floats through %d PEs, %d in flight: %d wrong at the end\n",
            nchunks, nelems, npes, nslots, wrong);
    CUDA_CHECK(cudaFree(result));
    nvshmem_free(signals);
    nvshmem_free(outs);
    nvshmem_free(slots);
    nvshmem_finalize();
    return wrong != 0;
}
