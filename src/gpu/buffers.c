/*
 * buffers.c - memory of the caller that was made known by nvshmemx_buffer_register().
 *
 * Any memory can be the local side of a put or get without that. What it is good for is host memory
 * in a job that uses GPUs: it is pinned, so that the copy engine works on it directly, and kernels
 * can address it.
 */
#include "gpu/gpu.h"

#include <stdlib.h>

struct buffer {
    char *addr;
    size_t length;
    bool pinned; /* by us */
    struct buffer *next;
};

static struct {
    pthread_mutex_t lock;
    struct buffer *first;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Failure is no error: it may be pinned already, or the limit of locked memory is reached. */
static bool pin(const char *fn, const struct buffer *buffer)
{
    CUcontext before;
    if (!nvsi_gpu.up || nvsi_gpu_is_device(buffer->addr) || nvsi_gpu_enter(fn, &before))
        return false;
    CUresult result = cu.cuMemHostRegister(
        buffer->addr, buffer->length, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    nvsi_gpu_leave(before);
    return result == CUDA_SUCCESS;
}

static void drop(const char *fn, struct buffer *buffer)
{
    CUcontext before;
    if (buffer->pinned && nvsi_gpu_enter(fn, &before) == 0) {
        (void)cu.cuMemHostUnregister(buffer->addr);
        nvsi_gpu_leave(before);
    }
    free(buffer);
}

static int check_apart(const char *fn, const char *addr, size_t length)
{
    for (const struct buffer *other = buffers.first; other; other = other->next)
        if (addr < other->addr + other->length && other->addr < addr + length)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: %zu bytes at %p overlap the %zu bytes at %p that are registered",
                              fn, length, (const void *)addr, other->length, (void *)other->addr);
    return 0;
}

static int add(const char *fn, void *addr, size_t length)
{
    struct buffer *made = calloc(1, sizeof *made);
    if (!made)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a table of buffers", fn);
    *made = (struct buffer){.addr = addr, .length = length, .next = buffers.first};
    buffers.first = made;
    made->pinned = pin(fn, made);
    return 0;
}

int nvsi_buffer_register(const char *fn, void *addr, size_t length)
{
    pthread_mutex_lock(&buffers.lock);
    int status = check_apart(fn, addr, length);
    if (!status)
        status = add(fn, addr, length);
    pthread_mutex_unlock(&buffers.lock);
    return status;
}

int nvsi_buffer_unregister(const char *fn, void *addr)
{
    pthread_mutex_lock(&buffers.lock);
    struct buffer **link = &buffers.first;
    while (*link && (*link)->addr != addr)
        link = &(*link)->next;
    struct buffer *found = *link;
    if (found) {
        *link = found->next;
        drop(fn, found);
    }
    pthread_mutex_unlock(&buffers.lock);
    if (found)
        return 0;
    return nvsi_error(NVS_ERR_INVALID, "%s: no buffer is registered at %p", fn, addr);
}

void nvsi_buffer_unregister_all(const char *fn)
{
    pthread_mutex_lock(&buffers.lock);
    while (buffers.first) {
        struct buffer *buffer = buffers.first;
        buffers.first = buffer->next;
        drop(fn, buffer);
    }
    pthread_mutex_unlock(&buffers.lock);
}
