/*
 * lent.h - memory of the caller that becomes symmetric (nvshmemx_buffer_register_symmetric).
 */
#ifndef NVSI_GPU_LENT_H
#define NVSI_GPU_LENT_H

#include "gpu/gpu.h"

/* One allocation of the driver: the driver maps it whole, or not at all. */
struct nvsi_lent_piece {
    CUmemGenericAllocationHandle handle;
    uint64_t nbytes;
    int fd;
};

/* How what a PE lends is made, as the others have to know it. */
struct nvsi_lent_shape {
    uint64_t lead, tail, npieces;
};

/* What one PE lends. */
struct nvsi_lent {
    uint64_t lead, tail; /* bytes of the first and last piece outside of the caller's range */
    int npieces;
    struct nvsi_lent_piece *pieces;
};

/* ---- lent.c ---- */

/* What a range of the caller consists of, or why it cannot be lent. After stage two; to be released
 * also after an error. */
int nvsi_lent_look(const char *fn, const void *buf, size_t nbytes, struct nvsi_lent *lent);
void nvsi_lent_release(struct nvsi_lent *lent);

/* ---- window_adopt.c ---- */

/* So much of the place lies in front of the range, and behind it: the most of all PEs. */
uint64_t nvsi_lent_lead(const struct nvsi_lent_shape *shapes);
uint64_t nvsi_lent_tail(const struct nvsi_lent_shape *shapes);
/* Maps what all PEs lend, so that each one's range begins at `offset` of its window: as one chunk
 * over the granules of [offset - lead, offset + nbytes + tail). Collective over the world; all fail
 * if one does. In the context. */
int nvsi_window_adopt(const char *fn, uint64_t offset, uint64_t nbytes,
                      const struct nvsi_lent *lent, const struct nvsi_lent_shape *shapes);

#endif
