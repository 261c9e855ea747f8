/*
 * kernel.h - what the kernels of the library share: addresses, copies of any alignment, waits.
 *
 * Kernels are compiled by nvcc into the fatbin of libnvs, and by the host compiler into the tests
 * (nvshmem/device/prim.h). They follow each other in a stream: what one has done is visible to the
 * whole system before the next one begins, so a kernel needs fences for what it does itself only.
 */
#ifndef NVSI_GPU_KERNELS_KERNEL_H
#define NVSI_GPU_KERNELS_KERNEL_H

#include "args.h"
#include "nvshmem/device/channel.h"
#include "nvshmem/device/page.h"
#include "nvshmem/device/prim.h"
#include "nvshmem/device/proto.h"

template <class T> NVSD_FN T *nvsk_at(uint64_t address)
{
    return (T *)address;
}

NVSD_FN unsigned nvsk_thread(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}
NVSD_FN unsigned nvsk_threads(void)
{
    return gridDim.x * blockDim.x;
}

/* ---- copies of any alignment ----------------------------------------------------------------- */

/* The widest access that an address (or several, ored) allows: 16, 8, 4, 2 or 1 bytes. */
NVSD_FN unsigned nvsk_unit(uint64_t address)
{
    unsigned low = (unsigned)(address | 16);
    return low & (0u - low);
}

/* Up to 4 bytes from an address that `unit` divides, in a word. */
NVSD_FN uint32_t nvsk_load_word(uint64_t at, unsigned nbytes, unsigned unit)
{
    if (unit >= 4 && nbytes >= 4)
        return *nvsk_at<const uint32_t>(at);
    uint32_t word = 0;
    for (unsigned k = 0; k < 4 && k < nbytes; k++)
        word |= (uint32_t)*nvsk_at<const uint8_t>(at + k) << 8 * k;
    return word;
}

NVSD_FN void nvsk_store_word(uint64_t at, uint32_t word, unsigned nbytes, unsigned unit)
{
    if (unit >= 4 && nbytes >= 4) {
        *nvsk_at<uint32_t>(at) = word;
    } else if (unit >= 2 && nbytes >= 4) { /* a half is never torn */
        *nvsk_at<uint16_t>(at) = (uint16_t)word;
        *nvsk_at<uint16_t>(at + 2) = (uint16_t)(word >> 16);
    } else if (unit >= 2 && nbytes >= 2) {
        *nvsk_at<uint16_t>(at) = (uint16_t)word;
        if (nbytes == 3)
            *nvsk_at<uint8_t>(at + 2) = (uint8_t)(word >> 16);
    } else {
        for (unsigned k = 0; k < 4 && k < nbytes; k++)
            *nvsk_at<uint8_t>(at + k) = (uint8_t)(word >> 8 * k);
    }
}

NVSD_FN unsigned nvsk_rest(uint64_t nbytes, unsigned used)
{
    return nbytes <= used ? 0 : nbytes - used < 4 ? (unsigned)(nbytes - used) : 4;
}

NVSD_FN void nvsk_store_long(uint64_t at, uint32_t low, uint32_t high, uint64_t nbytes,
                             unsigned unit)
{
    if (unit >= 8 && nbytes >= 8) { /* nor is an element of 8 bytes */
        *nvsk_at<uint64_t>(at) = low | (uint64_t)high << 32;
    } else {
        nvsk_store_word(at, low, nvsk_rest(nbytes, 0), unit);
        nvsk_store_word(at + 4, high, nvsk_rest(nbytes, 4), unit);
    }
}

/* A vector of which nbytes (at least 1) are there; the rest is 0. Not inlined: what is aligned and
 * whole does not come here. */
NVSD_COLD struct nvsd_vec4 nvsk_load_part(uint64_t at, uint64_t nbytes, unsigned unit)
{
    struct nvsd_vec4 vec;
    vec.x = nvsk_load_word(at, nvsk_rest(nbytes, 0), unit);
    vec.y = nvsk_load_word(at + 4, nvsk_rest(nbytes, 4), unit);
    vec.z = nvsk_load_word(at + 8, nvsk_rest(nbytes, 8), unit);
    vec.w = nvsk_load_word(at + 12, nvsk_rest(nbytes, 12), unit);
    return vec;
}

NVSD_COLD void nvsk_store_part(uint64_t at, struct nvsd_vec4 vec, uint64_t nbytes, unsigned unit)
{
    nvsk_store_long(at, vec.x, vec.y, nbytes, unit);
    if (nbytes > 8)
        nvsk_store_long(at + 8, vec.z, vec.w, nbytes - 8, unit);
}

NVSD_FN struct nvsd_vec4 nvsk_load(uint64_t at, uint64_t nbytes, unsigned unit)
{
    if (unit == 16 && nbytes >= 16)
        return *nvsk_at<const struct nvsd_vec4>(at);
    return nvsk_load_part(at, nbytes, unit);
}

NVSD_FN void nvsk_store(uint64_t at, struct nvsd_vec4 vec, uint64_t nbytes, unsigned unit)
{
    if (unit == 16 && nbytes >= 16)
        *nvsk_at<struct nvsd_vec4>(at) = vec;
    else
        nvsk_store_part(at, vec, nbytes, unit);
}

/*
 * A range in vectors such that all but the first and the last are whole and, if the view is
 * aligned, begin at multiples of 16. Vector 0 has `head` bytes; there may be none of them.
 */
