/*
 * broadcast.c - members pull from the root.
 *   eager   one line from the root; the root waits for nobody (up to a ring of broadcasts ahead)
 *   direct  every member copies nbytes from the root's src, all at once; the root waits for them
 *   staged  the root copies chunks into its stage, members pull from there
 */
#include "express.h"
#include "util/copy.h"

static void own_copy(struct nvsi_coll *c)
{
    if (!c->args->root_keeps && c->args->dst != c->args->src)
        nvsi_coll_copy(c, c->args->dst, c->args->src, c->args->nelems * c->args->elem_bytes);
}

static void eager(struct nvsi_coll *c)
{
    if (nvsi_coll_is_root(c))
        own_copy(c);
    else
        nvsi_copy_small(c->args->dst, nvsi_coll_slot(c, c->args->root)->data,
                        c->args->nelems * c->args->elem_bytes);
}

static void direct(struct nvsi_coll *c)
{
    if (nvsi_coll_is_root(c))
        own_copy(c);
    else
        nvsi_coll_copy(c, c->args->dst, nvsi_coll_src(c, c->args->root),
                       c->args->nelems * c->args->elem_bytes);
}

/* Half a stage: the root fills it without waiting for anybody, and members may still read the other
 * half, the results of an all_reduce before. */
static size_t chunk_elems(const struct nvsi_coll *c)
{
    return NVSI_STAGE_BYTES / 2 / c->args->elem_bytes;
}

static void copy_in(struct nvsi_coll *c)
{
    size_t size = c->args->elem_bytes;
    if (nvsi_coll_is_root(c))
        nvsi_copy_large(nvsi_coll_stage(c, c->args->root),
                        (const char *)c->args->src + c->at * size, c->count * size);
}

static void work(struct nvsi_coll *c)
{
    size_t size = c->args->elem_bytes;
    if (!nvsi_coll_is_root(c))
        nvsi_coll_copy(c, (char *)c->args->dst + c->at * size, nvsi_coll_stage(c, c->args->root),
                       c->count * size);
    else if (c->at == 0)
        own_copy(c);
}

const struct nvsi_coll_kind nvsi_kind_broadcast = {.kind = NVSI_KIND_BROADCAST,
                                                   .flight = NVSI_AT_BROADCAST,
                                                   .rooted = true,
                                                   .alone = own_copy,
                                                   .eager = eager,
                                                   .direct = direct,
                                                   .chunk_elems = chunk_elems,
                                                   .copy_in = copy_in,
                                                   .work = work};

int nvsi_broadcast(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    return nvsi_coll_express(&nvsi_kind_broadcast, team, args);
}
