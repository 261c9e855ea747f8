/*
 * memory.c - device memory, pinned and registered host memory, and the table of all of it.
 *
 * Device memory has the same address for kernels and for this process, but is tagged with a
 * protection key that only the stand-in's own threads hold: a host thread that follows a device
 * pointer ends with a segmentation fault, as on a real machine, and a system call with EFAULT.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake.h"

static struct fake_range *ranges;

struct fake_range *fake_range_add_locked(void *base, size_t size, enum fake_kind kind, int device)
{
    struct fake_range *range = calloc(1, sizeof *range);
    if (!range)
        abort();
    *range = (struct fake_range){
        .base = base, .size = size, .kind = kind, .device = device, .next = ranges};
    ranges = range;
    return range;
}

struct fake_range *fake_range_find_locked(const void *ptr)
{
    uintptr_t address = (uintptr_t)ptr;
    for (struct fake_range *range = ranges; range; range = range->next)
        if (address - (uintptr_t)range->base < range->size)
            return range;
    return NULL;
}

void fake_range_drop_locked(struct fake_range *range)
{
    struct fake_range **link = &ranges;
    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    free(range);
}

bool fake_span_locked(const void *ptr, size_t nbytes, unsigned *kinds)
{
    const char *at = ptr, *end = at + nbytes;
    *kinds = 0;
    while (at < end) {
        struct fake_range *range = fake_range_find_locked(at);
        if (!range || (range->kind == FAKE_VMM && !range->accessible))
            return false;
        *kinds |= 1u << range->kind;
        at = range->base + range->size;
    }
    return true;
}

bool fake_protect(void *ptr, size_t nbytes, int protection)
{
    madvise(ptr, nbytes, MADV_DONTFORK); /* a child of fork() has no device memory */
    return fake.pkey >= 0 ? pkey_mprotect(ptr, nbytes, protection, fake.pkey) == 0
                          : mprotect(ptr, nbytes, protection) == 0;
}

