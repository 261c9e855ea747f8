/*
 * host_ops.c - host calls on device memory: put, get, atomics and signals of any mixture of host
 * and device memory.
 *
 * All of it runs on one stream of our own, in the order of the calls; the default stream would wait
 * for the program's kernels, which may wait for this very call. Bulk goes by the copy engine. A
 * word of device memory is changed by the GPU alone, by a kernel of one thread, so that host
 * callers of several PEs and kernels can hammer on the same word.
 *
 * A blocking call waits for the stream. Others count as issued, and quiet, or fence, waits until as
 * many are completed. The two numbers only grow, so threads need not know of each other.
 */
#include "gpu/gpu.h"

#include "fast.h"
#include "gpu/host_ops.h"
#include "gpu/kernels/args.h"
#include "wait.h"

enum { NUM_RESULTS = 64 };

static struct {
    _Atomic uint64_t issued, completed;
    uint64_t *results; /* pinned, one for each atomic that somebody waits for */
    CUdeviceptr results_seen;
    _Atomic uint64_t taken; /* a bit for each of them */
} ops;

int nvsi_gpu_ops_open(const char *fn)
{
    CUresult result = cu.cuMemHostAlloc((void **)&ops.results, NUM_RESULTS * sizeof *ops.results,
                                        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (!result)
        result = cu.cuMemHostGetDevicePointer(&ops.results_seen, ops.results, 0);
    ops.taken = 0;
    ops.issued = ops.completed = 0;
    return result ? nvsi_cuda_error(fn, result, "take pinned memory of the host") : 0;
}

void nvsi_gpu_ops_close(void)
{
    nvsi_gpu_coll_streams_close();
    nvsi_gpu_strided_close();
    if (ops.results)
        (void)cu.cuMemFreeHost(ops.results);
    ops.results = NULL;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static bool in_a_window(const void *ptr)
{
    const char *first = nvsi_gpu.window - (int64_t)nvsi.me * nvsi_gpu.stride;
    return (size_t)((const char *)ptr - first) < (size_t)nvsi_gpu.stride * (size_t)nvsi.npes;
}

static bool in_host_heap(const void *ptr)
{
    for (int s = 0; s < NVSI_SEG_DEVICE; s++)
        if ((size_t)((const char *)ptr - nvsi.seg[s].base) < nvsi.seg[s].size)
            return true;
    return false;
}

bool nvsi_gpu_is_device(const void *ptr)
{
    unsigned type = 0, managed = 0;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)ptr;
    CUcontext before;
    if (!nvsi_gpu.up || !ptr || in_host_heap(ptr))
        return false;
    if (in_a_window(ptr))
        return true;
    if (nvsi_gpu_enter("an operation", &before))
        return false;
    bool device = !cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) &&
                  type == CU_MEMORYTYPE_DEVICE;
    if (device && !cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at))
        device = !managed;
    nvsi_gpu_leave(before);
    return device;
}

CUdeviceptr nvsi_gpu_remote(const struct nvsi_remote *at)
{
    if (at->seg != NVSI_SEG_DEVICE)
        return (CUdeviceptr)(uintptr_t)(nvsi.peers[at->pe].mapped[at->seg] + at->offset);
    return (CUdeviceptr)(uintptr_t)nvsi_window_at(
        at->pe, NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES + at->offset);
}

bool nvsi_gpu_is_direct(const struct nvsi_remote *at)
{
    return at->seg == NVSI_SEG_DEVICE && nvsi_gpu.reach[at->pe] == NVSI_GPU_DIRECT;
}

static int out_of_reach(const char *fn, int pe)
{
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: PE %d does not reach the memory of the GPU of PE %d%s", fn, nvsi.me, pe,
                      nvsi_gpu.reach[pe] == NVSI_GPU_HIDDEN
                          ? ": CUDA_VISIBLE_DEVICES hides it from this process"
                          : " by loads and stores, which atomics need");
}

static int check_reach(const char *fn, const struct nvsi_remote *at)
{
    if (at->seg != NVSI_SEG_DEVICE || nvsi_gpu.reach[at->pe] != NVSI_GPU_HIDDEN)
        return 0;
    return out_of_reach(fn, at->pe);
}

/* ---- issued and completed ---------------------------------------------------------------------
 */

void nvsi_gpu_issued(void)
{
    atomic_fetch_add(&ops.issued, 1);
}

int nvsi_gpu_complete(const char *fn)
{
    uint64_t wanted = atomic_load(&ops.issued), completed = atomic_load(&ops.completed);
    if (completed >= wanted)
        return nvsi_gpu_reported(fn);
    int status = nvsi_gpu_synchronize(fn, nvsi_gpu.stream);
    while (!status && completed < wanted &&
           !atomic_compare_exchange_weak(&ops.completed, &completed, wanted))
        ;
    return status;
}

