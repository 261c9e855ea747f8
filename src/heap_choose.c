/*
 * heap_choose.c - host memory or GPU memory?
 *
 * nvshmem_malloc returns GPU memory if every PE has selected a GPU by then, else host memory, so
 * that a program for hosts runs on a machine with GPUs as it ever did. All PEs must come to the
 * same answer: at the first such call of a session they tell each other what they have, and what
 * NVS_HEAP_KIND wants; the answer then holds until finalize.
 *
 * Whether there is a GPU at all is only asked when somebody has selected one: a driver takes long
 * to start. So there may be two rounds.
 */
#include "gpu/gpu.h"
#include "heap.h"

enum { CHOOSE = 8 }; /* in `kind`, beside that of the allocation */

static const char *const kind_words[] = {"auto", "device", "sysmem"};

static bool wants_device(int flags)
{
    return (flags & NVSI_HEAP_ON_GPU) || nvsi.config.heap_kind == NVSI_MEMORY_DEVICE;
}

/* One round. ask: find out exactly what is there. */
static int tell(const char *fn, int flags, const struct nvsi_heap_request *wanted, bool ask)
{
    struct nvsi_heap_request mine = *wanted;
    enum nvsi_gpu_presence have;
    if (ask || wants_device(flags))
        have = nvsi_gpu_presence();
    else
        have = nvsi_gpu_selected() ? NVSI_GPU_SELECTED : NVSI_GPU_ABSENT;
    mine.kind |= CHOOSE;
    mine.heap = (uint32_t)flags & (NVSI_HEAP_ON_GPU | NVSI_HEAP_CHOICE);
    mine.wish = (uint32_t)nvsi.config.heap_kind;
    mine.presence = (uint32_t)have;
    return nvsi_heap_agree(fn, &mine);
}

static int first_with(enum nvsi_gpu_presence presence)
{
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (nvsi_allocations.requests[pe].presence == (uint32_t)presence)
            return pe;
    return -1;
}

static int check_wishes(const char *fn)
{
    const struct nvsi_heap_request *all = nvsi_allocations.requests;
    for (int pe = 1; pe < nvsi.npes; pe++)
        if (all[pe].wish != all[0].wish)
            return nvsi_error(
                NVS_ERR_MISMATCH,
                "%s: NVS_HEAP_KIND is %s on PE %d, but %s on PE 0: it must be the same "
                "for all",
                fn, kind_words[all[pe].wish % 3], pe, kind_words[all[0].wish % 3]);
    return 0;
}

static int no_gpu(const char *fn, int pe)
{
    if (pe == nvsi.me)
        return nvsi_error(NVS_ERR_UNSUPPORTED,
                          "%s: PE %d has no GPU: %s (nvs_malloc returns "
                          "symmetric memory of the host)",
                          fn, pe, nvsi_cuda_reason());
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: PE %d has no GPU (nvs_malloc returns symmetric memory of the host)", fn,
                      pe);
}

/* Some have selected a GPU, and others have not. */
static int decide_mixed(const char *fn, int *number)
{
    int absent = first_with(NVSI_GPU_ABSENT), unused = first_with(NVSI_GPU_UNUSED);
    *number = NVSI_HEAP_HOST;
    if (absent < 0 && unused >= 0)
        return nvsi_error(
            NVS_ERR_STATE,
            "%s: PE %d has not selected a GPU, but PE %d has: call cudaSetDevice before "
            "the first nvshmem_malloc (NVS_HEAP_KIND=sysmem asks for host memory)",
            fn, unused, first_with(NVSI_GPU_SELECTED));
    if (absent >= 0 && nvsi.me == 0)
        nvsi_log(NVSI_LOG_WARN,
                 "%s returns host memory, since PE %d has no GPU (PE %d has selected one)", fn,
                 absent, first_with(NVSI_GPU_SELECTED));
    return 0;
}

static int decide(const char *fn, int flags, const struct nvsi_heap_request *wanted, int *number)
{
    bool some = first_with(NVSI_GPU_SELECTED) >= 0, others;
    others = first_with(NVSI_GPU_ABSENT) >= 0 || first_with(NVSI_GPU_UNUSED) >= 0;
    if (wants_device(flags)) {
        int absent = first_with(NVSI_GPU_ABSENT);
        *number = NVSI_HEAP_DEVICE;
        return absent < 0 ? 0 : no_gpu(fn, absent);
    }
    *number = some ? NVSI_HEAP_DEVICE : NVSI_HEAP_HOST;
    if (!some || !others)
        return 0;
    int status = tell(fn, flags, wanted, true);
    return status ? status : decide_mixed(fn, number);
}

/* Stage two, and the heap over it. */
static int open_device(const char *fn)
{
    if (nvsi_heaps[NVSI_HEAP_DEVICE].blocks)
        return 0;
    int status = nvsi_gpu_open(fn);
    if (status)
        return status;
    status = nvsi_heap_open_one(fn, NVSI_HEAP_DEVICE);
    status = nvsi_heap_agree_on_status(fn, NVSI_AT_MALLOC, status, 0);
    if (status && nvsi_heaps[NVSI_HEAP_DEVICE].blocks) {
        nvsi_tlsf_destroy(nvsi_heaps[NVSI_HEAP_DEVICE].blocks);
        nvsi_heaps[NVSI_HEAP_DEVICE].blocks = NULL;
    }
    return status;
}

int nvsi_heap_choose(const char *fn, int flags, const struct nvsi_heap_request *wanted, int *number)
{
    int status = 0;
    if (flags & NVSI_HEAP_ON_GPU) {
        *number = NVSI_HEAP_DEVICE;
        if (nvsi_heaps[NVSI_HEAP_DEVICE].blocks)
            return 0;
    } else if (nvsi_allocations.chosen) {
        *number = nvsi_allocations.choice;
        return 0;
    } else if (nvsi.config.heap_kind == NVSI_MEMORY_SYSMEM) {
        /* No less an exchange: the others may want something else. */
        *number = NVSI_HEAP_HOST;
    }
    status = tell(fn, flags, wanted, false);
    if (!status)
        status = check_wishes(fn);
    if (!status && (nvsi.config.heap_kind != NVSI_MEMORY_SYSMEM || (flags & NVSI_HEAP_ON_GPU)))
        status = decide(fn, flags, wanted, number);
    if (!status && *number == NVSI_HEAP_DEVICE)
        status = open_device(fn);
    if (status || (flags & NVSI_HEAP_ON_GPU))
        return status;
    nvsi_allocations.chosen = true;
    nvsi_allocations.choice = *number;
    return 0;
}
