/*
 * together.c - collectives of all three APIs on all types, from symmetric memory into symmetric
 * memory, or between ordinary buffers; barriers and syncs.
 *
 * The functions, the inputs and the naive fold are those of the tests of collectives
 * (tests/spmd/coll_calls.h). Reductions of floating-point numbers get their inputs stored first:
 * the bytes that happen to lie there could be NaNs, of which several are right.
 */
#include "model.h"

#include "../spmd/coll_calls.h"

/* Where each member's dst and src are: in the model, or in buffers. */
struct places {
    unsigned char *dst[MAX_PES], *src[MAX_PES];
};

static const struct coll_fn *fn_of(const struct op *op)
{
    return &coll_fns[op->fn];
}

const char *together_name(const struct op *op)
{
    return fn_of(op)->name;
}

static bool is_real(int type)
{
    return type == NVS_FLOAT16 || type == NVS_BFLOAT16 || type == NVS_FLOAT32 ||
           type == NVS_FLOAT64 || type == T_COMPLEXF || type == T_COMPLEXD;
}

static bool reduces(const struct coll_fn *fn)
{
    return fn->kind == REDUCE || fn->kind == REDUCE_SCATTER;
}

/* Elements that member p gives in a collect: fewer than nelems. */
static size_t collect_count(const struct op *op, int p)
{
    return rng_mix(op->value + (uint64_t)p) % (op->nelems + 1);
}

static size_t span(size_t nelems, size_t stride)
{
    return (nelems - 1) * stride + 1;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void part_elems(const struct op *op, size_t *dst, size_t *src)
{
    size_t all = op->nelems * (size_t)world.teams[op->team].npes;
    int kind = fn_of(op)->kind;
    *dst = kind == BROADCAST || kind == REDUCE || kind == REDUCE_SCATTER ? op->nelems : all;
    *src = kind == ALL_TO_ALL || kind == ALL_TO_ALL_STRIDED || kind == REDUCE_SCATTER ? all
                                                                                      : op->nelems;
    if (kind == ALL_TO_ALL_STRIDED) {
        *dst = span(all, op->dst_stride);
        *src = span(all, op->src_stride);
    }
}

bool together_draw(struct op *op, struct rng *rng)
{
    do
        op->team = (int)rng_below(rng, MAX_TEAMS);
    while (!world.teams[op->team].npes);
    op->actor = -1;
    op->target = (int)rng_below(rng, (size_t)world.teams[op->team].npes); /* the root */
    if (op->kind == OP_SYNC)
        return true;
    op->fn = (int)rng_below(rng, rng_below(rng, 2) ? NUM_NVS_FNS : NUM_COLL_FNS);
    const struct coll_fn *fn = fn_of(op);
    if (fn->type == T_LONGDOUBLE) /* has bytes without a meaning */
        return false;
    size_t dice = rng_below(rng, 100), dst, src;
    op->elem_bytes = type_bytes(fn->type);
    op->nelems = 1 + rng_below(rng, (dice < 60   ? 64
                                     : dice < 90 ? 3000
                                                 : 40000) /
                                            op->elem_bytes +
                                        1);
    if (fn->kind == ALL_TO_ALL_STRIDED) {
        op->dst_stride = 1 + rng_below(rng, 3);
        op->src_stride = 1 + rng_below(rng, 3);
    }
    if (fn->any_memory && op->value % 3 == 0)
        return true; /* ordinary buffers */
    part_elems(op, &dst, &src);
    return object_claim(rng, dst * op->elem_bytes, op->elem_bytes, &op->dst) &&
           object_claim(rng, src * op->elem_bytes, op->elem_bytes, &op->src);
}

/* ---- the result ------------------------------------------------------------------------------ */

static void fold(const struct op *op, const struct places *at, unsigned char *out, size_t i)
{
    const struct coll_fn *fn = fn_of(op);
    const struct small_float *small =
        fn->type == NVS_FLOAT16 || fn->type == NVS_BFLOAT16 ? small_float(fn->type) : NULL;
    int n = world.teams[op->team].npes;
    _Alignas(16) unsigned char acc[MAX_ELEM_BYTES], next[MAX_ELEM_BYTES];
    for (int p = 0; p < n; p++) {
        memcpy(next, at->src[p] + i * op->elem_bytes, op->elem_bytes);
        if (small) {
            float wide = small_float_value(small, *(uint16_t *)next);
            memcpy(next, &wide, sizeof wide);
        }
        if (p == 0)
            memcpy(acc, next, sizeof acc);
        else
            folds[small ? NVS_FLOAT32 : fn->type](acc, next, fn->op, n, p == n - 1);
    }
    if (small) {
        float wide;
        memcpy(&wide, acc, sizeof wide);
        *(uint16_t *)acc = small_float_round(small, wide);
    }
    memcpy(out, acc, op->elem_bytes);
}

static void gather(const struct op *op, const struct places *at, unsigned char *dst)
{
    bool own = fn_of(op)->kind == COLLECT;
    for (int p = 0; p < world.teams[op->team].npes; p++) {
        size_t nbytes = (own ? collect_count(op, p) : op->nelems) * op->elem_bytes;
        memcpy(dst, at->src[p], nbytes);
        dst += nbytes;
    }
}

static void exchange(const struct op *op, const struct places *at, int me)
{
    size_t size = op->elem_bytes, to = op->dst_stride * size, from = op->src_stride * size;
    for (int p = 0; p < world.teams[op->team].npes; p++)
        for (size_t i = 0; i < op->nelems; i++)
            memcpy(at->dst[me] + ((size_t)p * op->nelems + i) * to,
                   at->src[p] + ((size_t)me * op->nelems + i) * from, size);
}

/* What member `me` receives. */
static void receive(const struct op *op, const struct places *at, int me)
{
    size_t mine = fn_of(op)->kind == REDUCE_SCATTER ? (size_t)me * op->nelems : 0;
    switch (fn_of(op)->kind) {
    case BROADCAST:
        memcpy(at->dst[me], at->src[op->target], op->nelems * op->elem_bytes);
        break;
    case GATHER:
    case COLLECT:
        gather(op, at, at->dst[me]);
        break;
    case ALL_TO_ALL:
    case ALL_TO_ALL_STRIDED:
        exchange(op, at, me);
        break;
    default:
        for (size_t i = 0; i < op->nelems; i++)
            fold(op, at, at->dst[me] + i * op->elem_bytes, mine + i);
    }
}

/* The input of member p, where it is stored for the purpose. */
static void store_input(const struct op *op, void *src, int p, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++)
        coll_input((char *)src + i * op->elem_bytes, fn_of(op)->type, fn_of(op)->op, op->value,
                   world.teams[op->team].pes[p], i);
}

