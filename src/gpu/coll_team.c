/*
 * coll_team.c - what a PE keeps for each team whose collectives it puts into streams, and one call
 * from its arguments to what the shapes need.
 *
 * Order. The kernels of a team share its channel, so one collective has to be over before the next
 * begins, also if that is put into another stream. In one stream it is so. Otherwise the next
 * stream waits for an event that was recorded behind the one before. A capture has events of its
 * own, since what is captured runs some other time: two captures, or a graph and a stream, are for
 * the program to keep apart, as it must for its data.
 */
#include "gpu/coll.h"

#include <stdlib.h>
#include <string.h>

#include "nvshmem/device/fold.h"

static struct nvsi_gpu_team *kept[NVSI_DEV_CHANNELS];

/* ---- the table --------------------------------------------------------------------------------
 */

static void forget(struct nvsi_gpu_team *state)
{
    nvsi_gpu_calls_forget(state);
    if (state->done.event)
        (void)cu.cuEventDestroy(state->done.event);
    if (state->captured.event)
        (void)cu.cuEventDestroy(state->captured.event);
    for (int i = 0; i < NVSI_NUM_MARKS; i++)
        if (state->marks[i])
            (void)cu.cuEventDestroy(state->marks[i]);
    for (int i = 0; i < NVSI_NUM_SIDES; i++)
        if (state->sides[i])
            (void)cu.cuStreamDestroy(state->sides[i]);
    while (state->scratch) {
        struct nvsi_gpu_scratch *scratch = state->scratch;
        state->scratch = scratch->next;
        (void)cu.cuMemFree(scratch->address);
        free(scratch);
    }
}

void nvsi_gpu_coll_forget(void)
{
    for (int slot = 0; slot < NVSI_DEV_CHANNELS; slot++) {
        if (kept[slot])
            forget(kept[slot]);
        free(kept[slot]);
        kept[slot] = NULL;
    }
}

void nvsi_gpu_coll_left(const struct nvsi_team *team)
{
    struct nvsi_gpu_team *state = team->slot >= 0 ? kept[team->slot] : NULL;
    if (!state)
        return;
    nvsi_gpu_calls_forget(state);
    state->known = false; /* an active set has no id by which the next one would be told from it */
}

/* A team in the place of one that was destroyed takes over what was kept: graphs of that one may
 * still be there, though they must not run. */
static struct nvsi_gpu_team *find(const char *fn, const struct nvsi_team *team)
{
    struct nvsi_gpu_team *state = kept[team->slot];
    if (!state) {
        state = kept[team->slot] = calloc(1, sizeof *state);
        if (!state) {
            nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team", fn);
            return NULL;
        }
    }
    if (!state->known || state->id != team->id) {
        state->id = team->id;
        state->far = nvsi_gpu_coll_far(team);
        state->shares = state->far || nvsi_gpu_coll_shares(team);
        state->known = true;
    }
    return state;
}

/* ---- one call ----------------------------------------------------------------------------------
 */

static bool on_device(const void *ptr)
{
    const struct nvsi_segment *heap = &nvsi.seg[NVSI_SEG_DEVICE];
    return (size_t)((const char *)ptr - heap->base) < heap->size;
}

bool nvsi_gpu_kernels_reach(const void *ptr)
{
    unsigned type;
    return on_device(ptr) || nvsi_gpu.state.host_bytes ||
           !cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     (CUdeviceptr)(uintptr_t)ptr);
}

/* start and step of a team whose members are evenly spaced; step 0 if they are not. */
static void fill_members(struct nvsk_team *members, const struct nvsi_team *team)
{
    int step = team->npes > 1 ? team->pes[1] - team->pes[0] : 1;
    for (int i = 1; i < team->npes; i++)
        if (team->pes[i] != team->pes[0] + i * step)
            step = 0;
    *members = (struct nvsk_team){
        .npes = team->npes,
        .team_pe = team->team_pe,
        .me = nvsi.me,
        .start = team->pes[0],
        .step = step,
        .handle = team->id,
        .pes = nvsi_gpu_team_list(team),
        .channel = (uint64_t)(uintptr_t)nvsi_gpu_channel_at(team, nvsi.me),
        .stride = nvsi_gpu_channel_stride(team),
        .page = (uint64_t)(uintptr_t)nvsi_gpu.state.page,
        .gate = nvsi_gpu_gate(),
    };
}

