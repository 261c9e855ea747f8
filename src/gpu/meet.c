/*
 * meet.c - a barrier on a stream without a kernel, for PEs that share a GPU.
 *
 * The kernels of two processes take turns on a GPU. One that waits for the other wastes its whole
 * turn, 2.2 ms; a stream that waits occupies nothing. So where members of a team share a GPU no
 * kernel of ours waits: they meet by memory operations of their streams (4.4 us from one process to
 * another, H200), and kernels run only between meetings, when all that they read is there.
 *
 * These operations take their values when they are enqueued, and a graph replays them, so a value
 * cannot be a number that counts up. Hence two flags for each pair of members and two rounds: in
 * each round a member sets its flag at all others to 1, waits for theirs, and sets those back to 0.
 *
 *   Why no flag is set twice before it is set back: a member sets round 0 of the next meeting only
 *   after it has passed round 1 of this one, so after it has seen our flag of round 1, which our
 *   stream sets after it has set round 0 back. The same the other way round for round 1.
 *
 * A write of a stream comes after everything that the stream did before it, for all who see the
 * written value (the driver's default), and a wait before everything that comes behind it.
 */
#include "gpu/await.h"
#include "gpu/coll.h"

/* The flag of member `from` for `round`, in the channel of member `at`. */
static CUdeviceptr flag_at(const struct nvsi_team *team, int at, int round, int from)
{
    char *channel = nvsi_gpu_channel_at(team, team->pes[at]);
    uint64_t index = (uint64_t)round * NVSI_CHANNEL_MAX_PES + (uint64_t)from;
    return (CUdeviceptr)(uintptr_t)channel + NVSI_CHANNEL_MEET + index * sizeof(uint32_t);
}

enum step { TELL, AWAIT, SET_BACK };

static CUresult one(const struct nvsi_team *team, enum step step, int round, int member,
                    CUstream stream)
{
    switch (step) {
    case TELL:
        return cu.cuStreamWriteValue32(stream, flag_at(team, member, round, team->team_pe), 1, 0);
    case AWAIT:
        return cu.cuStreamWaitValue32(stream, flag_at(team, team->team_pe, round, member), 1,
                                      CU_STREAM_WAIT_VALUE_EQ);
    default:
        return cu.cuStreamWriteValue32(stream, flag_at(team, team->team_pe, round, member), 0, 0);
    }
}

static int all_of(const char *fn, const struct nvsi_team *team, enum step step, int round,
                  CUstream stream)
{
    for (int away = 1; away < team->npes; away++) {
        int member = (team->team_pe + away) % team->npes;
        CUresult result = one(team, step, round, member, stream);
        if (result != CUDA_SUCCESS)
            return nvsi_cuda_error(fn, result, "meet PE %d on a stream", team->pes[member]);
    }
    return 0;
}

static int meet(const char *fn, const struct nvsi_team *team, const struct nvsi_await *await,
                CUstream stream)
{
    int status = 0;
    for (int round = 0; !status && round < 2; round++) {
        status = all_of(fn, team, TELL, round, stream);
        if (!status)
            status = nvsi_await_step(await, round ? NVSI_AWAIT_SECOND : NVSI_AWAIT_WAITING, stream);
        if (!status)
            status = all_of(fn, team, AWAIT, round, stream);
        if (!status)
            status = all_of(fn, team, SET_BACK, round, stream);
    }
    return status ? status : nvsi_await_step(await, NVSI_AWAIT_DONE, stream);
}

int nvsi_gpu_meet(const char *fn, const struct nvsi_team *team, CUstream stream)
{
    struct nvsi_await *await = nvsi_await_new(fn, stream);
    if (!await)
        return NVS_ERR_SYSTEM;
    await->team = team->id;
    await->npes = team->npes;
    await->channel = flag_at(team, team->team_pe, 0, 0) - NVSI_CHANNEL_MEET;
    int status = meet(fn, team, await, stream);
    if (status)
        nvsi_await_drop(await);
    return status;
}

/* All flags of this PE are set. */
void nvsi_gpu_break_up(CUdeviceptr channel, CUstream stream)
{
    CUdeviceptr part = channel + NVSI_CHANNEL_STREAM;
    (void)cu.cuMemsetD32Async(part + offsetof(struct nvsi_channel_stream, pushes.broken), 1, 1,
                              stream);
    (void)cu.cuMemsetD32Async(part + offsetof(struct nvsi_channel_stream, syncs.broken), 1, 1,
                              stream);
    (void)cu.cuMemsetD32Async(channel + NVSI_CHANNEL_MEET, 1, 2 * NVSI_CHANNEL_MAX_PES, stream);
}
