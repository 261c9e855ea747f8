/*
 * window.h - what window.c (which chunks there are) and window_take.c (how they come) share.
 */
#ifndef NVSI_GPU_WINDOW_H
#define NVSI_GPU_WINDOW_H

#include "gpu/gpu.h"

struct nvsi_chunk {
    struct nvsi_chunk *next; /* in window.waste */
    uint64_t offset, nbytes;
    uint32_t needed; /* objects; a channel counts as one */
    uint64_t wasted; /* 0, or its number in the order of becoming waste */
    bool safe;       /* waste that no kernel uses any more */
    int npes;
    int32_t pes[]; /* whose parts are mapped here */
};

static inline size_t nvsi_granule_of(uint64_t offset)
{
    return (size_t)(offset / nvsi_gpu.granule);
}

static inline CUdeviceptr nvsi_part_of(int pe, uint64_t offset)
{
    return (CUdeviceptr)(uintptr_t)nvsi_window_at(pe, offset);
}

/* Unmaps a chunk here, whole or half mapped, and forgets it. */
void nvsi_chunk_drop(struct nvsi_chunk *chunk);
/* A chunk that is mapped whole becomes that of its granules. */
void nvsi_chunk_add(struct nvsi_chunk *chunk);
/* The chunk of a granule, waste or not; NULL: it has no memory. */
struct nvsi_chunk *nvsi_chunk_at(uint64_t offset);

#endif