NVSD_FN uint64_t nvsk_view_count(const struct nvsk_view &view)
{
    return 1 + (view.nbytes - view.head + 15) / 16;
}
NVSD_FN uint64_t nvsk_view_at(const struct nvsk_view &view, uint64_t v)
{
    return v == 0 ? 0 : view.head + (v - 1) * 16;
}
/* Bytes from the vector's start on that belong to it; more than 16 mean 16. */
NVSD_FN uint64_t nvsk_view_bytes(const struct nvsk_view &view, uint64_t v)
{
    return v == 0 ? view.head : view.nbytes - nvsk_view_at(view, v);
}
NVSD_FN unsigned nvsk_view_unit(const struct nvsk_view &view, uint64_t v)
{
    return v == 0 ? view.head_unit : view.unit;
}

/* ---- teams and channels ---------------------------------------------------------------------- */

NVSD_FN int nvsk_world(const struct nvsk_team &team, int i)
{
    return team.step ? team.start + i * team.step : nvsk_at<const int32_t>(team.pes)[i];
}

/* From an address of this PE to the same one of member i. */
NVSD_FN uint64_t nvsk_away(const struct nvsk_team &team, int i)
{
    return (uint64_t)((int64_t)(nvsk_world(team, i) - team.me) * team.stride);
}

NVSD_FN struct nvsi_channel_stream *nvsk_channel(const struct nvsk_team &team, int i)
{
    return nvsk_at<struct nvsi_channel_stream>(team.channel + nvsk_away(team, i));
}

NVSD_FN struct nvsi_channel_stream *nvsk_own(const struct nvsk_team &team)
{
    return nvsk_at<struct nvsi_channel_stream>(team.channel);
}

NVSD_FN struct nvsi_channel_count nvsk_count(const struct nvsi_channel_count *count)
{
    struct nvsd_vec4 vec = nvsd_ld_relaxed128((const struct nvsd_vec4 *)(const void *)count);
    struct nvsi_channel_count value = {vec.x | (uint64_t)vec.y << 32, vec.z, vec.w};
    return value;
}

/*
 * The next kernel's round. All threads of the block have loaded the count when thread 0 says so;
 * the block that says it last stores the new one. No block needs to wait for that, since nobody
 * reads it but the next kernel.
 */
NVSD_FN void nvsk_count_round(struct nvsi_channel_stream *own, struct nvsi_channel_count *count,
                              uint64_t round, uint32_t rooted)
{
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (gridDim.x > 1) {
        if (nvsd_atomic_add32(&own->readers, 1) != gridDim.x - 1)
            return;
        nvsd_st_relaxed32(&own->readers, 0);
    }
    nvsd_st_relaxed64(&count->round, round);
    nvsd_st_relaxed32(&count->rooted, rooted);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* One wait of one thread. */
struct nvsk_wait {
    unsigned rounds;
    int entry; /* of page->waits, as in page.h */
};

NVSD_FN struct nvsk_wait nvsk_wait_begin(void)
{
    struct nvsk_wait wait = {0, NVSD_NO_ENTRY};
    return wait;
}

/* One round of a wait. False: the host has ended it. */
NVSD_FN bool nvsk_round(struct nvsk_wait *wait, uint64_t page, const struct nvsd_awaited &awaited,
                        uint64_t seen)
{
    return nvsd_wait_round(nvsk_at<struct nvsi_dev_page>(page), awaited, &wait->entry,
                           &wait->rounds, seen);
}

NVSD_FN void nvsk_done(const struct nvsk_wait *wait, uint64_t page)
{
    nvsd_wait_end(nvsk_at<struct nvsi_dev_page>(page), wait->entry);
}

/* What a kernel of a team waits for from member i. */
NVSD_FN struct nvsd_awaited nvsk_awaited(const struct nvsk_team &team, int i,
                                         enum nvsi_dev_wait_kind kind, uint64_t address,
                                         uint64_t wanted)
{
    struct nvsd_awaited awaited = {"a collective", kind,    nvsk_world(team, i),
                                   team.handle,    address, wanted};
    return awaited;
}

/* Whether puts and signals are still sent: not after a wait was ended, which they may stand for. */
NVSD_FN bool nvsk_gate_open(uint64_t gate)
{
    return !gate || !nvsd_ld_relaxed32(nvsk_at<const uint32_t>(gate));
}
NVSD_FN void nvsk_gate_shut(uint64_t gate)
{
    if (gate)
        nvsd_st_relaxed32(nvsk_at<uint32_t>(gate), 1);
}

/* From now on the kernels of this team do nothing on this PE. */
NVSD_FN void nvsk_break(const struct nvsk_team &team)
{
    nvsd_st_relaxed32(&nvsk_own(team)->pushes.broken, 1);
    nvsd_st_relaxed32(&nvsk_own(team)->syncs.broken, 1);
    nvsk_gate_shut(team.gate);
}

/* Waits for a mark of member i. False: the team is broken now. */
NVSD_FN bool nvsk_await_mark(const struct nvsk_team &team, const uint64_t *mark, uint64_t want,
                             int i)
{
    struct nvsk_wait wait = nvsk_wait_begin();
    while (!nvsd_mark_test(mark, want)) {
        if (!nvsk_round(&wait, team.page,
                        nvsk_awaited(team, i, NVSI_DEV_WAIT_BARRIER, (uint64_t)mark, want),
                        nvsd_ld_relaxed64(mark))) {
            nvsk_break(team);
            return false;
        }
    }
    nvsk_done(&wait, team.page);
    return true;
}

#endif
