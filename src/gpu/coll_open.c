/*
 * coll_open.c - what all PEs must agree on before their kernels meet: how many blocks do, and from
 * which sizes on collectives take another shape.
 *
 * Both come from variables of the environment and from the GPUs, so they may differ. Too many
 * blocks on one PE are harmless if all take the least number. Different sizes are not: two PEs
 * would do different things and wait for each other for ever, so they are an error.
 */
#include "gpu/coll.h"

#include <stdlib.h>
#include <string.h>

struct proposal {
    uint64_t oneshot, twoshot, chunk;
    int32_t blocks;
    int32_t leader; /* the first PE on the same GPU */
};

static struct {
    int blocks;
    int32_t *leaders; /* of each PE */
    uint32_t *reach;  /* for each PE a bit for each other one, which its GPU reaches */
} agreed;

int nvsi_gpu_coll_blocks(void)
{
    return agreed.blocks;
}

bool nvsi_gpu_coll_shares(const struct nvsi_team *team)
{
    for (int i = 1; i < team->npes; i++)
        for (int k = 0; k < i; k++)
            if (agreed.leaders[team->pes[i]] == agreed.leaders[team->pes[k]])
                return true;
    return false;
}

static size_t row_words(void)
{
    return ((size_t)nvsi.npes + 31) / 32;
}

static bool reaches(int from, int to)
{
    return agreed.reach[(size_t)from * row_words() + (size_t)to / 32] >> to % 32 & 1;
}

bool nvsi_gpu_coll_far(const struct nvsi_team *team)
{
    for (int i = 0; i < team->npes; i++)
        for (int k = 0; k < team->npes; k++)
            if (!reaches(team->pes[i], team->pes[k]))
                return true;
    return false;
}

uint64_t nvsi_gpu_gate(void)
{
    const struct nvsi_team *world = nvsi.teams[NVSI_TEAM_WORLD];
    if (world->slot < 0 || world->npes == 1)
        return 0;
    return (uint64_t)(uintptr_t)nvsi_window_at(nvsi.me,
                                               (uint64_t)world->slot * NVSI_DEV_CHANNEL_BYTES) +
           offsetof(struct nvsi_channel_stream, pushes.broken);
}

static struct proposal propose(void)
{
    struct proposal mine = {.oneshot = nvsi.config.gpu_oneshot,
                            .twoshot = nvsi.config.gpu_twoshot,
                            .chunk = nvsi.config.gpu_chunk,
                            .blocks = nvsi_gpu.sm_limit};
    while (nvsi_gpu.ordinals[mine.leader] != nvsi_gpu.ordinals[nvsi.me])
        mine.leader++;
    return mine;
}

static int differs(const char *fn, const char *variable, int pe, uint64_t theirs, uint64_t ours)
{
    if (theirs == ours)
        return 0;
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: %s is %llu on PE %d and %llu on PE %d: it must be the same on all PEs",
                      fn, variable, (unsigned long long)theirs, pe, (unsigned long long)ours,
                      nvsi.me);
}

static int compare(const char *fn, const struct proposal *theirs, int pe)
{
    int status = differs(fn, "NVS_GPU_ONESHOT_BYTES", pe, theirs->oneshot, nvsi.config.gpu_oneshot);
    if (!status)
        status = differs(fn, "NVS_GPU_TWOSHOT_BYTES", pe, theirs->twoshot, nvsi.config.gpu_twoshot);
    if (!status)
        status = differs(fn, "NVS_GPU_CHUNK_BYTES", pe, theirs->chunk, nvsi.config.gpu_chunk);
    return status;
}

static int agree(const char *fn, const struct proposal *all)
{
    int status = 0;
    agreed.blocks = NVSI_CHANNEL_BLOCKS;
    for (int pe = 0; pe < nvsi.npes; pe++) {
        agreed.leaders[pe] = all[pe].leader;
        if (all[pe].blocks < agreed.blocks)
            agreed.blocks = all[pe].blocks;
        if (!status)
            status = compare(fn, &all[pe], pe);
    }
    return status;
}

/* One PE may reach another that does not reach it, so it takes a table of all pairs. */
static int tell_reach(const char *fn, uint32_t *row)
{
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (nvsi_gpu.reach[pe] == NVSI_GPU_DIRECT)
            row[pe / 32] |= UINT32_C(1) << pe % 32;
    return nvsi_gather(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC, row,
                       row_words() * sizeof *row, agreed.reach);
}

int nvsi_gpu_coll_open(const char *fn)
{
    struct proposal mine = propose(), *all = calloc((size_t)nvsi.npes, sizeof *all);
    uint32_t *row = calloc(row_words(), sizeof *row);
    agreed.leaders = calloc((size_t)nvsi.npes, sizeof *agreed.leaders);
    agreed.reach = calloc((size_t)nvsi.npes * row_words(), sizeof *agreed.reach);
    int status = all && row && agreed.leaders && agreed.reach ? 0 : NVS_ERR_MEMORY;
    if (status)
        nvsi_error(status, "%s: no memory for %d PEs", fn, nvsi.npes);
    else
        status =
            nvsi_gather(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC, &mine, sizeof mine, all);
    if (!status)
        status = tell_reach(fn, row);
    if (!status)
        status = agree(fn, all);
    free(row);
    free(all);
    return status;
}

void nvsi_gpu_coll_close(void)
{
    nvsi_gpu_coll_forget();
    nvsi_gpu_far_close();
    free(agreed.leaders);
    free(agreed.reach);
    memset(&agreed, 0, sizeof agreed);
}