static int quiet(struct nvsi_ctx *ctx)
{
    CUcontext before;
    (void)ctx;
    int status = nvsi_gpu_enter("quiet", &before);
    if (status)
        return status;
    status = nvsi_gpu_complete("quiet");
    nvsi_gpu_leave(before);
    return status;
}

/* ---- copies -----------------------------------------------------------------------------------
 */

int nvsi_gpu_copy(const char *fn, CUdeviceptr dst, CUdeviceptr src, size_t nbytes)
{
    CUresult result = cu.cuMemcpyAsync(dst, src, nbytes, nvsi_gpu.stream);
    nvsi_gpu_issued();
    return result ? nvsi_cuda_error(fn, result, "copy %zu bytes", nbytes) : 0;
}

/* In the context; wait: until it is done. */
static int copy_now(const char *fn, CUdeviceptr dst, CUdeviceptr src, size_t nbytes, bool wait)
{
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    status = nvsi_gpu_copy(fn, dst, src, nbytes);
    if (!status && wait)
        status = nvsi_gpu_complete(fn);
    nvsi_gpu_leave(before);
    return status;
}

static int put(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src, size_t nbytes,
               bool nbi)
{
    (void)ctx;
    int status = check_reach("put", at);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_PUT, -1, at->pe, nbytes);
    status = copy_now("put", nvsi_gpu_remote(at), (CUdeviceptr)(uintptr_t)src, nbytes, !nbi);
    nvsi_flight_leave();
    nvsi_wake(at->pe);
    return status;
}

static int get(struct nvsi_ctx *ctx, const struct nvsi_remote *at, void *dst, size_t nbytes,
               bool nbi)
{
    (void)ctx;
    int status = check_reach("get", at);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_GET, -1, at->pe, nbytes);
    status = copy_now("get", (CUdeviceptr)(uintptr_t)dst, nvsi_gpu_remote(at), nbytes, !nbi);
    nvsi_flight_leave();
    return status;
}

static int read_words(const char *fn, void *dst, const void *src, size_t nbytes)
{
    return copy_now(fn, (CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, nbytes, true);
}

/* ---- atomics ----------------------------------------------------------------------------------
 */

static int take_result(void)
{
    struct nvsi_wait wait = {0};
    uint64_t taken = atomic_load(&ops.taken);
    for (;;) {
        while (~taken) {
            int free_one = __builtin_ctzll(~taken);
            if (atomic_compare_exchange_weak(&ops.taken, &taken, taken | UINT64_C(1) << free_one))
                return free_one;
        }
        /* As many threads as there are results: one of them is about to be done. */
        if (nvsi_wait_round(&wait, -1))
            return -1;
        taken = atomic_load(&ops.taken);
    }
}

static int launch_amo(const char *fn, const struct nvsk_amo_args *args)
{
    int status = nvsi_gpu_launch(fn, NVSI_KERNEL_nvsk_amo, 1, 1, nvsi_gpu.stream, args);
    nvsi_gpu_issued();
    return status;
}

static int fetching(const char *fn, struct nvsk_amo_args *args, uint64_t *old)
{
    int slot = take_result();
    if (slot < 0)
        return NVS_ERR_PE_LOST;
    args->result = ops.results_seen + (uint64_t)slot * sizeof *ops.results;
    int status = launch_amo(fn, args);
    if (!status)
        status = nvsi_gpu_complete(fn);
    uint64_t value = __atomic_load_n(&ops.results[slot], __ATOMIC_ACQUIRE);
    if (!status)
        *old = args->nbytes == 4 ? (uint32_t)value : value;
    atomic_fetch_and(&ops.taken, ~(UINT64_C(1) << slot));
    return status;
}

/* A load or a store of a whole word needs no kernel, and works where no kernel gets. */
static int move_word(const char *fn, enum nvsi_amo_code code, CUdeviceptr word, size_t nbytes,
                     uint64_t operand, uint64_t *old)
{
    uint64_t value = operand;
    CUdeviceptr here = (CUdeviceptr)(uintptr_t)&value;
    bool load = code == NVSI_AMO_FETCH;
    if (load)
        value = 0;
    int status = nvsi_gpu_copy(fn, load ? here : word, load ? word : here, nbytes);
    if (!status)
        status = nvsi_gpu_complete(fn); /* value is on this stack */
    if (old && !status)
        *old = load ? value : 0;
    return status;
}

static int amo_inside(const struct nvsi_remote *at, enum nvsi_amo_code code, size_t nbytes,
                      uint64_t operand, uint64_t compare, uint64_t *old)
{
    CUdeviceptr word = nvsi_gpu_remote(at);
    struct nvsk_amo_args args = {.word = word,
                                 .operand = operand,
                                 .compare = compare,
                                 .code = (uint32_t)code,
                                 .nbytes = (uint32_t)nbytes};
    if (code == NVSI_AMO_FETCH || (code == NVSI_AMO_SET && !nvsi_gpu_is_direct(at)))
        return move_word("an atomic", code, word, nbytes, operand, old);
    if (!nvsi_gpu_is_direct(at))
        return out_of_reach("an atomic", at->pe);
    return old && code != NVSI_AMO_SET ? fetching("an atomic", &args, old)
                                       : launch_amo("an atomic", &args);
}

static int amo(struct nvsi_ctx *ctx, const struct nvsi_remote *at, enum nvsi_amo_code code,
               size_t nbytes, uint64_t operand, uint64_t compare, uint64_t *old)
{
    CUcontext before;
    (void)ctx;
    int status = check_reach("an atomic", at);
    if (!status)
        status = nvsi_gpu_enter("an atomic", &before);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_ATOMIC, -1, at->pe, nbytes);
    if (old)
        *old = 0;
    status = amo_inside(at, code, nbytes, operand, compare, old);
    if (!status && old && code == NVSI_AMO_SET)
        status = nvsi_gpu_complete("an atomic"); /* old says: done on return */
    nvsi_flight_leave();
    nvsi_gpu_leave(before);
    return status;
}

