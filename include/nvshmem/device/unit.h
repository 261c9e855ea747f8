/*
 * nvshmem/device/unit.h - how a translation unit with device code gets at the state of its job.
 *
 * Each unit that nvcc compiles has the state of state.h in constant memory. Where that lies only
 * the CUDA runtime knows with which the unit was linked: the application's, static or shared, of
 * whatever version. So a constructor hands libnvs a function that asks that runtime, and libnvs
 * does the writing, through the driver. Nothing has to be linked for the device (-rdc), libnvs
 * needs no runtime of its own, and parts that are opened with dlopen() register when they are.
 *
 * Modules that are loaded at run time have no constructor: nvshmemx_cumodule_init() finds the
 * variable by its name, which is `nvsi_device` in all of them.
 */
#ifndef NVS_NVSHMEM_DEVICE_UNIT_H
#define NVS_NVSHMEM_DEVICE_UNIT_H

#include "nvshmem/device/state.h"
#include "nvshmem/visibility.h"

#if !defined(__CUDACC_RTC__)

#ifdef __cplusplus
extern "C" {
#endif

struct nvsx_device_unit {
    uint32_t
        version;  /* NVSI_DEV_VERSION: the layout of the state that this unit was compiled with */
    void *shadow; /* what its runtime calls the variable */
    /* Asks the runtime for the variable's address in the current device. 0, or the runtime's error:
     * that may be so while constructors run, before the runtime has seen the unit. */
    int (*address)(void **device_ptr, void *shadow);
    struct nvsx_device_unit *next; /* libnvs's list */
};

/* Any thread, also before nvshmem_init and after nvshmem_finalize. The unit stays the caller's. */
NVS_API void nvsx_device_register(struct nvsx_device_unit *unit);
NVS_API void nvsx_device_unregister(struct nvsx_device_unit *unit);

#ifdef __cplusplus
}
#endif

#endif /* !__CUDACC_RTC__ */

#if defined(__CUDACC__) || defined(NVS_EMULATE_DEVICE)

/* The state. With -rdc all units of a device link share one: an inline variable, whose name stays
 * plain. Without, each has its own, although its name has external linkage: nvcc makes the host's
 * side of it static. */
#if defined(NVS_EMULATE_DEVICE)
#include "emu.h"
static struct nvsi_dev_state nvsi_device;
EMU_GLOBAL(nvsi_device); /* so that the driver writes it */
#elif defined(__CUDACC_RDC__) && __cplusplus >= 201703L
inline __constant__ struct nvsi_dev_state nvsi_device;
#elif defined(__CUDACC_RDC__)
static __constant__ struct nvsi_dev_state nvsi_device;
#else
extern "C" {
__constant__ struct nvsi_dev_state nvsi_device;
}
#endif

#if !defined(__CUDACC_RTC__) && !defined(__CUDA_ARCH__)
namespace
{
struct nvsx_registered_unit {
    nvsx_device_unit unit;

    static int address(void **device_ptr, void *shadow)
    {
#if defined(NVS_EMULATE_DEVICE)
        *device_ptr = shadow;
        return 0;
#else
        cudaError_t error = cudaGetSymbolAddress(device_ptr, (const void *)shadow);
        if (error != cudaSuccess)
            (void)cudaGetLastError(); /* ours, not for the application to find */
        return (int)error;
#endif
    }
    nvsx_registered_unit() : unit{NVSI_DEV_VERSION, (void *)&nvsi_device, address, nullptr}
    {
        nvsx_device_register(&unit);
    }
    ~nvsx_registered_unit()
    {
        nvsx_device_unregister(&unit);
    }
    nvsx_registered_unit(const nvsx_registered_unit &) = delete;
    nvsx_registered_unit &operator=(const nvsx_registered_unit &) = delete;
};
nvsx_registered_unit nvsx_this_unit;
} /* namespace */
#endif

#endif /* device code */

#endif
