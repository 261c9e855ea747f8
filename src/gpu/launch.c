/*
 * launch.c - our kernels: the embedded images, loaded into the GPU's context in stage two.
 *
 * All of them then, not each when it is first launched: to load a kernel the driver may wait until
 * the context is idle, and it is not while a kernel of the program waits for what that launch would
 * bring. The driver itself puts off loading until somebody asks for something of the function.
 *
 * Each kernel is asked for where it is, and nowhere else: tools that look at CUDA programs report
 * every call that fails. Loading is allowed while a stream of the caller is being captured, since
 * it has nothing to do with that stream: for its duration this thread's capture mode is relaxed.
 */
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/images.h"

enum { MAX_IMAGES = 64 };

static struct {
    pthread_mutex_t lock;
    CUmodule modules[MAX_IMAGES]; /* NULL: not loaded */
    _Atomic CUfunction functions[NVSI_NUM_KERNELS];
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const names[] = {
#define KERNEL(name, image) #name,
#include "gpu/kernels.def"
};

static const char *const homes[] = {
#define KERNEL(name, image) #image,
#include "gpu/kernels.def"
};

/* The number of a kernel's image. Without nvcc there is one for all, which only the stand-in driver
 * of the tests takes. */
static size_t image_of(enum nvsi_kernel kernel)
{
    size_t image = 0;
    while (image < nvsi_gpu_num_images && strcmp(nvsi_gpu_images[image].name, homes[kernel]) != 0)
        image++;
    return image;
}

static int cannot_load(const char *fn, CUresult result)
{
    if (nvsi_gpu_num_images == 0)
        return nvsi_error(
            NVS_ERR_UNSUPPORTED,
            "%s: this libnvs was built without nvcc and has no kernels: build it where "
            "nvcc is (nvs-info shows it)",
            fn);
    return nvsi_cuda_error(fn, result, "load nvs's kernels for this GPU (compute capability %d.%d)",
                           nvsi_gpu.compute_capability / 10, nvsi_gpu.compute_capability % 10);
}

/* The lock is held and the context is current. */
static CUresult load(size_t image)
{
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (loaded.modules[image])
        return CUDA_SUCCESS;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cu.cuModuleLoadData(&loaded.modules[image], nvsi_gpu_images[image].data);
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    return result;
}

static int find_locked(const char *fn, enum nvsi_kernel kernel, CUfunction *function)
{
    size_t image = image_of(kernel);
    *function = atomic_load(&loaded.functions[kernel]);
    if (*function)
        return 0;
    CUresult result = load(image);
    if (result)
        return cannot_load(fn, result);
    result = cu.cuModuleGetFunction(function, loaded.modules[image], names[kernel]);
    if (result)
        return nvsi_cuda_error(fn, result, "find the kernel %s", names[kernel]);
    atomic_store(&loaded.functions[kernel], *function);
    return 0;
}

static int find(const char *fn, enum nvsi_kernel kernel, CUfunction *function)
{
    pthread_mutex_lock(&loaded.lock);
    int status = find_locked(fn, kernel, function);
    pthread_mutex_unlock(&loaded.lock);
    return status;
}

int nvsi_gpu_load_kernels(const char *fn)
{
    int status = 0, registers;
    for (int kernel = 0; !status && kernel < NVSI_NUM_KERNELS; kernel++) {
        CUfunction function;
        status = find(fn, (enum nvsi_kernel)kernel, &function);
        CUresult result =
            status ? CUDA_SUCCESS
                   : cu.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
        if (result)
            status = nvsi_cuda_error(fn, result, "load the kernel %s", names[kernel]);
    }
    return status;
}

int nvsi_gpu_launch(const char *fn, enum nvsi_kernel kernel, unsigned nblocks, unsigned nthreads,
                    CUstream stream, const void *args)
{
    CUcontext before;
    void *params[] = {(void *)(uintptr_t)args};
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    CUfunction function = atomic_load_explicit(&loaded.functions[kernel], memory_order_acquire);
    if (NVSI_UNLIKELY(!function))
        status = find(fn, kernel, &function);
    if (!status) {
        CUresult result =
            cu.cuLaunchKernel(function, nblocks, 1, 1, nthreads, 1, 1, 0, stream, params, NULL);
        if (NVSI_UNLIKELY(result))
            status = nvsi_cuda_error(fn, result, "launch the kernel %s (%u blocks of %u threads)",
                                     names[kernel], nblocks, nthreads);
    }
    nvsi_gpu_leave(before);
    return status;
}

bool nvsi_gpu_has_kernels(void)
{
    _Static_assert(NVSI_NUM_KERNELS == sizeof names / sizeof *names, "one name each");
    if (nvsi_gpu_num_images || !nvsi_gpu.up)
        return nvsi_gpu_num_images != 0;
    /* Built without nvcc: the driver of the tests has them all the same. */
    CUcontext before;
    if (nvsi_gpu_enter("init", &before))
        return false;
    pthread_mutex_lock(&loaded.lock);
    bool has = load(0) == CUDA_SUCCESS;
    pthread_mutex_unlock(&loaded.lock);
    nvsi_gpu_leave(before);
    return has;
}

void nvsi_gpu_unload(void)
{
    pthread_mutex_lock(&loaded.lock);
    for (size_t image = 0; image < MAX_IMAGES; image++) {
        if (loaded.modules[image])
            cu.cuModuleUnload(loaded.modules[image]);
        loaded.modules[image] = NULL;
    }
    for (size_t kernel = 0; kernel < NVSI_NUM_KERNELS; kernel++)
        atomic_store(&loaded.functions[kernel], NULL);
    pthread_mutex_unlock(&loaded.lock);
}
