/*
 * open.c - stage two: all PEs open their GPUs together.
 *
 * Each PE opens what it needs alone, then all tell each other what they have: which GPU (by its
 * unique number, since each process may count its GPUs in its own way), how much memory, where
 * descriptors are to be sent. From that each finds out which PEs share its GPU and whose memory its
 * GPU can reach. Then the windows are laid out, the same on all, and the teams that exist get their
 * channels. Every step that can fail on one PE ends with an exchange, so that all fail or none.
 */
#include <stdlib.h>
#include <string.h>

#include "boot/crash.h"
#include "gpu/coll.h"
#include "gpu/open.h"
#include "transport/transport.h"
#include "wait.h"

#define GIB ((uint64_t)1 << 30)

static struct nvsi_hello *all; /* what all PEs have told, one per PE */
static struct nvsi_unreachable unreachable;

/* ---- telling each other -----------------------------------------------------------------------
 */

static int gather(const char *fn, const void *mine, size_t nbytes, void *into)
{
    int status = nvsi_gather(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC, mine, nbytes, into);
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, 0); /* the exchange has ended its own record */
    return status;
}

static int failed_elsewhere(const char *fn, int pe, int64_t status)
{
    return nvsi_error((int)status, "%s: PE %d could not open its GPU (its own message says why)",
                      fn, pe);
}

static int meet(const char *fn, struct nvsi_hello *mine, int status)
{
    mine->status = status;
    int gathered = gather(fn, mine, sizeof *mine, all);
    if (status || gathered)
        return status ? status : gathered;
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (all[pe].status)
            return failed_elsewhere(fn, pe, all[pe].status);
    return 0;
}

struct outcome {
    int64_t status, unreachable;
};

/* Of all PEs that do not reach somebody, the first one says so. */
static int agree(const char *fn, int status)
{
    struct outcome mine = {status, unreachable.pe};
    struct outcome *answers = calloc((size_t)nvsi.npes, sizeof *answers);
    if (!answers)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory", fn);
    int gathered = gather(fn, &mine, sizeof mine, answers);
    status = status ? status : gathered;
    for (int pe = 0; !status && pe < nvsi.npes; pe++)
        if (answers[pe].status)
            status = failed_elsewhere(fn, pe, answers[pe].status);
    bool first = unreachable.pe >= 0;
    for (int pe = 0; first && pe < nvsi.me; pe++)
        first = answers[pe].unreachable < 0;
    free(answers);
    if (first && !status)
        nvsi_gpu_warn_unreachable(all, &unreachable);
    unreachable.pe = -1;
    return status;
}

/* ---- the layout, and what kernels know of it --------------------------------------------------
 */

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

static void lay_out(void)
{
    uint64_t total = 0;
    for (int pe = 0; pe < nvsi.npes; pe++) {
        total = all[pe].total_bytes > total ? all[pe].total_bytes : total;
        if (all[pe].granule > nvsi_gpu.granule)
            nvsi_gpu.granule = all[pe].granule;
    }
    uint64_t channels = NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES;
    nvsi_gpu.heap_bytes = round_up(2 * total, GIB);
    nvsi_gpu.window_bytes = channels + nvsi_gpu.heap_bytes;
    nvsi_gpu.stride = (int64_t)round_up(nvsi_gpu.window_bytes, NVSI_HEAP_ALIGN_MAX);
}

static void fill_state(void)
{
    struct nvsi_dev_state *state = &nvsi_gpu.state;
    uint64_t channels = NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES;
    state->version = NVSI_DEV_VERSION;
    state->me = nvsi.me;
    state->npes = nvsi.npes;
    state->checks = nvsi.config.check;
    state->heap = (uint64_t)(uintptr_t)nvsi_gpu.window + channels;
    state->heap_bytes = nvsi_gpu.heap_bytes;
    state->stride = nvsi_gpu.stride;
    state->node_pe = nvsi.me;
    state->node_npes = nvsi.npes;
    /* Host memory only where the GPU uses the host's own page tables: to register a heap would take
     * all of its address space as memory. */
    if (nvsi.npes > 0 &&
        nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)) {
        char *mine = nvsi.peers[nvsi.me].mapped[NVSI_SEG_HEAP];
        state->host_heap = (uint64_t)(uintptr_t)mine;
        state->host_bytes = nvsi.seg[NVSI_SEG_HEAP].size;
        if (nvsi.npes > 1)
            state->host_stride =
                nvsi.peers[1].mapped[NVSI_SEG_HEAP] - nvsi.peers[0].mapped[NVSI_SEG_HEAP];
    }
}

