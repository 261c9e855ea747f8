/*
 * sync.c - barrier and sync: a collective without data; each PE publishes and waits for all.
 * Cost: one cache line from each member, all in flight at once.
 */
#include "express.h"
#include "transport/transport.h"

static void nothing(struct nvsi_coll *c)
{
    (void)c;
}

const struct nvsi_coll_kind nvsi_kind_sync = {
    .kind = NVSI_KIND_SYNC, .flight = NVSI_AT_SYNC, .alone = nothing, .eager = nothing};

const struct nvsi_coll_kind nvsi_kind_barrier = {
    .kind = NVSI_KIND_SYNC, .flight = NVSI_AT_BARRIER, .alone = nothing, .eager = nothing};

static const struct nvsi_coll_args no_data = {
    .dtype = -1, .dst_stride = 1, .src_stride = 1, .elem_bytes = 1};

NVSI_INLINE int run(const char *fn, const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                    uint32_t flight)
{
    struct nvsi_coll_args args = no_data;
    args.fn = fn;
    args.flight = flight;
    return nvsi_coll_express(kind, team, &args);
}

int nvsi_sync(const char *fn, struct nvsi_team *team)
{
    return run(fn, &nvsi_kind_sync, team, 0);
}

int nvsi_sync_within(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight)
{
    return run(fn, &nvsi_kind_sync, team, flight);
}

int nvsi_barrier(const char *fn, struct nvsi_team *team)
{
    int status = NVSI_UNLIKELY(nvsi.delays) ? nvsi_quiet_slow(NULL, fn) : 0;
    return status ? status : run(fn, &nvsi_kind_barrier, team, 0);
}

const char *nvsi_coll_kind_name(int kind)
{
    static const uint32_t flights[] = {
        [NVSI_KIND_SYNC] = NVSI_AT_SYNC,
        [NVSI_KIND_BROADCAST] = NVSI_AT_BROADCAST,
        [NVSI_KIND_ALL_GATHER] = NVSI_AT_ALL_GATHER,
        [NVSI_KIND_COLLECT] = NVSI_AT_COLLECT,
        [NVSI_KIND_ALL_TO_ALL] = NVSI_AT_ALL_TO_ALL,
        [NVSI_KIND_ALL_REDUCE] = NVSI_AT_ALL_REDUCE,
        [NVSI_KIND_REDUCE_SCATTER] = NVSI_AT_REDUCE_SCATTER,
    };
    if (kind < 1 || kind > NVSI_KIND_REDUCE_SCATTER)
        return "?";
    return nvsi_flight_name(flights[kind]);
}
