/*
 * reduce_scatter.c - every PE folds its own block of all inputs into its dst.
 * Cost: each PE reads npes blocks and writes one. In place (NCCL's form, dst == src + my block) is
 * direct: a PE writes only the block that nobody else reads. dst == src is staged.
 */
#include "express.h"
#include "util/copy.h"

static void alone(struct nvsi_coll *c)
{
    c->team->srcs[0] = c->args->src;
    c->team->dsts[0] = c->args->dst;
    nvsi_coll_fold(c, c->team->dsts, 1, c->team->srcs, c->args->nelems);
}

static void eager(struct nvsi_coll *c)
{
    size_t mine = (size_t)c->team->team_pe * c->args->nelems * c->args->elem_bytes;
    for (int i = 0; i < c->team->npes; i++)
        c->team->srcs[i] = nvsi_coll_input(c, i) + mine;
    c->team->dsts[0] = c->args->dst;
    nvsi_coll_fold(c, c->team->dsts, 1, c->team->srcs, c->args->nelems);
}

static void direct(struct nvsi_coll *c)
{
    size_t mine = (size_t)c->team->team_pe * c->args->nelems * c->args->elem_bytes;
    for (int i = 0; i < c->team->npes; i++)
        c->team->srcs[i] = nvsi_coll_src(c, i) + mine;
    c->team->dsts[0] = c->args->dst;
    nvsi_coll_fold(c, c->team->dsts, 1, c->team->srcs, c->args->nelems);
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
                        (const char *)c->args->src + ((size_t)i * c->args->nelems + c->at) * size,
                        c->count * size);
}

static void work(struct nvsi_coll *c)
{
    size_t me = (size_t)c->team->team_pe, size = c->args->elem_bytes;
    for (int i = 0; i < c->team->npes; i++)
        c->team->srcs[i] = nvsi_coll_refs(c, i)->src
                               ? nvsi_coll_src(c, i) + (me * c->args->nelems + c->at) * size
                               : nvsi_coll_stage(c, i) + me * c->count * size;
    c->team->dsts[0] = (char *)c->args->dst + c->at * size;
    nvsi_coll_fold(c, c->team->dsts, 1, c->team->srcs, c->count);
}

const struct nvsi_coll_kind nvsi_kind_reduce_scatter = {.kind = NVSI_KIND_REDUCE_SCATTER,
                                                        .flight = NVSI_AT_REDUCE_SCATTER,
                                                        .whole_input = true,
                                                        .alone = alone,
                                                        .eager = eager,
                                                        .direct = direct,
                                                        .chunk_elems = chunk_elems,
                                                        .copy_in = copy_in,
                                                        .work = work};

int nvsi_reduce_scatter(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_express(&nvsi_kind_reduce_scatter, team, args);
}
