/*
 * on_stream.c - the way of an operation into a stream: what can be checked now, then to whoever
 * executes the stream.
 *
 *   one of our queues        its worker runs the operation (execute.c)
 *   a stream of CUDA         after stage two our kernels and the copy engines do it
 *                            (gpu/stream_ops.c); before, with the heap in host memory, a host
 *                            function of the stream (host_func.c)
 *
 * NULL is the default stream of CUDA where this process has selected a GPU, else our default queue.
 */
#include "gpu/gpu.h"
#include "stream/execute.h"
#include "stream/host_func.h"
#include "transport/transport.h"

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_memory(const struct nvsi_stream_op *op, const char *what, const void *ptr)
{
    if (ptr || !op->nelems)
        return 0;
    return nvsi_error(NVS_ERR_INVALID, "%s: %s is NULL, but there are %zu elements", op->fn, what,
                      op->nelems);
}

static int check_put(const struct nvsi_stream_op *op)
{
    struct nvsi_remote at;
    int status = nvsi_locate(NULL, op->fn, "dst", op->dst, op->nelems, op->elem_bytes, op->pe, &at);
    if (!status && !op->immediate)
        status = check_memory(op, "src", op->src);
    if (!status && op->op == NVSI_SOP_PUT_SIGNAL)
        status = nvsi_locate_signal(NULL, op->fn, op->sig, op->sig_op, op->pe, &at);
    return status;
}

static int check_get(const struct nvsi_stream_op *op)
{
    struct nvsi_remote at;
    int status = nvsi_locate(NULL, op->fn, "src", op->src, op->nelems, op->elem_bytes, op->pe, &at);
    return status ? status : check_memory(op, "dst", op->dst);
}

static int check_strided(const struct nvsi_stream_op *op)
{
    bool put = op->op == NVSI_SOP_IPUT;
    struct nvsi_remote at;
    struct nvsi_strided shape = {op->dst_stride, op->src_stride, op->nelems, op->elem_bytes};
    int status = nvsi_locate_strided(NULL, op->fn, put ? "dst" : "src", put ? op->dst : op->src,
                                     &shape, op->pe, &at);
    return status ? status : check_memory(op, put ? "src" : "dst", put ? op->src : op->dst);
}

/* The skin has looked at the addresses; here only whether they are symmetric, which is a matter of
 * the kind of collective. */
static int check_collective(const struct nvsi_stream_op *op)
{
    struct nvsi_coll_args args;
    struct nvsi_coll coll = {.kind = nvsi_sop_coll(op, &args), .team = op->team, .args = &args};
    if (op->team->broken)
        return nvsi_error(op->team->broken, "%s: an earlier collective of this team failed",
                          op->fn);
    return nvsi_coll_check_symmetric(&coll);
}

static int check(const struct nvsi_stream_op *op)
{
    struct nvsi_remote at;
    int status = nvsi_ready(op->fn);
    if (status)
        return status;
    switch (op->op) {
    case NVSI_SOP_PUT:
    case NVSI_SOP_PUT_SIGNAL:
        return check_put(op);
    case NVSI_SOP_GET:
    case NVSI_SOP_G:
        return check_get(op);
    case NVSI_SOP_IPUT:
    case NVSI_SOP_IGET:
        return check_strided(op);
    case NVSI_SOP_SIGNAL:
        return nvsi_locate_signal(NULL, op->fn, op->sig, op->sig_op, op->pe, &at);
    case NVSI_SOP_WAIT: /* the skin has looked at the words */
    case NVSI_SOP_QUIET:
        return 0;
    default:
        return check_collective(op);
    }
}

/* ---- our queues ------------------------------------------------------------------------------ */

static int not_possible(const struct nvsi_stream_op *op, int reason, const void *stream)
{
    if (reason <= 0)
        return reason;
    if (reason == NVSX_QUEUE_UNKNOWN)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: stream %p does not exist on PE %d (destroyed before?)", op->fn,
                          stream, nvsi.me);
    if (reason == NVSX_QUEUE_INSIDE)
        return nvsi_error(
            NVS_ERR_INVALID,
            "%s: called from a host function of a stream, which would wait for itself", op->fn);
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: stream %p is being captured: a call that returns a value cannot be part "
                      "of a graph",
                      op->fn, stream);
}

/* A value for the caller: what the stream did before it must be over. */
static int get_now(const struct nvsi_stream_op *op, void *stream)
{
    int status = nvsx_queue_synchronize(stream);
    if (status > 0)
        return not_possible(op, status, stream);
    return status ? status
                  : nvsi_get(NULL, op->fn, op->dst, op->src, 1, op->elem_bytes, op->pe, false);
}

static int to_queue(const struct nvsi_stream_op *op, void *stream)
{
    if (op->op == NVSI_SOP_G)
        return get_now(op, stream);
    struct nvsi_queued queued;
    nvsi_queued_fill(&queued, op);
    int status = nvsx_queue_put(stream, &nvsi_queued_kind, &queued, sizeof queued);
    return not_possible(op, status, stream);
}

int nvsi_on_stream(const struct nvsi_stream_op *op, void *stream)
{
    int status = check(op);
    if (NVSI_UNLIKELY(status))
        return status;
    if (nvsi_queue_exists(stream))
        return to_queue(op, stream);
    if (nvsi_gpu.up)
        return nvsi_gpu_on_stream(op, stream);
    return nvsi_gpu_selected() ? nvsi_host_func_on_stream(op, stream) : to_queue(op, stream);
}
