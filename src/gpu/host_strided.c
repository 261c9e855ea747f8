/*
 * host_strided.c - strided puts and gets with device memory on at least one side.
 *
 * Between memory that the GPU can address one kernel does it. Ordinary host memory it cannot: there
 * the elements are packed side by side by the host, or unpacked, and pass through a buffer on the
 * GPU, a piece at a time. Where no kernel gets (a GPU out of reach) they are copied one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "fast.h"
#include "gpu/host_ops.h"
#include "gpu/kernels/args.h"

#define BUFFER_BYTES ((size_t)1 << 20)

static struct {
    pthread_mutex_t lock; /* of the buffer; held by one call, which waits for no other PE */
    CUdeviceptr on_gpu;
} buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};

void nvsi_gpu_strided_close(void)
{
    if (buffer.on_gpu)
        (void)cu.cuMemFree(buffer.on_gpu);
    buffer.on_gpu = 0;
}

/* One side of a copy. Strides are in bytes. */
struct side {
    CUdeviceptr at;
    int64_t stride;
    bool kernels; /* reach it */
};

/* The widest access that all addresses and steps are multiples of. */
static uint32_t unit_of(const struct side *dst, const struct side *src, size_t elem_bytes)
{
    uint64_t all = dst->at | src->at | (uint64_t)dst->stride | (uint64_t)src->stride | elem_bytes;
    uint32_t unit = 8;
    while (all % unit)
        unit /= 2;
    return unit;
}

static int by_kernel(const char *fn, struct side dst, struct side src, size_t nelems,
                     size_t elem_bytes)
{
    struct nvsk_strided_args args = {.dst = dst.at,
                                     .src = src.at,
                                     .nelems = nelems,
                                     .dst_stride = dst.stride,
                                     .src_stride = src.stride,
                                     .elem_bytes = elem_bytes,
                                     .unit = unit_of(&dst, &src, elem_bytes)};
    size_t threads = NVSK_THREADS, nblocks = (nelems + threads - 1) / threads;
    if (nblocks > (size_t)nvsi_gpu.sm_limit)
        nblocks = (size_t)nvsi_gpu.sm_limit;
    nvsi_gpu_issued();
    return nvsi_gpu_launch(fn, NVSI_KERNEL_nvsk_strided, (unsigned)nblocks, (unsigned)threads,
                           nvsi_gpu.stream, &args);
}

static int one_by_one(const char *fn, struct side dst, struct side src, size_t nelems,
                      size_t elem_bytes)
{
    int status = 0;
    for (size_t i = 0; !status && i < nelems; i++) {
        status = nvsi_gpu_copy(fn, dst.at, src.at, elem_bytes);
        dst.at += (CUdeviceptr)dst.stride;
        src.at += (CUdeviceptr)src.stride;
    }
    return status;
}

static void copy_host(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                      size_t nelems, size_t elem_bytes)
{
    for (size_t i = 0; i < nelems; i++)
        memcpy(dst + (int64_t)i * dst_stride, src + (int64_t)i * src_stride, elem_bytes);
}

/* One piece from host memory, or to it, through both buffers. */
static int piece(const char *fn, struct side dst, struct side src, size_t nelems, size_t elem_bytes,
                 char *packed)
{
    struct side middle = {.at = buffer.on_gpu, .stride = (int64_t)elem_bytes, .kernels = true};
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)packed;
    int status;
    if (!src.kernels) {
        copy_host(packed, (int64_t)elem_bytes, (const char *)(uintptr_t)src.at, src.stride, nelems,
                  elem_bytes);
        status = nvsi_gpu_copy(fn, middle.at, host, nelems * elem_bytes);
        if (!status)
            status = by_kernel(fn, dst, middle, nelems, elem_bytes);
        return status ? status : nvsi_gpu_complete(fn);
    }
    status = by_kernel(fn, middle, src, nelems, elem_bytes);
    if (!status)
        status = nvsi_gpu_copy(fn, host, middle.at, nelems * elem_bytes);
    if (!status)
        status = nvsi_gpu_complete(fn);
    if (!status)
        copy_host((char *)(uintptr_t)dst.at, dst.stride, packed, (int64_t)elem_bytes, nelems,
                  elem_bytes);
    return status;
}

