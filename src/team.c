/*
 * team.c - teams: which PEs, in which order, and the place in the arena where their channels are.
 *
 * A place (struct nvsi_team_slot) is claimed by the new team's first member with one atomic
 * instruction, told to the others by an all-gather over the parent, and free again when the last
 * member has left. Sequence numbers go on where the place's previous team stopped, so that nothing
 * it left behind in the slots can be mistaken for news.
 */
#include <stdlib.h>
#include <string.h>

#include "team.h"

#include "boot/crash.h"
#include "coll/coll.h"
#include "transport/transport.h"

/* ---- the objects ---------------------------------------------------------------------------- */

void nvsi_team_release(struct nvsi_team *team)
{
    if (!team)
        return;
    free(team->pes);
    free(team->srcs);
    free(team->dsts);
    free(team);
}

uint64_t nvsi_team_place_seq(int slot)
{
    return atomic_load(&nvsi.job->teams[slot].seq_base);
}

/* Only adds: whoever claims a place for another team has cleared it (team_split.c). */
void nvsi_team_show_members(const struct nvsi_team *team)
{
    struct nvsi_team_slot *place = &nvsi.job->teams[team->slot];
    for (int i = 0; i < team->npes; i++) {
        _Atomic uint64_t *word = &place->members[team->pes[i] / 64];
        uint64_t bit = UINT64_C(1) << (team->pes[i] % 64);
        if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
            atomic_fetch_or(word, bit);
    }
}

void nvsi_team_set_place(struct nvsi_team *team, int slot, uint64_t seq)
{
    team->slot = slot;
    if (slot < 0)
        return;
    uint64_t place = (uint64_t)slot * (uint64_t)nvsi.npes;
    team->channels =
        nvsi.arena + nvsi_job_channels((uint32_t)nvsi.npes) + place * NVSI_CHANNEL_BYTES;
    team->stages = nvsi.arena + nvsi_job_stages((uint32_t)nvsi.npes) + place * NVSI_STAGE_BYTES;
    team->seq = team->synced = seq;
    team->left = seq;
    atomic_store(&nvsi.job->teams[slot].seq_first, seq);
    NVSI_CRASH_POINT(team_entering);
    nvsi_team_show_members(team);
}

/* A team object; pes are world numbers and get copied. */
struct nvsi_team *nvsi_team_new(int slot, const int *pes, int npes)
{
    struct nvsi_team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->pes = malloc((size_t)npes * sizeof *team->pes);
    team->srcs = malloc((size_t)npes * sizeof *team->srcs);
    team->dsts = malloc((size_t)npes * sizeof *team->dsts);
    if (!team->pes || !team->srcs || !team->dsts) {
        nvsi_team_release(team);
        return NULL;
    }
    team->id = -1;
    team->npes = npes;
    for (int i = 0; i < npes; i++) {
        team->pes[i] = pes[i];
        if (pes[i] == nvsi.me)
            team->team_pe = i;
    }
    nvsi_team_set_place(team, slot, slot < 0 ? 0 : nvsi_team_place_seq(slot));
    return team;
}

/* Gives the team a handle. -1: none is free. A handle is an index into the table and, above it, how
 * many handles were given before, so that one that a program keeps too long, also over a finalize,
 * is not taken for a later team. */
int nvsi_team_add_handle(struct nvsi_team *team)
{
    static int32_t given;
    int index = NVSI_NUM_PREDEFINED_TEAMS;
    pthread_mutex_lock(&nvsi.lock);
    while (index < NVSI_MAX_TEAMS && nvsi.teams[index])
        index++;
    if (index < NVSI_MAX_TEAMS) {
        given = (given + 1) % (INT32_MAX / NVSI_MAX_TEAMS);
        team->id = given * NVSI_MAX_TEAMS + index;
        nvsi.teams[index] = team;
    }
    pthread_mutex_unlock(&nvsi.lock);
    return index < NVSI_MAX_TEAMS ? team->id : -1;
}

int nvsi_team_bad(const char *fn, int32_t handle)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (handle == NVSI_TEAM_INVALID)
        return nvsi_error(
            NVS_ERR_INVALID,
            "%s: team -1 is TEAM_INVALID: allowed are teams that PE %d is a member of", fn,
            nvsi.me);
    return nvsi_error(NVS_ERR_INVALID, "%s: team %d does not exist on PE %d (destroyed before?)",
                      fn, (int)handle, nvsi.me);
}

/* ---- leaving ------------------------------------------------------------------------------- */

