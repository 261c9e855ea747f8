/*
 * trainer.cu - a whole training step on the GPU.
 *
 * The host puts a step into two streams (`compute` and `comm`, see buckets.cu) and meanwhile draws
 * the next batch. The first step runs as it is put; the second is recorded as a CUDA graph, which
 * replaces a hundred launches by one for all that follow. What differs from step to step stands in
 * memory that the graph reads: the batch and struct step_inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "trainer.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t tail_bytes(void)
{
    return 256; /* TAIL_NELEMS floats; what follows stays aligned */
}

size_t gpu_symmetric_bytes(size_t nparams, bool bfloat16_grads)
{
    return tail_bytes() + nparams * (bfloat16_grads ? sizeof(bfloat16) : sizeof(float));
}

template <typename E> static int device_take(E **memory, size_t nelems)
{
    if (gpu_attempt(cudaMalloc((void **)memory, nelems * sizeof(E)), "allocate device memory"))
        return -1;
    return gpu_attempt(cudaMemset(*memory, 0, nelems * sizeof(E)), "clear device memory");
}

template <typename E> static int host_take(E **memory, size_t nelems)
{
    return gpu_attempt(cudaMallocHost((void **)memory, nelems * sizeof(E)), "allocate host memory");
}

static size_t batch_bytes(const struct gpu_trainer *t)
{
    return (size_t)t->settings.sequences * (size_t)t->settings.gpt->config.context;
}

static int memory_create(struct gpu_trainer *t)
{
    size_t nparams = t->settings.gpt->nparams, batch = 2 * batch_bytes(t) + 1;
    char *behind_tail = (char *)t->settings.symmetric + tail_bytes();
    t->tail = (float *)t->settings.symmetric;
    if (t->settings.bfloat16_grads)
        t->sent = (bfloat16 *)(void *)behind_tail;
    else
        t->grads = (float *)(void *)behind_tail;
    if ((t->sent && device_take(&t->grads, nparams)) || device_take(&t->params, nparams) ||
        device_take(&t->mean, nparams) || device_take(&t->square, nparams) ||
        device_take(&t->squares, ADAMW_BLOCKS) || device_take(&t->inputs, 1) ||
        device_take(&t->batch, batch) || host_take(&t->inputs_host, 1) ||
        host_take(&t->batch_host, batch) || host_take(&t->tail_host, TAIL_NELEMS))
        return -1;
    return gpu_attempt(cudaMemcpy(t->params, t->settings.gpt->params, nparams * sizeof(float),
                                  cudaMemcpyHostToDevice),
                       "copy the parameters to the GPU");
}

template <typename T> static int model_open(struct gpu_trainer *t, struct gpu_model<T> *m)
{
    const struct gpt *gpt = t->settings.gpt;
    t->chunk = model_chunk<T>(gpt, t->settings.sequences);
    if (gpu_attempt(model_create(m, gpt, t->chunk, t->params, t->grads),
                    "allocate device memory for activations"))
        return -1;
    if ((void *)m->weights != (void *)t->params)
        convert((bfloat16 *)(void *)m->weights, t->params, (long)gpt->nparams, t->compute);
    return gpu_attempt(cudaStreamSynchronize(t->compute), "copy the parameters");
}

/* `comm` goes first: the sooner gradients are added up, the more of it is hidden. */
static int streams_create(struct gpu_trainer *t)
{
    int lowest = 0, highest = 0;
    if (gpu_attempt(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "ask for priorities") ||
        gpu_attempt(cudaStreamCreateWithFlags(&t->compute, cudaStreamNonBlocking), "make a stream"))
        return -1;
    return gpu_attempt(cudaStreamCreateWithPriority(&t->comm, cudaStreamNonBlocking, highest),
                       "make a stream");
}

struct gpu_trainer *gpu_create(const struct gpu_settings *settings)
{
    struct gpu_trainer *t = (struct gpu_trainer *)calloc(1, sizeof(*t));
    if (!t) {
        gpu_attempt(cudaErrorMemoryAllocation, "allocate memory");
        return NULL;
    }
    t->settings = *settings;
    if (gpu_check_memory(settings->symmetric) || streams_create(t) || memory_create(t) ||
        buckets_create(t) ||
        (settings->bfloat16 ? model_open(t, &t->in_bfloat16) : model_open(t, &t->in_float))) {
        gpu_destroy(t);
        return NULL;
    }
    return t;
}

