/*
 * window_take.c - memory for the windows: made here, passed to the other PEs, mapped by all.
 *
 * A chunk of this PE is made by one cuMemCreate and becomes a descriptor, which the other members
 * get and map at the same place in their picture of this window (docs/gpu-memory.md). So a take has
 * two exchanges: after the first all know that everybody has made its part, after the second that
 * everybody has mapped all parts. Between them each PE first sends to all, then receives from all.
 * A handle is released as soon as its memory is mapped.
 */
#include <stdlib.h>
#include <unistd.h>

#include "boot/crash.h"
#include "boot/fdpass.h"
#include "gpu/window.h"
#include "wait.h"

/* ---- making --------------------------------------------------------------------------------- */

/* What is waste at the place of a take could not be dropped when it became that. */
void nvsi_window_clear(uint64_t offset, uint64_t nbytes)
{
    for (size_t g = 0; g < nvsi_granule_of(nbytes); g++) {
        struct nvsi_chunk *chunk = nvsi_chunk_at(offset + g * nvsi_gpu.granule);
        if (!chunk)
            continue;
        (void)nvsi_gpu_settle();
        nvsi_chunk_drop(chunk);
    }
}

static int out_of_memory(const char *fn, uint64_t needed, int pe, uint64_t free_bytes,
                         uint64_t total_bytes)
{
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: PE %d has %llu of %llu bytes of GPU memory free, %llu are needed", fn,
                      pe, (unsigned long long)free_bytes, (unsigned long long)total_bytes,
                      (unsigned long long)needed);
}

static int make(const char *fn, struct nvsi_take *take)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = nvsi_gpu.ordinal}};
    nvsi_window_clear(take->offset, take->nbytes);
    size_t room = sizeof *take->chunk + (size_t)take->team->npes * sizeof take->chunk->parts[0];
    take->chunk = calloc(1, room);
    if (!take->chunk)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the table of device memory", fn);
    take->chunk->offset = take->offset;
    take->chunk->nbytes = take->nbytes;
    CUresult result = cu.cuMemCreate(&take->handle, take->nbytes, &prop, 0);
    if (result) {
        take->handle = 0;
        return result == CUDA_ERROR_OUT_OF_MEMORY
                   ? NVS_ERR_MEMORY /* its sentence has the numbers of all takes */
                   : nvsi_cuda_error(fn, result, "make %llu bytes of device memory",
                                     (unsigned long long)take->nbytes);
    }
    NVSI_CRASH_POINT(window_made);
    result = cu.cuMemExportToShareableHandle(&take->fd, take->handle,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (!result)
        return 0;
    take->fd = -1;
    return nvsi_cuda_error(fn, result, "export device memory as a descriptor (see 'ulimit -n')");
}

/* ---- agreement ------------------------------------------------------------------------------ */

struct answer {
    int64_t status;
    uint64_t needed, free_bytes, total_bytes;
};

static int judge(const char *fn, const struct answer *answer, int pe, int mine)
{
    if (!answer->status)
        return 0;
    if (answer->status == NVS_ERR_MEMORY && answer->total_bytes)
        return out_of_memory(fn, answer->needed, pe, answer->free_bytes, answer->total_bytes);
    if (pe == nvsi.me)
        return mine; /* its sentence has been said */
    return nvsi_error((int)answer->status,
                      "%s: PE %d could not do its part (its own message says why)", fn, pe);
}

int nvsi_window_agree(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight, int mine,
                      uint64_t needed)
{
    struct answer answer = {.status = mine, .needed = needed};
    struct answer *all = calloc((size_t)team->npes, sizeof *all);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory", fn);
    size_t free_bytes = 0, total_bytes = 0;
    if (mine == NVS_ERR_MEMORY && !cu.cuMemGetInfo(&free_bytes, &total_bytes) && needed) {
        answer.free_bytes = free_bytes;
        answer.total_bytes = total_bytes;
    }
    int status = nvsi_gather(fn, team, flight, &answer, sizeof answer, all);
    for (int i = 0; !status && i < team->npes; i++)
        status = judge(fn, &all[i], team->pes[i], mine);
    free(all);
    nvsi_flight_enter(flight, -1, -1, 0); /* the exchange has ended its own record */
    return status;
}

/* ---- sharing -------------------------------------------------------------------------------- */

static uint64_t tag_of(const struct nvsi_team *team, uint64_t offset)
{
    return team->seq << 24 | nvsi_granule_of(offset);
}

int nvsi_part_send(const char *fn, const struct nvsi_team *team, int pe, uint64_t offset, int fd)
{
    return nvsi_fdpass_send(fn, pe, tag_of(team, offset), fd);
}

static int send_to_all(const char *fn, const struct nvsi_team *team, const struct nvsi_take *take)
{
    int status = 0;
    for (int i = 1; !status && i < take->team->npes; i++) {
        int pe = take->team->pes[(take->team->team_pe + i) % take->team->npes];
        status = nvsi_part_send(fn, team, pe, take->offset, take->fd);
    }
    return status;
}

/* For the GPU that can reach it: ours, or else its own, with which the driver copies through the
 * host. */
