/*
 * coll_fold.c - reductions of symmetric memory by one kernel that reads the inputs where they are.
 *
 * All-reduce: each PE folds its share into all outputs (kernels/twoshot.cu), and the blocks of the
 * kernel meet themselves. Reduce-scatter: each PE folds its block from all inputs, between two
 * meetings: nobody writes what others read but in its own block, which only it reads.
 */
#include "gpu/coll.h"

/* One thread for each vector of a share, while there are blocks. All PEs compute the same. */
static int all_reduce(struct nvsi_gpu_call *call)
{
    struct nvsk_twoshot_args args = {
        .team = call->members,
        .dst = call->dst,
        .src = call->src,
        .view = nvsi_gpu_view(call->dst, call->src, call->nbytes, call->op->elem_bytes),
        .code = call->code,
        .divisor = call->team->npes,
        .met = call->shares};
    uint64_t share = (call->nbytes / 16 + 2) / (uint64_t)call->team->npes + 8;
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(share, nvsi_gpu_coll_blocks(), &nblocks, &nthreads);
    int status = call->shares ? nvsi_gpu_call_meet(call) : 0;
    if (!status)
        status = nvsi_gpu_launch(call->fn, NVSI_KERNEL_nvsk_reduce_twoshot, nblocks, nthreads,
                                 call->stream, &args);
    if (!status && call->shares)
        status = nvsi_gpu_call_meet(call);
    return status;
}

static int reduce_scatter(struct nvsi_gpu_call *call)
{
    uint64_t block = call->src + (uint64_t)call->team->team_pe * call->nbytes;
    uint64_t dst = nvsi_gpu_call_result(call);
    struct nvsk_fold_args args = {.team = call->members,
                                  .by_team = 1,
                                  .dst = dst,
                                  .inputs = block,
                                  .view =
                                      nvsi_gpu_view(dst, block, call->nbytes, call->op->elem_bytes),
                                  .nsrc = call->team->npes,
                                  .own = -1,
                                  .code = call->code,
                                  .divisor = call->team->npes};
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(call->nbytes / 16 + 2, nvsi_gpu.sm_limit, &nblocks, &nthreads);
    int status = nvsi_gpu_call_meet(call);
    if (!status)
        status = nvsi_gpu_launch(call->fn, NVSI_KERNEL_nvsk_fold, nblocks, nthreads, call->stream,
                                 &args);
    if (!status)
        status = nvsi_gpu_call_meet(call);
    return status ? status : nvsi_gpu_call_copy(call, call->stream, call->dst, dst, call->nbytes);
}

int nvsi_gpu_coll_fold(struct nvsi_gpu_call *call)
{
    return call->op->op == NVSI_SOP_ALL_REDUCE ? all_reduce(call) : reduce_scatter(call);
}
