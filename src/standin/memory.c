/*
 * memory.c - the memory of the stand-in: host memory, with a table of what is where.
 *
 * The table is sorted by address, so that a pointer into a block is found by bisection: copies look
 * up both of theirs.
 */
#include "standin/standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct si_block *blocks;
    size_t count, room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the table ------------------------------------------------------------------------------- */

/* The number of blocks that begin at or before ptr. */
static size_t position(const char *ptr)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)table.blocks[middle].base <= (uintptr_t)ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct si_block *find(const char *ptr)
{
    size_t at = position(ptr);
    if (!at || (uintptr_t)ptr - (uintptr_t)table.blocks[at - 1].base >= table.blocks[at - 1].nbytes)
        return NULL;
    return &table.blocks[at - 1];
}

struct si_block si_block_of(const void *ptr)
{
    pthread_mutex_lock(&table.lock);
    const struct si_block *found = find(ptr);
    struct si_block block = found ? *found : (struct si_block){.device = -2};
    pthread_mutex_unlock(&table.lock);
    return block;
}

static bool insert(const struct si_block *block)
{
    if (table.count == table.room) {
        size_t room = table.room ? 2 * table.room : 64;
        struct si_block *blocks = realloc(table.blocks, room * sizeof *blocks);
        if (!blocks)
            return false;
        table.blocks = blocks;
        table.room = room;
    }
    size_t at = position(block->base);
    memmove(table.blocks + at + 1, table.blocks + at, (table.count - at) * sizeof *block);
    table.blocks[at] = *block;
    table.count++;
    return true;
}

static bool add(const struct si_block *block)
{
    pthread_mutex_lock(&table.lock);
    bool added = insert(block);
    pthread_mutex_unlock(&table.lock);
    return added;
}

