/*
 * shmem_memory.c - the symmetric heap of OpenSHMEM, with the deprecated names.
 */
#include "api/skin_job.h"
#include "pshmem.h"

void *pshmem_malloc(size_t size)
{
    return nvsi_skin_malloc("shmem_malloc", size, 0);
}
NVSI_PROFILED(shmem_malloc);

/* All memory here is as good for atomics and signals as any. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints;
    return nvsi_skin_malloc("shmem_malloc_with_hints", size, 0);
}
NVSI_PROFILED(shmem_malloc_with_hints);

void *pshmem_calloc(size_t count, size_t size)
{
    return nvsi_skin_calloc("shmem_calloc", count, size, 0);
}
NVSI_PROFILED(shmem_calloc);

void *pshmem_align(size_t alignment, size_t size)
{
    return nvsi_skin_align("shmem_align", alignment, size, 0);
}
NVSI_PROFILED(shmem_align);

void *pshmem_realloc(void *ptr, size_t size)
{
    return nvsi_skin_realloc("shmem_realloc", ptr, size);
}
NVSI_PROFILED(shmem_realloc);

void pshmem_free(void *ptr)
{
    nvsi_skin_free("shmem_free", ptr, true);
}
NVSI_PROFILED(shmem_free);

/* ---- deprecated ------------------------------------------------------------------------------ */

void *shmalloc(size_t size)
{
    return nvsi_skin_malloc("shmalloc", size, 0);
}

void shfree(void *ptr)
{
    nvsi_skin_free("shfree", ptr, true);
}

void *shrealloc(void *ptr, size_t size)
{
    return nvsi_skin_realloc("shrealloc", ptr, size);
}

void *shmemalign(size_t alignment, size_t size)
{
    return nvsi_skin_align("shmemalign", alignment, size, 0);
}
