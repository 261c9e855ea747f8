/*
 * nvshmem/device/sync.h - barrier and sync of a team, for kernels.
 *
 * Each member has a word for each member in its channel. It stores the number of the barrier, which
 * its own channel counts, in its word at all the others, and waits until its own words have reached
 * it: one trip over the wire, whatever the number of PEs, with the threads of the scope sharing the
 * members among them. Numbers only grow, so nothing is reset (proto.h says more).
 *
 * Memory order: the scope meets, then each thread that stores words has a fence first. The meeting
 * orders what the other threads of the scope did before that fence, fences are cumulative, and the
 * words are acquired, then the scope meets again: so all that any thread of the scope did before
 * the call comes before all that any thread of the other PEs' scopes does after it. That completes
 * puts as well, so barrier and sync are the same; what other threads of this PE did counts if the
 * caller was ordered after it, by __syncthreads or grid.sync() for example.
 */
#ifndef NVS_NVSHMEM_DEVICE_SYNC_H
#define NVS_NVSHMEM_DEVICE_SYNC_H

#include "nvshmem/device/proto.h"
#include "nvshmem/device/wait.h"

/* What collectives return, for each thread: 0, or this if the team is none or the wait was given
 * up; the host knows more. */
enum { NVSD_FAILED = -1 };

NVSD_FN int nvsd_await_flag(nvsd_self self, const char *what, const struct nvsi_dev_team *team,
                            const uint32_t *flag, int team_pe, uint32_t number)
{
    struct nvsd_awaited awaited = {what,     NVSI_DEV_WAIT_BARRIER, nvsd_team_world(team, team_pe),
                                   team->id, (uint64_t)flag,        number};
    int entry = NVSD_NO_ENTRY;
    for (unsigned rounds = 0; !nvsd_flag_test(flag, number);)
        if (!nvsd_wait_round(self.page, awaited, &entry, &rounds, nvsd_ld_relaxed32(flag)))
            return NVSD_FAILED;
    nvsd_wait_end(self.page, entry);
    return 0;
}

/* The threads of the scope have met, and meet again afterwards. */
NVSD_FN int nvsd_sync_members(nvsd_self self, enum nvsd_scope scope, const char *what,
                              const struct nvsi_dev_team *team)
{
    int npes = team->npes, me = team->team_pe, status = 0;
    struct nvsi_channel_kernel *mine = nvsd_channel(self, team, me);
    uint32_t number = nvsd_ld_relaxed32(&mine->syncs) + 1;

    nvsd_fence_system();
    for (int i = (int)nvsd_rank(scope); i < npes; i += (int)nvsd_size(scope))
        if (i != me)
            nvsd_st_relaxed32(&nvsd_channel(self, team, i)->flags[me], number);
    for (int i = (int)nvsd_rank(scope); i < npes; i += (int)nvsd_size(scope))
        if (i != me && nvsd_await_flag(self, what, team, &mine->flags[i], i, number) != 0)
            status = NVSD_FAILED;
    nvsd_sync(scope);
    if (nvsd_rank(scope) == 0)
        nvsd_st_relaxed32(&mine->syncs, number);
    return status;
}

template <enum nvsd_scope scope>
NVSD_OUT_OF_LINE int nvsd_sync_team(nvsd_self self, const char *what, int32_t handle)
{
    const struct nvsi_dev_team *team = nvsd_get_team(self, what, handle);
    int status = team ? 0 : NVSD_FAILED;
    nvsd_sync(scope);
    if (team && team->npes > 1)
        status = nvsd_sync_members(self, scope, what, team);
    else if (team)
        nvsd_fence_full(); /* quiet */
    nvsd_sync(scope);
    return status;
}

#endif
