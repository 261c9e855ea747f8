/*
 * coll_copies.c - the shape for large data in symmetric memory: the copy engines move it, so that
 * the multiprocessors are left to the program.
 *
 * Between two meetings everybody moves data on its own. All-gather, all-to-all and broadcast are
 * copies into the others' dst. A reduction is a pipeline over pieces of this PE's share, in three
 * streams:
 *
 *     side "in"    copies the piece from all others into scratch     npes - 1 copies
 *     the stream   folds it into this PE's dst                       a kernel of few blocks
 *     side "out"   copies the result into the others' dst            npes - 1 copies, all-reduce
 *
 * Scratch holds two pieces, so a piece is fetched while the one before is folded. Both directions
 * of every link are busy all the time but for the first fetch, the last result and the meetings: 2
 * * (npes - 1) / npes of the data each, the least there is.
 *
 * In place: a share is fetched from the others before it is overwritten there, by this PE alone.
 */
#include "gpu/coll.h"

enum mark { FORK, FETCHED_0, FETCHED_1, FOLDED_0, FOLDED_1, JOIN_IN, JOIN_OUT };

/* Blocks that fold: enough to keep up with one link. */
enum { FOLD_BLOCKS = 16 };

/* ---- reductions --------------------------------------------------------------------------------
 */

struct pipeline {
    uint64_t dst, src; /* of this PE's share; the others' src is symmetric to it */
    uint64_t nbytes, piece;
    uint64_t scratch;
    bool spread; /* the result goes to all */
};

/* Pieces in scratch are aligned as src is, so that a vector is one in all inputs. */
static uint64_t slot_step(const struct pipeline *pipe)
{
    return pipe->piece + 16;
}

static uint64_t slot_of(const struct nvsi_gpu_call *call, const struct pipeline *pipe, uint64_t k)
{
    uint64_t others = (uint64_t)call->team->npes - 1;
    return pipe->scratch + pipe->src % 16 + k % 2 * others * slot_step(pipe);
}

static int fetch(struct nvsi_gpu_call *call, const struct pipeline *pipe, uint64_t k, uint64_t len)
{
    CUstream in = nvsi_gpu_call_side(call, NVSI_SIDE_IN);
    int me = call->team->team_pe, npes = call->team->npes;
    int status = k >= 2 ? nvsi_gpu_call_after(call, k % 2 ? FOLDED_1 : FOLDED_0, in) : 0;
    for (int n = 1; !status && n < npes; n++) {
        int i = (me + n) % npes;
        uint64_t slot = slot_of(call, pipe, k) + (uint64_t)(i - (i > me)) * slot_step(pipe);
        status = nvsi_gpu_call_copy(call, in, slot,
                                    nvsi_gpu_call_at(call, i, pipe->src + k * pipe->piece), len);
    }
    return status ? status
                  : nvsi_gpu_call_order(call, k % 2 ? FETCHED_1 : FETCHED_0, in, call->stream);
}

static int fold(struct nvsi_gpu_call *call, const struct pipeline *pipe, uint64_t k, uint64_t len)
{
    uint64_t at = k * pipe->piece;
    struct nvsk_fold_args args = {
        .dst = pipe->dst + at,
        .src = pipe->src + at,
        .inputs = slot_of(call, pipe, k),
        .step = slot_step(pipe),
        .view = nvsi_gpu_view(pipe->dst + at, pipe->src + at, len, call->op->elem_bytes),
        .nsrc = call->team->npes,
        .own = call->team->team_pe,
        .code = call->code,
        .divisor = call->team->npes};
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(len / 16 + 2, nvsi_gpu.sm_limit < FOLD_BLOCKS ? nvsi_gpu.sm_limit : FOLD_BLOCKS,
                  &nblocks, &nthreads);
    int status =
        nvsi_gpu_launch(call->fn, NVSI_KERNEL_nvsk_fold, nblocks, nthreads, call->stream, &args);
    return status ? status : nvsi_gpu_call_mark(call, k % 2 ? FOLDED_1 : FOLDED_0, call->stream);
}

