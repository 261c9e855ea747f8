/*
 * training_step.cu - data-parallel training whose whole step is one CUDA graph.
 *
 * A linear model learns y = w . x by gradient descent. Each PE has its own samples: two kernels
 * compute the gradient over them, nvshmemx_float_sum_reduce_on_stream adds those of all PEs, one
 * kernel takes the step. All of it is captured once and launched for each step. The samples come
 * from known weights, so the loss has to fall to 0 and the weights have to be found; and since all
 * PEs get the same bits from the reduction, their weights have to stay the same to the bit.
 *
 *   nvcc training_step.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
    "Fits a linear model by gradient descent, with the samples spread over the PEs.\n"
    "  --samples N   samples of each PE (2048)\n"
    "  --steps N     steps (60)\n"
    "  --help        this text\n";
static int nsamples = 2048, steps = 60;
enum { FEATURES = 64, THREADS = 256 };

static void read_options(int argc, char **argv)
{
    static const option names[] = {
        {"samples", 1, &nsamples, 0}, {"steps", 1, &steps, 0}, {"help", 0, nullptr, 'h'}, {}};
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

/* residual[i] = w . x[i] - y[i] */
__global__ void residuals(float *residual, const float *x, const float *y, const float *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = -y[i];
    for (int f = 0; f < FEATURES; f++)
        sum += w[f] * x[i * FEATURES + f];
    residual[i] = sum;
}

/* Block f: the sum over all samples of residual * x[f]. The last block: that of residual^2, the
 * loss. In a fixed order, so that every run has the same bits. */
__global__ void gradients(float *gradient, const float *residual, const float *x, int n)
{
    __shared__ float partial[THREADS];
    int f = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < n; i += THREADS)
        sum += residual[i] * (f < FEATURES ? x[i * FEATURES + f] : residual[i]);
    partial[t] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            partial[t] += partial[t + half];
    }
    if (t == 0)
        gradient[f] = partial[0];
}

/* One step down, and the loss before it for the curve. */
__global__ void descend(float *w, float *losses, int *step, const float *gradient, float scale)
{
    int f = threadIdx.x;
    if (f < FEATURES)
        w[f] -= 2 * scale * gradient[f];
    else
        losses[(*step)++] = scale * gradient[FEATURES];
}

static float true_weight(int f)
{
    return (float)(f % 9 - 4) * 0.25f;
}

static float *upload(const std::vector<float> &host)
{
    float *device;
    CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
    CUDA_CHECK(
        cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    return device;
}

/* Samples of this PE: x from -1 to 1, y without noise. */
static void make_samples(int me, std::vector<float> &x, std::vector<float> &y)
{
    srand48(me + 1);
    for (float &value : x)
        value = (float)(2 * drand48() - 1);
    for (int i = 0; i < nsamples; i++)
        for (int f = 0; f < FEATURES; f++)
            y[i] += true_weight(f) * x[i * FEATURES + f];
}

/* Trains; w and the losses are on the device. */
static void train(float *w, float *losses)
{
    std::vector<float> host_x(nsamples * FEATURES), host_y(nsamples);
    make_samples(nvshmem_my_pe(), host_x, host_y);
    float *x = upload(host_x), *y = upload(host_y), *residual = upload(host_y);
    float *mine = (float *)nvshmem_malloc((FEATURES + 1) * sizeof(float));
    float *all = (float *)nvshmem_malloc((FEATURES + 1) * sizeof(float));
    int *step;
    CUDA_CHECK(cudaMalloc(&step, sizeof *step));
    CUDA_CHECK(cudaMemset(step, 0, sizeof *step));
    CUDA_CHECK(cudaDeviceSynchronize());

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    residuals<<<(nsamples + THREADS - 1) / THREADS, THREADS, 0, stream>>>(residual, x, y, w,
                                                                          nsamples);
    gradients<<<FEATURES + 1, THREADS, 0, stream>>>(mine, residual, x, nsamples);
    nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, all, mine, FEATURES + 1, stream);
    float scale = 1.0f / ((float)nsamples * nvshmem_n_pes());
    descend<<<1, FEATURES + 1, 0, stream>>>(w, losses, step, all, scale);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < steps; i++)
        CUDA_CHECK(cudaGraphLaunch(executable, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));

    CUDA_CHECK(cudaGraphExecDestroy(executable));
    CUDA_CHECK(cudaGraphDestroy(graph));
    CUDA_CHECK(cudaStreamDestroy(stream));
    nvshmem_free(all);
    nvshmem_free(mine);
    for (void *memory : {(void *)x, (void *)y, (void *)residual, (void *)step})
        CUDA_CHECK(cudaFree(memory));
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int ndevices = 0;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0) {
        fputs("training_step: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();

    float *w = (float *)nvshmem_calloc(FEATURES, sizeof(float));
    float *w_of_all = (float *)nvshmem_malloc(npes * FEATURES * sizeof(float));
    float *losses = upload(std::vector<float>(steps));
    train(w, losses);
    nvshmemx_float_fcollect_on_stream(NVSHMEM_TEAM_WORLD, w_of_all, w, FEATURES, nullptr);

    std::vector<float> loss(steps), weights(npes * FEATURES);
    CUDA_CHECK(cudaMemcpy(loss.data(), losses, steps * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(weights.data(), w_of_all, weights.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
    float off = 0;
    int differ = 0;
    for (int f = 0; f < FEATURES; f++)
        off = fmaxf(off, fabsf(weights[f] - true_weight(f)));
    for (int pe = 1; pe < npes; pe++)
        differ += memcmp(&weights[pe * FEATURES], &weights[0], FEATURES * sizeof(float)) != 0;
    bool right = loss[steps - 1] < 1e-8f * loss[0] && off < 1e-4f && differ == 0;
    if (me == 0)
        printf("training_step: %d PEs: loss %.3g to %.3g in %d steps, weights off by at most %.2g, "
               "%d PEs with other bits: %s\n",
               npes, loss[0], loss[steps - 1], steps, off, differ, right ? "right" : "WRONG");
    CUDA_CHECK(cudaFree(losses));
    nvshmem_free(w_of_all);
    nvshmem_free(w);
    nvshmem_finalize();
    return !right;
}
