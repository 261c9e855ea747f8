/* A training step as programs for NVSHMEM on GPUs have it, without kernels: gradients are computed
 * in a stream, summed over all PEs there, and applied. The step is captured once and launched 200
 * times. Each PE fits y = w x + b to its own half of the points; together they find w = 2, b = 1.
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                         \
            nvshmem_global_exit(1);                                                                \
        }                                                                                          \
    } while (0)

enum { POINTS = 64 };

struct model {
    float *weights, *grads, *sums, *x, *y;
    int npes;
};

static void backward(void *arg)
{
    struct model *m = arg;
    m->grads[0] = m->grads[1] = 0;
    for (int i = 0; i < POINTS; i++) {
        float error = m->weights[0] * m->x[i] + m->weights[1] - m->y[i];
        m->grads[0] += error * m->x[i] / POINTS;
        m->grads[1] += error / POINTS;
    }
}

static void update(void *arg)
{
    struct model *m = arg;
    for (int i = 0; i < 2; i++)
        m->weights[i] -= 0.5f * m->sums[i] / (float)m->npes;
}

int main(void)
{
    nvshmem_init();
    int node_pe = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
    CUDA_CHECK(cudaSetDevice(node_pe));
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    struct model m = {.npes = nvshmem_n_pes()};
    float x[POINTS], y[POINTS], weights[2];
    for (int i = 0; i < POINTS; i++) {
        x[i] = (float)(i * m.npes + nvshmem_my_pe()) / (POINTS * (float)m.npes);
        y[i] = 2 * x[i] + 1;
    }
    CUDA_CHECK(cudaMalloc((void **)&m.weights, 2 * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void **)&m.x, sizeof x));
    CUDA_CHECK(cudaMalloc((void **)&m.y, sizeof y));
    m.grads = nvshmem_malloc(2 * sizeof(float));
    m.sums = nvshmem_malloc(2 * sizeof(float));
    CUDA_CHECK(cudaMemsetAsync(m.weights, 0, 2 * sizeof(float), stream));
    CUDA_CHECK(cudaMemcpyAsync(m.x, x, sizeof x, cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaMemcpyAsync(m.y, y, sizeof y, cudaMemcpyHostToDevice, stream));

    cudaGraph_t graph;
    cudaGraphExec_t step;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_CHECK(cudaLaunchHostFunc(stream, backward, &m));
    nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, m.sums, m.grads, 2, stream);
    CUDA_CHECK(cudaLaunchHostFunc(stream, update, &m));
    nvshmemx_barrier_all_on_stream(stream);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&step, graph, 0));
    for (int i = 0; i < 200; i++)
        CUDA_CHECK(cudaGraphLaunch(step, stream));
    CUDA_CHECK(cudaMemcpyAsync(weights, m.weights, sizeof weights, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));

    /* 2 w - b is 3 for the right ones. */
    float sum = 2 * weights[0] - weights[1];
    if (nvshmem_my_pe() == 0)
        printf("%d PEs, sum %.0f\n", m.npes, (double)sum);
    int wrong = weights[0] < 1.9f || weights[0] > 2.1f || weights[1] < 0.9f || weights[1] > 1.1f;

    CUDA_CHECK(cudaGraphExecDestroy(step));
    CUDA_CHECK(cudaGraphDestroy(graph));
    CUDA_CHECK(cudaStreamDestroy(stream));
    CUDA_CHECK(cudaFree(m.weights));
    CUDA_CHECK(cudaFree(m.x));
    CUDA_CHECK(cudaFree(m.y));
    nvshmem_free(m.grads);
    nvshmem_free(m.sums);
    nvshmem_finalize();
    return wrong;
}
