/*
 * user_buffers.cu - memory of the program's own, from cudaMalloc, as the local side of puts and
 * gets.
 *
 * Only the remote side has to be symmetric. The local one may be any memory once it is registered:
 * a model's activations, a framework's tensors. Here a message goes from a buffer of the program to
 * the right neighbour's symmetric memory, and from the left neighbour's into another buffer; three
 * times, by the host, on a stream, and in a kernel.
 *
 *   nvcc user_buffers.cu -lnvs
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
    "Puts from and gets into memory of cudaMalloc: by the host, on a stream, and in a kernel.\n"
    "  --count N   floats in a message (100000)\n"
    "  --help      this text\n";
static int nelems = 100000;

static void read_options(int argc, char **argv)
{
    static const option names[] = {{"count", 1, &nelems, 0}, {"help", 0, nullptr, 'h'}, {}};
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

__host__ __device__ static float value(int pe, int way, int i)
{
    return (float)((pe * 1009 + way * 101 + i) % 65521);
}

__global__ void fill(float *buffer, int pe, int way, int nelems)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nelems; i += gridDim.x * blockDim.x)
        buffer[i] = value(pe, way, i);
}

__global__ void put_kernel(float *symmetric, const float *mine, int nelems, int pe)
{
    nvshmemx_float_put_block(symmetric, mine, nelems, pe);
}

__global__ void get_kernel(float *mine, const float *symmetric, int nelems, int pe)
{
    nvshmemx_float_get_block(mine, symmetric, nelems, pe);
}

/* ---- the three ways -------------------------------------------------------------------------- */

enum way { BY_HOST, ON_STREAM, IN_KERNEL, WAYS };
static const char *const way_names[] = {"by the host", "on a stream", "in a kernel"};

static void put(way w, float *symmetric, const float *mine, int pe, cudaStream_t stream)
{
    if (w == BY_HOST) {
        CUDA_CHECK(cudaStreamSynchronize(stream)); /* the host's call is in no stream's order */
        nvshmem_float_put(symmetric, mine, nelems, pe);
        nvshmem_quiet();
    } else if (w == ON_STREAM)
        nvshmemx_float_put_on_stream(symmetric, mine, nelems, pe, stream);
    else
        put_kernel<<<1, 256, 0, stream>>>(symmetric, mine, nelems, pe);
}

static void get(way w, float *mine, const float *symmetric, int pe, cudaStream_t stream)
{
    if (w == BY_HOST) {
        CUDA_CHECK(cudaStreamSynchronize(stream));
        nvshmem_float_get(mine, symmetric, nelems, pe);
    } else if (w == ON_STREAM)
        nvshmemx_float_get_on_stream(mine, symmetric, nelems, pe, stream);
    else
        get_kernel<<<1, 256, 0, stream>>>(mine, symmetric, nelems, pe);
}

/* Every PE puts its values to the right; so what a PE gets from its left neighbour's symmetric
 * memory comes from that one's own left neighbour. Returns the number of wrong values. */
static int try_way(way w, float *symmetric, float *out, float *in, cudaStream_t stream)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes(), left = (me + npes - 1) % npes;
    fill<<<16, 256, 0, stream>>>(out, me, w, nelems);
    put(w, symmetric, out, (me + 1) % npes, stream);
    nvshmemx_barrier_all_on_stream(stream);
    get(w, in, symmetric, left, stream);
    nvshmemx_barrier_all_on_stream(stream); /* the next way overwrites what is read here */

    std::vector<float> got(nelems);
    CUDA_CHECK(
        cudaMemcpyAsync(got.data(), in, nelems * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    int wrong = 0, origin = (left + npes - 1) % npes;
    for (int i = 0; i < nelems; i++)
        wrong += got[i] != value(origin, w, i);
    if (wrong)
        fprintf(stderr, "user_buffers: PE %d: %s: %d wrong values\n", me, way_names[w], wrong);
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
        fputs("user_buffers: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    size_t nbytes = nelems * sizeof(float);
    float *symmetric = (float *)nvshmem_malloc(nbytes);

    /* One allocation, registered as a whole, with both messages inside. */
    float *buffer;
    CUDA_CHECK(cudaMalloc(&buffer, 2 * nbytes));
    if (nvshmemx_buffer_register(buffer, 2 * nbytes) != 0) {
        fputs("user_buffers: the buffer cannot be registered\n", stderr);
        nvshmem_global_exit(1);
    }
    int wrong = 0;
    for (int w = 0; w < WAYS; w++)
        wrong += try_way((way)w, symmetric, buffer, buffer + nelems, stream);
    wrong = sum_over_pes(wrong);
    if (nvshmem_my_pe() == 0)
        printf(
            "user_buffers: %d PEs: %d floats from and into memory of cudaMalloc, by the host, on a "
            "stream and in a kernel: %d wrong\n",
            nvshmem_n_pes(), nelems, wrong);

    wrong += nvshmemx_buffer_unregister(buffer) != 0;
    CUDA_CHECK(cudaFree(buffer));
    nvshmem_free(symmetric);
    CUDA_CHECK(cudaStreamDestroy(stream));
    nvshmem_finalize();
    return wrong != 0;
}