static int spread(struct nvsi_gpu_call *call, const struct pipeline *pipe, uint64_t k, uint64_t len)
{
    CUstream out = nvsi_gpu_call_side(call, NVSI_SIDE_OUT);
    int me = call->team->team_pe, npes = call->team->npes;
    uint64_t piece = pipe->dst + k * pipe->piece;
    int status = nvsi_gpu_call_after(call, k % 2 ? FOLDED_1 : FOLDED_0, out);
    for (int n = 1; !status && n < npes; n++)
        status = nvsi_gpu_call_copy(call, out, nvsi_gpu_call_at(call, (me + n) % npes, piece),
                                    piece, len);
    return status;
}

static int fork_sides(struct nvsi_gpu_call *call)
{
    int status =
        nvsi_gpu_call_order(call, FORK, call->stream, nvsi_gpu_call_side(call, NVSI_SIDE_IN));
    return status ? status
                  : nvsi_gpu_call_after(call, FORK, nvsi_gpu_call_side(call, NVSI_SIDE_OUT));
}

static int join_sides(struct nvsi_gpu_call *call)
{
    int status =
        nvsi_gpu_call_order(call, JOIN_IN, nvsi_gpu_call_side(call, NVSI_SIDE_IN), call->stream);
    return status ? status
                  : nvsi_gpu_call_order(call, JOIN_OUT, nvsi_gpu_call_side(call, NVSI_SIDE_OUT),
                                        call->stream);
}

static int run(struct nvsi_gpu_call *call, const struct pipeline *pipe)
{
    int status = fork_sides(call);
    for (uint64_t k = 0; !status && k * pipe->piece < pipe->nbytes; k++) {
        uint64_t rest = pipe->nbytes - k * pipe->piece;
        uint64_t len = rest < pipe->piece ? rest : pipe->piece;
        status = fetch(call, pipe, k, len);
        if (!status)
            status = fold(call, pipe, k, len);
        if (!status && pipe->spread)
            status = spread(call, pipe, k, len);
    }
    return status ? status : join_sides(call);
}

/* Pieces: four of a share at least, so that fetching, folding and spreading overlap. */
static uint64_t piece_of(uint64_t share)
{
    uint64_t piece = share / 4 / 1024 * 1024, most = nvsi.config.gpu_chunk / 1024 * 1024;
    piece = piece < most ? piece : most;
    return piece < 1024 ? 1024 : piece;
}

static int reduce(struct nvsi_gpu_call *call)
{
    bool all = call->op->op == NVSI_SOP_ALL_REDUCE;
    uint64_t npes = (uint64_t)call->team->npes, me = (uint64_t)call->team->team_pe;
    uint64_t share = all ? ((call->nbytes + npes - 1) / npes + 1023) / 1024 * 1024 : call->nbytes;
    uint64_t first = me * share,
             end = all && first + share > call->nbytes ? call->nbytes : first + share;
    struct pipeline pipe = {.dst = all ? call->dst + first : nvsi_gpu_call_result(call),
                            .src = call->src + first,
                            .nbytes = end > first ? end - first : 0,
                            .piece = piece_of(share),
                            .spread = all};
    uint64_t needed = 2 * (npes - 1) * (nvsi.config.gpu_chunk + 1024 + 16) + 16;
    int status = nvsi_gpu_call_scratch(call, needed, &pipe.scratch);
    if (!status)
        status = nvsi_gpu_call_meet(call);
    if (!status)
        status = run(call, &pipe);
    if (!status)
        status = nvsi_gpu_call_meet(call);
    return status || all
               ? status
               : nvsi_gpu_call_copy(call, call->stream, call->dst, pipe.dst, call->nbytes);
}

/* ---- copies ------------------------------------------------------------------------------------
 */

/* This PE's own block, beside those for the others. */
static int copy_own(struct nvsi_gpu_call *call, uint64_t dst, uint64_t src)
{
    return nvsi_gpu_call_copy(call, nvsi_gpu_call_side(call, NVSI_SIDE_IN), dst, src, call->nbytes);
}

/* src + i * src_step of this PE to block team_pe of member i. */
static int copy_to_all(struct nvsi_gpu_call *call, uint64_t src_step)
{
    int me = call->team->team_pe, npes = call->team->npes;
    uint64_t dst = call->dst + (uint64_t)me * call->nbytes;
    int status = copy_own(call, dst, call->src + (uint64_t)me * src_step);
    for (int n = 1; !status && n < npes; n++) {
        int i = (me + n) % npes;
        status = nvsi_gpu_call_copy(call, nvsi_gpu_call_side(call, NVSI_SIDE_OUT),
                                    nvsi_gpu_call_at(call, i, dst),
                                    call->src + (uint64_t)i * src_step, call->nbytes);
    }
    return status;
}