/* ---- one call -------------------------------------------------------------------------------- */

static void call(const struct op *op, void *dst, const void *src)
{
    const struct team *team = &world.teams[op->team];
    int me = team_number(team, world.me);
    char text[512];
    struct coll_call c = {.fn = fn_of(op),
                          .team = (int)team->handle,
                          .dst = dst,
                          .src = src,
                          .nelems = fn_of(op)->kind == COLLECT ? collect_count(op, me) : op->nelems,
                          .root = op->target,
                          .dst_stride = (ptrdiff_t)op->dst_stride,
                          .src_stride = (ptrdiff_t)op->src_stride};
    int status = fn_of(op)->call(&c);
    op_describe(op, text, sizeof text);
    if (status)
        give_up("%s: status %d, %s", text, status, nvs_last_error());
}

/* Between ordinary buffers, on this PE alone. */
static void call_ordinary(const struct op *op)
{
    const struct team *team = &world.teams[op->team];
    size_t dst_elems, src_elems, size = op->elem_bytes;
    int me = team_number(team, world.me);
    struct places at = {0};
    part_elems(op, &dst_elems, &src_elems);
    for (int p = 0; p < team->npes; p++) {
        at.src[p] = malloc(src_elems * size);
        if (!at.src[p])
            give_up("no memory for buffers");
        store_input(op, at.src[p], p, src_elems);
    }
    unsigned char *got = calloc(dst_elems, size);
    at.dst[me] = calloc(dst_elems, size);
    if (!got || !at.dst[me])
        give_up("no memory for buffers");
    receive(op, &at, me);
    call(op, got, at.src[me]);
    expect(op, got, at.dst[me], dst_elems * size);
    for (int p = 0; p < team->npes; p++)
        free(at.src[p]);
    free(at.dst[me]);
    free(got);
}

static void synchronise(const struct op *op)
{
    shmem_team_t handle = world.teams[op->team].handle;
    int status = op->value & 1 ? nvshmem_barrier(handle) : shmem_team_sync(handle);
    if (status)
        give_up("sync of team %d: %s", op->team, nvs_last_error());
}

void together_perform(const struct op *op)
{
    if (world.teams[op->team].handle == SHMEM_TEAM_INVALID)
        return;
    if (op->kind == OP_SYNC) {
        synchronise(op);
    } else if (!op->dst.object) {
        call_ordinary(op);
    } else {
        char *src = part_here(&op->src);
        if (reduces(fn_of(op)) && is_real(fn_of(op)->type))
            store_input(op, src, team_number(&world.teams[op->team], world.me),
                        op->src.nbytes / op->elem_bytes);
        call(op, part_here(&op->dst), src);
    }
}

void together_apply(const struct op *op)
{
    const struct team *team = &world.teams[op->team];
    if (op->kind == OP_SYNC || !op->dst.object)
        return;
    struct places at = {0};
    world.ncollectives++;
    for (int p = 0; p < team->npes; p++) {
        at.dst[p] = part_model(&op->dst, team->pes[p]);
        at.src[p] = part_model(&op->src, team->pes[p]);
        if (reduces(fn_of(op)) && is_real(fn_of(op)->type))
            store_input(op, at.src[p], p, op->src.nbytes / op->elem_bytes);
    }
    for (int p = 0; p < team->npes; p++)
        receive(op, &at, p);
}