/* ---- signals ----------------------------------------------------------------------------------
 */

/* After all that is in our stream. */
static int signal_inside(const struct nvsi_remote *sig, uint64_t value, int op)
{
    struct nvsk_signal_args args = {
        .signal = {.address = nvsi_gpu_remote(sig), .value = value, .add = op == NVSI_SIGNAL_ADD}};
    if (sig->seg != NVSI_SEG_DEVICE) {
        int status = nvsi_gpu_complete("put_signal"); /* then the host may say so */
        if (status)
            return status;
        return nvsi.peers[sig->pe].ops->amo(NULL, sig,
                                            op == NVSI_SIGNAL_SET ? NVSI_AMO_SET : NVSI_AMO_ADD,
                                            sizeof value, value, 0, NULL);
    }
    if (!nvsi_gpu_is_direct(sig))
        return op == NVSI_SIGNAL_SET ? move_word("put_signal", NVSI_AMO_SET, args.signal.address,
                                                 sizeof value, value, NULL)
                                     : out_of_reach("put_signal", sig->pe);
    int status =
        nvsi_gpu_launch("put_signal", NVSI_KERNEL_nvsk_signal, 1, 1, nvsi_gpu.stream, &args);
    nvsi_gpu_issued();
    return status;
}

/* The data is put by the host if both its sides are the host's, and is there before the kernel that
 * signals is launched; otherwise by the stream, in front of that kernel. */
static int put_signal(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src,
                      size_t nbytes, const struct nvsi_remote *sig, uint64_t value, int op)
{
    CUcontext before;
    int status = check_reach("put_signal", at);
    if (!status)
        status = check_reach("put_signal", sig);
    if (!status)
        status = nvsi_gpu_enter("put_signal", &before);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_PUT_SIGNAL, -1, at->pe, nbytes);
    if (nbytes && at->seg != NVSI_SEG_DEVICE && !nvsi_gpu_is_device(src)) {
        status = nvsi.peers[at->pe].ops->put(ctx, at, src, nbytes, false);
        if (!status && nvsi.transport->quiet)
            status = nvsi.transport->quiet(ctx);
    } else if (nbytes) {
        status =
            nvsi_gpu_copy("put_signal", nvsi_gpu_remote(at), (CUdeviceptr)(uintptr_t)src, nbytes);
    }
    if (!status)
        status = signal_inside(sig, value, op);
    if (!status)
        status = nvsi_gpu_complete("put_signal"); /* src may be used again on return */
    nvsi_flight_leave();
    nvsi_gpu_leave(before);
    nvsi_wake(at->pe);
    return status;
}

/* ---- addresses for loads and stores of the GPU --------------------------------------------------
 */

static void *address(const void *sym, int pe)
{
    size_t offset = (size_t)((const char *)sym - nvsi.seg[NVSI_SEG_DEVICE].base);
    if (offset >= nvsi.seg[NVSI_SEG_DEVICE].size || nvsi_gpu.reach[pe] != NVSI_GPU_DIRECT)
        return NULL;
    return nvsi_window_at(pe, NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES + offset);
}

const struct nvsi_device nvsi_gpu_device = {
    .ops = {.name = "cuda",
            .put = put,
            .get = get,
            .amo = amo,
            .put_signal = put_signal,
            .fence = quiet,
            .quiet = quiet},
    .is_device = nvsi_gpu_is_device,
    .iput = nvsi_gpu_iput,
    .iget = nvsi_gpu_iget,
    .read = read_words,
    .address = address,
    .collective = nvsi_gpu_collective,
    .team_made = nvsi_gpu_team_made,
    .team_left = nvsi_gpu_team_left,
};
