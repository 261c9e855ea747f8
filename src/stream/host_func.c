/*
 * host_func.c - operations on streams of CUDA while the symmetric memory is the host's: a host
 * function of the stream runs them (cuLaunchHostFunc).
 *
 * That is what NVSHMEM_HEAP_KIND=SYSMEM costs: the stream stops, a thread of the driver wakes up,
 * and the stream goes on, some ten microseconds in all. The driver may run the functions of several
 * streams on one thread, so that here a wait in one stream can hold up a put in another one, which
 * queues of ours never do; docs/streams.md says so.
 *
 * A collective takes its turn when it is put into the stream, like everywhere. One that is captured
 * cannot, since nobody hears of the launch of a graph: it takes its turn when it runs, so that the
 * order of the launches is what PEs must agree on.
 */
#include "stream/host_func.h"
#include "gpu/gpu.h"
#include "stream/execute.h"

#include <stdlib.h>

/* What graphs point to. A graph may be launched at any time and nobody hears of its end, so these
 * stay; there are as many as operations were captured. */
static struct kept {
    struct kept *next;
    struct nvsi_queued queued;
} * _Atomic captured;

static void run_once(void *arg)
{
    struct nvsi_queued *queued = arg;
    nvsi_queued_run(queued);
    free(queued);
}

/* Launches of two graphs made of one capture may overlap: each run has a record of its own. */
static void run_captured(void *arg)
{
    struct nvsi_queued queued = ((struct kept *)arg)->queued;
    int status = nvsi_queued_enter(&queued);
    if (status)
        nvsi_check(status);
    else
        nvsi_queued_run(&queued);
}

static int launch(const struct nvsi_stream_op *op, CUstream stream, CUhostFn fn, void *arg)
{
    CUresult result = cu.cuLaunchHostFunc(stream, fn, arg);
    return result ? nvsi_cuda_error(op->fn, result, "put a host function into stream %p",
                                    (void *)stream)
                  : 0;
}

static int capture(const struct nvsi_stream_op *op, CUstream stream)
{
    struct kept *kept = malloc(sizeof *kept);
    if (!kept)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for an operation", op->fn);
    nvsi_queued_fill(&kept->queued, op);
    int status = launch(op, stream, run_captured, kept);
    if (status) {
        free(kept);
        return status;
    }
    kept->next = atomic_load(&captured);
    while (!atomic_compare_exchange_weak(&captured, &kept->next, kept))
        ;
    return 0;
}

static int enqueue(const struct nvsi_stream_op *op, CUstream stream)
{
    struct nvsi_queued *queued = malloc(sizeof *queued);
    if (!queued)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for an operation", op->fn);
    nvsi_queued_fill(queued, op);
    int status = nvsi_queued_enter(queued);
    if (status) {
        free(queued);
        return status;
    }
    status = launch(op, stream, run_once, queued);
    if (status) /* its turn is taken: others may wait for it */
        run_once(queued);
    return status;
}

int nvsi_host_func_on_stream(const struct nvsi_stream_op *op, void *handle)
{
    CUstream stream = handle;
    int capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cu.cuStreamIsCapturing(stream, &capturing);
    if (result)
        return nvsi_cuda_error(op->fn, result, "use stream %p", handle);
    atomic_store(&nvsi.streams, true);
    if (op->op != NVSI_SOP_G)
        return capturing ? capture(op, stream) : enqueue(op, stream);
    result = cu.cuStreamSynchronize(stream);
    if (result)
        return nvsi_cuda_error(op->fn, result, "wait for stream %p", handle);
    return nvsi_get(NULL, op->fn, op->dst, op->src, 1, op->elem_bytes, op->pe, false);
}
