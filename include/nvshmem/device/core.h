/*
 * nvshmem/device/core.h - from a symmetric address to a peer's, teams, and what is wrong: for
 * kernels.
 *
 * All functions of the device API take the state of the job as `self`: `nvsi_device`, the constant
 * of the translation unit, or the one in a context that a kernel was given (context.h). They are
 * inlined, so that a field of `self` is an operand in constant memory. What is wrong is found on
 * the way that has failed anyway, in functions that are not inlined: a put costs one subtraction,
 * a few comparisons with constants, and one addition more than a store.
 *
 * A kernel has nobody to return an error to. What failed does nothing, and the first failure of the
 * job is written to the page that the host reads (state.h).
 */
#ifndef NVS_NVSHMEM_DEVICE_CORE_H
#define NVS_NVSHMEM_DEVICE_CORE_H

#include "nvshmem/device/channel.h"
#include "nvshmem/device/page.h"

#if !defined(__CUDACC_RTC__)
#include <stdio.h>
#endif

/* One of the two ways to compile a function that exists on both sides: the host's, which calls
 * libnvs, and the kernel's. */
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
#define NVSD_EITHER(host, ...) __VA_ARGS__
#elif defined(NVS_EMULATE_DEVICE)
#define NVSD_EITHER(host, ...) (emu_self ? (__VA_ARGS__) : (host))
#else
#define NVSD_EITHER(host, ...) host
#endif

#if defined(__CUDACC_RTC__)
#define NVSD_BOTH static __device__ __forceinline__
#elif defined(__CUDACC__)
#define NVSD_BOTH static __host__ __device__ __forceinline__
#else
#define NVSD_BOTH static inline __attribute__((unused))
#endif

#define NVSD_LIKELY(x) __builtin_expect(!!(x), 1)

/* For templates, which no compiler calls unused: too long to be inlined in each place. */
#if defined(NVS_EMULATE_DEVICE)
#define NVSD_OUT_OF_LINE static __attribute__((noinline))
#else
#define NVSD_OUT_OF_LINE static __device__ __noinline__
#endif

typedef const struct nvsi_dev_state &nvsd_self;

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Without a page there is no host that could say it: once, and without what only a host knows. */
NVSD_COLD void nvsd_say(nvsd_self self, const char *what)
{
#if defined(__CUDA_ARCH__)
    static __device__ unsigned said;
#else
    static unsigned said;
#endif
    if (nvsd_atomic_swap32(&said, 1) != 0)
        return;
    if (self.version == 0)
        printf(
            "nvs: %s: this kernel's module does not know the job: call nvshmemx_cumodule_init or "
            "nvshmemx_culibrary_init for it, after the first nvshmem_malloc; for a library that "
            "was compiled with -rdc and opened by dlopen, nvshmem_quiet on the host\n",
            what);
    else
        printf(
            "nvs: %s: called in a kernel that runs outside of nvshmem_init .. nvshmem_finalize\n",
            what);
}

NVSD_COLD void nvsd_report(nvsd_self self, enum nvsi_dev_code code, const char *what, int pe,
                           int team, uint64_t value, uint64_t seen)
{
    if (self.page)
        nvsd_page_report(self.page, code, what, pe, team, value, seen);
    else
        nvsd_say(self, what);
}

/* ---- addresses ------------------------------------------------------------------------------- */

NVSD_FN bool nvsd_in(uint64_t base, uint64_t nbytes, const void *sym)
{
    return (uint64_t)sym - base < nbytes;
}

NVSD_FN void *nvsd_shift(const void *sym, int64_t bytes)
{
    return (char *)(uint64_t)sym + bytes;
}

/* With NVS_CHECK: whether [sym, sym + nbytes) ends inside the segment that it begins in. */
NVSD_FN bool nvsd_fits(uint64_t base, uint64_t size, const void *sym, uint64_t nbytes)
{
    return nbytes <= size - ((uint64_t)sym - base);
}

NVSD_FN bool nvsd_reaches(nvsd_self self, int pe)
{
    return !self.reach || (self.reach[pe / 32] >> (pe % 32) & 1);
}

/* The peer's copy of an object for the rarer cases: objects in host memory, peers out of reach,
 * checks. NULL: there is none, and the host has been told. */
NVSD_COLD void *nvsd_map_slow(nvsd_self self, const char *what, const void *sym, uint64_t nbytes,
                              int pe)
{
    if (self.npes == 0) {
        if (!self.page) /* otherwise the job has failed, and the host knows */
            nvsd_say(self, what);
        return nullptr;
    }
    enum nvsi_dev_code code = NVSI_DEV_BAD_ADDRESS;
    uint64_t value = (uint64_t)sym;
    if ((uint32_t)pe >= (uint32_t)self.npes) {
        code = NVSI_DEV_BAD_PE;
    } else if (nvsd_in(self.heap, self.heap_bytes, sym)) {
        if (!nvsd_reaches(self, pe))
            code = NVSI_DEV_UNREACHABLE;
        else if (!self.checks || nvsd_fits(self.heap, self.heap_bytes, sym, nbytes))
            return nvsd_shift(sym, (int64_t)(pe - self.me) * self.stride);
    } else if (nvsd_in(self.host_heap, self.host_bytes, sym)) {
        if (!self.checks || nvsd_fits(self.host_heap, self.host_bytes, sym, nbytes))
            return nvsd_shift(sym, (int64_t)(pe - self.me) * self.host_stride);
    }
    nvsd_report(self, code, what, pe, -1, value, nbytes);
    return nullptr;
}

