/*
 * await.c - the records of waits without a kernel (await.h), in pieces that grow with what is in
 * streams at the same time.
 *
 * A record is free again when its stream has written that it is done; one that a graph has is not,
 * since the graph may be launched at any time. They stay where they are until finalize.
 */
#include "gpu/await.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 512 }; /* of one piece of pinned memory */

struct piece {
    struct piece *next;
    void *lines;
    struct nvsi_await awaits[LINES];
};

static struct {
    pthread_mutex_t lock; /* of the list, and of who has which */
    struct piece *pieces;
    struct nvsi_await *all, *cursor;
} waits = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int more_locked(const char *fn)
{
    CUdeviceptr at;
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for waits", fn);
    size_t nbytes = LINES * sizeof(struct nvsi_await_line);
    CUresult result = cu.cuMemHostAlloc(&piece->lines, nbytes,
                                        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (!result)
        result = cu.cuMemHostGetDevicePointer(&at, piece->lines, 0);
    if (result) {
        if (piece->lines)
            (void)cu.cuMemFreeHost(piece->lines);
        free(piece);
        return nvsi_cuda_error(fn, result, "take pinned memory for waits");
    }
    memset(piece->lines, 0, nbytes);
    for (int i = 0; i < LINES; i++) {
        struct nvsi_await *await = &piece->awaits[i];
        await->line = (struct nvsi_await_line *)piece->lines + i;
        await->at = at + (uint64_t)i * sizeof *await->line;
        atomic_store(&await->line->state, NVSI_AWAIT_DONE);
        await->next = i + 1 < LINES ? await + 1 : waits.all;
    }
    piece->next = waits.pieces;
    waits.pieces = piece;
    waits.all = waits.cursor = piece->awaits;
    return 0;
}

static bool is_free(const struct nvsi_await *await)
{
    return !await->captured && !await->held &&
           (atomic_load(&await->line->state) & ~(uint32_t)NVSI_AWAIT_SEEN) == NVSI_AWAIT_DONE;
}

/* From where the last search ended; so usually the first one is free. */
static struct nvsi_await *find_locked(const char *fn)
{
    struct nvsi_await *await = waits.cursor;
    while (await && !is_free(await))
        await = await->next;
    if (!await) {
        for (await = waits.all; await && !is_free(await);)
            await = await->next;
        if (!await) {
            if (more_locked(fn))
                return NULL;
            await = waits.all;
        }
    }
    waits.cursor = await->next;
    return await;
}

struct nvsi_await *nvsi_await_new(const char *fn, CUstream stream)
{
    int capturing = 0;
    struct nvsi_await *await = NULL;
    CUresult result = cu.cuStreamIsCapturing(stream, &capturing);
    if (result) {
        nvsi_cuda_error(fn, result, "use the stream %p", (void *)stream);
        return NULL;
    }
    pthread_mutex_lock(&waits.lock);
    if (!nvsi_await_start(fn))
        await = find_locked(fn);
    if (await) {
        size_t fixed = offsetof(struct nvsi_await, held);
        atomic_store(&await->line->state, 0);
        atomic_store(&await->line->go, 0);
        free(await->copies);
        memset((char *)await + fixed, 0, sizeof *await - fixed);
        await->captured = capturing;
        await->team = NVSI_TEAM_INVALID;
        await->missing = -1;
        snprintf(await->fn, sizeof await->fn, "%s", fn);
    }
    pthread_mutex_unlock(&waits.lock);
    return await;
}

void nvsi_await_drop(struct nvsi_await *await)
{
    pthread_mutex_lock(&waits.lock);
    await->captured = false;
    atomic_store(&await->line->state, NVSI_AWAIT_DONE);
    pthread_mutex_unlock(&waits.lock);
}

int nvsi_await_step(const struct nvsi_await *await, uint32_t state, CUstream stream)
{
    CUresult result = cu.cuStreamWriteValue32(stream, await->at, state, 0);
    return result ? nvsi_cuda_error(await->fn, result, "put a wait into a stream") : 0;
}

void nvsi_await_ask(void *arg)
{
    struct nvsi_await *await = arg;
    atomic_store(&await->line->go, 0);
    atomic_store(&await->line->state, NVSI_AWAIT_WAITING);
    nvsi_await_wake();
}

struct nvsi_await *nvsi_await_first(void)
{
    pthread_mutex_lock(&waits.lock);
    struct nvsi_await *first = waits.all;
    pthread_mutex_unlock(&waits.lock);
    return first;
}

bool nvsi_await_hold(struct nvsi_await *await)
{
    if (!nvsi_await_waits(await))
        return false;
    pthread_mutex_lock(&waits.lock);
    await->held = nvsi_await_waits(await);
    pthread_mutex_unlock(&waits.lock);
    return await->held;
}

void nvsi_await_release(struct nvsi_await *await)
{
    pthread_mutex_lock(&waits.lock);
    await->held = false;
    pthread_mutex_unlock(&waits.lock);
}

void nvsi_gpu_awaits_close(void)
{
    nvsi_await_stop();
    nvsi_await_readers_close();
    while (waits.pieces) {
        struct piece *piece = waits.pieces;
        waits.pieces = piece->next;
        for (int i = 0; i < LINES; i++)
            free(piece->awaits[i].copies);
        (void)cu.cuMemFreeHost(piece->lines);
        free(piece);
    }
    waits.all = waits.cursor = NULL;
}
