/*
 * device.c - the GPU of this process: which one it has selected, its context, waiting for it.
 *
 * A program selects a GPU with cudaSetDevice() (or a context of its own), and we use the same one.
 * Public calls may come from any thread, with any context current or none, and while the thread
 * captures a graph; so whatever calls the driver enters first and leaves afterwards.
 */
#include "gpu/gpu.h"

#include "wait.h"

struct nvsi_gpu nvsi_gpu;

/* ---- what is selected ------------------------------------------------------------------------ */

/* The one device whose primary context is active: what a thread without a context of its own
 * means. -1: there is none, or several. */
static int one_active(void)
{
    int count = 0, found = -1;
    if (cu.cuDeviceGetCount(&count))
        return -1;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        unsigned flags;
        int active = 0;
        if (cu.cuDeviceGet(&device, i) || cu.cuDevicePrimaryCtxGetState(device, &flags, &active) ||
            !active)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* The selected GPU by its number; *context NULL: it is the primary one. */
static int selected(CUcontext *context)
{
    CUdevice device;
    if (!cu.cuCtxGetCurrent(context) && *context && !cu.cuCtxGetDevice(&device))
        return device; /* a CUdevice is its number */
    *context = NULL;
    return one_active();
}

enum nvsi_gpu_presence nvsi_gpu_presence(void)
{
    CUcontext context;
    if (!nvsi_cuda_open())
        return NVSI_GPU_ABSENT;
    return selected(&context) >= 0 ? NVSI_GPU_SELECTED : NVSI_GPU_UNUSED;
}

bool nvsi_gpu_selected(void)
{
    return nvsi_cuda_loaded() && nvsi_gpu_presence() == NVSI_GPU_SELECTED;
}

/* By the number on the node, for programs that leave it to us; later calls of the program's threads
 * mean the same GPU then. */
static int select_for_program(const char *fn)
{
    int count = 0;
    CUresult result = cu.cuDeviceGetCount(&count);
    if (result || count < 1)
        return nvsi_cuda_error(fn, result, "count the GPUs");
    nvsi_gpu.ordinal = nvsi.me % count; /* one host: the number in the world is that on the node */
    nvsi_gpu.owns_selection = true;
    return 0;
}

int nvsi_gpu_select(const char *fn)
{
    CUcontext current, primary;
    nvsi_gpu.ordinal = selected(&current);
    if (nvsi_gpu.ordinal < 0) {
        int status = select_for_program(fn);
        if (status)
            return status;
    }
    CUresult result = cu.cuDeviceGet(&nvsi_gpu.device, nvsi_gpu.ordinal);
    if (!result)
        result = cu.cuDevicePrimaryCtxRetain(&primary, nvsi_gpu.device);
    if (result)
        return nvsi_cuda_error(fn, result, "open GPU %d", nvsi_gpu.ordinal);
    nvsi_gpu.retained = true;
    nvsi_gpu.context = current ? current : primary;
    if (nvsi_gpu.owns_selection)
        (void)cu.cuCtxSetCurrent(primary);
    return 0;
}

/* ---- entering and leaving ---------------------------------------------------------------------
 */

/* While a thread captures a graph, the driver refuses it calls that could disturb the capture,
 * unless it says that it knows what it does. */
static _Thread_local struct {
    int depth, mode;
} entered;

int nvsi_gpu_enter(const char *fn, CUcontext *before)
{
    CUresult result = cu.cuCtxGetCurrent(before);
    if (!result && *before != nvsi_gpu.context)
        result = cu.cuCtxSetCurrent(nvsi_gpu.context);
    if (result)
        return nvsi_cuda_error(fn, result, "use GPU %d", nvsi_gpu.ordinal);
    if (entered.depth++ == 0) {
        entered.mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        (void)cu.cuThreadExchangeStreamCaptureMode(&entered.mode);
    }
    if (nvsi_gpu.up)
        nvsi_gpu_publish_late();
    return 0;
}

void nvsi_gpu_leave(CUcontext before)
{
    if (--entered.depth == 0)
        (void)cu.cuThreadExchangeStreamCaptureMode(&entered.mode);
    if (before != nvsi_gpu.context)
        (void)cu.cuCtxSetCurrent(before);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* What the driver can tell: blocking streams that are captured make the default stream unusable. A
 * capture of other streams is not seen, and is spoilt by a wait for all streams. */
bool nvsi_gpu_capturing(void)
{
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool nvsi_gpu_settle(void)
{
    if (nvsi_gpu_capturing())
        return false;
    uint64_t wasted = nvsi_window_wasted();
    if (cu.cuCtxSynchronize())
        return false;
    nvsi_window_safe(wasted);
    return true;
}

int nvsi_gpu_synchronize(const char *fn, CUstream stream)
{
    /* The watchdog names what kernels and streams wait for. */
    struct nvsi_wait wait = {.grace_ms = 1000};
    int status = 0;
    CUresult result;
    while ((result = cu.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && !status)
        status = nvsi_wait_round(&wait, -1);
    nvsi_wait_end(&wait);
    if (status)
        nvsi_gpu_break_off(status, nvsi_error_words());
    /* What waits for other PEs ends by that, and the caller's memory is in use until our stream is
     * done. */
    if (status && stream == nvsi_gpu.stream)
        (void)cu.cuStreamSynchronize(stream);
    if (!status && result)
        status = nvsi_cuda_error(fn, result, "finish what was put into a stream");
    return status ? status : nvsi_gpu_reported(fn);
}
