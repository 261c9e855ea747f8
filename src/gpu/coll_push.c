/*
 * coll_push.c - the shape for little data, and for any memory: everybody stores into everybody's
 * channel (kernels/push.h).
 *
 * One kernel moves as much as a buffer of the channel holds for each sender; more goes in turns. An
 * all-reduce of more than a little, among more than two, goes as a reduce-scatter and an
 * all-gather: two trips, but 2 / npes of the bytes.
 */
#include "gpu/coll.h"

static int launch(struct nvsi_gpu_call *call, enum nvsi_kernel kernel, struct nvsk_push_args *args)
{
    unsigned nblocks, nthreads;
    nvsi_gpu_grid((args->nbytes + 15) / 16, nvsi_gpu.sm_limit, &nblocks, &nthreads);
    return nvsi_gpu_launch(call->fn, kernel, nblocks, nthreads, call->stream, args);
}

/* What fits into a buffer at once, until all of it is sent. */
static int in_turns(struct nvsi_gpu_call *call, enum nvsi_kernel kernel, struct nvsk_push_args args)
{
    uint64_t rest = args.nbytes, capacity = NVSI_CHANNEL_CAPACITY(call->team->npes);
    int status = 0;
    args.team = call->members;
    args.capacity = capacity;
    args.divisor = call->team->npes;
    args.code = call->code;
    for (; !status && rest; rest -= args.nbytes) {
        args.nbytes = rest < capacity ? rest : capacity;
        status = launch(call, kernel, &args);
        args.dst += args.nbytes;
        args.src += args.nbytes;
    }
    return status;
}

static int reduce(struct nvsi_gpu_call *call, uint64_t dst, uint64_t src, uint64_t nbytes,
                  uint64_t src_step)
{
    struct nvsk_push_args args = {
        .dst = dst, .src = src, .nbytes = nbytes, .src_step = src_step, .root = -1};
    return in_turns(call, NVSI_KERNEL_nvsk_reduce_oneshot, args);
}

static int exchange(struct nvsi_gpu_call *call, uint64_t dst, uint64_t src, uint64_t nbytes,
                    uint64_t src_step, uint64_t dst_step, int root)
{
    struct nvsk_push_args args = {.dst = dst,
                                  .src = src,
                                  .nbytes = nbytes,
                                  .src_step = src_step,
                                  .dst_step = dst_step,
                                  .root = root};
    return in_turns(call, NVSI_KERNEL_nvsk_exchange, args);
}

/* Everybody reduces a share, then all gather them; what does not divide is reduced by all. */
static int reduce_in_shares(struct nvsi_gpu_call *call)
{
    uint64_t npes = (uint64_t)call->team->npes, share = call->nbytes / npes / 128 * 128;
    uint64_t mine = call->dst + (uint64_t)call->team->team_pe * share, done = npes * share;
    int status = reduce(call, mine, call->src, share, share);
    if (!status)
        status = exchange(call, call->dst, mine, share, 0, share, -1);
    if (!status)
        status = reduce(call, call->dst + done, call->src + done, call->nbytes - done, 0);
    return status;
}

static int all_reduce(struct nvsi_gpu_call *call)
{
    uint64_t npes = (uint64_t)call->team->npes;
    if (npes > 2 && (npes - 1) * call->nbytes > nvsi.config.gpu_oneshot &&
        call->nbytes >= npes * 128)
        return reduce_in_shares(call);
    return reduce(call, call->dst, call->src, call->nbytes, 0);
}

int nvsi_gpu_coll_push(struct nvsi_gpu_call *call)
{
    uint64_t nbytes = call->nbytes;
    switch (call->op->op) {
    case NVSI_SOP_ALL_REDUCE:
        return all_reduce(call);
    case NVSI_SOP_REDUCE_SCATTER:
        return reduce(call, call->dst, call->src, nbytes, nbytes);
    case NVSI_SOP_ALL_GATHER:
        return exchange(call, call->dst, call->src, nbytes, 0, nbytes, -1);
    case NVSI_SOP_ALL_TO_ALL:
        return exchange(call, call->dst, call->src, nbytes, nbytes, nbytes, -1);
    default: /* broadcast */
        return exchange(call, call->dst, call->src, nbytes, 0, 0, call->op->root);
    }
}
