/*
 * streams.c - streams of the stand-in, which are the queues of libnvs, and host functions in them.
 * A stream that was destroyed is found out by its handle.
 */
#include "standin/standin.h"

/* ---- streams --------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    struct nvsi_queue *queue;
    if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
        return si_error(cudaErrorInvalidValue);
    int most, least;
    cudaDeviceGetStreamPriorityRange(&least, &most);
    priority = priority < most ? most : priority > least ? least : priority;
    int status = nvsx_queue_create(flags ? NVSX_QUEUE_NON_BLOCKING : 0, priority, &queue);
    if (!status)
        *stream = (cudaStream_t)(void *)queue;
    return si_status(status);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return si_status(nvsx_queue_destroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return si_status(nvsx_queue_synchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return si_status(nvsx_queue_query(stream));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    int priority;
    if (!flags)
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_queue_look(stream, flags, &priority));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    unsigned flags;
    if (!priority)
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_queue_look(stream, &flags, priority));
}

/* ---- host functions -------------------------------------------------------------------------- */

struct host_call {
    cudaHostFn_t fn;
    cudaStreamCallback_t callback;
    cudaStream_t stream;
    void *arg;
};

static int run_host_call(void *payload)
{
    const struct host_call *call = payload;
    if (call->fn)
        call->fn(call->arg);
    else
        call->callback(call->stream, cudaPeekAtLastError(), call->arg);
    return 0;
}

static const struct nvsi_task_kind host_call_kind = {.run = run_host_call};

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
    struct host_call call = {.fn = fn, .arg = arg};
    if (!fn)
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_queue_put(stream, &host_call_kind, &call, sizeof call));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *arg,
                                  unsigned flags)
{
    struct host_call call = {.callback = callback, .stream = stream, .arg = arg};
    if (!callback || flags)
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_queue_put(stream, &host_call_kind, &call, sizeof call));
}
