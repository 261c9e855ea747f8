/*
 * vmm.c - memory apart from addresses: a memory file for each cuMemCreate(), mapped where it is
 * wanted.
 *
 * The descriptor that is exported is a real one, so another process maps the same memory. The
 * device to which it belongs is in the file's name. As with the real driver: sizes and addresses
 * are multiples of the granularity, memory cannot be touched before cuMemSetAccess(), mappings are
 * unmapped whole, an address range is freed whole and empty, and memory goes when nothing maps it
 * and no handle names it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"

struct fake_handle {
    int fd, device;
    size_t size;
    unsigned refs, maps; /* handles not yet released; mappings */
    bool imported, shareable;
    CUmemGenericAllocationHandle id;
    struct fake_handle *next;
};

struct reservation {
    char *base;
    size_t size;
    struct reservation *next;
};

static struct fake_handle *handles;
static struct reservation *reservations;
static CUmemGenericAllocationHandle last_id = 0x1000;

static bool aligned(uint64_t value)
{
    return value % FAKE_GRANULE == 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* A little more than asked for, so that it can be aligned. */
static char *reserve(size_t nbytes, size_t align)
{
    char *area = fake_pages(nbytes + align);
    if (!area)
        return NULL;
    char *base = (char *)(((uintptr_t)area + align - 1) / align * align);
    if (base > area)
        munmap(area, (size_t)(base - area));
    munmap(base + nbytes, align - (size_t)(base - area));
    madvise(base, nbytes, MADV_DONTFORK);
    return base;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t nbytes, size_t align, CUdeviceptr fixed,
                             unsigned long long flags)
{
    ENTER();
    if (!ptr || !nbytes || !aligned(nbytes) || flags || (align & (align - 1)) || fixed)
        return CUDA_ERROR_INVALID_VALUE; /* a fixed address is a hint that we never give */
    char *base = reserve(nbytes, align > FAKE_GRANULE ? align : FAKE_GRANULE);
    struct reservation *made = base ? malloc(sizeof *made) : NULL;
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake.lock);
    *made = (struct reservation){.base = base, .size = nbytes, .next = reservations};
    reservations = made;
    pthread_mutex_unlock(&fake.lock);
    *ptr = (CUdeviceptr)(uintptr_t)base;
    return CUDA_SUCCESS;
}

