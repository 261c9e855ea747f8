/*
 * stream_values.c - a few bytes that a copy of a stream is to bring: to where no kernel of ours
 * gets.
 *
 * The driver reads ordinary memory of the host while it is called, so the caller's will do. But not
 * in a capture: there it reads when the graph runs, as often as it does. So values of graphs are
 * kept, in pinned memory, until finalize: nobody hears when a graph is no more.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/coll.h"

enum { VALUE_BYTES = 16, NUM_VALUES = 256 };

struct page {
    struct page *next;
    char *values;
    int used;
};

static struct {
    pthread_mutex_t lock;
    struct page *pages;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct page *new_page(const char *fn)
{
    struct page *page = calloc(1, sizeof *page);
    if (!page) {
        nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the values of graphs", fn);
        return NULL;
    }
    CUresult result = cu.cuMemHostAlloc((void **)&page->values, NUM_VALUES * VALUE_BYTES,
                                        CU_MEMHOSTALLOC_PORTABLE);
    if (result) {
        nvsi_cuda_error(fn, result, "take pinned memory for the values of graphs");
        free(page);
        return NULL;
    }
    page->next = kept.pages;
    kept.pages = page;
    return page;
}

/* A place for one more; NULL: an error was recorded. */
static char *keep(const char *fn, const void *value, size_t nbytes)
{
    char *place = NULL;
    pthread_mutex_lock(&kept.lock);
    struct page *page = kept.pages;
    if (!page || page->used == NUM_VALUES)
        page = new_page(fn);
    if (page)
        place = memcpy(page->values + (size_t)page->used++ * VALUE_BYTES, value, nbytes);
    pthread_mutex_unlock(&kept.lock);
    return place;
}

int nvsi_gpu_copy_value(const char *fn, CUdeviceptr dst, const void *value, size_t nbytes,
                        CUstream stream)
{
    int capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cu.cuStreamIsCapturing(stream, &capturing);
    if (!result && capturing != CU_STREAM_CAPTURE_STATUS_NONE) {
        value = keep(fn, value, nbytes);
        if (!value)
            return NVS_ERR_MEMORY;
    }
    if (!result)
        result = cu.cuMemcpyAsync(dst, (CUdeviceptr)(uintptr_t)value, nbytes, stream);
    return result ? nvsi_cuda_error(fn, result, "copy %zu bytes on a stream", nbytes) : 0;
}

void nvsi_gpu_values_close(void)
{
    while (kept.pages) {
        struct page *page = kept.pages;
        kept.pages = page->next;
        (void)cu.cuMemFreeHost(page->values);
        free(page);
    }
}
