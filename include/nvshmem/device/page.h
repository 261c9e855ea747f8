/*
 * nvshmem/device/page.h - what kernels tell the host by the page that they share with it (state.h):
 * the first thing that is wrong, and waits that last. For kernels of programs and of the library.
 *
 * A wait ends in any case: each NVSD_LOOK_ROUNDS rounds it looks at the page's give_up, which the
 * host sets when a PE was lost. From the second such look on the host sees in page->waits who waits
 * for what. Without a page there is nobody to tell, and nobody who would end the wait.
 */
#ifndef NVS_NVSHMEM_DEVICE_PAGE_H
#define NVS_NVSHMEM_DEVICE_PAGE_H

#include "nvshmem/device/prim.h"
#include "nvshmem/device/state.h"

/* ---- what is wrong --------------------------------------------------------------------------- */

/* The first one wins. The fields are stored before `ready`, which the host acquires. */
NVSD_COLD void nvsd_page_report(struct nvsi_dev_page *page, enum nvsi_dev_code code,
                                const char *what, int pe, int team, uint64_t value, uint64_t seen)
{
    struct nvsi_dev_report *report = &page->report;
    if (nvsd_atomic_cas32(&report->code, NVSI_DEV_FINE, (uint32_t)code) != NVSI_DEV_FINE)
        return;
    volatile char *name = report->what;
    size_t length = 0;
    for (; length + 1 < sizeof report->what && what[length]; length++)
        name[length] = what[length];
    name[length] = 0;
    *(volatile int32_t *)&report->pe = pe;
    *(volatile int32_t *)&report->team = team;
    nvsd_st_relaxed64(&report->value, value);
    nvsd_st_relaxed64(&report->seen, seen);
    nvsd_st_release32(&report->ready, 1);
}

/* ---- waits that last ------------------------------------------------------------------------- */

/* What is waited for, for whoever has to explain it. Passed by value to functions that are not
 * inlined: a reference would put it on the stack of every kernel that waits. */
struct nvsd_awaited {
    const char *what;
    enum nvsi_dev_wait_kind kind;
    int pe, team;
    uint64_t address, wanted;
};

enum { NVSD_NO_ENTRY = -1, NVSD_GAVE_UP = -2 };

NVSD_COLD int nvsd_take_entry(struct nvsi_dev_page *page, struct nvsd_awaited awaited)
{
    for (int i = 0; i < NVSI_DEV_WAITS; i++) {
        struct nvsi_dev_wait *wait = &page->waits[i];
        if (nvsd_ld_relaxed32(&wait->busy) || nvsd_atomic_cas32(&wait->busy, 0, 1) != 0)
            continue;
        *(volatile int32_t *)&wait->pe = awaited.pe;
        *(volatile int32_t *)&wait->team = awaited.team;
        nvsd_st_relaxed32(&wait->kind, (uint32_t)awaited.kind);
        nvsd_st_relaxed64(&wait->address, awaited.address);
        nvsd_st_relaxed64(&wait->wanted, awaited.wanted);
        return i;
    }
    return NVSD_NO_ENTRY;
}

/* Now and then in a wait: has the host given up? Returns the entry of page->waits that the wait has
 * from now on, or NVSD_GAVE_UP: the entry is free again, and the host has been told. */
NVSD_COLD int nvsd_look(struct nvsi_dev_page *page, struct nvsd_awaited awaited, int entry,
                        unsigned rounds, uint64_t seen)
{
    if (!page)
        return NVSD_NO_ENTRY;
    if (nvsd_ld_relaxed32(&page->give_up)) {
        if (entry >= 0)
            nvsd_st_release32(&page->waits[entry].busy, 0);
        nvsd_page_report(page, NVSI_DEV_GAVE_UP, awaited.what, awaited.pe, awaited.team,
                         awaited.wanted, seen);
        return NVSD_GAVE_UP;
    }
    if (entry < 0 && rounds >= 2 * NVSD_LOOK_ROUNDS)
        entry = nvsd_take_entry(page, awaited);
    if (entry >= 0) {
        nvsd_st_relaxed64(&page->waits[entry].seen, seen);
        nvsd_st_relaxed64(&page->waits[entry].rounds, rounds);
    }
    return entry;
}

/* One round of waiting. False: the host has given up. */
NVSD_FN bool nvsd_wait_round(struct nvsi_dev_page *page, const struct nvsd_awaited &awaited,
                             int *entry, unsigned *rounds, uint64_t seen)
{
    nvsd_relax(rounds);
    if (*rounds % NVSD_LOOK_ROUNDS == 0)
        *entry = nvsd_look(page, awaited, *entry, *rounds, seen);
    return *entry != NVSD_GAVE_UP;
}

NVSD_FN void nvsd_wait_end(struct nvsi_dev_page *page, int entry)
{
    if (entry >= 0)
        nvsd_st_release32(&page->waits[entry].busy, 0);
}

#endif
