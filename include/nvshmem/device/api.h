/*
 * nvshmem/device/api.h - NVSHMEM in kernels. nvshmem.h includes it where kernels are compiled.
 *
 * The names that exist on both sides are one function each, `__host__ __device__`: in kernels the
 * code of the headers below, in host code a call of libnvs, which is declared under another name
 * (nvsh_*) with the symbol's real one behind it. docs/device-api.md is about all of this.
 */
#ifndef NVS_NVSHMEM_DEVICE_API_H
#define NVS_NVSHMEM_DEVICE_API_H

#include "nvshmem/types.h"

#include "nvshmem/device/amo.h"
#include "nvshmem/device/coll.h"
#include "nvshmem/device/rma.h"
#include "nvshmem/device/sync.h"
#include "nvshmem/device/unit.h"
#include "nvshmem/device/wait.h"

#define NVSD_DTYPE_CHAR ((char)-1 < 0 ? NVSD_INT8 : NVSD_UINT8)

#if defined(NVS_EMULATE_DEVICE)
struct __attribute__((aligned(16))) double2 {
    double x, y;
};
#endif

/* Half types pass between this unit and libnvs as their bits: gen.py says why. */
#if !defined(__CUDACC_RTC__)
template <typename T> static inline uint16_t nvsx_bits(const T &value)
{
    uint16_t bits;
    memcpy(&bits, (const void *)&value, sizeof bits);
    return bits;
}
template <typename T> static inline T nvsx_from_bits(uint16_t bits)
{
    T value;
    memcpy((void *)&value, &bits, sizeof bits);
    return value;
}
#endif

/* The host ends the job when it reads the report; the kernel goes on until then. */
NVSD_FN void nvsd_exit(nvsd_self self, int status)
{
    nvsd_report(self, NVSI_DEV_EXIT, "nvshmem_global_exit", -1, -1, (uint64_t)(int64_t)status, 0);
}

/* Multicast is not used. */
NVSD_FN void *nvsd_mc_ptr(int32_t team, const void *ptr)
{
    (void)team, (void)ptr;
    return nullptr;
}

#include "nvshmem/device/api_amo.h"
#include "nvshmem/device/api_both.h"
#include "nvshmem/device/api_coll.h"
#include "nvshmem/device/api_qp.h"
#include "nvshmem/device/api_rma.h"
#include "nvshmem/device/api_wait.h"

#endif
