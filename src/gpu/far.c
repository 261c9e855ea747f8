/*
 * far.c - channels in memory of the host, for teams of which two GPUs do not reach each other.
 *
 * All GPUs of a host reach its memory. So the channel of such a team lies there: laid out as in a
 * window, of which flags of meetings and the stage are used (meet.c, coll_staged.c). Streams meet
 * by their memory operations on flags in the host's memory, copy chunks to their own stage and from
 * those of others, and a kernel that folds reads the stages where they are. Nothing of it needs a
 * thread of the host: what a host function of a stream waits for could be stuck behind it, as the
 * driver may run those of all streams on one thread, and graphs replay this as anything else.
 *
 * Each PE has a memory file with room for the channels of all its teams, which the others map, PE
 * after PE at one distance. It takes memory for teams that are far only: 8 MiB of each member,
 * which is pinned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot/fdpass.h"
#include "gpu/coll.h"
#include "gpu/window.h"

#define FILE_BYTES ((size_t)(NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES))

static struct {
    char *base;                      /* the files of all PEs; NULL: no team is far */
    bool *pinned[NVSI_DEV_CHANNELS]; /* by member: teams that are open here */
    int32_t *pes[NVSI_DEV_CHANNELS]; /* their members */
    int32_t count[NVSI_DEV_CHANNELS];
} far;

static char *channel_at(int slot, int pe)
{
    return far.base + (size_t)pe * FILE_BYTES + (size_t)slot * NVSI_DEV_CHANNEL_BYTES;
}

static bool is_open(const struct nvsi_team *team)
{
    return team->slot >= 0 && far.pes[team->slot];
}

void *nvsi_gpu_channel_at(const struct nvsi_team *team, int pe)
{
    return is_open(team) ? channel_at(team->slot, pe)
                         : nvsi_window_at(pe, (uint64_t)team->slot * NVSI_DEV_CHANNEL_BYTES);
}

int64_t nvsi_gpu_channel_stride(const struct nvsi_team *team)
{
    return is_open(team) ? (int64_t)FILE_BYTES : nvsi_gpu.stride;
}

/* ---- the files ---------------------------------------------------------------------------------
 */

static int failed(const char *fn, const char *attempt, int pe)
{
    return nvsi_error(NVS_ERR_SYSTEM, "%s: cannot %s of PE %d through which GPUs talk: %s", fn,
                      attempt, pe, strerror(errno));
}

static int map_file(const char *fn, int pe, int fd)
{
    void *at = far.base + (size_t)pe * FILE_BYTES;
    if (mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != at)
        return failed(fn, "map the memory", pe);
    (void)madvise(at, FILE_BYTES, MADV_DONTFORK);
    return 0;
}

static int make_file(const char *fn, int *fd)
{
    size_t nbytes = FILE_BYTES * (size_t)nvsi.npes;
    void *base = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *fd = memfd_create("nvs channels", MFD_CLOEXEC);
    far.base = base == MAP_FAILED ? NULL : base;
    if (!far.base || *fd < 0 || ftruncate(*fd, (off_t)FILE_BYTES))
        return failed(fn, "make the memory", nvsi.me);
    return 0;
}

static int share_file(const char *fn, int own)
{
    uint64_t tag = nvsi.teams[NVSI_TEAM_WORLD]->seq << 24 | 0xffffff; /* no granule's */
    int status = map_file(fn, nvsi.me, own);
    for (int n = 1; !status && n < nvsi.npes; n++)
        status = nvsi_fdpass_send(fn, (nvsi.me + n) % nvsi.npes, tag, own);
    for (int n = 1; status != NVS_ERR_PE_LOST && n < nvsi.npes; n++) {
        int fd, pe = (nvsi.me + n) % nvsi.npes;
        int received = nvsi_fdpass_receive(fn, pe, tag, &fd);
        if (!received) {
            received = map_file(fn, pe, fd);
            close(fd);
        }
        status = status ? status : received;
    }
    return status;
}

/* ---- teams -------------------------------------------------------------------------------------
 */

/* Pinned memory has the same address on the GPU wherever we know; the channels of two PEs could not
 * be at one distance otherwise. */
