/*
 * device.h - for tests of memory of the GPU: the driver that libnvs uses (NVS_CUDA_LIBRARY, mostly
 * the stand-in of tests/fakecuda), opened at run time so that the tests build without one.
 */
#ifndef TESTS_SPMD_DEVICE_H
#define TESTS_SPMD_DEVICE_H

#include "spmd.h"

#include <dlfcn.h>
#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>

static struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*count)(int *count);
    int (*alloc)(uint64_t *ptr, size_t nbytes);
    int (*free)(uint64_t ptr);
    int (*to_device)(uint64_t dst, const void *src, size_t nbytes);
    int (*to_host)(void *dst, uint64_t src, size_t nbytes);
    int (*synchronize)(void *stream);
    size_t (*used)(void), (*mapped)(void); /* of the stand-in only */
} driver;

static void *device_symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* Opens the driver; ends the test with "cannot be tested here" if there is none. */
static inline void device_open(void)
{
    const char *name = getenv("NVS_CUDA_LIBRARY");
    void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        exit(SPMD_SKIP);
    *(void **)&driver.init = device_symbol(library, "cuInit");
    *(void **)&driver.retain = device_symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&driver.release = device_symbol(library, "cuDevicePrimaryCtxRelease_v2");
    *(void **)&driver.set_current = device_symbol(library, "cuCtxSetCurrent");
    *(void **)&driver.count = device_symbol(library, "cuDeviceGetCount");
    *(void **)&driver.alloc = device_symbol(library, "cuMemAlloc_v2");
    *(void **)&driver.free = device_symbol(library, "cuMemFree_v2");
    *(void **)&driver.to_device = device_symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&driver.to_host = device_symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&driver.synchronize = device_symbol(library, "cuStreamSynchronize");
    *(void **)&driver.used = device_symbol(library, "fakecuda_used");
    *(void **)&driver.mapped = device_symbol(library, "fakecuda_mapped");
}

/* As cudaSetDevice() does it. Returns the driver's error. */
static inline int device_select(int device)
{
    void *context;
    int error = driver.init(0);
    if (!error)
        error = driver.retain(&context, device);
    return error ? error : driver.set_current(context);
}

/* A device for each PE, shared where PEs outnumber them. */
static inline int device_select_mine(int pe)
{
    int count = 0, error = driver.init(0);
    if (!error)
        error = driver.count(&count);
    return error ? error : device_select(pe % count);
}

static inline void device_write(void *dst, const void *src, size_t nbytes)
{
    int error = driver.to_device((uint64_t)(uintptr_t)dst, src, nbytes);
    if (!error) /* a copy of ordinary memory may return before it is done */
        error = driver.synchronize(NULL);
    CHECK(error == 0, "writing %zu bytes of device memory: error %d", nbytes, error);
}

static inline void device_read(void *dst, const void *src, size_t nbytes)
{
    int error = driver.to_host(dst, (uint64_t)(uintptr_t)src, nbytes);
    CHECK(error == 0, "reading %zu bytes of device memory: error %d", nbytes, error);
}

/* init, a GPU, and the world's number; spmd_begin() for these tests. */
static inline void device_begin(int argc, char **argv)
{
    device_open();
    nvshmem_init();
    int error = device_select_mine(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE));
    if (error) {
        nvshmem_finalize();
        exit(SPMD_SKIP);
    }
    spmd_join(argc, argv);
}

static inline int device_end(void)
{
    nvshmem_finalize();
    return spmd_result();
}

#endif
