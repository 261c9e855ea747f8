/*
 * window.c - the windows of all PEs: address space, and the chunks of memory in it.
 *
 * What a chunk is for is counted: objects of the heap that this PE has not freed. When there is
 * none left the chunk is waste, and as soon as no kernel can use it any more the PE unmaps it, its
 * own part and the others', whatever they do; the driver keeps the memory of each part until the
 * last PE has unmapped it. Its handle was released when it was mapped (window_take.c), so nothing
 * but the mappings has to be undone.
 */
#include <stdlib.h>

#include "boot/crash.h"
#include "gpu/window.h"

static struct {
    pthread_mutex_t lock; /* of the table and the list; teams are made by any thread */
    CUdeviceptr reserved;
    size_t reserved_bytes;
    struct nvsi_chunk **at; /* by granule; NULL: no memory */
    size_t ngranules;
    struct nvsi_chunk *waste; /* chunks that nobody needs */
    uint64_t wasted, safe;    /* how many there were so far; up to this one no kernel uses them */
} window = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Windows begin at multiples of this, so that an aligned offset is an aligned address. */
#define WINDOW_ALIGN ((uint64_t)NVSI_HEAP_ALIGN_MAX)

/* ---- address space -------------------------------------------------------------------------- */

int nvsi_window_open(const char *fn)
{
    window.reserved_bytes = (size_t)nvsi_gpu.stride * (size_t)nvsi.npes + WINDOW_ALIGN;
    CUresult result = cu.cuMemAddressReserve(&window.reserved, window.reserved_bytes, 0, 0, 0);
    if (result) {
        window.reserved = 0;
        return nvsi_cuda_error(fn, result,
                               "reserve %zu bytes of address space for the device memory of %d PEs",
                               window.reserved_bytes, nvsi.npes);
    }
    CUdeviceptr first = (window.reserved + WINDOW_ALIGN - 1) / WINDOW_ALIGN * WINDOW_ALIGN;
    nvsi_gpu.window = (char *)(uintptr_t)first + (int64_t)nvsi.me * nvsi_gpu.stride;
    window.ngranules = nvsi_granule_of(nvsi_gpu.window_bytes);
    window.at = calloc(window.ngranules, sizeof(struct nvsi_chunk *));
    if (!window.at)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the table of device memory", fn);
    return 0;
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* Takes a chunk out of the list of waste, if it is there. */
static void save(struct nvsi_chunk *chunk)
{
    struct nvsi_chunk **link = &window.waste;
    if (!chunk->wasted)
        return;
    while (*link != chunk)
        link = &(*link)->next;
    *link = chunk->next;
    chunk->wasted = 0;
}

static void waste(struct nvsi_chunk *chunk, bool safe)
{
    chunk->wasted = ++window.wasted;
    chunk->safe = safe;
    chunk->next = window.waste;
    window.waste = chunk;
}

static void unmap(struct nvsi_chunk *chunk)
{
    save(chunk);
    for (int i = 0; i < chunk->nparts; i++) {
        const struct nvsi_part *part = &chunk->parts[i];
        (void)cu.cuMemUnmap(nvsi_part_of(part->pe, part->offset), part->nbytes);
    }
    for (size_t g = 0; g < nvsi_granule_of(chunk->nbytes); g++)
        if (window.at[nvsi_granule_of(chunk->offset) + g] == chunk)
            window.at[nvsi_granule_of(chunk->offset) + g] = NULL;
    free(chunk);
}

bool nvsi_window_has_waste(void)
{
    pthread_mutex_lock(&window.lock);
    bool has = window.waste != NULL;
    pthread_mutex_unlock(&window.lock);
    return has;
}

bool nvsi_window_has_channel(const struct nvsi_team *team)
{
    pthread_mutex_lock(&window.lock);
    const struct nvsi_chunk *chunk =
        window.at[nvsi_granule_of((uint64_t)team->slot * NVSI_DEV_CHANNEL_BYTES)];
    bool has = chunk && !chunk->wasted;
    pthread_mutex_unlock(&window.lock);
    return has;
}

void nvsi_window_drop(void)
{
    pthread_mutex_lock(&window.lock);
    for (struct nvsi_chunk *chunk = window.waste, *next; chunk; chunk = next) {
        next = chunk->next;
        if (!chunk->safe && chunk->wasted > window.safe)
            continue;
        unmap(chunk);
        NVSI_CRASH_POINT(window_dropped);
    }
    pthread_mutex_unlock(&window.lock);
}

uint64_t nvsi_window_wasted(void)
{
    pthread_mutex_lock(&window.lock);
    uint64_t wasted = window.wasted;
    pthread_mutex_unlock(&window.lock);
    return wasted;
}

void nvsi_window_safe(uint64_t wasted)
{
    pthread_mutex_lock(&window.lock);
    if (window.safe < wasted)
        window.safe = wasted;
    pthread_mutex_unlock(&window.lock);
}

/* Calls what for each chunk in a range. */
static void each_chunk(uint64_t offset, uint64_t nbytes,
                       void (*what)(struct nvsi_chunk *chunk, bool safe), bool safe)
{
    struct nvsi_chunk *last = NULL;
    pthread_mutex_lock(&window.lock);
    for (size_t g = nvsi_granule_of(offset); nbytes && g <= nvsi_granule_of(offset + nbytes - 1);
         g++) {
        struct nvsi_chunk *chunk = window.at[g];
        if (chunk && chunk != last)
            what(chunk, safe);
        last = chunk;
    }
    pthread_mutex_unlock(&window.lock);
}

static void need(struct nvsi_chunk *chunk, bool safe)
{
    (void)safe;
    chunk->needed++;
    save(chunk);
}

static void unneed(struct nvsi_chunk *chunk, bool safe)
{
    if (chunk->needed && --chunk->needed == 0)
        waste(chunk, safe);
}

void nvsi_window_need(uint64_t offset, uint64_t nbytes)
{
    each_chunk(offset, nbytes, need, false);
}

void nvsi_window_unneed(uint64_t offset, uint64_t nbytes, bool safe)
{
    each_chunk(offset, nbytes, unneed, safe);
}

void nvsi_window_drop_channel(const struct nvsi_team *team)
{
    nvsi_window_unneed((uint64_t)team->slot * NVSI_DEV_CHANNEL_BYTES, NVSI_DEV_CHANNEL_BYTES,
                       false);
    if (nvsi_gpu_settle())
        nvsi_window_drop();
}

void nvsi_window_close(void)
{
    for (size_t g = 0; window.at && g < window.ngranules; g++)
        if (window.at[g])
            unmap(window.at[g]);
    free(window.at);
    window.at = NULL;
    if (window.reserved)
        (void)cu.cuMemAddressFree(window.reserved, window.reserved_bytes);
    window.reserved = 0;
}

/* ---- for window_take.c ------------------------------------------------------------------------
 */

void nvsi_chunk_drop(struct nvsi_chunk *chunk)
{
    pthread_mutex_lock(&window.lock);
    unmap(chunk);
    pthread_mutex_unlock(&window.lock);
}

void nvsi_chunk_add(struct nvsi_chunk *chunk)
{
    pthread_mutex_lock(&window.lock);
    for (size_t g = 0; g < nvsi_granule_of(chunk->nbytes); g++)
        window.at[nvsi_granule_of(chunk->offset) + g] = chunk;
    pthread_mutex_unlock(&window.lock);
}

struct nvsi_chunk *nvsi_chunk_at(uint64_t offset)
{
    pthread_mutex_lock(&window.lock);
    struct nvsi_chunk *chunk = window.at[nvsi_granule_of(offset)];
    pthread_mutex_unlock(&window.lock);
    return chunk;
}
