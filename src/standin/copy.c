/*
 * copy.c - copies and memsets of the stand-in, which happen in streams.
 *
 * Pageable memory, which the runtime has not allocated or registered, is CUDA's special case: an
 * asynchronous copy from it has read it when it returns, and one to it has written it. Programs
 * rely on that for variables on the stack. So small sources are taken along in the task, and for
 * all else the call waits for the stream. Memory that is not known but said to be on the device is
 * symmetric: nvshmem_malloc() gives host memory here.
 */
#include "standin/standin.h"

#include <string.h>

enum { TAKEN_ALONG = 256 }; /* bytes of a pageable source that travel in the task */

struct copy {
    char *dst;
    const char *src; /* NULL: `bytes` */
    size_t dst_pitch, src_pitch, width, height;
    char bytes[TAKEN_ALONG];
};

static int run_copy(void *payload)
{
    const struct copy *copy = payload;
    const char *src = copy->src ? copy->src : copy->bytes;
    if (copy->height == 1) {
        memmove(copy->dst, src, copy->width);
        return 0;
    }
    for (size_t row = 0; row < copy->height; row++)
        memmove(copy->dst + row * copy->dst_pitch, src + row * copy->src_pitch, copy->width);
    return 0;
}

static const struct nvsi_task_kind copy_kind = {.run = run_copy};

/* ---- checks ---------------------------------------------------------------------------------- */

static size_t span(size_t pitch, size_t width, size_t height)
{
    return height ? (height - 1) * pitch + width : 0;
}

/* One side of a copy: on the host or not, as `kind` says. */
static cudaError_t check_side(const struct si_block *block, const void *ptr, size_t nbytes,
                              bool host)
{
    if (!ptr)
        return cudaErrorInvalidValue;
    if (block->type == cudaMemoryTypeDevice && host)
        return cudaErrorInvalidMemcpyDirection;
    if (block->type != cudaMemoryTypeUnregistered &&
        nbytes > block->nbytes - (size_t)((const char *)ptr - block->base))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static bool from_host(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
}

static bool to_host(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
}

/* *waits: whether the call has to wait, because of pageable memory. */
static cudaError_t check_copy(struct copy *copy, enum cudaMemcpyKind kind, bool *waits)
{
    size_t dst_bytes = span(copy->dst_pitch, copy->width, copy->height);
    size_t src_bytes = span(copy->src_pitch, copy->width, copy->height);
    struct si_block dst = si_block_of(copy->dst), src = si_block_of(copy->src);
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = check_side(&dst, copy->dst, dst_bytes, to_host(kind));
    if (!error)
        error = check_side(&src, copy->src, src_bytes, from_host(kind));
    bool to_pageable = to_host(kind) && dst.type == cudaMemoryTypeUnregistered;
    bool from_pageable = from_host(kind) && src.type == cudaMemoryTypeUnregistered;
    *waits = to_pageable;
    if (!error && from_pageable && copy->height == 1 && copy->width <= TAKEN_ALONG) {
        memcpy(copy->bytes, copy->src, copy->width);
        copy->src = NULL;
    } else {
        *waits |= from_pageable;
    }
    return error;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static cudaError_t put_copy(struct copy *copy, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool blocking)
{
    bool waits;
    uint64_t capture;
    if (!copy->width || !copy->height)
        return cudaSuccess;
    const void *src = copy->src;
    cudaError_t error = check_copy(copy, kind, &waits);
    if (error)
        return si_error(error);
    int status = nvsx_capture_look(stream, &capture);
    if (!status && capture && blocking)
        status = NVSX_QUEUE_CAPTURED;
    if (capture)
        copy->src = src; /* a graph reads its memory in each launch, and waits for nobody */
    if (!status)
        status = nvsx_queue_put(stream, &copy_kind, copy, sizeof *copy);
    if (!status && !capture && (waits || blocking))
        status = nvsx_queue_synchronize(stream);
    return si_status(status);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind)
{
    struct copy copy = {.dst = dst, .src = src, .width = nbytes, .height = 1};
    return put_copy(&copy, kind, NULL, true);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    struct copy copy = {.dst = dst, .src = src, .width = nbytes, .height = 1};
    return put_copy(&copy, kind, stream, false);
}

static bool bad_pitch(const struct copy *copy)
{
    return copy->height > 1 && (copy->dst_pitch < copy->width || copy->src_pitch < copy->width);
}

static cudaError_t copy_rows(struct copy *copy, enum cudaMemcpyKind kind, cudaStream_t stream,
                             bool blocking)
{
    if (bad_pitch(copy))
        return si_error(cudaErrorInvalidPitchValue);
    return put_copy(copy, kind, stream, blocking);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    struct copy copy = {dst, src, dst_pitch, src_pitch, width, height, {0}};
    return copy_rows(&copy, kind, NULL, true);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    struct copy copy = {dst, src, dst_pitch, src_pitch, width, height, {0}};
    return copy_rows(&copy, kind, stream, false);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                size_t nbytes, cudaStream_t stream)
{
    if (!si_device_exists(dst_device) || !si_device_exists(src_device))
        return si_error(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device,
                           size_t nbytes)
{
    if (!si_device_exists(dst_device) || !si_device_exists(src_device))
        return si_error(cudaErrorInvalidDevice);
    return cudaMemcpy(dst, src, nbytes, cudaMemcpyDeviceToDevice);
}

/* ---- memset ---------------------------------------------------------------------------------- */

struct fill {
    void *ptr;
    size_t nbytes;
    int value;
};

static int run_fill(void *payload)
{
    const struct fill *fill = payload;
    memset(fill->ptr, fill->value, fill->nbytes);
    return 0;
}

static const struct nvsi_task_kind fill_kind = {.run = run_fill};

cudaError_t cudaMemsetAsync(void *ptr, int value, size_t nbytes, cudaStream_t stream)
{
    struct fill fill = {ptr, nbytes, value};
    if (!nbytes)
        return cudaSuccess;
    struct si_block block = si_block_of(ptr);
    cudaError_t error = check_side(&block, ptr, nbytes, false);
    if (error)
        return si_error(error);
    return si_status(nvsx_queue_put(stream, &fill_kind, &fill, sizeof fill));
}

cudaError_t cudaMemset(void *ptr, int value, size_t nbytes)
{
    cudaError_t error = cudaMemsetAsync(ptr, value, nbytes, NULL);
    return error || !nbytes ? error : cudaStreamSynchronize(NULL);
}
