/*
 * host_coll.c - blocking collectives of the host on device memory.
 *
 * Those that streams have go into a stream, and the call waits for it. Two are only here, since no
 * stream has them: collect, whose blocks have different sizes, and all-to-all with strides. For
 * these the PEs meet on the host and put their blocks where they belong.
 *
 * Whether a call is one on device memory each PE finds out from its own arguments. Symmetric
 * addresses agree about that. Of ordinary memory, which calls of nvs.h take, all PEs must pass the
 * GPU's or all the host's; if they do not, all hear of it.
 */
#include <stdlib.h>

#include "coll/coll.h"
#include "gpu/coll.h"
#include "gpu/host_ops.h"
#include "gpu/window.h"
#include "stream/stream.h"
#include "wait.h"

/* ---- those that streams have -------------------------------------------------------------------
 */

static const enum nvsi_sop sops[] = {
    [NVSI_KIND_BROADCAST] = NVSI_SOP_BROADCAST,
    [NVSI_KIND_ALL_GATHER] = NVSI_SOP_ALL_GATHER,
    [NVSI_KIND_ALL_TO_ALL] = NVSI_SOP_ALL_TO_ALL,
    [NVSI_KIND_ALL_REDUCE] = NVSI_SOP_ALL_REDUCE,
    [NVSI_KIND_REDUCE_SCATTER] = NVSI_SOP_REDUCE_SCATTER,
};

/* Each team has a stream of its own: what waits in it for other PEs must hold up neither other
 * teams' collectives, which the PEs' threads may call in another order, nor puts. */
static struct {
    pthread_mutex_t lock;
    CUstream of_slot[NVSI_MAX_TEAMS];
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int stream_of(const char *fn, const struct nvsi_team *team, CUstream *stream)
{
    *stream = nvsi_gpu.stream;
    if (team->slot < 0)
        return 0;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&streams.lock);
    if (!streams.of_slot[team->slot])
        result =
            cu.cuStreamCreateWithPriority(&streams.of_slot[team->slot], CU_STREAM_NON_BLOCKING, 0);
    *stream = streams.of_slot[team->slot];
    pthread_mutex_unlock(&streams.lock);
    return result ? nvsi_cuda_error(fn, result, "make a stream") : 0;
}

void nvsi_gpu_coll_streams_close(void)
{
    for (int slot = 0; slot < NVSI_MAX_TEAMS; slot++) {
        if (streams.of_slot[slot])
            (void)cu.cuStreamDestroy(streams.of_slot[slot]);
        streams.of_slot[slot] = NULL;
    }
}

/* A blocking call may ask before it begins. So memory of nvs.h calls may be of another kind on each
 * PE, as long as it is the GPU's; with memory of the host the others are in the collective of the
 * host now, which finds that they disagree. */
static int agree_on_memory(struct nvsi_team *team, struct nvsi_stream_op *op)
{
    uint8_t direct = nvsi_gpu_coll_direct(op), *all = calloc((size_t)team->npes, 1);
    struct nvsi_coll_args args = {.fn = op->fn,
                                  .dst = all,
                                  .src = &direct,
                                  .nelems = 1,
                                  .dtype = -1,
                                  .elem_bytes = 1,
                                  .op = NVSI_OP_ON_GPU,
                                  .dst_stride = 1,
                                  .src_stride = 1};
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory", op->fn);
    int status = nvsi_all_gather(team, &args);
    for (int i = 0; i < team->npes; i++)
        op->apart |= !all[i];
    free(all);
    return status;
}

static int on_its_stream(int kind, struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    bool root_keeps = args->root_keeps && team->team_pe == args->root;
    struct nvsi_stream_op op = {.op = sops[kind],
                                .fn = args->fn,
                                /* in place: nothing is written at the root */
                                .dst = root_keeps ? (void *)(uintptr_t)args->src : args->dst,
                                .src = args->src,
                                .nelems = args->nelems,
                                .elem_bytes = args->elem_bytes,
                                .pe = -1,
                                .team = team,
                                .dtype = args->dtype,
                                .redop = args->op,
                                .root = args->root,
                                .symmetric = args->flags & NVSI_COLL_SYMMETRIC};
    CUstream stream;
    int status = op.symmetric || team->npes == 1 ? 0 : agree_on_memory(team, &op);
    if (!status)
        status = stream_of(args->fn, team, &stream);
    if (!status)
        status = nvsi_gpu_on_stream(&op, stream);
    return status ? status : nvsi_gpu_synchronize(args->fn, stream);
}

/* ---- those that are only here ------------------------------------------------------------------
 */

static int locate(const struct nvsi_team *team, const struct nvsi_coll_args *args, int member,
                  size_t first, size_t span, struct nvsi_remote *at)
{
    const char *dst = (const char *)args->dst + first * args->elem_bytes;
    int status =
        nvsi_locate(NULL, args->fn, "dst", dst, span, args->elem_bytes, team->pes[member], at);
    if (!status && at->seg == NVSI_SEG_DEVICE && nvsi_gpu.reach[at->pe] == NVSI_GPU_HIDDEN)
        status = nvsi_error(NVS_ERR_UNSUPPORTED,
                            "%s: PE %d does not reach the memory of the GPU of PE %d: "
                            "CUDA_VISIBLE_DEVICES hides it from this process",
                            args->fn, nvsi.me, at->pe);
    return status;
}