void gpu_destroy(struct gpu_trainer *t)
{
    if (t->compute)
        cudaStreamSynchronize(t->compute);
    if (t->graph)
        cudaGraphExecDestroy(t->graph);
    model_destroy(&t->in_float);
    model_destroy(&t->in_bfloat16);
    buckets_destroy(t);
    void *on_device[] = {
        t->params, t->mean, t->square, t->squares, t->inputs, t->batch, t->sent ? t->grads : NULL};
    void *on_host[] = {t->inputs_host, t->batch_host, t->tail_host};
    for (void *memory : on_device)
        cudaFree(memory);
    for (void *memory : on_host)
        cudaFreeHost(memory);
    if (t->comm)
        cudaStreamDestroy(t->comm);
    if (t->compute)
        cudaStreamDestroy(t->compute);
    free(t);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static int inputs_put(struct gpu_trainer *t)
{
    size_t nparams = t->settings.gpt->nparams;
    cudaStream_t s = t->compute;
    if (gpu_attempt(cudaMemcpyAsync(t->inputs, t->inputs_host, sizeof(*t->inputs),
                                    cudaMemcpyHostToDevice, s),
                    "copy a step's inputs") ||
        (batch_bytes(t) && gpu_attempt(cudaMemcpyAsync(t->batch, t->batch_host, 2 * batch_bytes(t),
                                                       cudaMemcpyHostToDevice, s),
                                       "copy a batch")) ||
        gpu_attempt(cudaMemsetAsync(t->grads, 0, nparams * sizeof(float), s), "clear gradients") ||
        gpu_attempt(cudaMemsetAsync(t->tail, 0, TAIL_NELEMS * sizeof(float), s), "clear the loss"))
        return -1;
    return gpu_attempt(cudaMemcpyAsync(t->tail + TAIL_PROGRESS, &t->inputs->progress, sizeof(float),
                                       cudaMemcpyDeviceToDevice, s),
                       "copy the progress");
}

/* Forward and backward of the whole share. The last chunk completes the gradients. */
template <typename T> static void share_put(struct gpu_trainer *t, struct gpu_model<T> *m)
{
    int context = t->settings.gpt->config.context, layers = t->settings.gpt->config.layers;
    const unsigned char *bytes = t->batch, *targets = t->batch + batch_bytes(t);
    long left = t->settings.sequences;
    while (left > 0) {
        int count = left < t->chunk ? (int)left : t->chunk;
        left -= count;
        model_forward(m, bytes, targets, count, t->settings.scale, t->tail + TAIL_LOSS, t->compute);
        if (left == 0)
            buckets_start(t, layers);
        model_backward(m, bytes, count, t->compute, left == 0 ? buckets_start : NULL, t);
        bytes += (size_t)count * (size_t)context;
        targets += (size_t)count * (size_t)context;
    }
    /* With no share at all, the others still want this PE's part of the sums. */
    for (int l = layers; t->settings.sequences == 0 && l >= -1; l--)
        buckets_start(t, l);
}

/* Puts a whole step into the streams. */
template <typename T> static int step_put(struct gpu_trainer *t, struct gpu_model<T> *m)
{
    if (inputs_put(t))
        return -1;
    share_put(t, m);
    if (t->failed || buckets_join(t))
        return -1;
    adamw_update(t->params, m->weights, t->mean, t->square, t->grads,
                 (long)t->settings.gpt->nparams, &t->inputs->update, t->squares, t->compute);
    if (gpu_attempt(cudaMemcpyAsync(t->tail_host, t->tail, TAIL_NELEMS * sizeof(float),
                                    cudaMemcpyDeviceToHost, t->compute),
                    "copy the loss"))
        return -1;
    return gpu_attempt(cudaGetLastError(), "start a kernel");
}

static int step_put_chosen(struct gpu_trainer *t)
{
    return t->settings.bfloat16 ? step_put(t, &t->in_bfloat16) : step_put(t, &t->in_float);
}

static int step_record(struct gpu_trainer *t)
{
    cudaGraph_t graph;
    if (gpu_attempt(cudaStreamBeginCapture(t->compute, cudaStreamCaptureModeThreadLocal),
                    "record a step"))
        return -1;
    t->capturing = true;
    int failed = step_put_chosen(t);
    t->capturing = false;
    cudaError_t result = cudaStreamEndCapture(t->compute, &graph);
    if (failed || gpu_attempt(result, "record a step"))
        return -1;
    failed = gpu_attempt(cudaGraphInstantiate(&t->graph, graph, 0), "make a graph of a step");
    cudaGraphDestroy(graph);
    return failed;
}

int gpu_step_start(struct gpu_trainer *t, const struct gpu_step *step)
{
    size_t n = batch_bytes(t);
    *t->inputs_host = {{step->rate, step->square_scale, step->decay}, step->progress};
    if (n > 0) {
        memcpy(t->batch_host, step->bytes, n);
        memcpy(t->batch_host + n, step->targets, n);
    }
    if (!t->settings.graph || t->steps++ == 0)
        return step_put_chosen(t);
    if (!t->graph && step_record(t))
        return -1;
    return gpu_attempt(cudaGraphLaunch(t->graph, t->compute), "start a step");
}

int gpu_step_finish(struct gpu_trainer *t, struct gpu_result *result)
{
    if (gpu_attempt(cudaStreamSynchronize(t->compute), "finish a step"))
        return -1;
    memcpy(result->tail, t->tail_host, sizeof(result->tail));
    return buckets_time(t, result);
}

int gpu_params_fetch(struct gpu_trainer *t, float *params)
{
    return gpu_attempt(cudaMemcpy(params, t->params, t->settings.gpt->nparams * sizeof(float),
                                  cudaMemcpyDeviceToHost),
                       "copy the parameters back");
}
