/*
 * heap_device.c - the heap of GPU memory: granules.
 *
 * Memory of a GPU comes and goes in granules (2 MiB). An object of a granule or more gets granules
 * of its own, so that they can go as soon as the object is freed. Smaller objects share granules.
 *
 * A PE gives a granule back, on its own, when it has freed all that is in there; others may not
 * have (heap.c: free is local). The place of a large object stays taken until all have freed it.
 * But a shared granule may have room for a new object while one PE has given it back and another
 * still uses what is in it. Such a granule is sealed: the next object goes elsewhere. All PEs must
 * come to the same place, so whether a granule is sealed is found out from the marks of freed
 * objects, of which all see the same during an allocation; what this PE has mapped is not asked.
 * While a PE is inside of an allocation it gives nothing back, for the same reason.
 */
#include <string.h>

#include "boot/crash.h"
#include "gpu/gpu.h"
#include "heap.h"

/* The heap lies behind the channels of its window. */
static uint64_t in_window(uint64_t offset)
{
    return NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES + offset;
}

static struct nvsi_heap *device(void)
{
    return &nvsi_heaps[NVSI_HEAP_DEVICE];
}

/* ---- places --------------------------------------------------------------------------------- */

struct look { /* at a granule: which PEs have freed all objects in it */
    uint64_t begin, end;
    int64_t *gone; /* by PE */
    bool used;
};

static void look_at(uint64_t offset, uint32_t id, void *arg)
{
    struct look *look = arg;
    uint64_t size = nvsi_tlsf_size(device()->blocks, id);
    if (offset >= look->end || offset + (size ? size : 1) <= look->begin)
        return;
    look->used = true;
    for (int pe = 0; pe < nvsi.npes; pe++)
        look->gone[pe] &= nvsi_heap_freed_by(device(), pe, id);
}

static bool granule_sealed(uint64_t begin)
{
    struct look look = {
        .begin = begin, .end = begin + nvsi_gpu.granule, .gone = nvsi_allocations.answers};
    for (int pe = 0; pe < nvsi.npes; pe++)
        look.gone[pe] = 1;
    nvsi_tlsf_each_live(device()->blocks, look_at, &look);
    for (int pe = 0; look.used && pe < nvsi.npes; pe++)
        if (look.gone[pe])
            return true;
    return false;
}

static bool sealed(uint64_t offset, uint64_t nbytes)
{
    uint64_t granule = nvsi_gpu.granule;
    for (uint64_t at = offset / granule * granule; at < offset + nbytes; at += granule)
        if (granule_sealed(at))
            return true;
    return false;
}

/* The caller has reserved what one more block needs; a block that is put back leaves that. */
static int place(struct nvsi_heap *heap, size_t nbytes, size_t align, uint64_t *offset,
                 uint32_t *id)
{
    uint64_t granule = nvsi_gpu.granule, size = nvsi_gpu.granule;
    if (nbytes < granule) {
        if (nvsi_tlsf_alloc(heap->blocks, nbytes, align, offset, id))
            return -1;
        if (!nvsi_allocations.ragged)
            return 0;
        nvsi_tlsf_release(heap->blocks, *id);
        if (!sealed(*offset, nbytes))
            return nvsi_tlsf_alloc(heap->blocks, nbytes, align, offset, id);
    } else if (__builtin_add_overflow(nbytes, granule - 1, &size)) {
        return -1;
    } else {
        size = size / granule * granule;
    }
    return nvsi_tlsf_alloc(heap->blocks, size, align < granule ? granule : align, offset, id);
}

/* ---- memory --------------------------------------------------------------------------------- */

static int commit(struct nvsi_heap *heap, const char *fn, enum nvsi_flight_op flight, uint32_t id,
                  bool fresh)
{
    (void)fresh;
    uint64_t offset = in_window(nvsi_tlsf_offset(heap->blocks, id));
    uint64_t size = nvsi_tlsf_size(heap->blocks, id);
    struct nvsi_take takes[2];
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    int ntakes = nvsi_window_missing(offset, size, takes);
    if (ntakes)
        status = nvsi_window_take(fn, nvsi.teams[NVSI_TEAM_WORLD], flight, takes, ntakes);
    nvsi_gpu_leave(before);
    if (!status)
        nvsi_window_need(offset, size);
    return status;
}

static int clear(const char *fn, void *ptr, size_t nbytes)
{
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    CUresult result = cu.cuMemsetD8Async((CUdeviceptr)(uintptr_t)ptr, 0, nbytes, nvsi_gpu.stream);
    status = result ? nvsi_cuda_error(fn, result, "clear %zu bytes of device memory", nbytes)
                    : nvsi_gpu_synchronize(fn, nvsi_gpu.stream);
    nvsi_gpu_leave(before);
    return status;
}

/* Whether the kernels that may use what this thread is freeing are known to be done. */
static _Thread_local bool settled;

static void freed(struct nvsi_heap *heap, uint32_t id)
{
    NVSI_CRASH_POINT(heap_device_freed);
    nvsi_window_unneed(in_window(nvsi_tlsf_offset(heap->blocks, id)),
                       nvsi_tlsf_size(heap->blocks, id), settled);
}

void nvsi_heap_device_freeing(const char *fn)
{
    CUcontext before;
    settled = false;
    if (nvsi_gpu_enter(fn, &before))
        return;
    settled = nvsi_gpu_settle();
    nvsi_gpu_leave(before);
}

void nvsi_heap_device_drop(void)
{
    CUcontext before;
    if (!nvsi_window_has_waste() || nvsi_gpu_enter("free", &before))
        return;
    nvsi_window_drop();
    nvsi_gpu_leave(before);
}

static void settle(const char *fn)
{
    if (!nvsi_window_has_waste())
        return;
    nvsi_heap_device_freeing(fn);
    pthread_mutex_lock(&nvsi_heap_lock);
    nvsi_heap_device_drop();
    pthread_mutex_unlock(&nvsi_heap_lock);
}

const struct nvsi_heap_kind nvsi_heap_of_device = {
    .name = "heap of GPU memory",
    .remedy = "its address space is twice the memory of the largest GPU",
    .seg = NVSI_SEG_DEVICE,
    .place = place,
    .commit = commit,
    .clear = clear,
    .freed = freed,
    .settle = settle,
};
