/*
 * channels.c - the teams' parts of the windows: for those that exist at stage two, for later ones,
 * and back.
 */
#include <stdlib.h>

#include "gpu/coll.h"
#include "gpu/open.h"

static bool wants_channel(const struct nvsi_team *team)
{
    return team && team->slot >= 0 && team->npes > 1;
}

/* Also forgets what an earlier team of that place has left; no member goes on before all have. */
static struct nvsi_take channel_of(const struct nvsi_team *team)
{
    atomic_store(&nvsi.job->teams[team->slot].stream_clash, 0);
    return (struct nvsi_take){.team = team,
                              .offset = (uint64_t)team->slot * NVSI_DEV_CHANNEL_BYTES,
                              .nbytes = NVSI_DEV_CHANNEL_BYTES,
                              .clear = true};
}

static int by_offset(const void *a, const void *b)
{
    const struct nvsi_take *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The channels of all teams that this PE is in, by one take of the world: another thread may be in
 * a collective of any other team now. */
int nvsi_gpu_open_channels(const char *fn)
{
    struct nvsi_take *takes = calloc(NVSI_MAX_TEAMS, sizeof *takes);
    int ntakes = 0;
    if (!takes)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the channels of teams", fn);
    pthread_mutex_lock(&nvsi.lock);
    for (int i = 0; i < NVSI_MAX_TEAMS; i++)
        if (wants_channel(nvsi.teams[i]))
            takes[ntakes++] = channel_of(nvsi.teams[i]);
    pthread_mutex_unlock(&nvsi.lock);
    qsort(takes, (size_t)ntakes, sizeof *takes, by_offset);
    int status = nvsi_window_take(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC, takes, ntakes);
    free(takes);
    return status;
}

int nvsi_gpu_show_teams(const char *fn)
{
    int status = 0;
    for (int i = 0; !status && i < NVSI_MAX_TEAMS; i++)
        if (nvsi.teams[i])
            status = nvsi_gpu_team_changed(fn, nvsi.teams[i], false);
    return status;
}

int nvsi_gpu_team_made(const char *fn, struct nvsi_team *team)
{
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    if (wants_channel(team)) {
        struct nvsi_take take = channel_of(team);
        status = nvsi_window_take(fn, team, NVSI_AT_TEAM_SPLIT, &take, 1);
    }
    if (!status && wants_channel(team))
        status = nvsi_gpu_far_team(fn, team);
    if (!status)
        status = nvsi_gpu_team_changed(fn, team, false);
    nvsi_gpu_leave(before);
    return status;
}

void nvsi_gpu_team_left(const char *fn, struct nvsi_team *team)
{
    CUcontext before;
    if (nvsi_gpu_enter(fn, &before))
        return;
    nvsi_gpu_coll_left(team);
    nvsi_gpu_far_left(team);
    if (team->id >= 0)
        (void)nvsi_gpu_team_changed(fn, team, true);
    if (wants_channel(team))
        nvsi_window_drop_channel(team);
    nvsi_gpu_leave(before);
}
