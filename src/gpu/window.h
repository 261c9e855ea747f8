/*
 * window.h - what the files of windows share: window.c (which chunks there are), window_take.c (how
 * they come), window_adopt.c (those that the caller has lent).
 */
#ifndef NVSI_GPU_WINDOW_H
#define NVSI_GPU_WINDOW_H

#include "gpu/gpu.h"

/* What one cuMemMap() has mapped here: memory of a PE, at an offset of its window. */
struct nvsi_part {
    int32_t pe;
    uint64_t offset, nbytes;
};

struct nvsi_chunk {
    struct nvsi_chunk *next; /* in window.waste */
    uint64_t offset, nbytes;
    uint32_t needed; /* objects; a channel counts as one */
    uint64_t wasted; /* 0, or its number in the order of becoming waste */
    bool safe;       /* waste that no kernel uses any more */
    int nparts;
    struct nvsi_part parts[]; /* what is mapped here, room for one of each PE, or more */
};

static inline size_t nvsi_granule_of(uint64_t offset)
{
    return (size_t)(offset / nvsi_gpu.granule);
}

static inline CUdeviceptr nvsi_part_of(int pe, uint64_t offset)
{
    return (CUdeviceptr)(uintptr_t)nvsi_window_at(pe, offset);
}

/* ---- window_take.c ---- */

/* Drops what is waste in a range that is to get memory. */
void nvsi_window_clear(uint64_t offset, uint64_t nbytes);
/* Maps memory of a PE into its window here, for the GPU that can reach it, and notes it in a chunk
 * that has room for it. */
int nvsi_part_map(const char *fn, struct nvsi_chunk *chunk, const struct nvsi_part *part,
                  CUmemGenericAllocationHandle handle);
/* The same for memory that PE part->pe sends as a descriptor, which is taken in any case. */
int nvsi_part_receive(const char *fn, const struct nvsi_team *team, struct nvsi_chunk *chunk,
                      const struct nvsi_part *part);
int nvsi_part_send(const char *fn, const struct nvsi_team *team, int pe, uint64_t offset, int fd);
/* What each member of a team says about its part: the first error is everybody's. needed: bytes
 * that it has not got; 0 if it is not that. */
int nvsi_window_agree(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight, int mine,
                      uint64_t needed);

/* ---- window.c ---- */

/* Unmaps a chunk here, whole or half mapped, and forgets it. */
void nvsi_chunk_drop(struct nvsi_chunk *chunk);
/* A chunk that is mapped whole becomes that of its granules. */
void nvsi_chunk_add(struct nvsi_chunk *chunk);
/* The chunk of a granule, waste or not; NULL: it has no memory. */
struct nvsi_chunk *nvsi_chunk_at(uint64_t offset);

#endif