static int open_window(const char *fn)
{
    struct nvsi_fdpass_address *addresses = calloc((size_t)nvsi.npes, sizeof *addresses);
    if (!addresses)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for %d PEs", fn, nvsi.npes);
    for (int pe = 0; pe < nvsi.npes; pe++)
        addresses[pe] = all[pe].address;
    int status = nvsi_fdpass_connect(fn, addresses);
    free(addresses);
    lay_out();
    if (!status)
        status = nvsi_gpu_look_around(fn, all, &unreachable);
    if (!status)
        status = nvsi_window_open(fn);
    return status ? status : nvsi_gpu_put_reach(fn);
}

/* ---- open and close ---------------------------------------------------------------------------
 */

static void go_up(void)
{
    nvsi.seg[NVSI_SEG_DEVICE] = (struct nvsi_segment){
        .base = (char *)(uintptr_t)nvsi_gpu.state.heap, .size = nvsi_gpu.heap_bytes};
    nvsi_gpu.up = true;
    nvsi.delays = true;
    nvsi.device = &nvsi_gpu_device;
}

/* The part of stage two that all do together; each PE has its context. */
static int open_together(const char *fn)
{
    int status = agree(fn, open_window(fn));
    if (!status) {
        NVSI_CRASH_POINT(gpu_window_open);
        fill_state();
        status = nvsi_gpu_open_channels(fn);
    }
    if (!status)
        status = nvsi_gpu_coll_open(fn);
    if (!status)
        status = nvsi_gpu_far_open(fn);
    if (status)
        return status;
    status = nvsi_gpu_show_teams(fn);
    if (!status)
        status = nvsi_gpu_publish(fn);
    if (!status && nvsi_gpu_has_kernels())
        status = nvsi_gpu_load_kernels(fn);
    if (!status)
        status = nvsi_gpu_watch();
    NVSI_CRASH_POINT(gpu_published);
    return agree(fn, status);
}

int nvsi_gpu_open(const char *fn)
{
    struct nvsi_hello mine = {0};
    CUcontext before;
    if (nvsi_gpu.up)
        return 0;
    unreachable.pe = -1;
    all = calloc((size_t)nvsi.npes, sizeof *all);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for %d PEs", fn, nvsi.npes);
    int status = meet(fn, &mine, nvsi_gpu_open_alone(fn, &mine));
    NVSI_CRASH_POINT(gpu_met);
    if (!status)
        status = nvsi_gpu_enter(fn, &before);
    if (!status) {
        status = open_together(fn);
        nvsi_gpu_leave(before);
    }
    free(all);
    all = NULL;
    if (status)
        nvsi_gpu_close();
    else
        go_up();
    return status;
}

/* Everything that needs the context; in the reverse order of opening. */
static void close_inside(void)
{
    nvsi_gpu_withdraw();
    (void)cu.cuCtxSynchronize();
    nvsi_gpu_awaits_close();
    nvsi_gpu_unload();
    nvsi_gpu_coll_close();
    nvsi_gpu_values_close();
    nvsi_gpu_ops_close();
    nvsi_window_close();
    if (nvsi_gpu.state.reach)
        (void)cu.cuMemFree((CUdeviceptr)(uintptr_t)nvsi_gpu.state.reach);
    if (nvsi_gpu.page)
        (void)cu.cuMemFreeHost(nvsi_gpu.page);
    if (nvsi_gpu.stream)
        (void)cu.cuStreamDestroy(nvsi_gpu.stream);
}

void nvsi_gpu_close(void)
{
    CUcontext before;
    nvsi_buffer_unregister_all("finalize");
    if (!nvsi_gpu.retained)
        return;
    nvsi.device = NULL;
    nvsi_gpu_unwatch();
    if (nvsi_gpu_enter("finalize", &before) == 0) {
        close_inside();
        nvsi_gpu_leave(before);
    }
    nvsi_fdpass_close();
    nvsi_gpu_release_peers();
    if (nvsi_gpu.owns_selection && !cu.cuCtxGetCurrent(&before) && before == nvsi_gpu.context)
        (void)cu.cuCtxSetCurrent(NULL);
    (void)cu.cuDevicePrimaryCtxRelease(nvsi_gpu.device);
    free(nvsi_gpu.reach);
    free(nvsi_gpu.ordinals);
    memset(&nvsi_gpu, 0, sizeof nvsi_gpu);
}