/* Keeps the highest sequence number for the next team, then leaves the place. */
void nvsi_team_leave_place(const struct nvsi_team *team)
{
    struct nvsi_team_slot *place = &nvsi.job->teams[team->slot];
    uint64_t base = atomic_load(&place->seq_base);
    uint64_t seq = team->given_up > team->seq ? team->given_up : team->seq;
    while (base < seq && !atomic_compare_exchange_weak(&place->seq_base, &base, seq))
        ;
    NVSI_CRASH_POINT(team_leaving);
    atomic_fetch_sub(&place->refs, 1);
}

int nvsi_team_on_device(const char *fn, struct nvsi_team *team, int32_t *handle)
{
    if (!nvsi.device)
        return 0;
    int status = nvsi.device->team_made(fn, team);
    if (status) {
        (void)nvsi_team_destroy(fn, *handle);
        *handle = NVSI_TEAM_INVALID;
    }
    return status;
}

int nvsi_team_destroy(const char *fn, int32_t handle)
{
    struct nvsi_team *team = nvsi_team_get(handle);
    if (!team)
        return nvsi_team_bad(fn, handle);
    if (handle < NVSI_NUM_PREDEFINED_TEAMS) /* index and all: those are never given out */
        return nvsi_error(NVS_ERR_INVALID, "%s: team %d is predefined and cannot be destroyed", fn,
                          (int)handle);
    nvsi_coll_settle(team);
    pthread_mutex_lock(&nvsi.lock);
    nvsi.teams[handle % NVSI_MAX_TEAMS] = NULL;
    for (struct nvsi_ctx *ctx = nvsi.contexts; ctx; ctx = ctx->next)
        if (ctx->team == team)
            nvsi_quiet(ctx, fn);
    pthread_mutex_unlock(&nvsi.lock);
    nvsi_ctx_destroy_all(team);
    if (nvsi.device)
        nvsi.device->team_left(fn, team);
    if (team->slot >= 0)
        nvsi_team_leave_place(team);
    nvsi_team_release(team);
    return 0;
}

int nvsi_team_translate(int32_t from, int team_pe, int32_t to)
{
    const struct nvsi_team *src = nvsi_team_get(from), *dst = nvsi_team_get(to);
    if (!src || !dst || team_pe < 0 || team_pe >= src->npes)
        return -1;
    int pe = src->pes[team_pe];
    if (to == NVSI_TEAM_WORLD)
        return pe;
    for (int i = 0; i < dst->npes; i++)
        if (dst->pes[i] == pe)
            return i;
    return -1;
}

/* ---- predefined teams ----------------------------------------------------------------------- */

static int open_predefined(int id, int slot, const int *pes, int npes)
{
    struct nvsi_team *team = nvsi_team_new(npes > 1 ? slot : -1, pes, npes);
    if (!team)
        return nvsi_error(NVS_ERR_MEMORY, "init: no memory for a team of %d PEs", npes);
    team->id = id;
    nvsi.teams[id] = team;
    if (team->slot >= 0)
        atomic_fetch_add(&nvsi.job->teams[team->slot].refs, 1);
    return 0;
}

int nvsi_team_open(void)
{
    int *all = calloc((size_t)nvsi.npes, sizeof *all);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "init: no memory for the world team");
    for (int i = 0; i < nvsi.npes; i++)
        all[i] = i;
    /* On one host the world, the PEs that share memory and the PEs of the node are the same. */
    int status = open_predefined(NVSI_TEAM_WORLD, 0, all, nvsi.npes);
    if (!status)
        status = open_predefined(NVSI_TEAM_SHARED, 1, all, nvsi.npes);
    if (!status)
        status = open_predefined(NVSI_TEAM_NODE, 2, all, nvsi.npes);
    if (!status)
        status = open_predefined(NVSI_TEAM_SAME_MYNODE_INDEX, -1, &nvsi.me, 1);
    free(all);
    return status;
}

void nvsi_team_close(void)
{
    for (int id = 0; id < NVSI_MAX_TEAMS; id++) {
        struct nvsi_team *team = nvsi.teams[id];
        if (team && team->slot >= 0)
            nvsi_team_leave_place(team);
        nvsi_team_release(team);
        nvsi.teams[id] = NULL;
    }
    while (nvsi.active_sets) {
        struct nvsi_team *team = nvsi.active_sets;
        nvsi.active_sets = team->next;
        if (team->slot >= 0)
            nvsi_team_leave_place(team);
        nvsi_team_release(team);
    }
}
