/*
 * team_split.c - teams made by all PEs of a parent team: strided, two-dimensional, by lists.
 *
 * A member reserves all it needs (object, handle, and the first one a place in the arena) before
 * the parent's PEs exchange answers, so that nothing can fail afterwards: everybody gets the team,
 * or nobody does.
 */
#include <stdlib.h>

#include "team.h"

#include "boot/crash.h"

static int forget_members(int slot)
{
    struct nvsi_team_slot *place = &nvsi.job->teams[slot];
    for (int i = 0; i < NVSI_MAX_PES / 64; i++)
        atomic_store_explicit(&place->members[i], 0, memory_order_relaxed);
    return slot;
}

/* Claims a free place for npes members; -1 if there is none. */
static int claim_place(int npes)
{
    for (int slot = NVSI_NUM_PREDEFINED_TEAMS; slot < NVSI_FIRST_ACTIVE_SET; slot++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&nvsi.job->teams[slot].refs, &none, (uint64_t)npes)) {
            NVSI_CRASH_POINT(team_claimed);
            return forget_members(slot);
        }
    }
    return -1;
}

/* Every PE of the parent contributes one number and gets all of them. */
int nvsi_team_gather(const char *fn, struct nvsi_team *parent, int64_t mine, int64_t *all)
{
    return nvsi_gather(fn, parent, NVSI_AT_TEAM_SPLIT, &mine, sizeof mine, all);
}

/* What this PE needs to be a member: an object with a handle, and the place if it is the first. The
 * others learn the place later. */
static int prepare(const char *fn, const struct nvsi_team *parent, const int *members, int npes,
                   struct nvsi_team **team, int *place)
{
    int *pes = malloc((size_t)npes * sizeof *pes);
    for (int i = 0; pes && i < npes; i++)
        pes[i] = parent->pes[members[i]];
    *team = pes ? nvsi_team_new(-1, pes, npes) : NULL;
    free(pes);
    if (!*team)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team of %d PEs", fn, npes);
    if (nvsi_team_add_handle(*team) < 0)
        return nvsi_error(NVS_ERR_LIMIT, "%s: PE %d has %d teams already: destroy some", fn,
                          nvsi.me, NVSI_MAX_TEAMS);
    if (npes == 1 || members[0] != parent->team_pe)
        return 0;
    *place = claim_place(npes);
    if (*place >= 0)
        return 0;
    return nvsi_error(NVS_ERR_LIMIT, "%s: all %d places for teams are in use: destroy some", fn,
                      NVSI_FIRST_ACTIVE_SET - NVSI_NUM_PREDEFINED_TEAMS);
}

/* Undoes prepare(), also if it failed half way. */
static void drop(struct nvsi_team *team, int place)
{
    if (place >= 0)
        atomic_store(&nvsi.job->teams[place].refs, 0);
    if (team && team->id >= 0) {
        pthread_mutex_lock(&nvsi.lock);
        nvsi.teams[team->id % NVSI_MAX_TEAMS] = NULL;
        pthread_mutex_unlock(&nvsi.lock);
    }
    nvsi_team_release(team);
}

static int check_members(const char *fn, const struct nvsi_team *parent, const int *members,
                         int npes)
{
    for (int i = 0; i < npes; i++)
        if (members[i] < 0 || members[i] >= parent->npes)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: PE %d of the parent team does not exist: allowed are 0 to %d",
                              fn, members[i], parent->npes - 1);
    return 0;
}

enum { NO_PLACE = -1, REFUSED = -2 }; /* answers that are no place */

/* A place and its sequence number in one. Members must not read that number themselves: by then a
 * quick one may have used the team, left it and raised the number. */
static int64_t answer_of(int place)
{
    return place < 0 ? place : (int64_t)(nvsi_team_place_seq(place) << 16 | (uint64_t)place);
}

/* If one PE of the parent cannot, nobody gets a team. */
static int check_answers(const char *fn, const struct nvsi_team *parent, const int64_t *answers)
{
    for (int i = 0; i < parent->npes; i++)
        if (answers[i] == REFUSED)
            return nvsi_error(NVS_ERR_LIMIT, "%s: PE %d could not make its part of the team", fn,
                              parent->pes[i]);
    return 0;
}