static int in_pieces(const char *fn, struct side dst, struct side src, size_t nelems,
                     size_t elem_bytes)
{
    char *packed = malloc(BUFFER_BYTES);
    if (!packed)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a buffer of %zu bytes", fn,
                          BUFFER_BYTES);
    int status = 0;
    pthread_mutex_lock(&buffer.lock);
    if (!buffer.on_gpu) {
        CUresult result = cu.cuMemAlloc(&buffer.on_gpu, BUFFER_BYTES);
        if (result) {
            buffer.on_gpu = 0;
            status =
                nvsi_cuda_error(fn, result, "take a buffer of %zu bytes on the GPU", BUFFER_BYTES);
        }
    }
    for (size_t done = 0, most = BUFFER_BYTES / elem_bytes; !status && done < nelems;) {
        size_t count = nelems - done < most ? nelems - done : most;
        status = piece(fn, dst, src, count, elem_bytes, packed);
        dst.at += (CUdeviceptr)((int64_t)count * dst.stride);
        src.at += (CUdeviceptr)((int64_t)count * src.stride);
        done += count;
    }
    pthread_mutex_unlock(&buffer.lock);
    free(packed);
    return status;
}

static int strided(const char *fn, struct side dst, struct side src, size_t nelems,
                   size_t elem_bytes)
{
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    if (dst.kernels && src.kernels)
        status = by_kernel(fn, dst, src, nelems, elem_bytes);
    else if (dst.kernels || src.kernels)
        status = in_pieces(fn, dst, src, nelems, elem_bytes);
    else
        status = one_by_one(fn, dst, src, nelems, elem_bytes);
    if (!status)
        status = nvsi_gpu_complete(fn);
    nvsi_gpu_leave(before);
    return status;
}

static int check_visible(const char *fn, const struct nvsi_remote *at)
{
    if (at->seg != NVSI_SEG_DEVICE || nvsi_gpu.reach[at->pe] != NVSI_GPU_HIDDEN)
        return 0;
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: PE %d does not see the GPU of PE %d, which CUDA_VISIBLE_DEVICES hides",
                      fn, nvsi.me, at->pe);
}

/* A side in our own hands: device memory that is no peer's can be addressed by our GPU, unless it
 * is another GPU's; the driver would refuse that to the kernel, so the copies do it. */
static bool kernels_reach(const void *local)
{
    int ordinal = -1;
    if (!nvsi_gpu_is_device(local))
        return false;
    return cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    (CUdeviceptr)(uintptr_t)local) ||
           ordinal == nvsi_gpu.ordinal;
}

static struct side remote_side(const struct nvsi_remote *at, ptrdiff_t stride, size_t elem_bytes)
{
    return (struct side){.at = nvsi_gpu_remote(at),
                         .stride = stride * (int64_t)elem_bytes,
                         .kernels = nvsi_gpu_is_direct(at)};
}

int nvsi_gpu_iput(const char *fn, const struct nvsi_remote *at, const void *src,
                  const struct nvsi_strided *shape)
{
    int status = check_visible(fn, at);
    if (status)
        return status;
    struct side from = {.at = (CUdeviceptr)(uintptr_t)src,
                        .stride = shape->src_stride * (int64_t)shape->elem_bytes,
                        .kernels = kernels_reach(src)};
    status = strided(fn, remote_side(at, shape->dst_stride, shape->elem_bytes), from, shape->nelems,
                     shape->elem_bytes);
    nvsi_wake(at->pe);
    return status;
}

int nvsi_gpu_iget(const char *fn, void *dst, const struct nvsi_remote *at,
                  const struct nvsi_strided *shape)
{
    int status = check_visible(fn, at);
    if (status)
        return status;
    struct side to = {.at = (CUdeviceptr)(uintptr_t)dst,
                      .stride = shape->dst_stride * (int64_t)shape->elem_bytes,
                      .kernels = kernels_reach(dst)};
    return strided(fn, to, remote_side(at, shape->src_stride, shape->elem_bytes), shape->nelems,
                   shape->elem_bytes);
}