/* An all-gather whose src is the beginning of dst, where the first PE's block will be: src moves to
 * its own place before anybody writes. */
static int leave_dst(struct nvsi_gpu_call *call)
{
    if (call->src != call->dst)
        return 0;
    call->src += (uint64_t)call->team->team_pe * call->nbytes;
    return nvsi_gpu_call_copy(call, call->stream, call->src, call->dst, call->nbytes);
}

/* Among more than two the root's link would carry everything: it sends a part to each, and they
 * send their parts to each other. Part i of dst, as [*first, *first + *len). */
static void part_of(const struct nvsi_gpu_call *call, int i, uint64_t *first, uint64_t *len)
{
    uint64_t npes = (uint64_t)call->team->npes;
    uint64_t each = ((call->nbytes + npes - 1) / npes + 127) / 128 * 128;
    *first = (uint64_t)i * each < call->nbytes ? (uint64_t)i * each : call->nbytes;
    *len = call->nbytes - *first < each ? call->nbytes - *first : each;
}

static int scatter_parts(struct nvsi_gpu_call *call)
{
    int root = call->op->root, npes = call->team->npes, status = 0;
    uint64_t first, len;
    if (call->team->team_pe != root)
        return 0;
    for (int n = 1; !status && n < npes; n++) {
        int i = (root + n) % npes;
        part_of(call, i, &first, &len);
        status =
            nvsi_gpu_call_copy(call, call->stream, nvsi_gpu_call_at(call, i, call->dst + first),
                               call->src + first, len);
    }
    return status;
}

/* The root sends its own part, which it has in src. */
static int gather_parts(struct nvsi_gpu_call *call)
{
    int root = call->op->root, me = call->team->team_pe, npes = call->team->npes, status = 0;
    uint64_t first, len, from = me == root ? call->src : call->dst;
    part_of(call, me, &first, &len);
    for (int n = 1; !status && n < npes; n++) {
        int i = (me + n) % npes;
        if (i != root)
            status =
                nvsi_gpu_call_copy(call, nvsi_gpu_call_side(call, NVSI_SIDE_OUT),
                                   nvsi_gpu_call_at(call, i, call->dst + first), from + first, len);
    }
    return status;
}

static int broadcast(struct nvsi_gpu_call *call)
{
    int root = call->op->root, status = 0;
    if (call->team->npes > 2) {
        status = scatter_parts(call);
        if (!status)
            status = nvsi_gpu_call_meet(call);
        if (!status)
            status = fork_sides(call);
        if (!status)
            status = gather_parts(call);
    } else {
        status = fork_sides(call);
        if (!status && call->team->team_pe == root)
            status = nvsi_gpu_call_copy(call, nvsi_gpu_call_side(call, NVSI_SIDE_OUT),
                                        nvsi_gpu_call_at(call, 1 - root, call->dst), call->src,
                                        call->nbytes);
    }
    if (!status && call->team->team_pe == root)
        status = copy_own(call, call->dst, call->src);
    return status ? status : join_sides(call);
}

static int move(struct nvsi_gpu_call *call)
{
    if (call->op->op == NVSI_SOP_BROADCAST)
        return broadcast(call);
    int status = fork_sides(call);
    if (!status)
        status = copy_to_all(call, call->op->op == NVSI_SOP_ALL_TO_ALL ? call->nbytes : 0);
    return status ? status : join_sides(call);
}

int nvsi_gpu_coll_copies(struct nvsi_gpu_call *call)
{
    int status = nvsi_gpu_call_sides(call);
    if (status)
        return status;
    if (call->op->op == NVSI_SOP_ALL_REDUCE || call->op->op == NVSI_SOP_REDUCE_SCATTER)
        return reduce(call);
    if (call->op->op == NVSI_SOP_ALL_GATHER)
        status = leave_dst(call);
    if (!status)
        status = nvsi_gpu_call_meet(call);
    if (!status)
        status = move(call);
    return status ? status : nvsi_gpu_call_meet(call);
}
