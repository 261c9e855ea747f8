/*
 * enter.c - what a PE brings to a collective: where its addresses are, whether they are allowed,
 * and how its slot is filled.
 */
#include "coll.h"

/* dst == src where direct work would overwrite what others still read. On member 0 of an all_gather
 * or reduce_scatter that is NCCL's form, in which a PE rewrites only what nobody else reads. */
static bool in_place_conflict(const struct nvsi_coll *c)
{
    enum nvsi_kind kind = c->kind->kind;
    if (c->args->dst != c->args->src)
        return false;
    return kind == NVSI_KIND_ALL_TO_ALL ||
           ((kind == NVSI_KIND_ALL_GATHER || kind == NVSI_KIND_REDUCE_SCATTER) &&
            c->team->team_pe != 0);
}

void nvsi_coll_fill_slot(struct nvsi_coll *c)
{
    size_t src_bytes = 0, dst_bytes = 0;
    nvsi_coll_footprint(c, &src_bytes, &dst_bytes);
    struct nvsi_slot *own = c->own;
    /* A team of one has no slots and does not come here, which the checker cannot know. */
    own->sig = c->sig; // NOLINT(clang-analyzer-core.NullDereference)
    own->history = c->history;
    own->nelems = c->args->nelems;
    if (src_bytes <= NVSI_EAGER_BYTES && !nvsi_coll_strided(c)) {
        own->mode = c->mode = NVSI_EAGER;
        if (src_bytes && (!c->kind->rooted || nvsi_coll_is_root(c)))
            memcpy(own->data, c->args->src, src_bytes);
        return;
    }
    own->mode = c->mode = NVSI_DIRECT;
    c->refs.src = nvsi_coll_ref(c->args->src, src_bytes);
    c->refs.dst = nvsi_coll_ref(c->args->dst, dst_bytes);
    if (in_place_conflict(c) && !nvsi_coll_strided(c))
        c->refs.src = 0;
    own->refs = c->refs;
}

int nvsi_coll_not_symmetric(const struct nvsi_coll *c)
{
    size_t src_bytes, dst_bytes;
    nvsi_coll_footprint(c, &src_bytes, &dst_bytes);
    if (dst_bytes && !nvsi_coll_ref(c->args->dst, dst_bytes))
        return nvsi_bad_access(NULL, c->args->fn, "dst", c->args->dst, dst_bytes, 1, nvsi.me);
    return nvsi_bad_access(NULL, c->args->fn, "src", c->args->src, src_bytes, 1, nvsi.me);
}
