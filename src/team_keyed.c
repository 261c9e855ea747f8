/*
 * team_keyed.c - teams whose members find each other without a parent team: the active sets of the
 * deprecated collectives, known by their shape, and teams joined by a number that members share.
 */
#include <stdlib.h>

#include "team.h"

#include "boot/crash.h"

/* The place of a key (the shape of an active set, the id of a joined team): a hash table in the
 * arena that only grows, so members need not talk to each other to agree on it. */
static int keyed_place(uint64_t key)
{
    unsigned places = NVSI_MAX_TEAMS - NVSI_FIRST_ACTIVE_SET;
    unsigned hash = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (unsigned i = 0; i < places; i++) {
        int slot = NVSI_FIRST_ACTIVE_SET + (int)((hash + i) % places);
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&nvsi.job->teams[slot].key, &found, key) ||
            found == key) {
            NVSI_CRASH_POINT(team_keyed);
            atomic_fetch_add(&nvsi.job->teams[slot].refs, 1);
            return slot;
        }
    }
    return -1;
}

#define KEY_ACTIVE_SET (UINT64_C(1) << 63)
#define KEY_JOINED (UINT64_C(1) << 62)

static int make_active_set(const char *fn, int start, int stride, int size, uint64_t key,
                           struct nvsi_team **team)
{
    int *pes = malloc((size_t)size * sizeof *pes);
    if (!pes)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for an active set of %d PEs", fn, size);
    bool member = false;
    for (int i = 0; i < size; i++) {
        pes[i] = start + i * stride;
        member |= pes[i] == nvsi.me;
    }
    int slot = member && size > 1 ? keyed_place(key) : -1;
    int status = 0;
    if (!member)
        status = nvsi_error(NVS_ERR_INVALID, "%s: PE %d is not in its active set", fn, nvsi.me);
    else if (size > 1 && slot < 0)
        status = nvsi_error(NVS_ERR_LIMIT,
                            "%s: more than %d different joined teams and active sets in one job",
                            fn, NVSI_MAX_TEAMS - NVSI_FIRST_ACTIVE_SET);
    struct nvsi_team *made = status ? NULL : nvsi_team_new(slot, pes, size);
    free(pes);
    if (!made)
        return status ? status : nvsi_error(NVS_ERR_MEMORY, "%s: no memory for an active set", fn);
    made->key = key;
    made->next = nvsi.active_sets;
    nvsi.active_sets = made;
    *team = made;
    return 0;
}

int nvsi_team_active_set(const char *fn, int start, int log_stride, int size,
                         struct nvsi_team **team)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (start < 0 || log_stride < 0 || log_stride > 30 || size < 1 ||
        start + (((int64_t)size - 1) << log_stride) >= nvsi.npes)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: active set (PE_start %d, logPE_stride %d, PE_size %d) does not fit "
                          "into %d PEs",
                          fn, start, log_stride, size, nvsi.npes);
    if (size == nvsi.npes) {
        *team = nvsi.teams[NVSI_TEAM_WORLD];
        return 0;
    }
    uint64_t key =
        KEY_ACTIVE_SET | (uint64_t)start << 40 | (uint64_t)log_stride << 32 | (uint32_t)size;
    pthread_mutex_lock(&nvsi.lock);
    struct nvsi_team *found = nvsi.active_sets;
    while (found && found->key != key)
        found = found->next;
    if (!found)
        status = make_active_set(fn, start, 1 << log_stride, size, key, &found);
    *team = found;
    pthread_mutex_unlock(&nvsi.lock);
    return status;
}

/* The members do not know each other yet: fills in who has which number. */
static int introduce(const char *fn, struct nvsi_team *team)
{
    int64_t *answers = malloc((size_t)team->npes * sizeof *answers);
    if (!answers)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team of %d PEs", fn, team->npes);
    int status = nvsi_team_gather(fn, team, nvsi.me, answers);
    for (int i = 0; !status && i < team->npes; i++) {
        team->pes[i] = (int)answers[i];
        for (int k = 0; !status && k < i; k++)
            if (team->pes[k] == team->pes[i])
                status = nvsi_error(NVS_ERR_MISMATCH, "%s: PE %d joined as %d and as %d", fn,
                                    team->pes[i], k, i);
    }
    free(answers);
    if (!status)
        nvsi_team_show_members(team);
    return status;
}

int nvsi_team_join(const char *fn, uint64_t id, int npes, int team_pe, int num_contexts,
                   int32_t *handle)
{
    *handle = NVSI_TEAM_INVALID;
    int place = npes > 1 ? keyed_place(KEY_JOINED | id) : -1;
    if (npes > 1 && place < 0)
        return nvsi_error(NVS_ERR_LIMIT,
                          "%s: more than %d different joined teams and active sets in one job", fn,
                          NVSI_MAX_TEAMS - NVSI_FIRST_ACTIVE_SET);
    int *pes = malloc((size_t)npes * sizeof *pes);
    for (int i = 0; pes && i < npes; i++)
        pes[i] = nvsi.me; /* until they are known */
    struct nvsi_team *team = pes ? nvsi_team_new(place, pes, npes) : NULL;
    free(pes);
    if (!team)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team of %d PEs", fn, npes);
    team->team_pe = team_pe;
    team->num_contexts = num_contexts;
    int status = npes > 1 ? introduce(fn, team) : 0;
    if (!status && nvsi_team_add_handle(team) < 0)
        status = nvsi_error(NVS_ERR_LIMIT, "%s: PE %d has %d teams already: destroy some", fn,
                            nvsi.me, NVSI_MAX_TEAMS);
    if (status) {
        nvsi_team_release(team);
        return status;
    }
    *handle = team->id;
    return nvsi_team_on_device(fn, team, handle);
}
