/*
 * skin_extra.c - what the extensions of shmemx.h do beyond one call of the core.
 *
 * Blocks are a put or a get each, after a check of the whole range, so that an error moves nothing.
 *
 * A scan gathers the inputs of all members, a chunk at a time, and each PE folds those that it
 * needs: the same left fold as in a reduction, so the last PE's result has the bits of a
 * reduction's. It costs what an all-gather costs. A chain of PEs would move less and wait longer,
 * PE after PE.
 */
#include <stdlib.h>

#include "api/skin_coll.h"
#include "api/skin_extra.h"
#include "coll/fold.h"
#include "transport/transport.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Elements from the first block to the end of the last. */
static int blocks_span(const char *fn, const char *what, ptrdiff_t stride,
                       const struct nvsi_blocks *shape, size_t *span)
{
    *span = 0;
    if (!shape->nblocks || !shape->block_elems)
        return 0;
    if (stride < 1 || (size_t)stride < shape->block_elems)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %s is %td: allowed is the size of a block, %zu, and more", fn, what,
                          stride, shape->block_elems);
    if (__builtin_mul_overflow(shape->nblocks - 1, (size_t)stride, span) ||
        __builtin_add_overflow(*span, shape->block_elems, span))
        return nvsi_error(NVS_ERR_INVALID, "%s: %zu blocks with %s %td are too large", fn,
                          shape->nblocks, what, stride);
    return 0;
}

/* 0 if all blocks lie in memory that exists, sym being the side of PE pe. */
static int blocks_check(struct nvsi_ctx *ctx, const char *fn, bool put, const void *sym,
                        const struct nvsi_blocks *shape, int pe)
{
    size_t dst_span, src_span;
    struct nvsi_remote at;
    int status = blocks_span(fn, "dst_stride", shape->dst_stride, shape, &dst_span);
    if (!status)
        status = blocks_span(fn, "src_stride", shape->src_stride, shape, &src_span);
    if (!status)
        status = nvsi_locate(ctx, fn, put ? "dst" : "src", sym, put ? dst_span : src_span,
                             shape->elem_bytes, pe, &at);
    return status;
}

static size_t block_offset(size_t i, ptrdiff_t stride, const struct nvsi_blocks *shape)
{
    return i * (size_t)stride * shape->elem_bytes;
}

static int ibput(struct nvsi_ctx *ctx, const char *fn, char *dst, const char *src,
                 const struct nvsi_blocks *shape, int pe)
{
    int status = blocks_check(ctx, fn, true, dst, shape, pe);
    for (size_t i = 0; i < shape->nblocks && !status; i++)
        status = nvsi_put(ctx, fn, dst + block_offset(i, shape->dst_stride, shape),
                          src + block_offset(i, shape->src_stride, shape), shape->block_elems,
                          shape->elem_bytes, pe, false);
    return status;
}

static int ibget(struct nvsi_ctx *ctx, const char *fn, char *dst, const char *src,
                 const struct nvsi_blocks *shape, int pe)
{
    int status = blocks_check(ctx, fn, false, src, shape, pe);
    for (size_t i = 0; i < shape->nblocks && !status; i++)
        status = nvsi_get(ctx, fn, dst + block_offset(i, shape->dst_stride, shape),
                          src + block_offset(i, shape->src_stride, shape), shape->block_elems,
                          shape->elem_bytes, pe, false);
    return status;
}

void nvsi_skin_ibput(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                     struct nvsi_blocks shape, int pe)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(ibput(ctx, fn, dst, src, &shape, pe));
}

void nvsi_skin_ibget(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                     struct nvsi_blocks shape, int pe)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(ibget(ctx, fn, dst, src, &shape, pe));
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* Of each member at a time. Small enough that all inputs of a chunk stay in the cache. */
enum { SCAN_CHUNK_BYTES = 16384 };

struct scan {
    struct nvsi_team *team;
    struct nvsi_coll_args gather;
    void *dst;
    int dtype;
    int nsrc;           /* how many inputs this PE's result has */
    char *inputs;       /* one chunk of each member */
    const void **parts; /* where each begins */
};

static int scan_chunk(struct scan *scan, size_t at, size_t nelems)
{
    size_t size = scan->gather.elem_bytes;
    struct nvsi_coll_args gather = scan->gather;
    gather.dst = scan->inputs;
    gather.src = (const char *)scan->gather.src + at * size;
    gather.nelems = nelems;
    int status = nvsi_all_gather(scan->team, &gather);
    if (status)
        return status;
    void *dst = (char *)scan->dst + at * size;
    if (scan->nsrc == 0) {
        memset(dst, 0, nelems * size);
        return 0;
    }
    for (int i = 0; i < scan->nsrc; i++)
        scan->parts[i] = scan->inputs + (size_t)i * nelems * size;
    nvsi_fold(&(struct nvsi_fold){.dst = &dst,
                                  .src = scan->parts,
                                  .ndst = 1,
                                  .nsrc = scan->nsrc,
                                  .nelems = nelems,
                                  .dtype = scan->dtype,
                                  .op = NVSI_SUM});
    return 0;
}

static int scan_all(struct scan *scan, size_t nelems)
{
    size_t npes = (size_t)scan->team->npes, chunk = SCAN_CHUNK_BYTES / scan->gather.elem_bytes;
    chunk = nelems < chunk ? nelems : chunk;
    char *room = malloc(npes * (chunk * scan->gather.elem_bytes + sizeof *scan->parts));
    int status = 0;
    if (!room)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a chunk of %zu members' elements",
                          scan->gather.fn, npes);
    scan->parts = (const void **)room;
    scan->inputs = room + npes * sizeof *scan->parts;
    for (size_t at = 0; at < nelems && !status; at += chunk)
        status = scan_chunk(scan, at, nelems - at < chunk ? nelems - at : chunk);
    free(room);
    return status;
}

int nvsi_skin_scan(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                   int dtype, bool inclusive)
{
    struct nvsi_coll_args args = {.fn = fn,
                                  .dst = dst,
                                  .src = src,
                                  .nelems = nelems,
                                  .dst_stride = 1,
                                  .src_stride = 1,
                                  .dtype = -1,
                                  .elem_bytes = nvsi_dtype_size(dtype)};
    struct scan scan = {.gather = args, .dst = dst, .dtype = dtype};
    int status = nvsi_skin_team(fn, handle, &scan.team);
    if (!status)
        status = nvsi_skin_check_args(scan.team, &args, 1, 1);
    if (!status) {
        scan.nsrc = scan.team->team_pe + inclusive;
        status = scan_all(&scan, nelems);
    }
    return nvsi_skin_told(status);
}