static int pin(const char *fn, int slot, int pe)
{
    char *at = channel_at(slot, pe);
    CUdeviceptr seen = 0;
    CUresult result = cu.cuMemHostRegister(
        at, NVSI_DEV_CHANNEL_BYTES, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result)
        return nvsi_cuda_error(fn, result,
                               "pin %llu bytes through which GPUs talk that do not reach each "
                               "other",
                               (unsigned long long)NVSI_DEV_CHANNEL_BYTES);
    result = cu.cuMemHostGetDevicePointer(&seen, at, 0);
    if (result || seen == (CUdeviceptr)(uintptr_t)at)
        return result ? nvsi_cuda_error(fn, result, "find pinned memory on the GPU") : 0;
    return nvsi_error(
        NVS_ERR_UNSUPPORTED,
        "%s: GPU %d of PE %d has another address for pinned memory of the host, which "
        "GPUs that do not reach each other cannot talk through",
        fn, nvsi_gpu.ordinal, nvsi.me);
}

static void drop(int slot)
{
    for (int i = 0; far.pes[slot] && i < far.count[slot]; i++)
        if (far.pinned[slot][i])
            (void)cu.cuMemHostUnregister(channel_at(slot, far.pes[slot][i]));
    free(far.pes[slot]);
    free(far.pinned[slot]);
    far.pes[slot] = NULL;
    far.pinned[slot] = NULL;
}

/* What an earlier team of that place has left is forgotten before others can write there: they
 * agree afterwards. */
static int open_team(const char *fn, const struct nvsi_team *team)
{
    int slot = team->slot, status = 0;
    drop(slot);
    far.pinned[slot] = calloc((size_t)team->npes, sizeof(bool));
    far.pes[slot] = malloc((size_t)team->npes * sizeof(int32_t));
    if (!far.pinned[slot] || !far.pes[slot])
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the channel of a team", fn);
    memcpy(far.pes[slot], team->pes, (size_t)team->npes * sizeof(int32_t));
    far.count[slot] = team->npes;
    memset(channel_at(slot, nvsi.me), 0, NVSI_DEV_CHANNEL_BYTES);
    for (int i = 0; !status && i < team->npes; i++) {
        status = pin(fn, slot, team->pes[i]);
        far.pinned[slot][i] = !status;
    }
    return status;
}

int nvsi_gpu_far_team(const char *fn, struct nvsi_team *team)
{
    if (!far.base || team->slot < 0 || !nvsi_gpu_coll_far(team))
        return 0;
    return nvsi_window_agree(fn, team, NVSI_AT_TEAM_SPLIT, open_team(fn, team), 0);
}

void nvsi_gpu_far_left(const struct nvsi_team *team)
{
    if (team->slot >= 0)
        drop(team->slot);
}

/* ---- open and close ----------------------------------------------------------------------------
 */

static int open_teams(const char *fn)
{
    int status = 0;
    pthread_mutex_lock(&nvsi.lock);
    for (int i = 0; !status && i < NVSI_MAX_TEAMS; i++)
        if (nvsi.teams[i] && nvsi.teams[i]->slot >= 0 && nvsi_gpu_coll_far(nvsi.teams[i]))
            status = open_team(fn, nvsi.teams[i]);
    pthread_mutex_unlock(&nvsi.lock);
    return status;
}

int nvsi_gpu_far_open(const char *fn)
{
    struct nvsi_team *world = nvsi.teams[NVSI_TEAM_WORLD];
    int fd = -1;
    if (!nvsi_gpu_coll_far(world))
        return 0;
    int status = nvsi_window_agree(fn, world, NVSI_AT_MALLOC, make_file(fn, &fd), 0);
    bool made = !status; /* by all, or nobody goes on */
    if (made)
        status = share_file(fn, fd);
    if (fd >= 0)
        close(fd);
    if (!status)
        status = open_teams(fn);
    if (status == NVS_ERR_PE_LOST || !made)
        return status;
    return nvsi_window_agree(fn, world, NVSI_AT_MALLOC, status, 0);
}

void nvsi_gpu_far_close(void)
{
    for (int slot = 0; slot < NVSI_DEV_CHANNELS; slot++)
        drop(slot);
    if (far.base)
        munmap(far.base, FILE_BYTES * (size_t)nvsi.npes);
    far.base = NULL;
}