int nvsi_team_create(const char *fn, int32_t parent_handle, const int *members, int npes,
                     int num_contexts, int32_t *handle)
{
    *handle = NVSI_TEAM_INVALID;
    struct nvsi_team *parent = nvsi_team_get(parent_handle), *team = NULL;
    if (!parent)
        return nvsi_team_bad(fn, parent_handle);
    int64_t *answers = malloc((size_t)parent->npes * sizeof *answers);
    if (!answers)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory", fn);
    int place = NO_PLACE, status = check_members(fn, parent, members, npes);
    if (!status && npes > 0)
        status = prepare(fn, parent, members, npes, &team, &place);
    int gathered = nvsi_team_gather(fn, parent, status ? REFUSED : answer_of(place), answers);
    if (!status)
        status = gathered ? gathered : check_answers(fn, parent, answers);
    if (status) {
        drop(team, place);
    } else if (team) {
        if (npes > 1)
            nvsi_team_set_place(team, (int)(answers[members[0]] & 0xffff),
                                (uint64_t)answers[members[0]] >> 16);
        team->num_contexts = num_contexts;
        *handle = team->id;
        status = nvsi_team_on_device(fn, team, handle);
    }
    free(answers);
    return status;
}

int nvsi_team_split_strided(const char *fn, int32_t parent_handle, int start, int stride, int size,
                            int num_contexts, int32_t *handle)
{
    *handle = NVSI_TEAM_INVALID;
    struct nvsi_team *parent = nvsi_team_get(parent_handle);
    if (!parent)
        return nvsi_team_bad(fn, parent_handle);
    int64_t last = start + (int64_t)stride * (size - 1);
    if (size < 1 || start < 0 || start >= parent->npes || last < 0 || last >= parent->npes ||
        (stride == 0 && size > 1))
        return nvsi_error(
            NVS_ERR_INVALID,
            "%s: start %d, stride %d, size %d do not fit into a parent team of %d PEs", fn, start,
            stride, size, parent->npes);
    int *members = malloc((size_t)size * sizeof *members);
    if (!members)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team of %d PEs", fn, size);
    bool member = false;
    for (int i = 0; i < size; i++) {
        members[i] = start + stride * i;
        member |= members[i] == parent->team_pe;
    }
    int status =
        nvsi_team_create(fn, parent_handle, members, member ? size : 0, num_contexts, handle);
    free(members);
    return status;
}

int nvsi_team_split_2d(const char *fn, int32_t parent_handle, int xrange, const int num_contexts[2],
                       int32_t *x_handle, int32_t *y_handle)
{
    *x_handle = *y_handle = NVSI_TEAM_INVALID;
    struct nvsi_team *parent = nvsi_team_get(parent_handle);
    if (!parent)
        return nvsi_team_bad(fn, parent_handle);
    if (xrange < 1)
        return nvsi_error(NVS_ERR_INVALID, "%s: xrange is %d: allowed are 1 and more", fn, xrange);
    int npes = parent->npes, me = parent->team_pe;
    if (xrange > npes)
        xrange = npes;
    int *members = malloc((size_t)npes * sizeof *members);
    if (!members)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a team of %d PEs", fn, npes);
    int count = 0;
    for (int i = me - me % xrange; i < npes && count < xrange; i++)
        members[count++] = i;
    int status = nvsi_team_create(fn, parent_handle, members, count, num_contexts[0], x_handle);
    count = 0;
    for (int i = me % xrange; i < npes; i += xrange)
        members[count++] = i;
    if (!status)
        status = nvsi_team_create(fn, parent_handle, members, count, num_contexts[1], y_handle);
    if (status && *x_handle != NVSI_TEAM_INVALID) { /* both or none, on all PEs alike */
        nvsi_team_destroy(fn, *x_handle);
        *x_handle = NVSI_TEAM_INVALID;
    }
    free(members);
    return status;
}