/* How many elements the members bring; also says that all have entered. */
static int gather_counts(struct nvsi_team *team, const struct nvsi_coll_args *args,
                         uint64_t *counts)
{
    uint64_t mine = args->nelems;
    return nvsi_gather(args->fn, team, NVSI_AT_COLLECT, &mine, sizeof mine, counts);
}

static int put_to_all(const struct nvsi_team *team, const struct nvsi_coll_args *args, size_t first)
{
    int status = 0;
    for (int i = 0; !status && args->nelems && i < team->npes; i++) {
        struct nvsi_remote at;
        int member = (team->team_pe + i) % team->npes;
        status = locate(team, args, member, first, args->nelems, &at);
        if (!status)
            status =
                nvsi_gpu_copy(args->fn, nvsi_gpu_remote(&at), (CUdeviceptr)(uintptr_t)args->src,
                              args->nelems * args->elem_bytes);
    }
    return status ? status : nvsi_gpu_complete(args->fn);
}

/* Whether the blocks of all fit at dst; the sum is the same on all PEs. */
static int check_sum(const struct nvsi_team *team, const struct nvsi_coll_args *args,
                     const uint64_t *counts, size_t *first)
{
    uint64_t total = 0;
    bool overflow = false;
    struct nvsi_remote at;
    for (int i = 0; i < team->npes; i++) {
        if (i == team->team_pe)
            *first = total;
        overflow |= __builtin_add_overflow(total, counts[i], &total);
    }
    return locate(team, args, team->team_pe, 0, overflow ? SIZE_MAX : total, &at);
}

static int collect(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    uint64_t *counts = calloc((size_t)team->npes, sizeof *counts);
    size_t first = 0;
    if (!counts)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the counts of %d PEs", args->fn,
                          team->npes);
    int status = gather_counts(team, args, counts);
    if (!status)
        status = check_sum(team, args, counts, &first);
    free(counts);
    return status ? status /* of all: they have the same sum */
                  : nvsi_window_agree(args->fn, team, NVSI_AT_COLLECT,
                                      put_to_all(team, args, first), 0);
}

static int alltoalls(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    struct nvsi_strided shape = {.dst_stride = args->dst_stride,
                                 .src_stride = args->src_stride,
                                 .nelems = args->nelems,
                                 .elem_bytes = args->elem_bytes};
    size_t block = args->nelems * (size_t)args->dst_stride * (size_t)team->team_pe;
    size_t span = (args->nelems - 1) * (size_t)args->dst_stride + 1;
    int status = nvsi_sync_within(args->fn, team, NVSI_AT_ALL_TO_ALL);
    if (status)
        return status;
    for (int i = 0; !status && i < team->npes; i++) {
        struct nvsi_remote at;
        int member = (team->team_pe + i) % team->npes;
        const char *src = (const char *)args->src + (size_t)member * args->nelems *
                                                        (size_t)args->src_stride * args->elem_bytes;
        status = locate(team, args, member, block, span, &at);
        if (!status)
            status = nvsi_gpu_iput(args->fn, &at, src, &shape);
    }
    return nvsi_window_agree(args->fn, team, NVSI_AT_ALL_TO_ALL, status, 0);
}

/* ---- the way in --------------------------------------------------------------------------------
 */

static bool is_ours(int kind, const struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    if (kind == NVSI_KIND_SYNC || (!args->nelems && kind != NVSI_KIND_COLLECT))
        return false;
    bool reads = kind != NVSI_KIND_BROADCAST || team->team_pe == args->root;
    return nvsi_gpu_is_device(args->dst) || (reads && nvsi_gpu_is_device(args->src));
}

/* Active sets are made without a word between their members; their first collective here is where
 * they get a channel. */
static int have_channel(struct nvsi_team *team, const char *fn)
{
    if (team->npes == 1 || nvsi_window_has_channel(team))
        return 0;
    return nvsi_gpu_team_made(fn, team);
}

static int run(int kind, struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    if (team->broken)
        return nvsi_error(team->broken, "%s: an earlier collective of this team failed", args->fn);
    int status = have_channel(team, args->fn);
    if (status)
        return status;
    if (kind == NVSI_KIND_COLLECT)
        return collect(team, args);
    if (kind == NVSI_KIND_ALL_TO_ALL && (args->dst_stride != 1 || args->src_stride != 1))
        return alltoalls(team, args);
    return on_its_stream(kind, team, args);
}

int nvsi_gpu_collective(int kind, struct nvsi_team *team, const struct nvsi_coll_args *args,
                        bool *taken)
{
    CUcontext before;
    *taken = is_ours(kind, team, args);
    if (!*taken)
        return 0;
    int status = nvsi_gpu_enter(args->fn, &before);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_NOTHING, team->slot, -1, args->nelems * args->elem_bytes);
    status = run(kind, team, args);
    nvsi_flight_leave();
    nvsi_gpu_leave(before);
    return status;
}
