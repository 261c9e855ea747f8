/*
 * onesided.c - puts and gets of all kinds: performed by one PE, applied to the model by all.
 */
#include "model.h"

/* Buffers that live until the operations of the epoch are complete. */
static struct {
    unsigned char *base;
    size_t used, size;
} scratch;

/* What non-blocking gets must have brought. */
static struct {
    struct op op;
    const unsigned char *got, *want;
    size_t nbytes;
} awaited[MAX_OPS];
static int num_awaited;

static unsigned char *scratch_take(size_t nbytes)
{
    if (!scratch.base) {
        scratch.size = (size_t)64 << 20;
        scratch.base = malloc(scratch.size);
    }
    size_t at = (scratch.used + 15) & ~(size_t)15;
    if (!scratch.base || at + nbytes > scratch.size)
        give_up("no memory for buffers");
    scratch.used = at + nbytes;
    return scratch.base + at;
}

/* ---- tables of functions by the size of an element: 1, 2, 4, 8, 16 ----------------------------
 */

typedef void put_fn(shmem_ctx_t ctx, void *dst, const void *src, size_t nelems, int pe);
typedef void iput_fn(shmem_ctx_t ctx, void *dst, const void *src, ptrdiff_t dst_stride,
                     ptrdiff_t src_stride, size_t nelems, int pe);
#define BY_SIZE(name, tail)                                                                        \
    {                                                                                              \
        name##8##tail, name##16##tail, name##32##tail, name##64##tail, name##128##tail             \
    }
static put_fn *const puts_[] = BY_SIZE(shmem_ctx_put, );
static put_fn *const puts_nbi[] = BY_SIZE(shmem_ctx_put, _nbi);
static put_fn *const gets_[] = BY_SIZE(shmem_ctx_get, );
static put_fn *const gets_nbi[] = BY_SIZE(shmem_ctx_get, _nbi);
static iput_fn *const iputs[] = BY_SIZE(shmem_ctx_iput, );
static iput_fn *const igets[] = BY_SIZE(shmem_ctx_iget, );

typedef void nvshmem_put_fn(void *dst, const void *src, size_t nelems, int pe);
typedef void nvshmem_iput_fn(void *dst, const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
                             size_t nelems, int pe);
static nvshmem_put_fn *const nvshmem_puts[] = BY_SIZE(nvshmem_put, );
static nvshmem_put_fn *const nvshmem_puts_nbi[] = BY_SIZE(nvshmem_put, _nbi);
static nvshmem_put_fn *const nvshmem_gets[] = BY_SIZE(nvshmem_get, );
static nvshmem_put_fn *const nvshmem_gets_nbi[] = BY_SIZE(nvshmem_get, _nbi);
static nvshmem_iput_fn *const nvshmem_iputs[] = BY_SIZE(nvshmem_iput, );
static nvshmem_iput_fn *const nvshmem_igets[] = BY_SIZE(nvshmem_iget, );

static int size_index(const struct op *op)
{
    return __builtin_ctzl(op->elem_bytes);
}

shmem_ctx_t ctx_of(const struct op *op)
{
    return world.ctxs[op->ctx].handle;
}

/* The target's number as the context counts. */
int pe_of(const struct op *op)
{
    return op->ctx ? team_number(&world.teams[world.ctxs[op->ctx].team], op->target) : op->target;
}

static void block(const struct op *op, put_fn *const *fns, nvshmem_put_fn *const *nvshmem_fns,
                  void *dst, const void *src)
{
    if (op->nvshmem)
        nvshmem_fns[size_index(op)](dst, src, op->nelems, op->target);
    else
        fns[size_index(op)](ctx_of(op), dst, src, op->nelems, pe_of(op));
}

static void strided(const struct op *op, iput_fn *const *fns, nvshmem_iput_fn *const *nvshmem_fns,
                    void *dst, const void *src)
{
    ptrdiff_t to = (ptrdiff_t)op->dst_stride, from = (ptrdiff_t)op->src_stride;
    if (op->nvshmem)
        nvshmem_fns[size_index(op)](dst, src, to, from, op->nelems, op->target);
    else
        fns[size_index(op)](ctx_of(op), dst, src, to, from, op->nelems, pe_of(op));
}

/* ---- checks of what a call brings ------------------------------------------------------------ */

void expect(const struct op *op, const unsigned char *got, const unsigned char *want, size_t nbytes)
{
    if (memcmp(got, want, nbytes) == 0)
        return;
    size_t at = 0;
    char text[512];
    while (got[at] == want[at])
        at++;
    op_describe(op, text, sizeof text);
    fprintf(stderr, "PE %d of %d: %s brings a wrong byte %zu: 0x%02x, expected 0x%02x\n", world.me,
            world.npes, text, at, got[at], want[at]);
    history_print(op->dst.id, op->dst.at + at);
    give_up("a wrong result");
}

unsigned char *data_of(const struct op *op, size_t nbytes)
{
    unsigned char *data = scratch_take(nbytes);
    data_fill(data, op->value, nbytes);
    return data;
}

/* ---- performing, as the actor ---------------------------------------------------------------- */

