/*
 * coll_parts.c - what the shapes of collectives are made of: streams beside the call's, scratch,
 * meetings, copies, grids.
 */
#include <stdlib.h>

#include "gpu/coll.h"

/* ---- streams beside the call's -----------------------------------------------------------------
 */

int nvsi_gpu_coll_event(const char *fn, CUevent *event)
{
    if (*event)
        return 0;
    CUresult result = cu.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    return result ? nvsi_cuda_error(fn, result, "make an event") : 0;
}

/* What is made while a stream of this thread is captured has nothing to do with the capture. */
static int relaxed(int mode)
{
    (void)cu.cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

int nvsi_gpu_call_sides(struct nvsi_gpu_call *call)
{
    int mode = relaxed(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult result = CUDA_SUCCESS;
    int status = 0;
    for (int i = 0; !result && i < NVSI_NUM_SIDES; i++)
        if (!call->state->sides[i])
            result =
                cu.cuStreamCreateWithPriority(&call->state->sides[i], CU_STREAM_NON_BLOCKING, 0);
    for (int i = 0; !result && !status && i < NVSI_NUM_MARKS; i++)
        status = nvsi_gpu_coll_event(call->fn, &call->state->marks[i]);
    (void)relaxed(mode);
    return result ? nvsi_cuda_error(call->fn, result, "make a stream") : status;
}

CUstream nvsi_gpu_call_side(const struct nvsi_gpu_call *call, int side)
{
    return call->state->sides[side];
}

int nvsi_gpu_call_mark(struct nvsi_gpu_call *call, int mark, CUstream first)
{
    CUresult result = cu.cuEventRecord(call->state->marks[mark], first);
    return result ? nvsi_cuda_error(call->fn, result, "record an event") : 0;
}

int nvsi_gpu_call_after(struct nvsi_gpu_call *call, int mark, CUstream then)
{
    CUresult result = cu.cuStreamWaitEvent(then, call->state->marks[mark], 0);
    return result ? nvsi_cuda_error(call->fn, result, "order two streams") : 0;
}

int nvsi_gpu_call_order(struct nvsi_gpu_call *call, int mark, CUstream first, CUstream then)
{
    int status = nvsi_gpu_call_mark(call, mark, first);
    return status ? status : nvsi_gpu_call_after(call, mark, then);
}

static int make_scratch(struct nvsi_gpu_call *call, uint64_t nbytes)
{
    struct nvsi_gpu_scratch *made = malloc(sizeof *made);
    if (!made)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory", call->fn);
    int mode = relaxed(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult result = cu.cuMemAlloc(&made->address, nbytes);
    (void)relaxed(mode);
    if (result) {
        free(made);
        return nvsi_cuda_error(
            call->fn, result,
            "take %llu bytes of device memory to reduce in (NVS_GPU_CHUNK_BYTES makes it less)",
            (unsigned long long)nbytes);
    }
    made->nbytes = nbytes;
    made->next = call->state->scratch;
    call->state->scratch = made;
    return 0;
}

int nvsi_gpu_call_scratch(struct nvsi_gpu_call *call, uint64_t nbytes, uint64_t *address)
{
    struct nvsi_gpu_team *state = call->state;
    int status = 0;
    if (!state->scratch || state->scratch->nbytes < nbytes)
        status = make_scratch(call, nbytes);
    if (status)
        return status;
    /* It was there, or has just been made, which the checker cannot know. */
    *address = state->scratch->address; // NOLINT(clang-analyzer-core.NullDereference)
    return 0;
}

/* ---- parts -------------------------------------------------------------------------------------
 */

void nvsi_gpu_grid(uint64_t nvectors, int most, unsigned *nblocks, unsigned *nthreads)
{
    uint64_t threads = (nvectors + 31) / 32 * 32;
    *nthreads = threads < 32 ? 32 : threads > NVSK_THREADS ? NVSK_THREADS : (unsigned)threads;
    uint64_t blocks = (nvectors + *nthreads - 1) / *nthreads;
    *nblocks = blocks < 1 ? 1 : blocks > (uint64_t)most ? (unsigned)most : (unsigned)blocks;
}

static uint16_t unit_of(uint64_t address)
{
    return (uint16_t)((address | 16) & (0 - (address | 16)));
}

struct nvsk_view nvsi_gpu_view(uint64_t dst, uint64_t src, uint64_t nbytes, size_t elem_bytes)
{
    uint64_t head = (0 - dst) % 16;
    head = head < nbytes ? head : nbytes;
    struct nvsk_view view = {.nbytes = nbytes, .unit = 16, .head_unit = unit_of(dst | src)};
    if ((dst ^ src) % 16 == 0 && head % elem_bytes == 0) {
        view.head = (uint32_t)head;
        if (head == nbytes) /* all of it: no vector is left */
            view.unit = view.head_unit;
        return view;
    }
    view.unit = view.head_unit;
    return view;
}

int nvsi_gpu_call_meet(struct nvsi_gpu_call *call)
{
    if (call->shares)
        return nvsi_gpu_meet(call->fn, call->team, call->stream);
    struct nvsk_barrier_args args = {.team = call->members};
    unsigned nblocks, nthreads;
    nvsi_gpu_grid((uint64_t)call->team->npes, 1, &nblocks, &nthreads);
    return nvsi_gpu_launch(call->fn, NVSI_KERNEL_nvsk_barrier, nblocks, nthreads, call->stream,
                           &args);
}

int nvsi_gpu_call_copy(struct nvsi_gpu_call *call, CUstream stream, uint64_t dst, uint64_t src,
                       uint64_t nbytes)
{
    if (dst == src || nbytes == 0)
        return 0;
    CUresult result = cu.cuMemcpyAsync(dst, src, nbytes, stream);
    return result ? nvsi_cuda_error(call->fn, result, "copy %llu bytes on a stream",
                                    (unsigned long long)nbytes)
                  : 0;
}
