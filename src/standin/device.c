/*
 * device.c - the devices of the stand-in: all of them are this machine.
 */
#include "standin/standin.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/job.h"

enum { DEVICES = 8, MAX_DEVICES = 1 << 16 };

static int device_count;
static _Thread_local int current;

static long number_in(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text)
        return otherwise;
    long number = strtol(text, &end, 10);
    if (!*end && number >= 0 && number <= MAX_DEVICES)
        return number;
    fprintf(stderr, "nvs_cudart: %s=%s is not used: allowed are 0 to %d\n", variable, text,
            MAX_DEVICES);
    return otherwise;
}

/* Programs take the device with their number on the node, so there is one for each PE. */
static void count_devices(void)
{
    long npes = number_in(NVSI_ENV_NPES, 1);
    device_count = (int)number_in("NVS_CUDART_DEVICES", npes > DEVICES ? npes : DEVICES);
}

static int devices(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, count_devices);
    return device_count;
}

bool si_device_exists(int device)
{
    return device >= 0 && device < devices();
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count)
        return si_error(cudaErrorInvalidValue);
    *count = devices();
    return *count ? cudaSuccess : si_error(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    if (!si_device_exists(device))
        return si_error(devices() ? cudaErrorInvalidDevice : cudaErrorNoDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (!device)
        return si_error(cudaErrorInvalidValue);
    if (!devices())
        return si_error(cudaErrorNoDevice);
    *device = current;
    return cudaSuccess;
}

/* ---- what a device is ------------------------------------------------------------------------ */

static size_t memory_bytes(int name)
{
    long pages = sysconf(name), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

static int cpus(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (!prop)
        return si_error(cudaErrorInvalidValue);
    if (!si_device_exists(device))
        return si_error(cudaErrorInvalidDevice);
    *prop = (struct cudaDeviceProp){.name = "nvs stand-in: host memory, no kernels",
                                    .totalGlobalMem = memory_bytes(_SC_PHYS_PAGES),
                                    .sharedMemPerBlock = 48 << 10,
                                    .regsPerBlock = 65536,
                                    .warpSize = 32,
                                    .maxThreadsPerBlock = 1024,
                                    .maxThreadsDim = {1024, 1024, 64},
                                    .maxGridSize = {INT_MAX, 65535, 65535},
                                    .clockRate = 1000000,
                                    .major = 8,
                                    .multiProcessorCount = cpus(),
                                    .integrated = 1,
                                    .canMapHostMemory = 1,
                                    .concurrentKernels = 1,
                                    .pciDeviceID = device,
                                    .asyncEngineCount = 2,
                                    .unifiedAddressing = 1,
                                    .memoryClockRate = 1000000,
                                    .memoryBusWidth = 64,
                                    .l2CacheSize = 1 << 20,
                                    .maxThreadsPerMultiProcessor = 2048,
                                    .streamPrioritiesSupported = 1,
                                    .managedMemory = 1,
                                    .pageableMemoryAccess = 1,
                                    .concurrentManagedAccess = 1,
                                    .cooperativeLaunch = 1};
    return cudaSuccess;
}

/* *value of an attribute; false: it is not known. */
static bool attribute(const struct cudaDeviceProp *prop, enum cudaDeviceAttr attr, int *value)
{
    const struct {
        enum cudaDeviceAttr attr;
        int value;
    } table[] = {
        {cudaDevAttrMaxThreadsPerBlock, prop->maxThreadsPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlock, (int)prop->sharedMemPerBlock},
        {cudaDevAttrWarpSize, prop->warpSize},
        {cudaDevAttrClockRate, prop->clockRate},
        {cudaDevAttrMultiProcessorCount, prop->multiProcessorCount},
        {cudaDevAttrIntegrated, prop->integrated},
        {cudaDevAttrCanMapHostMemory, prop->canMapHostMemory},
        {cudaDevAttrConcurrentKernels, prop->concurrentKernels},
        {cudaDevAttrPciBusId, prop->pciBusID},
        {cudaDevAttrPciDeviceId, prop->pciDeviceID},
        {cudaDevAttrPciDomainId, prop->pciDomainID},
        {cudaDevAttrAsyncEngineCount, prop->asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, prop->unifiedAddressing},
        {cudaDevAttrComputeCapabilityMajor, prop->major},
        {cudaDevAttrComputeCapabilityMinor, prop->minor},
        {cudaDevAttrStreamPrioritiesSupported, prop->streamPrioritiesSupported},
        {cudaDevAttrManagedMemory, prop->managedMemory},
        {cudaDevAttrPageableMemoryAccess, prop->pageableMemoryAccess},
        {cudaDevAttrConcurrentManagedAccess, prop->concurrentManagedAccess},
        {cudaDevAttrCooperativeLaunch, prop->cooperativeLaunch},
        {cudaDevAttrMemoryPoolsSupported, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].attr == attr) {
            *value = table[i].value;
            return true;
        }
    }
    return false;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    struct cudaDeviceProp prop = {0};
    if (!value)
        return si_error(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDeviceProperties(&prop, device);
    if (error)
        return error;
    return attribute(&prop, attr, value) ? cudaSuccess : si_error(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return si_error(cudaErrorInvalidValue);
    *free_bytes = memory_bytes(_SC_AVPHYS_PAGES);
    *total_bytes = memory_bytes(_SC_PHYS_PAGES);
    return cudaSuccess;
}

/* ---- peers: any device reads the memory of any other ----------------------------------------- */

static _Thread_local struct {
    int device, peer;
} enabled[64]; /* what this thread has enabled, as far as it is worth remembering */
static _Thread_local int num_enabled;

static int find_enabled(int peer)
{
    for (int i = 0; i < num_enabled; i++)
        if (enabled[i].device == current && enabled[i].peer == peer)
            return i;
    return -1;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (!can)
        return si_error(cudaErrorInvalidValue);
    if (!si_device_exists(device) || !si_device_exists(peer))
        return si_error(cudaErrorInvalidDevice);
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    if (flags)
        return si_error(cudaErrorInvalidValue);
    if (!si_device_exists(peer) || peer == current)
        return si_error(cudaErrorInvalidDevice);
    if (find_enabled(peer) >= 0)
        return si_error(cudaErrorPeerAccessAlreadyEnabled);
    if (num_enabled < (int)(sizeof enabled / sizeof *enabled)) {
        enabled[num_enabled].device = current;
        enabled[num_enabled++].peer = peer;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    int at = find_enabled(peer);
    if (at < 0)
        return si_error(cudaErrorPeerAccessNotEnabled);
    enabled[at] = enabled[--num_enabled];
    return cudaSuccess;
}

/* ---- the rest -------------------------------------------------------------------------------- */

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return si_status(nvsx_queue_synchronize_all());
}

/* What is allocated stays: other devices are the same one. */
cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return si_error(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}

/* ---- kernels: out of scope ------------------------------------------------------------------- */

static cudaError_t no_kernels(const void *fn)
{
    fprintf(
        stderr,
        "nvs_cudart: kernel %p is not launched: this is a stand-in for the CUDA runtime without "
        "a GPU, and kernels are out of its scope\n",
        fn);
    return si_error(cudaErrorNotSupported);
}

cudaError_t cudaLaunchKernel(const void *fn, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t stream)
{
    (void)grid, (void)block, (void)args, (void)shared_bytes, (void)stream;
    return no_kernels(fn);
}

cudaError_t cudaLaunchCooperativeKernel(const void *fn, dim3 grid, dim3 block, void **args,
                                        size_t shared_bytes, cudaStream_t stream)
{
    return cudaLaunchKernel(fn, grid, block, args, shared_bytes, stream);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks, const void *fn,
                                                          int nthreads, size_t shared_bytes)
{
    (void)nblocks, (void)nthreads, (void)shared_bytes;
    return no_kernels(fn);
}