void *fake_pages(size_t nbytes)
{
    void *ptr = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

static size_t to_pages(size_t nbytes)
{
    return (nbytes + 4095) / 4096 * 4096;
}

/* ---- device memory --------------------------------------------------------------------------- */

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    ENTER_CONTEXT(context);
    pthread_mutex_lock(&fake.lock);
    *total_bytes = fake.memory_bytes;
    *free_bytes = fake.memory_bytes - fake.devices[context->device].used;
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult allocate_locked(struct CUctx_st *context, CUdeviceptr *ptr, size_t nbytes,
                                enum fake_kind kind)
{
    struct fake_device *device = &fake.devices[context->device];
    size_t size = to_pages(nbytes);
    if (size > fake.memory_bytes - device->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    char *base = fake_pages(size);
    if (!base)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (kind == FAKE_MANAGED)
        mprotect(base, size, PROT_READ | PROT_WRITE);
    else if (!fake_protect(base, size, PROT_READ | PROT_WRITE))
        abort();
    device->used += size;
    fake_range_add_locked(base, size, kind, context->device)->context = context;
    *ptr = (CUdeviceptr)(uintptr_t)base;
    return CUDA_SUCCESS;
}

static CUresult allocate(struct CUctx_st *context, CUdeviceptr *ptr, size_t nbytes,
                         enum fake_kind kind)
{
    if (!ptr || !nbytes)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    if (!result)
        result = allocate_locked(context, ptr, nbytes, kind);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemAlloc(CUdeviceptr *ptr, size_t nbytes)
{
    ENTER_CONTEXT(context);
    return allocate(context, ptr, nbytes, FAKE_DEVICE);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t nbytes, unsigned flags)
{
    ENTER_CONTEXT(context);
    return flags == 1 ? allocate(context, ptr, nbytes, FAKE_MANAGED) : CUDA_ERROR_INVALID_VALUE;
}

static void free_range_locked(struct fake_range *range)
{
    if (range->kind != FAKE_PINNED)
        fake.devices[range->device].used -= range->size;
    munmap(range->base, range->size);
    fake_range_drop_locked(range);
}

CUresult cuMemFree(CUdeviceptr ptr)
{
    ENTER_CONTEXT(context);
    if (!ptr)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    struct fake_range *range = fake_range_find_locked((void *)(uintptr_t)ptr);
    if (!result && (!range || (uintptr_t)range->base != ptr ||
                    (range->kind != FAKE_DEVICE && range->kind != FAKE_MANAGED)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        fake_drain_context_locked(context); /* waits for all work, as the real one does */
        free_range_locked(range);
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

void fake_context_memory_free_locked(struct CUctx_st *context)
{
    for (struct fake_range *range = ranges, *next; range; range = next) {
        next = range->next;
        if (range->context == context)
            free_range_locked(range);
    }
}

/* ---- host memory ----------------------------------------------------------------------------- */

CUresult cuMemHostAlloc(void **ptr, size_t nbytes, unsigned flags)
{
    ENTER_CONTEXT(context);
    if (!ptr || !nbytes || flags & ~7u)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    size_t size = to_pages(nbytes);
    char *base = result ? NULL : fake_pages(size);
    if (base && mprotect(base, size, PROT_READ | PROT_WRITE) == 0) {
        fake_range_add_locked(base, size, FAKE_PINNED, context->device)->context = context;
        *ptr = base;
    } else if (!result) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemFreeHost(void *ptr)
{
    ENTER_CONTEXT(context);
    if (!ptr)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    struct fake_range *range = fake_range_find_locked(ptr);
    if (!result && (!range || range->base != ptr || range->kind != FAKE_PINNED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        fake_drain_context_locked(context);
        free_range_locked(range);
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

static bool overlaps_locked(const char *base, size_t size)
{
    for (struct fake_range *range = ranges; range; range = range->next)
        if (base < range->base + range->size && range->base < base + size)
            return true;
    return false;
}

CUresult cuMemHostRegister(void *ptr, size_t nbytes, unsigned flags)
{
    ENTER_CONTEXT(context);
    if (!ptr || !nbytes || flags & ~15u)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    if (!result && overlaps_locked(ptr, nbytes))
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!result)
        fake_range_add_locked(ptr, nbytes, FAKE_REGISTERED, context->device);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemHostUnregister(void *ptr)
{
    ENTER_CONTEXT(context);
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    struct fake_range *range = fake_range_find_locked(ptr);
    if (!result && (!range || range->kind != FAKE_REGISTERED || range->base != ptr))
        result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (!result) {
        fake_drain_context_locked(context);
        fake_range_drop_locked(range);
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *ptr, unsigned flags)
{
    ENTER_CONTEXT(context);
    if (!device || flags || !context)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    struct fake_range *range = fake_range_find_locked(ptr);
    bool host = range && (range->kind == FAKE_PINNED || range->kind == FAKE_REGISTERED);
    pthread_mutex_unlock(&fake.lock);
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    *device = (CUdeviceptr)(uintptr_t)ptr;
    return CUDA_SUCCESS;
}

/* ---- questions ------------------------------------------------------------------------------- */

static CUresult attribute_of(const struct fake_range *range, void *value, int attribute)
{
    bool host = range->kind == FAKE_PINNED || range->kind == FAKE_REGISTERED;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)value = range->kind == FAKE_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = range->device;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Ordinary memory is an invalid value, as for the real driver. */
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr ptr)
{
    ENTER();
    pthread_mutex_lock(&fake.lock);
    struct fake_range *range = fake_range_find_locked((void *)(uintptr_t)ptr);
    CUresult result = range ? attribute_of(range, value, attribute) : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* Of memory of cuMemCreate(): what one cuMemMap() has mapped. */
CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *nbytes, CUdeviceptr ptr)
{
    ENTER_CONTEXT(context);
    pthread_mutex_lock(&fake.lock);
    struct fake_range *range = context ? fake_range_find_locked((void *)(uintptr_t)ptr) : NULL;
    bool device = range && range->kind != FAKE_REGISTERED && range->kind != FAKE_GLOBAL;
    if (device && base)
        *base = (CUdeviceptr)(uintptr_t)range->base;
    if (device && nbytes)
        *nbytes = range->size;
    pthread_mutex_unlock(&fake.lock);
    return device ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

size_t fakecuda_used(void)
{
    size_t used = 0;
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < fake.ndevices; i++)
        used += fake.devices[i].used;
    pthread_mutex_unlock(&fake.lock);
    return used;
}

size_t fakecuda_mapped(void)
{
    size_t mapped = 0;
    pthread_mutex_lock(&fake.lock);
    for (struct fake_range *range = ranges; range; range = range->next)
        if (range->kind == FAKE_VMM)
            mapped += range->size;
    pthread_mutex_unlock(&fake.lock);
    return mapped;
}