static void perform_p(const struct op *op)
{
    const unsigned char *data = data_of(op, 8);
    char *dst = part_here(&op->dst);
    switch (op->elem_bytes) {
    case 1:
        shmem_ctx_uint8_p(ctx_of(op), (uint8_t *)dst, *data, pe_of(op));
        break;
    case 2:
        shmem_ctx_uint16_p(ctx_of(op), (uint16_t *)dst, *(const uint16_t *)data, pe_of(op));
        break;
    case 4:
        shmem_ctx_uint32_p(ctx_of(op), (uint32_t *)dst, *(const uint32_t *)data, pe_of(op));
        break;
    default:
        nvshmem_uint64_p((uint64_t *)dst, *(const uint64_t *)data, op->target);
    }
}

static void perform_iput(const struct op *op)
{
    size_t size = op->elem_bytes;
    unsigned char *src = scratch_take(op->nelems * op->src_stride * size);
    for (size_t i = 0; i < op->nelems; i++)
        for (size_t k = 0; k < size; k++)
            src[i * op->src_stride * size + k] = data_byte(op->value, i * size + k);
    strided(op, iputs, nvshmem_iputs, part_here(&op->dst), src);
}

static void perform_iget(const struct op *op)
{
    size_t size = op->elem_bytes;
    unsigned char *got = scratch_take(op->nelems * op->dst_stride * size);
    strided(op, igets, nvshmem_igets, got, part_here(&op->dst));
    for (size_t i = 0; i < op->nelems; i++)
        expect(op, got + i * op->dst_stride * size,
               part_model(&op->dst, op->target) + i * op->src_stride * size, size);
}

static void perform_get(const struct op *op, bool nbi)
{
    size_t nbytes = op->dst.nbytes;
    unsigned char *got = scratch_take(nbytes), *want = part_model(&op->dst, op->target);
    block(op, nbi ? gets_nbi : gets_, nbi ? nvshmem_gets_nbi : nvshmem_gets, got,
          part_here(&op->dst));
    if (!nbi) {
        expect(op, got, want, nbytes);
        return;
    }
    unsigned char *copy = memcpy(scratch_take(nbytes), want, nbytes);
    awaited[num_awaited].op = *op;
    awaited[num_awaited].got = got;
    awaited[num_awaited].want = copy;
    awaited[num_awaited++].nbytes = nbytes;
}

/* A put, quiet, and the same bytes back. */
static void perform_echo(const struct op *op)
{
    unsigned char *data = data_of(op, op->dst.nbytes), *got = scratch_take(op->dst.nbytes);
    block(op, puts_nbi, nvshmem_puts_nbi, part_here(&op->dst), data);
    if (op->nvshmem)
        nvshmem_quiet();
    else
        shmem_ctx_quiet(ctx_of(op));
    block(op, gets_, nvshmem_gets, got, part_here(&op->dst));
    expect(op, got, data, op->dst.nbytes);
}

/* Stores by a pointer to the target's memory, where that is mapped. */
static void perform_pointer(const struct op *op)
{
    const unsigned char *data = data_of(op, op->dst.nbytes);
    char *there = op->nvshmem ? nvshmem_ptr(part_here(&op->dst), op->target)
                              : shmem_ptr(part_here(&op->dst), op->target);
    if (there)
        memcpy(there, data, op->dst.nbytes);
    else
        block(op, puts_, nvshmem_puts, part_here(&op->dst), data);
}

void onesided_perform(const struct op *op)
{
    if (world.me != op->actor)
        return;
    char *dst = part_here(&op->dst);
    switch (op->kind) {
    case OP_PUT:
        block(op, puts_, nvshmem_puts, dst, data_of(op, op->dst.nbytes));
        break;
    case OP_PUT_NBI:
        block(op, puts_nbi, nvshmem_puts_nbi, dst, data_of(op, op->dst.nbytes));
        break;
    case OP_PUT_OBJECT:
        block(op, puts_nbi, nvshmem_puts, dst, part_here(&op->src));
        break;
    case OP_P:
        perform_p(op);
        break;
    case OP_IPUT:
        perform_iput(op);
        break;
    case OP_GET:
    case OP_GET_NBI:
        perform_get(op, op->kind == OP_GET_NBI);
        break;
    case OP_IGET:
        perform_iget(op);
        break;
    case OP_ECHO:
        perform_echo(op);
        break;
    case OP_STORE:
        data_fill(dst, op->value, op->dst.nbytes);
        break;
    default:
        perform_pointer(op);
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

void onesided_apply(const struct op *op)
{
    unsigned char *dst = part_model(&op->dst, op->target);
    size_t size = op->elem_bytes;
    switch (op->kind) {
    case OP_GET:
    case OP_GET_NBI:
    case OP_IGET:
        break;
    case OP_PUT_OBJECT:
        memcpy(dst, part_model(&op->src, op->actor), op->dst.nbytes);
        break;
    case OP_IPUT:
        for (size_t i = 0; i < op->nelems; i++)
            for (size_t k = 0; k < size; k++)
                dst[i * op->dst_stride * size + k] = data_byte(op->value, i * size + k);
        break;
    default:
        data_fill(dst, op->value, op->dst.nbytes);
    }
}

void onesided_finish(void)
{
    for (int i = 0; i < num_awaited; i++)
        expect(&awaited[i].op, awaited[i].got, awaited[i].want, awaited[i].nbytes);
    num_awaited = 0;
    scratch.used = 0;
}
