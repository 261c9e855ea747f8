/*
 * events.c - events of the stand-in. An event holds the mark of its latest record; marks are
 * counted, so that it may be recorded anew or destroyed while streams wait for it.
 */
#include "standin/standin.h"

#include <pthread.h>
#include <stdlib.h>

struct CUevent_st {
    pthread_mutex_t lock;
    struct nvsi_mark *mark; /* of the latest record; NULL before */
    bool timed;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    if (!event || (flags & ~7u))
        return si_error(cudaErrorInvalidValue);
    if (flags & cudaEventInterprocess) /* no other process could open it */
        return si_error(cudaErrorNotSupported);
    cudaEvent_t made = calloc(1, sizeof *made);
    if (!made)
        return si_error(cudaErrorMemoryAllocation);
    pthread_mutex_init(&made->lock, NULL);
    made->timed = !(flags & cudaEventDisableTiming);
    *event = made;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return si_error(cudaErrorInvalidResourceHandle);
    nvsx_mark_release(event->mark);
    pthread_mutex_destroy(&event->lock);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct nvsi_mark *mark, *before;
    if (!event)
        return si_error(cudaErrorInvalidResourceHandle);
    int status = nvsx_mark_put(stream, &mark);
    if (status)
        return si_status(status);
    pthread_mutex_lock(&event->lock);
    before = event->mark;
    event->mark = mark;
    pthread_mutex_unlock(&event->lock);
    nvsx_mark_release(before);
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (flags)
        return si_error(cudaErrorNotSupported);
    return cudaEventRecord(event, stream);
}

/* The event's mark with a reference, NULL if it was never recorded: that counts as reached. */
static struct nvsi_mark *mark_of(cudaEvent_t event)
{
    pthread_mutex_lock(&event->lock);
    struct nvsi_mark *mark = event->mark;
    if (mark)
        nvsx_mark_retain(mark);
    pthread_mutex_unlock(&event->lock);
    return mark;
}

/* A captured event stands for no time: CUDA has an error of its own for that. */
static cudaError_t mark_status(struct nvsi_mark *mark, int status)
{
    nvsx_mark_release(mark);
    if (status == NVSX_QUEUE_CAPTURED)
        return si_error(cudaErrorCapturedEvent);
    return si_status(status);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (!event)
        return si_error(cudaErrorInvalidResourceHandle);
    struct nvsi_mark *mark = mark_of(event);
    return mark ? mark_status(mark, nvsx_mark_synchronize(mark)) : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!event)
        return si_error(cudaErrorInvalidResourceHandle);
    struct nvsi_mark *mark = mark_of(event);
    return mark ? mark_status(mark, nvsx_mark_query(mark)) : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (!event)
        return si_error(cudaErrorInvalidResourceHandle);
    if (flags)
        return si_error(cudaErrorNotSupported);
    struct nvsi_mark *mark = mark_of(event);
    if (!mark)
        return cudaSuccess;
    int status = nvsx_queue_wait(stream, mark);
    nvsx_mark_release(mark);
    return si_status(status);
}

/* *time_ns of an event's record. */
static cudaError_t time_of(cudaEvent_t event, int64_t *time_ns)
{
    if (!event || !event->timed)
        return si_error(cudaErrorInvalidResourceHandle);
    struct nvsi_mark *mark = mark_of(event);
    if (!mark)
        return si_error(cudaErrorInvalidResourceHandle);
    int status = nvsx_mark_query(mark);
    *time_ns = nvsx_mark_time_ns(mark);
    return mark_status(mark, status);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    int64_t from = 0, to = 0;
    if (!ms)
        return si_error(cudaErrorInvalidValue);
    cudaError_t error = time_of(start, &from);
    if (!error)
        error = time_of(end, &to);
    if (!error)
        *ms = (float)(to - from) / 1e6f;
    return error;
}