/* Takes the block that begins at ptr out of the table, if it is of this kind. */
static bool take(const char *ptr, bool host, bool registered)
{
    pthread_mutex_lock(&table.lock);
    size_t at = position(ptr);
    struct si_block *block = at ? &table.blocks[at - 1] : NULL;
    bool taken = block && block->base == ptr && block->registered == registered &&
                 (block->type == cudaMemoryTypeHost) == host;
    if (taken) {
        table.count--;
        memmove(block, block + 1, (table.count - (at - 1)) * sizeof *block);
    }
    pthread_mutex_unlock(&table.lock);
    return taken;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static size_t machine_bytes(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Aligned as CUDA aligns. More than the machine has is refused, since the system would only refuse
 * it when it is touched. */
static cudaError_t allocate(void **ptr, size_t nbytes, enum cudaMemoryType type)
{
    struct si_block block = {.nbytes = nbytes, .type = type};
    if (!ptr)
        return si_error(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDevice(&block.device);
    if (error)
        return error;
    *ptr = NULL;
    if (!nbytes)
        return cudaSuccess;
    if (nbytes > machine_bytes())
        return si_error(cudaErrorMemoryAllocation);
    block.base = aligned_alloc(256, (nbytes + 255) / 256 * 256);
    if (!block.base || !add(&block)) {
        free(block.base);
        return si_error(cudaErrorMemoryAllocation);
    }
    *ptr = block.base;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **ptr, size_t nbytes)
{
    return allocate(ptr, nbytes, cudaMemoryTypeDevice);
}

cudaError_t cudaMallocHost(void **ptr, size_t nbytes)
{
    return allocate(ptr, nbytes, cudaMemoryTypeHost);
}

cudaError_t cudaHostAlloc(void **ptr, size_t nbytes, unsigned flags)
{
    if (flags & ~7u)
        return si_error(cudaErrorInvalidValue);
    return allocate(ptr, nbytes, cudaMemoryTypeHost);
}

cudaError_t cudaMallocManaged(void **ptr, size_t nbytes, unsigned flags)
{
    if (!nbytes || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return si_error(cudaErrorInvalidValue);
    return allocate(ptr, nbytes, cudaMemoryTypeManaged);
}

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    size_t nbytes, row = (width + 255) / 256 * 256;
    if (!pitch || row < width || __builtin_mul_overflow(row, height, &nbytes))
        return si_error(cudaErrorInvalidValue);
    *pitch = row;
    return allocate(ptr, nbytes, cudaMemoryTypeDevice);
}

/* Memory is there at once, which is earlier than CUDA promises. */
cudaError_t cudaMallocAsync(void **ptr, size_t nbytes, cudaStream_t stream)
{
    unsigned flags;
    int priority;
    int status = nvsx_queue_look(stream, &flags, &priority);
    return status ? si_status(status) : allocate(ptr, nbytes, cudaMemoryTypeDevice);
}

/* As in CUDA: waits for the device first, so that nothing in a stream uses the memory. */
cudaError_t cudaFree(void *ptr)
{
    if (!ptr)
        return cudaSuccess;
    cudaError_t error = cudaDeviceSynchronize();
    if (error && error != cudaErrorLaunchFailure)
        return error;
    if (!take(ptr, false, false))
        return si_error(cudaErrorInvalidValue);
    free(ptr);
    return error;
}

cudaError_t cudaFreeHost(void *ptr)
{
    if (!ptr)
        return cudaSuccess;
    cudaError_t error = cudaDeviceSynchronize();
    if (error && error != cudaErrorLaunchFailure)
        return error;
    if (!take(ptr, true, false))
        return si_error(cudaErrorInvalidValue);
    free(ptr);
    return error;
}

static int run_free(void *payload)
{
    free(*(void **)payload);
    return 0;
}

static const struct nvsi_task_kind free_kind = {.run = run_free};

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    uint64_t capture;
    int status = nvsx_capture_look(stream, &capture);
    if (status)
        return si_status(status);
    if (!ptr)
        return cudaSuccess;
    if (capture) /* it could be freed in one launch only */
        return si_error(cudaErrorStreamCaptureUnsupported);
    if (!take(ptr, false, false))
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_queue_put(stream, &free_kind, &ptr, sizeof ptr));
}

/* ---- memory of the program ------------------------------------------------------------------- */

cudaError_t cudaHostRegister(void *ptr, size_t nbytes, unsigned flags)
{
    struct si_block block = {
        .base = ptr, .nbytes = nbytes, .type = cudaMemoryTypeHost, .registered = true};
    if (!ptr || !nbytes || (flags & ~0xfu) || (uintptr_t)ptr + nbytes < (uintptr_t)ptr)
        return si_error(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDevice(&block.device);
    if (error)
        return error;
    pthread_mutex_lock(&table.lock);
    size_t at = position((char *)ptr + nbytes - 1);
    bool taken =
        at && (uintptr_t)table.blocks[at - 1].base + table.blocks[at - 1].nbytes > (uintptr_t)ptr;
    bool added = !taken && insert(&block);
    pthread_mutex_unlock(&table.lock);
    if (taken)
        return si_error(cudaErrorHostMemoryAlreadyRegistered);
    return added ? cudaSuccess : si_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaHostUnregister(void *ptr)
{
    if (!ptr)
        return si_error(cudaErrorInvalidValue);
    return take(ptr, true, true) ? cudaSuccess : si_error(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    if (!device || flags || si_block_of(host).type != cudaMemoryTypeHost)
        return si_error(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    if (!attributes)
        return si_error(cudaErrorInvalidValue);
    struct si_block block = si_block_of(ptr);
    bool known = block.type != cudaMemoryTypeUnregistered;
    *attributes = (struct cudaPointerAttributes){
        .type = block.type,
        .device = block.device,
        .devicePointer = known ? (void *)ptr : NULL,
        .hostPointer = block.type == cudaMemoryTypeDevice ? NULL : (void *)ptr};
    return cudaSuccess;
}
