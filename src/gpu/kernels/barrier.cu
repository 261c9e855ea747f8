/*
 * barrier.cu - barrier and sync of a team on a stream.
 *
 * Launch shape: one block, a thread for each member, more members in turns. Cost: one trip over the
 * wire, whatever the number of PEs.
 *
 * Memory order: what came before in the stream is visible to this kernel; each mark is a release,
 * so it comes before the mark for whoever acquires that. Each member acquires the marks of all
 * before its kernel ends. So all puts that came before the barrier in any member's stream are
 * visible after it in every member's stream: barrier and sync are the same.
 */
#include "kernel.h"

NVSD_KERNEL(nvsk_barrier, struct nvsk_barrier_args, args)
{
    const struct nvsk_team &team = args.team;
    struct nvsi_channel_stream *own = nvsk_own(team);
    struct nvsi_channel_count count = nvsk_count(&own->syncs);
    uint64_t round = count.round + 1;
    if (count.broken)
        return;

    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe)
            nvsd_mark_post(&nvsk_channel(team, i)->flags[team.team_pe], round);
    nvsk_count_round(own, &own->syncs, round, 0);
    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe && !nvsk_await_mark(team, &own->flags[i], round, i))
            return;
}
