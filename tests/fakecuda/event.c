/*
 * event.c - events: the moment at which a stream comes past a place, or a place in a capture.
 */
#include <stdlib.h>

#include "fake.h"

struct CUevent_st {
    unsigned refs; /* the handle, and records that are still to come */
    bool alive, recorded, timed;
    struct fake_moment moment;
    uint64_t time_ns;
    struct fake_capture_point point; /* last recorded in a capture, if nodes is not NULL */
};

static void release_locked(CUevent event)
{
    if (--event->refs)
        return;
    free(event->point.nodes);
    free(event);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    enum { BLOCKING_SYNC = 1 };
    ENTER_CONTEXT(context);
    if (!event || !context || flags & ~(unsigned)(BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    CUevent made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->refs = 1;
    made->alive = true;
    made->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    *event = made;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
    ENTER();
    if (!event || !event->alive)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake.lock);
    event->alive = false;
    release_locked(event);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static void stamp(struct fake_op *op)
{
    CUevent event = *(CUevent *)(void *)op->payload;
    event->time_ns = emu_nanoseconds();
}

static void drop_stamp(struct fake_op *op)
{
    pthread_mutex_lock(&fake.lock);
    release_locked(*(CUevent *)(void *)op->payload);
    pthread_mutex_unlock(&fake.lock);
}

static void forget_point(CUevent event)
{
    free(event->point.nodes);
    event->point = (struct fake_capture_point){0};
}

static CUresult record_locked(CUevent event, struct CUstream_st *stream)
{
    if (stream->capture)
        return fake_capture_mark_locked(stream, &event->point);
    struct fake_op *op = fake_op_new(stamp, drop_stamp, sizeof event);
    *(CUevent *)(void *)op->payload = event;
    CUresult result = fake_enqueue_locked(stream, op, &event->moment);
    if (result) {
        op->drop = NULL;
        fake_op_free(op);
        return result;
    }
    event->refs++;
    event->recorded = true;
    forget_point(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream handle)
{
    ENTER_CONTEXT(context);
    struct CUstream_st *stream;
    if (!event || !event->alive)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result)
        result = record_locked(event, stream);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

static CUresult look(CUevent event, bool wait)
{
    CUresult result = CUDA_SUCCESS;
    if (!event || !event->alive)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake.lock);
    if (event->point.nodes)
        result = CUDA_ERROR_CAPTURED_EVENT;
    else if (event->recorded && wait)
        fake_wait_locked(event->moment);
    else if (event->recorded && !fake_happened_locked(event->moment))
        result = CUDA_ERROR_NOT_READY;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuEventQuery(CUevent event)
{
    ENTER();
    return look(event, false);
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER();
    return look(event, true);
}

CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
    ENTER();
    if (!ms || !begin || !end || !begin->timed || !end->timed || !begin->recorded || !end->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = look(begin, false);
    if (!result)
        result = look(end, false);
    if (!result)
        *ms = (float)(((double)end->time_ns - (double)begin->time_ns) / 1e6);
    return result;
}

/* ---- waiting of streams ---------------------------------------------------------------------- */

static CUresult wait_locked(struct CUstream_st *stream, CUevent event)
{
    if (event->point.nodes)
        return fake_capture_join_locked(stream, &event->point);
    if (stream->capture) /* what is recorded cannot wait for what is being done */
        return fake_capture_spoil_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (!event->recorded)
        return CUDA_SUCCESS;
    struct fake_op *op = fake_op_new(NULL, NULL, 0);
    fake_op_after_locked(op, event->moment);
    CUresult result = fake_enqueue_locked(stream, op, NULL);
    if (result)
        fake_op_free(op);
    return result;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    ENTER_CONTEXT(context);
    struct CUstream_st *stream;
    if (!event || !event->alive)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result)
        result = wait_locked(stream, event);
    pthread_mutex_unlock(&fake.lock);
    return result;
}
