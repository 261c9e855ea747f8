/*
 * device.cu - which GPU, and what went wrong.
 */
#include <stdio.h>

#include "gpu.h"
#include "trainer.h"

static char error_text[320];

const char *gpu_error(void)
{
    return error_text;
}

int gpu_attempt(cudaError_t result, const char *attempt)
{
    if (result == cudaSuccess)
        return 0;
    snprintf(error_text, sizeof(error_text), "could not %s: %s (%s)", attempt,
             cudaGetErrorString(result), cudaGetErrorName(result));
    return -1;
}

/* Chooses a device; its tensor cores must know bfloat16. */
static int device_of(int local_pe, int *device)
{
    int count = 0, major = 0, driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
        snprintf(error_text, sizeof(error_text),
                 "could not find a GPU: there is no driver of CUDA");
        return -1;
    }
    if (gpu_attempt(cudaGetDeviceCount(&count), "find a GPU"))
        return -1;
    if (count == 0)
        return gpu_attempt(cudaErrorNoDevice, "find a GPU");
    *device = local_pe % count;
    if (gpu_attempt(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, *device),
                    "ask for the GPU's compute capability"))
        return -1;
    if (major >= 8)
        return 0;
    snprintf(error_text, sizeof(error_text),
             "GPU %d has compute capability %d.x; 8.0 or later is needed", *device, major);
    return -1;
}

int gpu_find(int local_pe)
{
    int device;
    return device_of(local_pe, &device);
}

int gpu_select(int local_pe)
{
    int device;
    if (device_of(local_pe, &device) || gpu_attempt(cudaSetDevice(device), "select a GPU"))
        return -1;
    return gpu_attempt(cudaFree(NULL), "open the GPU"); /* makes the context */
}

int gpu_check_memory(const void *symmetric)
{
    struct cudaPointerAttributes attributes;
    if (gpu_attempt(cudaPointerGetAttributes(&attributes, symmetric), "look at symmetric memory"))
        return -1;
    if (attributes.type != cudaMemoryTypeUnregistered)
        return 0;
    snprintf(error_text, sizeof(error_text),
             "symmetric memory is host memory that kernels can't use: is NVSHMEM_HEAP_KIND set?");
    return -1;
}

int gpu_describe(char *text, size_t size)
{
    int device;
    struct cudaDeviceProp properties;
    if (gpu_attempt(cudaGetDevice(&device), "ask for the current GPU") ||
        gpu_attempt(cudaGetDeviceProperties(&properties, device), "ask for the GPU's name"))
        return -1;
    snprintf(text, size, "%s", properties.name);
    return 0;
}
