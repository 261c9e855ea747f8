/*
 * nvshmem/device/context.h - a context that a kernel takes by value.
 *
 * The classic functions find the job through a constant of the kernel's module, which somebody has
 * to fill in (unit.h). A context carries the job in the kernel's arguments instead: the host makes
 * it, any kernel of any module can use it, and nothing is registered. PE numbers are those of the
 * context's team.
 *
 *     nvshmemx_device_context_t context;
 *     nvshmemx_get_device_context(NVSHMEM_TEAM_WORLD, &context);
 *     kernel<<<grid, block>>>(context, ...);
 *
 *     __global__ void kernel(const __grid_constant__ nvshmemx_device_context_t context, ...)
 *     {
 *         context.put<NVSHMEMX_SCOPE_BLOCK>(dst, src, nelems, pe);
 *     }
 *
 * It is good until the team is destroyed or nvshmem_finalize. Kernels that were launched with it,
 * and graphs that contain it, do not hear of a failure of the job as the classic functions do;
 * their waits end all the same.
 */
#ifndef NVS_NVSHMEM_DEVICE_CONTEXT_H
#define NVS_NVSHMEM_DEVICE_CONTEXT_H

#include "nvshmem/types.h"

#if defined(NVS_DEVICE_CODE)
#include "nvshmem/device/amo.h"
#include "nvshmem/device/rma.h"
#include "nvshmem/device/sync.h"
#include "nvshmem/device/wait.h"

/* Who calls a method together: this thread, all threads of its warp, of its four warps, of its
 * block. */
#define NVSHMEMX_SCOPE_THREAD NVSD_THREAD
#define NVSHMEMX_SCOPE_WARP NVSD_WARP
#define NVSHMEMX_SCOPE_WARPGROUP NVSD_WARPGROUP
#define NVSHMEMX_SCOPE_BLOCK NVSD_BLOCK

#if defined(NVS_EMULATE_DEVICE)
#define NVSD_METHOD inline
#else
#define NVSD_METHOD __device__ __forceinline__
#endif
#endif

typedef struct nvshmemx_device_context_v1 {
    struct nvsi_dev_state state;
    nvshmem_team_t team;
    int reserved[3];

#if defined(NVS_DEVICE_CODE)
    NVSD_METHOD int my_pe() const
    {
        return team == NVSHMEM_TEAM_WORLD ? state.me : nvsd_team_my_pe(state, team);
    }
    NVSD_METHOD int n_pes() const
    {
        return team == NVSHMEM_TEAM_WORLD ? state.npes : nvsd_team_n_pes(state, team);
    }
    /* World number; -1, which all operations refuse, for a number that is not in the team. */
    NVSD_METHOD int world(int pe) const
    {
        if (team == NVSHMEM_TEAM_WORLD)
            return pe;
        return nvsd_team_translate(state, team, pe, NVSHMEM_TEAM_WORLD);
    }
    /* The address of PE pe's copy, or NULL. */
    template <typename T> NVSD_METHOD T *ptr(T *object, int pe) const
    {
        return (T *)nvsd_ptr(state, (const void *)object, world(pe));
    }
    template <typename T> NVSD_METHOD void p(T *dst, T value, int pe) const
    {
        nvsd_p(state, "context.p", dst, value, world(pe));
    }
    template <typename T> NVSD_METHOD T g(const T *src, int pe) const
    {
        return nvsd_g(state, "context.g", src, world(pe));
    }
    template <enum nvsd_scope scope, typename T>
    NVSD_METHOD void put(T *dst, const T *src, size_t nelems, int pe) const
    {
        nvsd_put(state, scope, "context.put", dst, src, nelems * sizeof(T), world(pe));
    }
    template <enum nvsd_scope scope, typename T>
    NVSD_METHOD void get(T *dst, const T *src, size_t nelems, int pe) const
    {
        nvsd_get(state, scope, "context.get", dst, src, nelems * sizeof(T), world(pe));
    }
    template <enum nvsd_scope scope, typename T>
    NVSD_METHOD void put_signal(T *dst, const T *src, size_t nelems, uint64_t *sig_addr,
                                uint64_t signal, int sig_op, int pe) const
    {
        nvsd_put_signal(state, scope, "context.put_signal", dst, src, nelems * sizeof(T), sig_addr,
                        signal, sig_op, world(pe));
    }
    NVSD_METHOD void signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) const
    {
        nvsd_signal(state, "context.signal_op", sig_addr, signal, sig_op, world(pe));
    }
    NVSD_METHOD uint64_t signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t value) const
    {
        return nvsd_wait_until(state, "context.signal_wait_until", (volatile uint64_t *)sig_addr,
                               cmp, value);
    }
    template <typename T> NVSD_METHOD T fetch_add(T *dst, T value, int pe) const
    {
        return nvsd_amo_op(state, NVSD_AMO_ADD, "context.fetch_add", dst, value, world(pe));
    }
    template <typename T> NVSD_METHOD T compare_swap(T *dst, T compare, T value, int pe) const
    {
        return nvsd_amo_cswap(state, "context.compare_swap", dst, compare, value, world(pe));
    }
    NVSD_METHOD void fence() const
    {
        nvsd_fence(NVSD_THREAD);
    }
    NVSD_METHOD void quiet() const
    {
        nvsd_quiet(NVSD_THREAD);
    }
    /* 0, or a negative value. */
    template <enum nvsd_scope scope> NVSD_METHOD int barrier() const
    {
        return nvsd_sync_team<scope>(state, "context.barrier", team);
    }
#endif
} nvshmemx_device_context_t;

#endif