/* Nearly always: an object of the device heap, and nothing more to look at. */
NVSD_FN bool nvsd_is_near(nvsd_self self, const void *sym, int pe)
{
    return nvsd_in(self.heap, self.heap_bytes, sym) && (uint32_t)pe < (uint32_t)self.npes &&
           !self.reach && !self.checks;
}

NVSD_FN void *nvsd_near(nvsd_self self, const void *sym, int pe)
{
    return nvsd_shift(sym, (int64_t)(pe - self.me) * self.stride);
}

/* The address here of PE pe's copy of the symmetric range [sym, sym + nbytes). What is done with
 * one word asks the two above instead, and so has no join with the slow way before its access. */
NVSD_FN void *nvsd_map(nvsd_self self, const char *what, const void *sym, uint64_t nbytes, int pe)
{
    if (NVSD_LIKELY(nvsd_is_near(self, sym, pe)))
        return nvsd_near(self, sym, pe);
    return nvsd_map_slow(self, what, sym, nbytes, pe);
}

/* nvshmem_ptr: NULL without an error where there is no such address. */
NVSD_FN void *nvsd_ptr(nvsd_self self, const void *sym, int pe)
{
    if ((uint32_t)pe >= (uint32_t)self.npes)
        return nullptr;
    if (nvsd_in(self.heap, self.heap_bytes, sym))
        return nvsd_reaches(self, pe) ? nvsd_shift(sym, (int64_t)(pe - self.me) * self.stride)
                                      : nullptr;
    if (nvsd_in(self.host_heap, self.host_bytes, sym))
        return nvsd_shift(sym, (int64_t)(pe - self.me) * self.host_stride);
    return nullptr;
}

/* ---- teams ----------------------------------------------------------------------------------- */

/* NULL for a handle that is no team here. The table changes between kernels only. */
NVSD_FN const struct nvsi_dev_team *nvsd_find_team(nvsd_self self, int32_t team)
{
    if (team < 0 || self.npes == 0 || !self.teams)
        return nullptr;
    const struct nvsi_dev_team *found = &self.teams[team % NVSI_DEV_CHANNELS];
    return found->id == team ? found : nullptr;
}

NVSD_COLD const struct nvsi_dev_team *nvsd_no_team(nvsd_self self, const char *what, int32_t team)
{
    if (self.npes != 0)
        nvsd_report(self, NVSI_DEV_BAD_TEAM, what, -1, team, 0, 0);
    else if (!self.page)
        nvsd_say(self, what);
    return nullptr;
}

/* The same, with an error. */
NVSD_FN const struct nvsi_dev_team *nvsd_get_team(nvsd_self self, const char *what, int32_t team)
{
    const struct nvsi_dev_team *found = nvsd_find_team(self, team);
    return NVSD_LIKELY(found) ? found : nvsd_no_team(self, what, team);
}

/* World number of a member. */
NVSD_FN int nvsd_team_world(const struct nvsi_dev_team *team, int team_pe)
{
    return team->step ? team->start + team_pe * team->step : team->pes[team_pe];
}

NVSD_FN int nvsd_team_my_pe(nvsd_self self, int32_t team)
{
    const struct nvsi_dev_team *found = nvsd_find_team(self, team);
    return found ? found->team_pe : -1;
}

NVSD_FN int nvsd_team_n_pes(nvsd_self self, int32_t team)
{
    const struct nvsi_dev_team *found = nvsd_find_team(self, team);
    return found ? found->npes : -1;
}

/* The number in team `to` of PE team_pe of team `from`; -1 if it has none. */
NVSD_FN int nvsd_team_translate(nvsd_self self, int32_t from, int team_pe, int32_t to)
{
    const struct nvsi_dev_team *source = nvsd_find_team(self, from);
    const struct nvsi_dev_team *dest = nvsd_find_team(self, to);
    if (!source || !dest || (uint32_t)team_pe >= (uint32_t)source->npes)
        return -1;
    int pe = nvsd_team_world(source, team_pe);
    if (dest->step) {
        int number = (pe - dest->start) / dest->step;
        return number >= 0 && number < dest->npes && nvsd_team_world(dest, number) == pe ? number
                                                                                         : -1;
    }
    for (int i = 0; i < dest->npes; i++)
        if (dest->pes[i] == pe)
            return i;
    return -1;
}

/* The kernel part of the channel of member team_pe. */
NVSD_FN struct nvsi_channel_kernel *nvsd_channel(nvsd_self self, const struct nvsi_dev_team *team,
                                                 int team_pe)
{
    int64_t away = (int64_t)(nvsd_team_world(team, team_pe) - self.me) * self.stride;
    return (struct nvsi_channel_kernel *)(team->channel + NVSI_CHANNEL_KERNEL + (uint64_t)away);
}

#endif
