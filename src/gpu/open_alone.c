/*
 * open_alone.c - what a PE opens of its GPU before it talks to the others.
 */
#include <string.h>

#include "gpu/open.h"

int nvsi_gpu_attribute(int which)
{
    int value = 0;
    (void)cu.cuDeviceGetAttribute(&value, which, nvsi_gpu.device);
    return value;
}

static int check_abilities(const char *fn)
{
    if (nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
        nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
        return 0;
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: GPU %d of PE %d cannot share memory by descriptors (a GPU of the Pascal "
                      "generation or later, and Linux, can)",
                      fn, nvsi_gpu.ordinal, nvsi.me);
}

static void read_attributes(void)
{
    nvsi_gpu.sm_count = nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    nvsi_gpu.compute_capability =
        nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
        nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

static int open_page(const char *fn)
{
    CUdeviceptr seen;
    CUresult result = cu.cuMemHostAlloc((void **)&nvsi_gpu.page, sizeof *nvsi_gpu.page,
                                        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (!result) {
        memset(nvsi_gpu.page, 0, sizeof *nvsi_gpu.page);
        result = cu.cuMemHostGetDevicePointer(&seen, nvsi_gpu.page, 0);
    }
    if (result)
        return nvsi_cuda_error(fn, result, "take pinned memory of the host");
    nvsi_gpu.state.page = (struct nvsi_dev_page *)(uintptr_t)seen;
    return 0;
}

static int open_stream(const char *fn)
{
    CUresult result = cu.cuStreamCreateWithPriority(&nvsi_gpu.stream, CU_STREAM_NON_BLOCKING, 0);
    return result ? nvsi_cuda_error(fn, result, "make a stream") : 0;
}

static int measure(const char *fn)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = nvsi_gpu.ordinal}};
    CUresult result = cu.cuMemGetAllocationGranularity(&nvsi_gpu.granule, &prop,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (!result)
        result = cu.cuDeviceTotalMem(&nvsi_gpu.total_bytes, nvsi_gpu.device);
    return result ? nvsi_cuda_error(fn, result, "ask GPU %d for its memory", nvsi_gpu.ordinal) : 0;
}

int nvsi_gpu_open_alone(const char *fn, struct nvsi_hello *mine)
{
    CUcontext before;
    int status = nvsi_gpu_select(fn);
    if (!status)
        status = check_abilities(fn);
    if (!status)
        status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    read_attributes();
    status = measure(fn);
    if (!status)
        status = open_stream(fn);
    if (!status)
        status = open_page(fn);
    if (!status)
        status = nvsi_gpu_ops_open(fn);
    if (!status)
        status = nvsi_fdpass_open(fn, &mine->address);
    nvsi_gpu_leave(before);
    mine->total_bytes = nvsi_gpu.total_bytes;
    mine->granule = nvsi_gpu.granule;
    (void)cu.cuDeviceGetUuid(&mine->uuid, nvsi_gpu.device);
    mine->pci_domain = nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    mine->pci_bus = nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    mine->pci_device = nvsi_gpu_attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    return status;
}
