/*
 * all_to_all.c - every PE pulls its block from every other's src; elements may be strided.
 * Cost: each PE reads and writes npes blocks. PEs start at different sources.
 * Staged: each PE copies the same part of all its blocks into its stage, so that dst == src works.
 */
#include "express.h"
#include "util/copy.h"

/* nelems elements; strides in elements, 1 = contiguous. */
static void copy_elems(const struct nvsi_coll *c, char *dst, const char *src, size_t nelems)
{
    size_t size = c->args->elem_bytes;
    ptrdiff_t dst_step = c->args->dst_stride, src_step = c->args->src_stride;
    if (dst_step == 1 && src_step == 1) {
        nvsi_coll_copy(c, dst, src, nelems * size);
        return;
    }
    for (size_t i = 0; i < nelems; i++)
        memmove(dst + i * (size_t)dst_step * size, src + i * (size_t)src_step * size, size);
}

static char *dst_block(const struct nvsi_coll *c, int i)
{
    return (char *)c->args->dst +
           (size_t)i * c->args->nelems * (size_t)c->args->dst_stride * c->args->elem_bytes;
}

static size_t src_offset(const struct nvsi_coll *c, int i)
{
    return (size_t)i * c->args->nelems * (size_t)c->args->src_stride * c->args->elem_bytes;
}

static void alone(struct nvsi_coll *c)
{
    copy_elems(c, c->args->dst, c->args->src, c->args->nelems);
}

static void eager(struct nvsi_coll *c)
{
    size_t block = c->args->nelems * c->args->elem_bytes, mine = (size_t)c->team->team_pe * block;
    for (int i = 0; i < c->team->npes; i++)
        nvsi_copy_small(dst_block(c, i), nvsi_coll_input(c, i) + mine, block);
}

static void direct(struct nvsi_coll *c)
{
    size_t mine = src_offset(c, c->team->team_pe);
    for (int n = 0; n < c->team->npes; n++) {
        int i = nvsi_coll_nth_source(c, n);
        copy_elems(c, dst_block(c, i), nvsi_coll_src(c, i) + mine, c->args->nelems);
    }
}

static size_t chunk_elems(const struct nvsi_coll *c)
{
    return NVSI_STAGE_BYTES / c->args->elem_bytes / (size_t)c->team->npes;
}

static void copy_in(struct nvsi_coll *c)
{
    int me = c->team->team_pe;
    size_t size = c->args->elem_bytes;
    if (!nvsi_coll_staged(c, me))
        return;
    for (int i = 0; i < c->team->npes; i++)
        nvsi_copy_large(nvsi_coll_stage(c, me) + (size_t)i * c->count * size,
                        (const char *)c->args->src + src_offset(c, i) + c->at * size,
                        c->count * size);
}

static void work(struct nvsi_coll *c)
{
    int me = c->team->team_pe;
    size_t size = c->args->elem_bytes;
    for (int n = 0; n < c->team->npes; n++) {
        int i = nvsi_coll_nth_source(c, n);
        const char *src = nvsi_coll_staged(c, i)
                              ? nvsi_coll_stage(c, i) + (size_t)me * c->count * size
                              : nvsi_coll_src(c, i) + src_offset(c, me) + c->at * size;
        nvsi_coll_copy(c, dst_block(c, i) + c->at * size, src, c->count * size);
    }
}

const struct nvsi_coll_kind nvsi_kind_all_to_all = {.kind = NVSI_KIND_ALL_TO_ALL,
                                                    .flight = NVSI_AT_ALL_TO_ALL,
                                                    .whole_input = true,
                                                    .alone = alone,
                                                    .eager = eager,
                                                    .direct = direct,
                                                    .chunk_elems = chunk_elems,
                                                    .copy_in = copy_in,
                                                    .work = work};

int nvsi_all_to_all(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_express(&nvsi_kind_all_to_all, team, args);
}