static bool any_mapping_locked(const char *base, size_t nbytes)
{
    for (size_t at = 0; at < nbytes; at += FAKE_GRANULE)
        if (fake_range_find_locked(base + at))
            return true;
    return false;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t nbytes)
{
    ENTER();
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    for (struct reservation **link = &reservations; *link; link = &(*link)->next) {
        struct reservation *found = *link;
        if ((uintptr_t)found->base != ptr || found->size != nbytes ||
            any_mapping_locked(found->base, nbytes))
            continue;
        munmap(found->base, nbytes);
        *link = found->next;
        free(found);
        result = CUDA_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool good_prop(const CUmemAllocationProp *prop)
{
    return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0 &&
           prop->location.id < fake.ndevices &&
           (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0;
}

CUresult cuMemGetAllocationGranularity(size_t *nbytes, const CUmemAllocationProp *prop, int option)
{
    ENTER();
    if (!nbytes || !good_prop(prop) || option < 0 || option > 1)
        return CUDA_ERROR_INVALID_VALUE;
    *nbytes = FAKE_GRANULE;
    return CUDA_SUCCESS;
}

static struct fake_handle *handle_new_locked(int fd, int device, size_t size, bool imported,
                                             bool shareable)
{
    struct fake_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        abort();
    *handle = (struct fake_handle){.fd = fd,
                                   .device = device,
                                   .size = size,
                                   .refs = 1,
                                   .imported = imported,
                                   .shareable = shareable,
                                   .id = last_id += 16,
                                   .next = handles};
    handles = handle;
    return handle;
}

static struct fake_handle *handle_find_locked(CUmemGenericAllocationHandle id)
{
    struct fake_handle *handle = handles;
    while (handle && (handle->id != id || handle->refs == 0))
        handle = handle->next;
    return handle;
}

static void handle_drop_locked(struct fake_handle *handle)
{
    if (handle->refs || handle->maps)
        return;
    struct fake_handle **link = &handles;
    while (*link != handle)
        link = &(*link)->next;
    *link = handle->next;
    if (!handle->imported)
        fake.devices[handle->device].used -= handle->size;
    close(handle->fd);
    free(handle);
}

static int memory_file(int device, size_t nbytes)
{
    char name[32];
    snprintf(name, sizeof name, "fakecuda device %d", device);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)nbytes) == 0)
        return fd;
    close(fd);
    return -1;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t nbytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    ENTER_CONTEXT(context);
    if (!handle || !nbytes || !aligned(nbytes) || !good_prop(prop) || flags || !context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!fake.vmm)
        return CUDA_ERROR_NOT_SUPPORTED;
    int device = prop->location.id;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake.lock);
    if (nbytes <= fake.memory_bytes - fake.devices[device].used) {
        int fd = memory_file(device, nbytes);
        if (fd >= 0) {
            fake.devices[device].used += nbytes;
            *handle =
                handle_new_locked(fd, device, nbytes, false, prop->requestedHandleTypes != 0)->id;
            result = CUDA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle id)
{
    ENTER();
    pthread_mutex_lock(&fake.lock);
    struct fake_handle *handle = handle_find_locked(id);
    if (handle) {
        handle->refs--;
        handle_drop_locked(handle);
    }
    pthread_mutex_unlock(&fake.lock);
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- to and from other processes ------------------------------------------------------------- */

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle id, int type,
                                      unsigned long long flags)
{
    ENTER();
    if (!shareable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    struct fake_handle *handle = handle_find_locked(id);
    int fd = handle && handle->shareable ? fcntl(handle->fd, F_DUPFD_CLOEXEC, 3) : -1;
    pthread_mutex_unlock(&fake.lock);
    if (fd < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)shareable = fd; /* the caller closes it */
    return CUDA_SUCCESS;
}

/* The device whose memory a file is; -1: not a file of ours. */
static int device_of_file(int fd)
{
    char path[64], target[128], *name;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return -1;
    target[length] = 0;
    name = strstr(target, "fakecuda device ");
    return name ? atoi(name + strlen("fakecuda device ")) : -1;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *id, void *shareable, int type)
{
    ENTER_CONTEXT(context);
    int fd = (int)(intptr_t)shareable; /* by value, and it stays the caller's */
    struct stat stat;
    int device = device_of_file(fd);
    if (!id || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || device < 0 || !context ||
        fstat(fd, &stat) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (device >= fake.ndevices)
        return CUDA_ERROR_INVALID_DEVICE; /* this process does not see that GPU */
    pthread_mutex_lock(&fake.lock);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own >= 0)
        *id = handle_new_locked(own, device, (size_t)stat.st_size, true, true)->id;
    pthread_mutex_unlock(&fake.lock);
    return own < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool reserved_locked(const char *base, size_t nbytes)
{
    for (struct reservation *r = reservations; r; r = r->next)
        if (base >= r->base && base + nbytes <= r->base + r->size)
            return true;
    return false;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t nbytes, size_t offset, CUmemGenericAllocationHandle id,
                  unsigned long long flags)
{
    ENTER();
    char *base = (char *)(uintptr_t)ptr;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    struct fake_handle *handle = handle_find_locked(id);
    bool good = handle && nbytes && aligned(ptr) && aligned(nbytes) && offset == 0 && !flags &&
                nbytes <= handle->size && reserved_locked(base, nbytes) &&
                !any_mapping_locked(base, nbytes);
    if (good && nbytes != handle->size) {
        result = CUDA_ERROR_NOT_SUPPORTED; /* as the real one: whole, or not at all */
        good = false;
    }
    if (good && mmap(base, nbytes, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->fd, 0) == base) {
        handle->maps++;
        fake_range_add_locked(base, nbytes, FAKE_VMM, handle->device)->handle = handle;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* Whether [base, base + nbytes) consists of whole mappings; what is done with each of them. */
static bool whole_mappings_locked(char *base, size_t nbytes, void (*act)(struct fake_range *))
{
    char *at = base, *end = base + nbytes;
    while (at < end) {
        struct fake_range *range = fake_range_find_locked(at);
        if (!range || range->kind != FAKE_VMM || range->base != at || at + range->size > end)
            return false;
        at += range->size;
        if (act)
            act(range);
    }
    return nbytes > 0;
}

static void unmap(struct fake_range *range)
{
    struct fake_handle *handle = range->handle;
    if (mmap(range->base, range->size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != range->base)
        abort();
    madvise(range->base, range->size, MADV_DONTFORK);
    fake_range_drop_locked(range);
    handle->maps--;
    handle_drop_locked(handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t nbytes)
{
    ENTER();
    char *base = (char *)(uintptr_t)ptr;
    pthread_mutex_lock(&fake.lock);
    bool good = whole_mappings_locked(base, nbytes, NULL);
    if (good)
        whole_mappings_locked(base, nbytes, unmap);
    pthread_mutex_unlock(&fake.lock);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void open_access(struct fake_range *range)
{
    if (!fake_protect(range->base, range->size, PROT_READ | PROT_WRITE))
        abort();
    range->accessible = true;
}

/* A device may touch the memory of another one only if they reach each other. */
static CUresult check_access_locked(char *base, size_t nbytes, const CUmemAccessDesc *desc)
{
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE || desc->location.id < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (desc->location.id >= fake.ndevices)
        return CUDA_ERROR_INVALID_DEVICE;
    for (size_t at = 0; at < nbytes; at += FAKE_GRANULE) {
        struct fake_range *range = fake_range_find_locked(base + at);
        if (range->device != desc->location.id && !fake.p2p)
            return CUDA_ERROR_INVALID_DEVICE;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t nbytes, const CUmemAccessDesc *desc, size_t count)
{
    ENTER();
    char *base = (char *)(uintptr_t)ptr;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&fake.lock);
    if (!desc || !count || !whole_mappings_locked(base, nbytes, NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !result && i < count; i++)
        result = check_access_locked(base, nbytes, &desc[i]);
    if (!result)
        whole_mappings_locked(base, nbytes, open_access);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The handle of what is mapped at an address; one more that has to be released. */
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *ptr)
{
    ENTER();
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    struct fake_range *range = fake_range_find_locked(ptr);
    if (handle && range && range->kind == FAKE_VMM) {
        range->handle->refs++;
        *handle = range->handle->id;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle id)
{
    ENTER();
    pthread_mutex_lock(&fake.lock);
    struct fake_handle *handle = handle_find_locked(id);
    if (handle && prop)
        *prop = (CUmemAllocationProp){
            .type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes =
                handle->shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = handle->device}};
    pthread_mutex_unlock(&fake.lock);
    return handle && prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
