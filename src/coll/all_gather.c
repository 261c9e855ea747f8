/*
 * all_gather.c - every PE pulls every other's block into its own dst (all_gather with equal blocks,
 * collect with blocks of any size).
 * Cost: each PE reads and writes npes blocks; PEs start at different sources, so that no
 * source is read by all at once.
 */
#include "express.h"
#include "util/copy.h"

static size_t block_bytes(const struct nvsi_coll *c)
{
    return c->args->nelems * c->args->elem_bytes;
}

static void alone(struct nvsi_coll *c)
{
    nvsi_coll_copy(c, c->args->dst, c->args->src, block_bytes(c));
}

static void eager(struct nvsi_coll *c)
{
    size_t block = block_bytes(c);
    for (int n = 0; n < c->team->npes; n++) { /* its own first, where dst may lie over src */
        int i = nvsi_coll_nth_source(c, n);
        nvsi_copy_small((char *)c->args->dst + (size_t)i * block, nvsi_coll_input(c, i), block);
    }
}

static void direct(struct nvsi_coll *c)
{
    size_t block = block_bytes(c);
    for (int n = 0; n < c->team->npes; n++) {
        int i = nvsi_coll_nth_source(c, n);
        nvsi_coll_copy(c, (char *)c->args->dst + (size_t)i * block, nvsi_coll_src(c, i), block);
    }
}

static size_t chunk_elems(const struct nvsi_coll *c)
{
    return NVSI_STAGE_BYTES / c->args->elem_bytes;
}

static void copy_in(struct nvsi_coll *c)
{
    size_t size = c->args->elem_bytes;
    if (nvsi_coll_staged(c, c->team->team_pe))
        nvsi_copy_large(nvsi_coll_stage(c, c->team->team_pe),
                        (const char *)c->args->src + c->at * size, c->count * size);
}

static void work(struct nvsi_coll *c)
{
    size_t size = c->args->elem_bytes, block = block_bytes(c);
    for (int n = 0; n < c->team->npes; n++) {
        int i = nvsi_coll_nth_source(c, n);
        const char *src =
            nvsi_coll_staged(c, i) ? nvsi_coll_stage(c, i) : nvsi_coll_src(c, i) + c->at * size;
        nvsi_coll_copy(c, (char *)c->args->dst + (size_t)i * block + c->at * size, src,
                       c->count * size);
    }
}

const struct nvsi_coll_kind nvsi_kind_all_gather = {.kind = NVSI_KIND_ALL_GATHER,
                                                    .flight = NVSI_AT_ALL_GATHER,
                                                    .alone = alone,
                                                    .eager = eager,
                                                    .direct = direct,
                                                    .chunk_elems = chunk_elems,
                                                    .copy_in = copy_in,
                                                    .work = work};

int nvsi_all_gather(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_express(&nvsi_kind_all_gather, team, args);
}

/* ---- collect: each PE's block has its own size; offsets are the sums of those before it -------
 */

/* This PE's own block first, where dst lies over src. */
static void collect_own(struct nvsi_coll *c)
{
    size_t offset = 0;
    for (int i = 0; i < c->team->team_pe; i++)
        offset += nvsi_coll_nelems(c, i) * c->args->elem_bytes;
    if (c->args->nelems)
        memmove((char *)c->args->dst + offset, c->args->src, block_bytes(c));
}

static void collect(struct nvsi_coll *c)
{
    size_t offset = 0;
    collect_own(c);
    for (int i = 0; i < c->team->npes; i++) {
        size_t block = nvsi_coll_nelems(c, i) * c->args->elem_bytes;
        const char *src = nvsi_coll_is_eager(c, i) ? nvsi_coll_input(c, i) : nvsi_coll_src(c, i);
        if (block && i != c->team->team_pe)
            nvsi_coll_copy(c, (char *)c->args->dst + offset, src, block);
        offset += block;
    }
}

const struct nvsi_coll_kind nvsi_kind_collect = {.kind = NVSI_KIND_COLLECT,
                                                 .flight = NVSI_AT_COLLECT,
                                                 .own_count = true,
                                                 .alone = alone,
                                                 .eager = collect,
                                                 .direct = collect};

int nvsi_collect(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_run(&nvsi_kind_collect, team, args);
}

int nvsi_gather(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight,
                const void *mine, size_t nbytes, void *all)
{
    struct nvsi_coll_args args = {.fn = fn,
                                  .flight = flight,
                                  .dst = all,
                                  .src = mine,
                                  .nelems = nbytes,
                                  .dtype = -1,
                                  .elem_bytes = 1,
                                  .op = NVSI_OP_INTERNAL,
                                  .dst_stride = 1,
                                  .src_stride = 1};
    return nvsi_all_gather(team, &args);
}
