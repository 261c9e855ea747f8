/*
 * coll_select.c - which shape a collective on a stream takes.
 *
 * All PEs must come to the same answer, so it depends on what all have in common: the kind, the
 * size, the team, three variables (coll_open.c compares them), and whether the memory is symmetric.
 * The last is so by the standards; nvs.h says that on streams either all PEs pass symmetric memory,
 * the same object, or none does.
 *
 *                       one GPU each                              members share a GPU
 *   little, or any      push                                      staged
 *   symmetric: reduce   fold, from NVS_GPU_TWOSHOT_BYTES copies   fold
 *   symmetric: move     copies                                    copies
 *
 * A team that is far has one shape: staged.
 *
 * "Little" is what leaves a GPU in the push shape: (npes - 1) blocks of up to NVS_GPU_ONESHOT_BYTES
 * together.
 */
#include "gpu/coll.h"

static bool reduces(const struct nvsi_gpu_call *call)
{
    return call->op->op == NVSI_SOP_ALL_REDUCE || call->op->op == NVSI_SOP_REDUCE_SCATTER;
}

static bool is_little(const struct nvsi_gpu_call *call)
{
    return (uint64_t)(call->team->npes - 1) * call->nbytes <= nvsi.config.gpu_oneshot;
}

enum nvsi_gpu_shape nvsi_gpu_coll_select(const struct nvsi_gpu_call *call)
{
    if (call->team->npes == 1)
        return NVSI_SHAPE_ALONE;
    if (call->far)
        return NVSI_SHAPE_STAGED;
    if (!call->direct)
        return call->shares ? NVSI_SHAPE_STAGED : NVSI_SHAPE_PUSH;
    if (call->shares)
        return reduces(call) ? NVSI_SHAPE_FOLD : NVSI_SHAPE_COPIES;
    if (is_little(call))
        return NVSI_SHAPE_PUSH;
    bool few = call->op->op != NVSI_SOP_ALL_REDUCE || call->team->npes <= NVSI_CHANNEL_BLOCK_PES;
    return reduces(call) && few && call->nbytes < nvsi.config.gpu_twoshot ? NVSI_SHAPE_FOLD
                                                                          : NVSI_SHAPE_COPIES;
}

static int alone(struct nvsi_gpu_call *call)
{
    return nvsi_gpu_call_copy(call, call->stream, call->dst, call->src, call->nbytes);
}

static int (*const shapes[])(struct nvsi_gpu_call *call) = {
    [NVSI_SHAPE_ALONE] = alone,
    [NVSI_SHAPE_PUSH] = nvsi_gpu_coll_push,
    [NVSI_SHAPE_FOLD] = nvsi_gpu_coll_fold,
    [NVSI_SHAPE_COPIES] = nvsi_gpu_coll_copies,
    [NVSI_SHAPE_STAGED] = nvsi_gpu_coll_staged,
};

int nvsi_gpu_coll(const struct nvsi_stream_op *op, CUstream stream)
{
    struct nvsi_gpu_call call;
    int status = nvsi_gpu_call_begin(&call, op, stream);
    if (!status && call.last)
        status = nvsi_gpu_call_compare(&call);
    if (status)
        return status;
    if (op->op != NVSI_SOP_BARRIER && op->op != NVSI_SOP_SYNC && call.nbytes)
        status = shapes[nvsi_gpu_coll_select(&call)](&call);
    else if (op->team->npes > 1)
        status = nvsi_gpu_call_meet(&call);
    int ended = nvsi_gpu_call_end(&call);
    return status ? status : ended;
}