static bool reduces(const struct nvsi_stream_op *op)
{
    return op->op == NVSI_SOP_ALL_REDUCE || op->op == NVSI_SOP_REDUCE_SCATTER;
}

/* The host's names of types and operators are the kernels'. */
_Static_assert((int)NVSI_BFLOAT16 == NVSD_BFLOAT16 && (int)NVSI_UINT16 == NVSD_UINT16 &&
                   (int)NVSI_COMPLEXD == NVSD_COMPLEXD && (int)NVSI_FLOAT64 == NVSD_FLOAT64,
               "types");
_Static_assert((int)NVSI_AVG == NVSD_AVG && (int)NVSI_XOR == NVSD_XOR && (int)NVSI_MIN == NVSD_MIN,
               "operators");

static int check_type(const struct nvsi_stream_op *op)
{
    if (!reduces(op) || op->dtype != NVSI_LONGDOUBLE)
        return 0;
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: GPUs have no long double: reduce host memory, or double", op->fn);
}

static int check_memory(const struct nvsi_stream_op *op, const char *what, const void *ptr)
{
    if (nvsi_gpu_kernels_reach(ptr))
        return 0;
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: %s (%p) is memory that the GPU of PE %d does not reach: on a stream it "
                      "must be device memory, pinned or managed",
                      op->fn, what, ptr, nvsi.me);
}

static int check_places(const struct nvsi_stream_op *op)
{
    bool reads = op->op != NVSI_SOP_BROADCAST || op->team->team_pe == op->root;
    if (op->op == NVSI_SOP_BARRIER || op->op == NVSI_SOP_SYNC || !op->nelems)
        return 0;
    int status = check_memory(op, "dst", op->dst);
    return status || !reads ? status : check_memory(op, "src", op->src);
}

/* Which side has to be symmetric for the shapes without a channel. All-to-all in place needs a
 * channel: what arrives would overwrite what has not left. */
bool nvsi_gpu_coll_direct(const struct nvsi_stream_op *op)
{
    bool dst = on_device(op->dst), src = on_device(op->src);
    switch (op->op) {
    case NVSI_SOP_ALL_TO_ALL:
        return dst && op->dst != op->src;
    case NVSI_SOP_ALL_REDUCE:
        return dst && src;
    case NVSI_SOP_REDUCE_SCATTER:
        return src;
    default:
        return dst;
    }
}

/* Before the kernels: what the last one on this team has done, in whatever stream. */
static int order_streams(struct nvsi_gpu_call *call)
{
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    CUresult result = cu.cuStreamGetCaptureInfo(call->stream, &status, &id, NULL, NULL, NULL);
    if (result)
        return nvsi_cuda_error(call->fn, result, "use the stream %p", (void *)call->stream);
    id = status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
    struct nvsi_last_call *last = id ? &call->state->captured : &call->state->done;
    if (last->event && last->capture == id && last->stream != call->stream) {
        result = cu.cuStreamWaitEvent(call->stream, last->event, 0);
        if (result)
            return nvsi_cuda_error(call->fn, result, "order two streams of a team");
    }
    last->capture = id;
    last->stream = call->stream;
    call->last = last;
    return 0;
}

int nvsi_gpu_call_begin(struct nvsi_gpu_call *call, const struct nvsi_stream_op *op,
                        CUstream stream)
{
    *call = (struct nvsi_gpu_call){
        .op = op,
        .fn = op->fn,
        .team = op->team,
        .stream = stream,
        .dst = (uint64_t)(uintptr_t)op->dst,
        .src = (uint64_t)(uintptr_t)op->src,
        .nbytes = op->nelems * op->elem_bytes,
        .direct = !op->apart && nvsi_gpu_coll_direct(op),
        .code = reduces(op) ? NVSD_FOLD(op->dtype, op->redop) : 0,
    };
    int status = check_type(op);
    if (!status)
        status = check_places(op);
    if (status || op->team->npes == 1)
        return status;
    call->state = find(op->fn, op->team);
    if (!call->state)
        return NVS_ERR_MEMORY;
    call->shares = call->state->shares;
    call->far = call->state->far;
    fill_members(&call->members, op->team);
    return order_streams(call);
}

int nvsi_gpu_call_end(struct nvsi_gpu_call *call)
{
    if (!call->last)
        return 0;
    int status = nvsi_gpu_coll_event(call->fn, &call->last->event);
    if (status)
        return status;
    CUresult result = cu.cuEventRecord(call->last->event, call->stream);
    return result ? nvsi_cuda_error(call->fn, result, "record an event") : 0;
}
