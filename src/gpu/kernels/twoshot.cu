/*
 * twoshot.cu - all-reduce of symmetric memory: each PE folds its share from all inputs into all
 * outputs.
 *
 * Launch shape: the same number of blocks on all PEs, NVSK_THREADS threads. Block b of a PE meets
 * block b of the others twice and has a part of the PE's share that is its own, so blocks do not
 * wait for each other on a PE. Each link carries 2 * (npes - 1) / npes * nbytes, half of them as
 * loads, half as stores: the least there is without a switch that adds.
 *
 * PEs that share a GPU meet on their streams instead (args.met; src/gpu/meet.c).
 *
 * In place: the share of an input is read by the same thread that overwrites it, and by no other.
 *
 * Memory order. First meeting: an input was written before in its PE's stream; the block's mark is
 * a release that comes after it, and is acquired before the loads. It also says that dst may be
 * written. Second meeting: all stores of a block come before its barrier, which comes before the
 * releases of the marks. A PE whose blocks have all acquired all marks has all results.
 */
#include "reduce.h"

/* Meets block b of all members. All threads of the block get the same answer; false: broken. */
NVSD_FN bool meet(const struct nvsk_team &team, uint64_t number)
{
    struct nvsi_channel_stream *own = nvsk_own(team);
    bool fine = true;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe)
            nvsd_mark_post(&nvsk_channel(team, i)->block_flags[blockIdx.x][team.team_pe], number);
    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe)
            fine &= nvsk_await_mark(team, &own->block_flags[blockIdx.x][i], number, i);
    return __syncthreads_and(fine);
}

/* This PE's vectors: [first, end). Shares begin at multiples of 128 bytes. */
NVSD_FN void share(const struct nvsk_twoshot_args &args, uint64_t *first, uint64_t *end)
{
    uint64_t count = nvsk_view_count(args.view), npes = (uint64_t)args.team.npes;
    uint64_t each = ((count + npes - 1) / npes + 7) / 8 * 8;
    *first = (uint64_t)args.team.team_pe * each;
    *end = *first + each < count ? *first + each : count;
}

NVSD_FN void reduce_share(const struct nvsk_twoshot_args &args)
{
    const struct nvsk_team &team = args.team;
    const uint64_t step = nvsk_threads();
    uint64_t first, end;
    share(args, &first, &end);
    for (uint64_t v = first + nvsk_thread(); v < end; v += NVSK_UNROLL * step) {
        struct nvsd_vec4 result[NVSK_UNROLL];
        nvsk_fold_some([&](int i) { return args.src + nvsk_away(team, i); }, team.npes, args.code,
                       args.divisor, args.view, v, step, end, result);
        for (int n = 1; n <= team.npes; n++) { /* each PE begins behind itself */
            int i = team.team_pe + n < team.npes ? team.team_pe + n : team.team_pe + n - team.npes;
            nvsk_store_some(args.dst + nvsk_away(team, i), args.view, v, step, end, result);
        }
    }
}

NVSD_KERNEL(nvsk_reduce_twoshot, struct nvsk_twoshot_args, args)
{
    const struct nvsk_team &team = args.team;
    struct nvsi_channel_stream *own = nvsk_own(team);
    struct nvsi_channel_count count = nvsk_count(&own->syncs);
    uint64_t round = count.round + 1;
    if (count.broken)
        return;
    if (!args.met) {
        nvsk_count_round(own, &own->syncs, round, 0);
        if (!meet(team, 2 * round))
            return;
    }
    reduce_share(args);
    if (!args.met)
        (void)meet(team, 2 * round + 1);
}
