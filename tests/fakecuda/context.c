/*
 * context.c - contexts, primary and others, and the stack of current ones that each thread has.
 */
#include <stdlib.h>

#include "fake.h"

static __thread struct CUctx_st *stack[16];
static __thread unsigned depth;

CUresult fake_enter_context(const char *fn, struct CUctx_st **context)
{
    CUresult result = fake_enter(fn);
    if (result)
        return result;
    *context = depth ? stack[depth - 1] : NULL;
    return *context && (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static struct CUctx_st *context_new_locked(int device)
{
    struct CUctx_st *context = calloc(1, sizeof *context);
    if (!context)
        abort();
    context->device = device;
    context->alive = true;
    context->next = fake.contexts;
    fake.contexts = context;
    return context;
}

/* Its work ends first. The structure stays, so that a stale handle is an error and no fault. */
static void context_end_locked(struct CUctx_st *context)
{
    fake_drain_context_locked(context);
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        if (stream->context == context)
            stream->alive = false;
    fake_context_memory_free_locked(context);
    context->legacy = NULL;
    context->alive = false;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&fake.lock);
    struct fake_device *self = &fake.devices[device];
    if (!self->primary)
        self->primary = context_new_locked(device);
    self->primary->alive = true;
    self->primary_refs++;
    *context = self->primary;
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&fake.lock);
    struct fake_device *self = &fake.devices[device];
    CUresult result = self->primary_refs ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!result && --self->primary_refs == 0)
        context_end_locked(self->primary);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = fake.devices[device].primary_refs > 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device)
{
    ENTER();
    if (!fake_is_device(device) || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    *context = context_new_locked(device);
    pthread_mutex_unlock(&fake.lock);
    return cuCtxPushCurrent(*context);
}

CUresult cuCtxDestroy(CUcontext context)
{
    ENTER();
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&fake.lock);
    context_end_locked(context);
    pthread_mutex_unlock(&fake.lock);
    if (depth && stack[depth - 1] == context)
        depth--;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER();
    *context = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

/* Replaces the top of the stack; NULL pops it. */
CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER();
    if (context && !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context)
        depth -= depth > 0;
    else
        stack[depth ? depth - 1 : depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    ENTER();
    if (!context || !context->alive || depth == sizeof stack / sizeof *stack)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    ENTER();
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (context)
        *context = stack[depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    ENTER_CONTEXT(context);
    *device = context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    ENTER_CONTEXT(context);
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    if (!result)
        fake_drain_context_locked(context);
    pthread_mutex_unlock(&fake.lock);
    return result;
}
