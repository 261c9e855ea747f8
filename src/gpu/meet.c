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
#include "gpu/gpu.h"
#include "nvshmem/device/channel.h"

/* The flag of member `from` for `round`, in the channel of member `at`. */
static CUdeviceptr flag_at(const struct nvsi_team *team, int at, int round, int from)
{
    uint64_t offset = (uint64_t)team->slot * NVSI_DEV_CHANNEL_BYTES + NVSI_CHANNEL_MEET;
    uint64_t index = (uint64_t)round * NVSI_CHANNEL_MAX_PES + (uint64_t)from;
    return (CUdeviceptr)(uintptr_t)nvsi_window_at(team->pes[at], offset) + index * sizeof(uint32_t);
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

int nvsi_gpu_meet(const char *fn, const struct nvsi_team *team, CUstream stream)
{
    for (int round = 0; round < 2; round++)
        for (enum step step = TELL; step <= SET_BACK; step++)
            for (int away = 1; away < team->npes; away++) {
                int member = (team->team_pe + away) % team->npes;
                CUresult result = one(team, step, round, member, stream);
                if (result != CUDA_SUCCESS)
                    return nvsi_cuda_error(fn, result, "meet PE %d on a stream", team->pes[member]);
            }
    return 0;
}

/* A meeting in which somebody is missing ends here: all flags of this PE are set. */
void nvsi_gpu_break_up(const struct nvsi_team *team, CUstream stream)
{
    CUdeviceptr flags = flag_at(team, team->team_pe, 0, 0);
    (void)cu.cuMemsetD32Async(flags, 1, 2 * NVSI_CHANNEL_MAX_PES, stream);
}
