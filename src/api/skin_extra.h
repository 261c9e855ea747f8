/*
 * skin_extra.h - skin.h for the extensions of shmemx.h: blocks with strides, and scans.
 */
#ifndef NVSI_SKIN_EXTRA_H
#define NVSI_SKIN_EXTRA_H

#include "api/skin.h"

/* Blocks of block_elems elements, whose beginnings are dst_stride and src_stride elements apart. */
struct nvsi_blocks {
    ptrdiff_t dst_stride, src_stride;
    size_t block_elems, nblocks, elem_bytes;
};
void nvsi_skin_ibput(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                     struct nvsi_blocks shape, int pe);
void nvsi_skin_ibget(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                     struct nvsi_blocks shape, int pe);

/* dst gets the sum over the members before this PE, and over itself if `inclusive`. */
int nvsi_skin_scan(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                   int dtype, bool inclusive);

#endif
