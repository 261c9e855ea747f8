/*
 * all_reduce.c - sums (and other folds) for everybody, in the order of PEs whatever the size.
 *   eager   every PE reads all slots and folds all elements itself: one line from each member
 *   direct  every PE owns a share: reads it from all inputs once, stores it to all outputs once.
 *           2 x npes x nbytes of memory traffic in all, the bound of the machine
 *   staged  the same on chunks; what others own of ordinary inputs is copied in, and of ordinary
 *           outputs pulled out of the owners' stages
 */
#include "express.h"
#include "util/copy.h"

static size_t half_stage(void)
{
    return NVSI_STAGE_BYTES / 2;
}

static void alone(struct nvsi_coll *c)
{
    c->team->srcs[0] = c->args->src;
    c->team->dsts[0] = c->args->dst;
    nvsi_coll_fold(c, c->team->dsts, 1, c->team->srcs, c->args->nelems);
}

static void eager(struct nvsi_coll *c)
{
    const void **srcs = c->team->srcs;
    for (int i = 0; i < c->team->npes; i++)
        srcs[i] = nvsi_coll_input(c, i);
    c->team->dsts[0] = c->args->dst;
    nvsi_coll_fold(c, c->team->dsts, 1, srcs, c->args->nelems);
}

static void direct(struct nvsi_coll *c)
{
    size_t first, count, size = c->args->elem_bytes;
    nvsi_coll_share(c, c->args->nelems, c->team->team_pe, &first, &count);
    for (int i = 0; i < c->team->npes; i++) {
        c->team->srcs[i] = nvsi_coll_src(c, i) + first * size;
        c->team->dsts[i] = nvsi_coll_dst(c, i) + first * size;
    }
    nvsi_coll_fold(c, c->team->dsts, c->team->npes, c->team->srcs, count);
}

static size_t chunk_elems(const struct nvsi_coll *c)
{
    return half_stage() / c->args->elem_bytes;
}

/* What others fold; this PE's own share of its input stays where it is. */
static void copy_in(struct nvsi_coll *c)
{
    size_t first, count, size = c->args->elem_bytes;
    char *stage = nvsi_coll_stage(c, c->team->team_pe);
    if (c->refs.src)
        return;
    for (int i = 0; i < c->team->npes; i++) {
        if (i == c->team->team_pe)
            continue;
        nvsi_coll_share(c, c->count, i, &first, &count);
        nvsi_copy_large(stage + first * size, (const char *)c->args->src + (c->at + first) * size,
                        count * size);
    }
}

static void work(struct nvsi_coll *c)
{
    size_t first, count, size = c->args->elem_bytes;
    int ndst = 0, me = c->team->team_pe;
    bool pulled = false;
    nvsi_coll_share(c, c->count, me, &first, &count);
    for (int i = 0; i < c->team->npes; i++) {
        const struct nvsi_refs *refs = nvsi_coll_refs(c, i);
        bool mapped_src = refs->src || i == me, mapped_dst = refs->dst || i == me;
        c->team->srcs[i] = mapped_src ? nvsi_coll_src(c, i) + (c->at + first) * size
                                      : nvsi_coll_stage(c, i) + first * size;
        if (mapped_dst)
            c->team->dsts[ndst++] = nvsi_coll_dst(c, i) + (c->at + first) * size;
        else
            pulled = true;
    }
    if (pulled)
        c->team->dsts[ndst++] = nvsi_coll_stage(c, me) + half_stage() + first * size;
    nvsi_coll_fold(c, c->team->dsts, ndst, c->team->srcs, count);
}

static void copy_out(struct nvsi_coll *c)
{
    size_t first, count, size = c->args->elem_bytes;
    if (c->refs.dst)
        return;
    for (int i = 0; i < c->team->npes; i++) {
        if (i == c->team->team_pe)
            continue;
        nvsi_coll_share(c, c->count, i, &first, &count);
        nvsi_coll_copy(c, (char *)c->args->dst + (c->at + first) * size,
                       nvsi_coll_stage(c, i) + half_stage() + first * size, count * size);
    }
}

const struct nvsi_coll_kind nvsi_kind_all_reduce = {.kind = NVSI_KIND_ALL_REDUCE,
                                                    .flight = NVSI_AT_ALL_REDUCE,
                                                    .needs_dst = true,
                                                    .alone = alone,
                                                    .eager = eager,
                                                    .direct = direct,
                                                    .chunk_elems = chunk_elems,
                                                    .copy_in = copy_in,
                                                    .work = work,
                                                    .copy_out = copy_out};

int nvsi_all_reduce(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_express(&nvsi_kind_all_reduce, team, args);
}
