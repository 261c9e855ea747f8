/*
 * stream.c - streams: a queue and a worker each.
 *
 * The legacy stream (NULL, and 1) comes after what all blocking streams of its context were given
 * before, and they come after what it was given. That, an event, and the order of a graph are the
 * same thing here: moments that must have passed before an operation may begin.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static __thread char this_thread; /* its address tells threads apart */

/* ---- operations ------------------------------------------------------------------------------ */

struct fake_op *fake_op_new(void (*run)(struct fake_op *), void (*drop)(struct fake_op *),
                            size_t payload_bytes)
{
    size_t nbytes = (sizeof(struct fake_op) + payload_bytes + 15) / 16 * 16;
    struct fake_op *op = aligned_alloc(16, nbytes);
    if (!op)
        abort();
    memset(op, 0, nbytes);
    op->run = run;
    op->drop = drop;
    return op;
}

void fake_op_free(struct fake_op *op)
{
    if (op->drop)
        op->drop(op);
    free(op->after);
    free(op);
}

bool fake_happened_locked(struct fake_moment moment)
{
    return moment.stream->completed >= moment.ticket;
}

void fake_op_after_locked(struct fake_op *op, struct fake_moment moment)
{
    if (fake_happened_locked(moment))
        return;
    op->after = realloc(op->after, (op->nafter + 1) * sizeof *op->after);
    if (!op->after)
        abort();
    op->after[op->nafter++] = moment;
}

void fake_wait_locked(struct fake_moment moment)
{
    while (!fake_happened_locked(moment))
        pthread_cond_wait(&fake.done, &fake.lock);
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void *work(void *arg)
{
    struct CUstream_st *stream = arg;
    fake_allow_device_memory(true);
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        struct fake_op *op;
        while (!(op = stream->first))
            pthread_cond_wait(&stream->work, &fake.lock);
        for (unsigned i = 0; i < op->nafter; i++)
            fake_wait_locked(op->after[i]);
        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        pthread_mutex_unlock(&fake.lock);
        if (op->run)
            op->run(op);
        uint64_t ticket = op->ticket;
        fake_op_free(op);
        pthread_mutex_lock(&fake.lock);
        stream->completed = ticket;
        pthread_cond_broadcast(&fake.done);
    }
    return NULL;
}

/* Detached: it ends with the process. */
static void start_worker_locked(struct CUstream_st *stream)
{
    pthread_t thread;
    pthread_attr_t attr;
    if (stream->has_thread)
        return;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, work, stream) != 0)
        abort();
    pthread_attr_destroy(&attr);
    stream->has_thread = true;
}

/* ---- submitting ------------------------------------------------------------------------------ */

static void order_with_legacy_locked(struct CUstream_st *stream, struct fake_op *op)
{
    struct CUstream_st *legacy = stream->context->legacy;
    if (!stream->legacy) {
        if (stream->blocking && legacy)
            fake_op_after_locked(op, (struct fake_moment){legacy, legacy->submitted});
        return;
    }
    for (struct CUstream_st *other = fake.streams; other; other = other->next)
        if (other->context == stream->context && other->blocking && other != stream)
            fake_op_after_locked(op, (struct fake_moment){other, other->submitted});
}

CUresult fake_enqueue_locked(struct CUstream_st *stream, struct fake_op *op,
                             struct fake_moment *moment)
{
    CUresult result = stream->legacy ? fake_implicit_locked(stream->context, true) : CUDA_SUCCESS;
    if (result)
        return result;
    order_with_legacy_locked(stream, op);
    op->ticket = ++stream->submitted;
    op->next = NULL;
    *stream->last = op;
    stream->last = &op->next;
    if (moment)
        *moment = (struct fake_moment){stream, op->ticket};
    start_worker_locked(stream);
    pthread_cond_signal(&stream->work);
    return CUDA_SUCCESS;
}

CUresult fake_submit(struct CUctx_st *context, CUstream handle, struct fake_op *op,
                     struct fake_moment *moment)
{
    struct CUstream_st *stream;
    if (moment)
        moment->stream = NULL;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result)
        result = stream->capture ? fake_capture_add_locked(stream, op)
                                 : fake_enqueue_locked(stream, op, moment);
    pthread_mutex_unlock(&fake.lock);
    if (result)
        fake_op_free(op);
    return result;
}

