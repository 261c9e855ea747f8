/*
 * draw.c - draws an operation, the same on all PEs, and claims the memory that it touches.
 */
#include "model.h"

/* How often each kind is drawn, of the sum. */
static const unsigned char weights[NUM_KINDS] = {
    [OP_PUT] = 10,        [OP_PUT_NBI] = 8, [OP_PUT_OBJECT] = 5, [OP_P] = 6,      [OP_IPUT] = 5,
    [OP_GET] = 6,         [OP_GET_NBI] = 5, [OP_IGET] = 4,       [OP_ECHO] = 4,   [OP_STORE] = 4,
    [OP_POINTER] = 4,     [OP_ATOMIC] = 14, [OP_ADD_ALL] = 4,    [OP_SIGNAL] = 5, [OP_LOCKED] = 2,
    [OP_COLLECTIVE] = 16, [OP_SYNC] = 1};

static enum op_kind draw_kind(struct rng *rng)
{
    size_t sum = 0, kind = 0;
    for (int k = 0; k < NUM_KINDS; k++)
        sum += weights[k];
    size_t at = rng_below(rng, sum);
    while (at >= weights[kind])
        at -= weights[kind++];
    return (enum op_kind)kind;
}

static size_t draw_count(struct rng *rng, size_t elem_bytes)
{
    size_t dice = rng_below(rng, 100);
    size_t most = dice < 60 ? 40 : dice < 85 ? 1500 : dice < 97 ? 12000 : 150000;
    return 1 + rng_below(rng, most / elem_bytes + 1);
}

/* A context that both PEs are in; 0, the default one, is always right. */
static int draw_context(struct rng *rng, const struct op *op)
{
    int index = (int)rng_below(rng, NUM_CTXS);
    const struct context *ctx = &world.ctxs[index];
    if (op->nvshmem || !index || ctx->team < 0)
        return 0;
    const struct team *team = &world.teams[ctx->team];
    return team_number(team, op->actor) >= 0 && team_number(team, op->target) >= 0 ? index : 0;
}

static bool draw_words(struct op *op, struct rng *rng)
{
    op->elem_bytes = op->kind == OP_ATOMIC && rng_below(rng, 2) ? 4 : 8;
    op->nelems = 1;
    if (op->kind == OP_ATOMIC)
        op->fn = (int)rng_below(rng, (size_t)atomic_count());
    return object_claim(rng, op->elem_bytes, op->elem_bytes, &op->dst);
}

static bool draw_strided(struct op *op, struct rng *rng)
{
    size_t span;
    op->elem_bytes = (size_t)1 << rng_below(rng, 5);
    op->nelems = 1 + rng_below(rng, 60);
    op->dst_stride = 1 + rng_below(rng, 4);
    op->src_stride = 1 + rng_below(rng, 4);
    span = (op->nelems - 1) * (op->kind == OP_IPUT ? op->dst_stride : op->src_stride) + 1;
    return object_claim(rng, span * op->elem_bytes, op->elem_bytes, &op->dst);
}

/* dst is the part of the target that is written or read; src, where there is one, is symmetric. */
static bool draw_block(struct op *op, struct rng *rng)
{
    op->elem_bytes = (size_t)1 << rng_below(rng, 5);
    op->nelems = op->kind == OP_P ? 1 : draw_count(rng, op->elem_bytes);
    if (op->kind == OP_P && op->elem_bytes == 16)
        op->elem_bytes = 8;
    size_t nbytes = op->nelems * op->elem_bytes;
    if (op->kind == OP_STORE)
        op->target = op->actor;
    if (op->kind == OP_PUT_OBJECT && !object_claim(rng, nbytes, op->elem_bytes, &op->src))
        return false;
    if (op->kind == OP_SIGNAL && !object_claim(rng, 8, 8, &op->src))
        return false;
    return object_claim(rng, nbytes, op->elem_bytes, &op->dst);
}

bool op_draw(struct op *op, uint64_t epoch, int number)
{
    struct rng rng = draw_from(epoch * MAX_OPS + (uint64_t)number, 1);
    *op = (struct op){.kind = draw_kind(&rng),
                      .epoch = epoch,
                      .number = number,
                      .actor = (int)rng_below(&rng, (size_t)world.npes),
                      .target = (int)rng_below(&rng, (size_t)world.npes),
                      .nvshmem = rng_below(&rng, 2),
                      .dst_stride = 1,
                      .src_stride = 1,
                      .value = rng_next(&rng)};
    op->ctx = draw_context(&rng, op);
    switch (op->kind) {
    case OP_ATOMIC:
    case OP_ADD_ALL:
    case OP_LOCKED:
        return draw_words(op, &rng);
    case OP_IPUT:
    case OP_IGET:
        return draw_strided(op, &rng);
    case OP_COLLECTIVE:
    case OP_SYNC:
        return together_draw(op, &rng);
    default:
        return draw_block(op, &rng);
    }
}
