/*
 * nvs_info_gpu.c - what the library says about GPUs: the driver, the devices, our kernels, and what
 * this PE uses.
 */
#include "api/nvs_info_gpu.h"

#include <inttypes.h>
#include <stdio.h>

#include "gpu/gpu.h"
#include "gpu/images.h"

struct telling {
    nvsi_info_tell *tell;
    void *to;
};

static void tell_number(const struct telling *to, const char *key, enum nvs_fact_kind kind,
                        uint64_t value, const char *note)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    to->tell(to->to, key, kind, text, note);
}

static int attribute(CUdevice device, int which)
{
    int value = 0;
    (void)cu.cuDeviceGetAttribute(&value, which, device);
    return value;
}

static void tell_device(const struct telling *to, int ordinal)
{
    CUdevice device;
    char key[32], name[128] = "", note[160];
    size_t nbytes = 0;
    if (cu.cuDeviceGet(&device, ordinal))
        return;
    (void)cu.cuDeviceGetName(name, sizeof name, device);
    (void)cu.cuDeviceTotalMem(&nbytes, device);
    snprintf(key, sizeof key, "device_%d", ordinal);
    snprintf(note, sizeof note,
             "%zu bytes, %d multiprocessors, compute capability %d.%d, PCI %04x:%02x:%02x", nbytes,
             attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
             attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
             (unsigned)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             (unsigned)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
             (unsigned)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    to->tell(to->to, key, NVS_FACT_TEXT, name, note);
}

static void tell_driver(const struct telling *to)
{
    int version = 0, count = 0;
    char text[32];
    if (!nvsi_cuda_open()) {
        to->tell(to->to, "driver", NVS_FACT_TEXT, NULL, nvsi_cuda_reason());
        tell_number(to, "devices", NVS_FACT_NUMBER, 0, "symmetric memory is memory of the host");
        return;
    }
    (void)cu.cuDriverGetVersion(&version);
    (void)cu.cuDeviceGetCount(&count);
    snprintf(text, sizeof text, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    to->tell(to->to, "driver", NVS_FACT_TEXT, text, "that the installed driver can");
    tell_number(to, "devices", NVS_FACT_NUMBER, (uint64_t)count, "that this process may use");
    for (int i = 0; i < count; i++)
        tell_device(to, i);
}

/* In the job, after the first allocation of GPU memory. */
static void tell_use(const struct telling *to)
{
    char note[160];
    if (!nvsi_gpu.up) {
        to->tell(to->to, "in_use", NVS_FACT_FLAG, "no",
                 "before the first allocation of GPU memory (NVS_HEAP_KIND)");
        return;
    }
    snprintf(note, sizeof note, "device %d, shared by %d PEs of this job; kernels have %d blocks",
             nvsi_gpu.ordinal, nvsi_gpu.sharers, nvsi_gpu.sm_limit);
    to->tell(to->to, "in_use", NVS_FACT_FLAG, "yes", note);
    tell_number(to, "granule", NVS_FACT_BYTES, nvsi_gpu.granule, "of memory taken and given back");
    tell_number(to, "heap", NVS_FACT_BYTES, nvsi_gpu.heap_bytes, "address space for each PE");
    to->tell(to->to, "all_reachable", NVS_FACT_FLAG, nvsi_gpu.all_reachable ? "yes" : "no",
             nvsi_gpu.all_reachable ? "the GPUs load and store each other's memory"
                                    : "some copies go through the host");
}

void nvsi_info_gpu(nvsi_info_tell *tell, void *to)
{
    struct telling telling = {tell, to};
    bool built = nvsi_gpu_num_images != 0;
    tell_driver(&telling);
    tell(to, "kernels", NVS_FACT_FLAG, built ? "yes" : "no",
         built ? "compiled for sm_80, sm_90, and PTX for later GPUs"
               : "built without nvcc: GPU memory can be allocated and copied, but atomics, signals "
                 "and "
                 "collectives on it are refused");
    tell_use(&telling);
}
