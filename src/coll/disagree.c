/*
 * disagree.c - PEs that call different things: the sentence that names both sides, and how all of
 * the team learn that it is broken.
 *
 * A PE sees the call of another in its slot (sig, nelems). A root of small broadcasts waits for
 * nobody, so two PEs that both think that they are the root do not see each other; therefore each
 * slot also carries a hash of all calls before it (history), and the next collective that waits for
 * all finds the difference.
 *
 * A PE that gives up tells the others by a sequence number that no collective of this team reaches,
 * in all of its slots: whoever waits for it, now or later, gives up too instead of waiting for
 * ever. The team keeps the number behind that leap (given_up), so that the next team at this place
 * in the arena starts there.
 */
#include "coll.h"

#include "boot/crash.h"

#include <stdio.h>

#include "boot/table.h"
#include "wait.h"

#define LEAP (UINT64_C(1) << 20)

void nvsi_coll_call_words(uint64_t sig, uint64_t count, char *text, size_t size)
{
    int kind = (int)(sig & 0xff), dtype = (int)(sig >> 8 & 0xff) - 1;
    unsigned long long nelems = count;
    char type[32], detail[32] = "";
    if ((sig >> 16 & 0xff) == NVSI_OP_INTERNAL) {
        snprintf(text, size, "a step of init, malloc or a team split (%llu x %u bytes)", nelems,
                 (unsigned)(sig >> 48));
        return;
    }
    if ((sig >> 16 & 0xff) == NVSI_OP_ON_GPU) {
        snprintf(text, size, "a collective on memory of the GPU");
        return;
    }
    if (kind == NVSI_KIND_SYNC) {
        snprintf(text, size, "barrier or sync");
        return;
    }
    if (dtype >= 0)
        snprintf(type, sizeof type, "%s", nvsi_dtype_name(dtype));
    else
        snprintf(type, sizeof type, "%u bytes each", (unsigned)(sig >> 48));
    if (kind == NVSI_KIND_BROADCAST)
        snprintf(detail, sizeof detail, ", root %u", (unsigned)(sig >> 24 & 0xffffff));
    else if (kind == NVSI_KIND_ALL_REDUCE || kind == NVSI_KIND_REDUCE_SCATTER)
        snprintf(detail, sizeof detail, ", %s", nvsi_op_name((int)(sig >> 16 & 0xff)));
    snprintf(text, size, "%s of %llu element%s (%s%s)", nvsi_coll_kind_name(kind), nelems,
             nelems == 1 ? "" : "s", type, detail);
}

static void call_words(const struct nvsi_slot *slot, char *text, size_t size)
{
    nvsi_coll_call_words(slot->sig, slot->nelems, text, size);
}

/* "collective #7 of the world team", with the number that a user counts. */
static void where_words(const struct nvsi_coll *c, uint64_t seq, char *buffer, size_t size)
{
    struct nvsi_text text = {.at = buffer, .left = size};
    uint64_t first = atomic_load(&nvsi.job->teams[c->team->slot].seq_first);
    nvsi_text_add(&text, "collective #%llu of ", (unsigned long long)(seq - first));
    nvsi_team_name(nvsi.job, c->team->slot, &text);
}

static bool same_call(const struct nvsi_slot *a, const struct nvsi_slot *b)
{
    return a->sig == b->sig && ((a->sig & 0xff) == NVSI_KIND_COLLECT || a->nelems == b->nelems);
}

/* The sequence number in the word of a member's slot. */
static uint64_t seq_of(const struct nvsi_coll *at, int team_pe)
{
    return atomic_load(&nvsi_coll_slot(at, team_pe)->word) >> NVSI_PHASE_BITS;
}

/* Where the disagreement began: this call, or, if that is the same on both sides, the oldest one in
 * the ring that differs. Entries that belong to another team or are used again already say nothing;
 * those of a PE that has given up still do. */
static uint64_t first_difference(const struct nvsi_coll *c, int team_pe)
{
    struct nvsi_coll at = *c;
    if (!same_call(c->own, nvsi_coll_slot(c, team_pe)))
        return c->seq;
    at.seq = c->seq < NVSI_SLOT_RING ? 1 : c->seq - NVSI_SLOT_RING + 1;
    for (; at.seq < c->seq; at.seq++) {
        uint64_t other = seq_of(&at, team_pe);
        if (seq_of(&at, c->team->team_pe) == at.seq && (other == at.seq || other > at.seq + LEAP) &&
            !same_call(nvsi_coll_slot(&at, c->team->team_pe), nvsi_coll_slot(&at, team_pe)))
            break;
    }
    return at.seq;
}

int nvsi_coll_mismatch(struct nvsi_coll *c, int team_pe)
{
    struct nvsi_coll at = *c;
    char mine[96], other[96], where[128];
    at.seq = first_difference(c, team_pe);
    call_words(nvsi_coll_slot(&at, c->team->team_pe), mine, sizeof mine);
    call_words(nvsi_coll_slot(&at, team_pe), other, sizeof other);
    where_words(c, at.seq, where, sizeof where);
    int status =
        nvsi_error(NVS_ERR_MISMATCH, "%s: PEs disagree about %s: PE %d calls %s, PE %d calls %s",
                   c->args->fn, where, nvsi.me, mine, c->team->pes[team_pe], other);
    nvsi_coll_break(c, status);
    return status;
}

int nvsi_coll_gave_up(struct nvsi_coll *c, int team_pe, uint64_t word)
{
    uint64_t seq = (word >> NVSI_PHASE_BITS) - LEAP;
    int status = -(int)(word & ((1u << NVSI_PHASE_BITS) - 1));
    /* Its slot still shows the call that failed; if that is not ours, we are the other side. */
    if (seq == c->seq && c->phase > 0 && !nvsi_coll_matches(c, nvsi_coll_slot(c, team_pe)))
        return nvsi_coll_mismatch(c, team_pe);
    char where[128];
    where_words(c, seq, where, sizeof where);
    /* Who was lost says more than who noticed it first. */
    if (status != NVS_ERR_PE_LOST || !nvsi_lost())
        nvsi_error(status, "%s: PE %d has given up this team, because %s failed", c->args->fn,
                   c->team->pes[team_pe], where);
    nvsi_coll_break(c, status);
    return status;
}

void nvsi_coll_break(struct nvsi_coll *c, int status)
{
    struct nvsi_team *team = c->team;
    struct nvsi_coll at = *c;
    int whole = 0;
    if (!atomic_compare_exchange_strong(&team->broken, &whole, status))
        return;
    uint64_t failed = c->seq - (c->phase == 0); /* the last one that its slot shows */
    uint64_t word = (failed + LEAP) << NVSI_PHASE_BITS | (uint64_t)-status;
    for (at.seq = 0; team->npes > 1 && at.seq < NVSI_SLOT_RING; at.seq++) {
        struct nvsi_slot *own = nvsi_coll_slot(&at, team->team_pe);
        atomic_store_explicit(&own->word, word, memory_order_release);
        atomic_store_explicit(&own->later, word, memory_order_release);
    }
    NVSI_CRASH_POINT(coll_breaking);
    team->given_up = c->seq + 2 * LEAP;
    nvsi_wake_team(team);
}