/* ---- streams --------------------------------------------------------------------------------- */

static struct CUstream_st *unused_locked(void)
{
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        if (!stream->alive && stream->completed == stream->submitted)
            return stream;
    struct CUstream_st *stream = calloc(1, sizeof *stream);
    if (!stream)
        abort();
    pthread_cond_init(&stream->work, NULL);
    stream->last = &stream->first;
    stream->next = fake.streams;
    fake.streams = stream;
    return stream;
}

struct CUstream_st *fake_stream_new_locked(struct CUctx_st *context, bool blocking)
{
    struct CUstream_st *stream = unused_locked();
    stream->context = context;
    stream->alive = true;
    stream->blocking = blocking;
    stream->legacy = false;
    stream->owner = NULL;
    return stream;
}

static struct CUstream_st *of_this_thread_locked(struct CUctx_st *context)
{
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        if (stream->alive && stream->context == context && stream->owner == &this_thread)
            return stream;
    struct CUstream_st *stream = fake_stream_new_locked(context, true);
    stream->owner = &this_thread;
    return stream;
}

static bool is_stream_locked(CUstream handle)
{
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        if (stream == handle)
            return stream->alive;
    return false;
}

CUresult fake_stream_find_locked(struct CUctx_st *context, CUstream handle,
                                 struct CUstream_st **stream)
{
    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        if (!context->legacy) {
            context->legacy = fake_stream_new_locked(context, true);
            context->legacy->legacy = true;
        }
        *stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        *stream = of_this_thread_locked(context);
        return CUDA_SUCCESS;
    }
    *stream = handle;
    return is_stream_locked(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    ENTER_CONTEXT(context);
    (void)priority; /* any is allowed, and clamped */
    if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    *stream = fake_stream_new_locked(context, !(flags & CU_STREAM_NON_BLOCKING));
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

/* What it was given is still done. */
CUresult cuStreamDestroy(CUstream handle)
{
    ENTER();
    pthread_mutex_lock(&fake.lock);
    bool good = is_stream_locked(handle) && !handle->legacy && !handle->owner;
    if (good) {
        if (handle->capture)
            fake_capture_spoil_locked(handle->capture, CUDA_SUCCESS);
        handle->alive = false;
    }
    pthread_mutex_unlock(&fake.lock);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult look(struct CUctx_st *context, CUstream handle, bool wait)
{
    struct CUstream_st *stream;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result && stream->capture)
        result = fake_capture_spoil_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (!result && stream->legacy)
        result = fake_implicit_locked(context, true);
    struct fake_moment moment = {stream, result ? 0 : stream->submitted};
    if (!result && wait)
        fake_wait_locked(moment);
    else if (!result && !fake_happened_locked(moment))
        result = CUDA_ERROR_NOT_READY;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER_CONTEXT(context);
    return look(context, stream, true);
}

CUresult cuStreamQuery(CUstream stream)
{
    ENTER_CONTEXT(context);
    return look(context, stream, false);
}

void fake_drain_context_locked(struct CUctx_st *context)
{
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        if (stream->context == context)
            fake_wait_locked((struct fake_moment){stream, stream->submitted});
}

/* ---- host functions -------------------------------------------------------------------------- */

struct host_call {
    CUhostFn fn;
    void *arg;
};

/* It must not call CUDA, and has no business in device memory. */
static void run_host_call(struct fake_op *op)
{
    struct host_call *call = (void *)op->payload;
    fake_allow_device_memory(false);
    fake_in_host_function = true;
    call->fn(call->arg);
    fake_in_host_function = false;
    fake_allow_device_memory(true);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
    ENTER_CONTEXT(context);
    if (!fn)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op = fake_op_new(run_host_call, NULL, sizeof(struct host_call));
    *(struct host_call *)(void *)op->payload = (struct host_call){fn, arg};
    return fake_submit(context, stream, op, NULL);
}
