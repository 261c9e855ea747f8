/*
 * lent.c - memory of the caller that is to become symmetric: what it consists of, and whether the
 * other PEs can map it.
 *
 * Only memory of cuMemCreate() can be mapped where a window wants it, and only if it was made to be
 * shared as a descriptor. One range of addresses may be made of several such allocations (PyTorch's
 * expandable segments are). The driver maps an allocation whole or not at all, so what of the first
 * and of the last one lies outside of the caller's range is mapped with it.
 */
#include "gpu/lent.h"

#include <stdlib.h>
#include <unistd.h>

#define ALLOWED                                                                                    \
    "allowed is memory of this PE's GPU that cuMemCreate made with "                               \
    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; nvshmem_malloc returns memory that is symmetric "   \
    "already"

void nvsi_lent_release(struct nvsi_lent *lent)
{
    for (int i = 0; i < lent->npieces; i++) {
        (void)cu.cuMemRelease(lent->pieces[i].handle);
        if (lent->pieces[i].fd >= 0)
            close(lent->pieces[i].fd);
    }
    free(lent->pieces);
    *lent = (struct nvsi_lent){0};
}

/* ---- what a range is ---------------------------------------------------------------------------
 */

static int wrong_kind(const char *fn, const void *buf)
{
    unsigned type = 0, managed = 0;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)buf;
    const char *what = "memory of the host";
    if (!cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) &&
        type == CU_MEMORYTYPE_DEVICE) {
        (void)cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at);
        what = managed ? "managed memory"
                       : "memory of cudaMalloc, for which other PEs cannot choose an address";
    }
    return nvsi_error(NVS_ERR_UNSUPPORTED, "%s: buf %p is %s: " ALLOWED, fn, buf, what);
}

/* What is asked of an allocation. */
static int check_made(const char *fn, const void *buf, const CUmemAllocationProp *prop)
{
    if (!(prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return nvsi_error(NVS_ERR_UNSUPPORTED,
                          "%s: the memory at buf %p cannot be exported as a descriptor: " ALLOWED,
                          fn, buf);
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop->location.id != nvsi_gpu.ordinal)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: the memory at buf %p is not of GPU %d, which PE %d uses: " ALLOWED,
                          fn, buf, nvsi_gpu.ordinal, nvsi.me);
    return 0;
}

static int check_range(const char *fn, const void *buf, size_t nbytes)
{
    uint64_t granule = nvsi_gpu.granule;
    const char *first = nvsi_gpu.window - (int64_t)nvsi.me * nvsi_gpu.stride;
    size_t windows = (size_t)nvsi_gpu.stride * (size_t)nvsi.npes;
    if (!buf || !nbytes || (uintptr_t)buf % granule || nbytes % granule)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: buf is %p and size %zu: allowed are multiples of %llu but 0", fn,
                          buf, nbytes, (unsigned long long)granule);
    if (nbytes > nvsi_gpu.heap_bytes)
        return nvsi_error(NVS_ERR_INVALID, "%s: size is %zu: allowed are up to %llu bytes", fn,
                          nbytes, (unsigned long long)nvsi_gpu.heap_bytes);
    if ((size_t)((const char *)buf - first) < windows)
        return nvsi_error(NVS_ERR_INVALID, "%s: buf %p is symmetric memory already", fn, buf);
    return 0;
}

/* ---- its pieces --------------------------------------------------------------------------------
 */

static int add_piece(const char *fn, struct nvsi_lent *lent, uint64_t nbytes,
                     CUmemGenericAllocationHandle handle)
{
    size_t count = (size_t)lent->npieces;
    struct nvsi_lent_piece *grown = realloc(lent->pieces, (count + 1) * sizeof *grown);
    if (!grown) {
        (void)cu.cuMemRelease(handle);
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the table of a buffer", fn);
    }
    lent->pieces = grown;
    grown[count] = (struct nvsi_lent_piece){.handle = handle, .nbytes = nbytes, .fd = -1};
    lent->npieces++;
    return 0;
}

/* The allocation that is mapped at `at`; *next: where it ends. */
static int find_piece(const char *fn, struct nvsi_lent *lent, CUdeviceptr at, CUdeviceptr *next)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = {0};
    CUdeviceptr base;
    size_t nbytes;
    void *there = (void *)(uintptr_t)at;
    if (cu.cuMemGetAddressRange(&base, &nbytes, at) ||
        cu.cuMemRetainAllocationHandle(&handle, there))
        return wrong_kind(fn, there);
    if (!lent->npieces)
        lent->lead = at - base;
    *next = base + nbytes;
    int status = add_piece(fn, lent, nbytes, handle);
    if (status)
        return status;
    CUresult result = cu.cuMemGetAllocationPropertiesFromHandle(&prop, handle);
    if (result)
        return nvsi_cuda_error(fn, result, "ask what the memory at %p is", there);
    status = check_made(fn, there, &prop);
    if (status)
        return status;
    int *fd = &lent->pieces[lent->npieces - 1].fd;
    result =
        cu.cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (!result)
        return 0;
    *fd = -1;
    return nvsi_cuda_error(fn, result, "export the memory at %p as a descriptor (see 'ulimit -n')",
                           there);
}

int nvsi_lent_look(const char *fn, const void *buf, size_t nbytes, struct nvsi_lent *lent)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)buf, end = at + nbytes;
    CUcontext before;
    *lent = (struct nvsi_lent){0};
    int status = check_range(fn, buf, nbytes);
    if (!status)
        status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    while (!status && at < end)
        status = find_piece(fn, lent, at, &at);
    lent->tail = at > end ? at - end : 0;
    nvsi_gpu_leave(before);
    return status;
}
