/*
 * coll_staged.c - the shape of last resort: PEs that share a GPU, and memory that others cannot
 * address; and GPUs that do not reach each other, where the channel lies in memory of the host
 * (far.c). Everybody copies a chunk into its channel, all meet, everybody takes what it needs from
 * the others' channels, all meet again.
 *
 * No kernel waits (meet.c says why). The space is that of the cells of the push shape, which such a
 * team never uses.
 */
#include "gpu/coll.h"

struct chunk {
    uint64_t at, len; /* of each block */
};

static uint64_t stage(const struct nvsi_gpu_call *call)
{
    return call->members.channel + NVSI_CHANNEL_CELLS;
}

/* Blocks that each PE brings. */
static int num_blocks(const struct nvsi_gpu_call *call)
{
    bool many = call->op->op == NVSI_SOP_ALL_TO_ALL || call->op->op == NVSI_SOP_REDUCE_SCATTER;
    return many ? call->team->npes : 1;
}

static bool takes_part(const struct nvsi_gpu_call *call)
{
    return call->op->op != NVSI_SOP_BROADCAST || call->team->team_pe == call->op->root;
}

static int copy_in(struct nvsi_gpu_call *call, struct chunk chunk)
{
    int status = 0;
    for (int i = 0; !status && takes_part(call) && i < num_blocks(call); i++)
        status = nvsi_gpu_call_copy(call, call->stream, stage(call) + (uint64_t)i * chunk.len,
                                    call->src + (uint64_t)i * call->nbytes + chunk.at, chunk.len);
    return status;
}

/* Where what member i brings for this PE is. */
static uint64_t brought_by(const struct nvsi_gpu_call *call, int i, struct chunk chunk)
{
    uint64_t mine = num_blocks(call) > 1 ? (uint64_t)call->team->team_pe * chunk.len : 0;
    int64_t away = (call->team->pes[i] - nvsi.me) * call->members.stride;
    return stage(call) + mine + (uint64_t)away;
}

static int fold(struct nvsi_gpu_call *call, struct chunk chunk)
{
    uint64_t dst = call->dst + chunk.at, inputs = brought_by(call, call->team->team_pe, chunk);
    struct nvsk_fold_args args = {.team = call->members,
                                  .by_team = 1,
                                  .dst = dst,
                                  .inputs = inputs,
                                  .view =
                                      nvsi_gpu_view(dst, inputs, chunk.len, call->op->elem_bytes),
                                  .nsrc = call->team->npes,
                                  .own = -1,
                                  .code = call->code,
                                  .divisor = call->team->npes};
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(chunk.len / 16 + 2, nvsi_gpu.sm_limit, &nblocks, &nthreads);
    return nvsi_gpu_launch(call->fn, NVSI_KERNEL_nvsk_fold, nblocks, nthreads, call->stream, &args);
}

static int copy_out(struct nvsi_gpu_call *call, struct chunk chunk)
{
    int npes = call->team->npes, me = call->team->team_pe, status = 0;
    if (call->op->op == NVSI_SOP_BROADCAST)
        return nvsi_gpu_call_copy(call, call->stream, call->dst + chunk.at,
                                  me == call->op->root ? call->src + chunk.at
                                                       : brought_by(call, call->op->root, chunk),
                                  chunk.len);
    for (int n = 0; !status && n < npes; n++) {
        int i = (me + n) % npes;
        status = nvsi_gpu_call_copy(call, call->stream,
                                    call->dst + (uint64_t)i * call->nbytes + chunk.at,
                                    brought_by(call, i, chunk), chunk.len);
    }
    return status;
}

static int one_chunk(struct nvsi_gpu_call *call, struct chunk chunk)
{
    bool reduces = call->op->op == NVSI_SOP_ALL_REDUCE || call->op->op == NVSI_SOP_REDUCE_SCATTER;
    int status = copy_in(call, chunk);
    if (!status)
        status = nvsi_gpu_call_meet(call);
    if (!status)
        status = reduces ? fold(call, chunk) : copy_out(call, chunk);
    return status ? status : nvsi_gpu_call_meet(call);
}

int nvsi_gpu_coll_staged(struct nvsi_gpu_call *call)
{
    uint64_t most = NVSI_CHANNEL_CELLS_BYTES / (uint64_t)num_blocks(call) / 256 * 256;
    int status = 0;
    for (uint64_t at = 0; !status && at < call->nbytes; at += most) {
        uint64_t rest = call->nbytes - at;
        status = one_chunk(call, (struct chunk){at, rest < most ? rest : most});
    }
    return status;
}
