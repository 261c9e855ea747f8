/*
 * team_table.c - the teams of this PE, as its kernels look them up: an array in device memory, by
 * handle.
 *
 * All the memory is taken at once, at stage two: allocating may wait for kernels, which may wait
 * for other PEs, which may wait for this one to make its team.
 */
#include <string.h>

#include "gpu/gpu.h"

static struct {
    CUdeviceptr entries; /* NVSI_DEV_CHANNELS of struct nvsi_dev_team, then as many lists of PEs */
} table;

static size_t list_at(size_t slot)
{
    size_t entries = NVSI_DEV_CHANNELS * sizeof(struct nvsi_dev_team);
    return entries + slot * (size_t)nvsi.npes * sizeof(int32_t);
}

/* Writes in a stream of its own: state.c says why. */
static CUresult write_parts(CUstream stream, size_t slot, const struct nvsi_dev_team *entry,
                            const struct nvsi_team *team)
{
    CUresult result = CUDA_SUCCESS;
    if (team)
        result = cu.cuMemcpyHtoDAsync(table.entries + list_at(slot), team->pes,
                                      (size_t)team->npes * sizeof(int32_t), stream);
    if (!result)
        result = cu.cuMemcpyHtoDAsync(table.entries + slot * sizeof *entry, entry, sizeof *entry,
                                      stream);
    return result ? result : cu.cuStreamSynchronize(stream);
}

static int write_entry(const char *fn, size_t slot, const struct nvsi_dev_team *entry,
                       const struct nvsi_team *team)
{
    CUstream stream;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    if (!result) {
        result = write_parts(stream, slot, entry, team);
        cu.cuStreamDestroy(stream);
    }
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    return result ? nvsi_cuda_error(fn, result, "tell kernels about a team") : 0;
}

/* Ids of -1 everywhere: all bits are set. */
static CUresult clear_table(void)
{
    CUstream stream;
    CUresult result = cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    if (result)
        return result;
    result = cu.cuMemsetD8Async(table.entries, 0xff,
                                NVSI_DEV_CHANNELS * sizeof(struct nvsi_dev_team), stream);
    if (!result)
        result = cu.cuStreamSynchronize(stream);
    cu.cuStreamDestroy(stream);
    return result;
}

static int open_table(const char *fn)
{
    _Static_assert(NVSI_DEV_CHANNELS == NVSI_MAX_TEAMS, "an entry for each handle");
    if (table.entries)
        return 0;
    size_t nbytes = list_at(NVSI_DEV_CHANNELS);
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cu.cuMemAlloc(&table.entries, nbytes);
    if (!result)
        result = clear_table();
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    if (result)
        return nvsi_cuda_error(fn, result, "take %zu bytes for the table of teams", nbytes);
    nvsi_gpu.state.teams = (const struct nvsi_dev_team *)(uintptr_t)table.entries;
    return 0;
}

/* start and step, if the members are evenly spaced; else step 0. */
static void find_step(const struct nvsi_team *team, struct nvsi_dev_team *entry)
{
    int step = team->npes > 1 ? team->pes[1] - team->pes[0] : 1;
    entry->start = team->pes[0];
    for (int i = 1; i < team->npes; i++)
        if (team->pes[i] != entry->start + i * step)
            step = 0;
    entry->step = step;
}

int nvsi_gpu_team_changed(const char *fn, const struct nvsi_team *team, bool gone)
{
    int status = open_table(fn);
    if (status || team->id < 0)
        return status;
    size_t slot = (size_t)team->id % NVSI_DEV_CHANNELS;
    struct nvsi_dev_team entry = {.id = -1};
    if (gone)
        return write_entry(fn, slot, &entry, NULL);
    entry =
        (struct nvsi_dev_team){.id = team->id,
                               .npes = team->npes,
                               .team_pe = team->team_pe,
                               .slot = team->slot,
                               .pes = (const int32_t *)(uintptr_t)(table.entries + list_at(slot))};
    if (team->slot >= 0)
        entry.channel = (uint64_t)(uintptr_t)nvsi_window_at(nvsi.me, (uint64_t)team->slot *
                                                                         NVSI_DEV_CHANNEL_BYTES);
    find_step(team, &entry);
    return write_entry(fn, slot, &entry, team);
}

CUdeviceptr nvsi_gpu_team_list(const struct nvsi_team *team)
{
    return team->id < 0 ? 0 : table.entries + list_at((size_t)team->id % NVSI_DEV_CHANNELS);
}

void nvsi_gpu_teams_close(void)
{
    if (table.entries)
        cu.cuMemFree(table.entries);
    table.entries = 0;
    nvsi_gpu.state.teams = NULL;
}