int nvsi_part_map(const char *fn, struct nvsi_chunk *chunk, const struct nvsi_part *part,
                  CUmemGenericAllocationHandle handle)
{
    int pe = part->pe;
    bool direct = nvsi_gpu.reach[pe] == NVSI_GPU_DIRECT;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                           .id = direct ? nvsi_gpu.ordinal : nvsi_gpu.ordinals[pe]},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at = nvsi_part_of(pe, part->offset);
    CUresult result = cu.cuMemMap(at, part->nbytes, 0, handle, 0);
    if (result)
        return nvsi_cuda_error(fn, result, "map device memory of PE %d", pe);
    /* Never NULL, which the checker cannot know. */
    chunk->parts[chunk->nparts++] = *part; // NOLINT(clang-analyzer-core.NullDereference)
    result = cu.cuMemSetAccess(at, part->nbytes, &access, 1);
    if (result)
        return nvsi_cuda_error(fn, result, "give its GPU access to the device memory of PE %d", pe);
    return 0;
}

int nvsi_part_receive(const char *fn, const struct nvsi_team *team, struct nvsi_chunk *chunk,
                      const struct nvsi_part *part)
{
    CUmemGenericAllocationHandle handle;
    int fd, status = nvsi_fdpass_receive(fn, part->pe, tag_of(team, part->offset), &fd);
    if (status)
        return status;
    if (nvsi_gpu.reach[part->pe] == NVSI_GPU_HIDDEN) {
        close(fd);
        return 0;
    }
    CUresult result = cu.cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    if (result)
        return nvsi_cuda_error(fn, result, "import device memory of PE %d", part->pe);
    status = nvsi_part_map(fn, chunk, part, handle);
    (void)cu.cuMemRelease(handle);
    return status;
}

static struct nvsi_part part_of(const struct nvsi_take *take, int pe)
{
    return (struct nvsi_part){.pe = pe, .offset = take->offset, .nbytes = take->nbytes};
}

/* Takes what all others have sent, also after an error: a descriptor left behind would be in the
 * way of nobody, but held for ever. */
static int receive_from_all(const char *fn, const struct nvsi_team *team,
                            const struct nvsi_take *take, int status)
{
    for (int i = 1; status != NVS_ERR_PE_LOST && i < take->team->npes; i++) {
        int pe = take->team->pes[(take->team->team_pe + i) % take->team->npes];
        const struct nvsi_part part = part_of(take, pe);
        int received = nvsi_part_receive(fn, team, take->chunk, &part);
        NVSI_CRASH_POINT(window_received);
        status = status ? status : received;
    }
    return status;
}

static int clear(const char *fn, const struct nvsi_take *take)
{
    CUresult result =
        cu.cuMemsetD8Async(nvsi_part_of(nvsi.me, take->offset), 0, take->nbytes, nvsi_gpu.stream);
    if (result)
        return nvsi_cuda_error(fn, result, "clear a team's channel");
    return nvsi_gpu_synchronize(fn, nvsi_gpu.stream);
}

static int share(const char *fn, const struct nvsi_team *team, struct nvsi_take *takes, int ntakes)
{
    int status = 0;
    for (int i = 0; !status && i < ntakes; i++)
        status = send_to_all(fn, team, &takes[i]);
    for (int i = 0; i < ntakes; i++) {
        const struct nvsi_part own = part_of(&takes[i], nvsi.me);
        if (!status)
            status = nvsi_part_map(fn, takes[i].chunk, &own, takes[i].handle);
        status = receive_from_all(fn, team, &takes[i], status);
        if (!status && takes[i].clear)
            status = clear(fn, &takes[i]);
    }
    return status;
}

/* ---- taking --------------------------------------------------------------------------------- */

int nvsi_window_missing(uint64_t offset, uint64_t nbytes, struct nvsi_take takes[2])
{
    uint64_t granule = nvsi_gpu.granule, first = offset / granule * granule;
    uint64_t end = (offset + nbytes + granule - 1) / granule * granule;
    bool single = nbytes >= granule;
    int count = 0;
    for (uint64_t at = first; at < end; at += single ? end - first : granule) {
        struct nvsi_chunk *chunk = nvsi_chunk_at(at);
        if (chunk && !chunk->wasted)
            continue;
        takes[count++] = (struct nvsi_take){.team = nvsi.teams[NVSI_TEAM_WORLD],
                                            .offset = at,
                                            .nbytes = single ? end - first : granule};
    }
    return count;
}

/* What is not needed after success, and everything after a failure. */
static void tidy(struct nvsi_take *take, int status)
{
    if (take->fd >= 0)
        close(take->fd);
    if (take->handle)
        (void)cu.cuMemRelease(take->handle);
    if (!take->chunk)
        return;
    take->chunk->needed = take->clear; /* a channel is needed as long as its team */
    if (!status)
        nvsi_chunk_add(take->chunk);
    else
        nvsi_chunk_drop(take->chunk);
}

int nvsi_window_take(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight,
                     struct nvsi_take *takes, int ntakes)
{
    int status = 0;
    uint64_t needed = 0;
    for (int i = 0; i < ntakes; i++) {
        takes[i].handle = 0;
        takes[i].chunk = NULL;
        takes[i].fd = -1;
        needed += takes[i].nbytes;
    }
    for (int i = 0; !status && i < ntakes; i++)
        status = make(fn, &takes[i]);
    bool full = false;
    for (int i = 0; i < ntakes; i++)
        full |= takes[i].chunk && !takes[i].handle;
    status = nvsi_window_agree(fn, team, flight, status, full ? needed : 0);
    if (!status) {
        status = share(fn, team, takes, ntakes);
        NVSI_CRASH_POINT(window_shared);
        if (status != NVS_ERR_PE_LOST)
            status = nvsi_window_agree(fn, team, flight, status, 0);
    }
    for (int i = 0; i < ntakes; i++)
        tidy(&takes[i], status);
    return status;
}
