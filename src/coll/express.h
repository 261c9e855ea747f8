/*
 * express.h - the short way through a small collective: the same protocol as coll.c, for a call
 * whose data fits the slots and whose team has nothing else in flight.
 *
 * A barrier of two cores takes as long as a cache line needs from one to the other, some 50 to 200
 * nanoseconds, and so do its equals that carry a few bytes. Whatever a PE does between the arrival
 * of the others' words and the store of its next own word adds to that in full. So here:
 *  - the slot is published before anything is written down about the call;
 *  - the lines of the next slot are taken from their readers (a lap ago) while this PE waits, so
 *    that the next publishing has not to wait for them: own_next_slot();
 *  - the kind is a constant at every call, and everything is inlined into its one caller.
 * Whoever has not arrived after some polls is left to coll.c, which has the same state machine.
 */
#ifndef NVSI_EXPRESS_H
#define NVSI_EXPRESS_H

#include "boot/crash.h"
#include "coll.h"
#include "wait.h"

/* Fills in what is the same for all ways, but for the turn in the team. */
NVSI_INLINE void nvsi_coll_prepare(struct nvsi_coll *c, const struct nvsi_coll_kind *kind,
                                   struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    c->kind = kind;
    c->team = team;
    c->args = args;
    c->seq = team->seq + 1;
    c->sig = nvsi_coll_sig(c);
    c->history = team->history;
    c->own = team->npes > 1 ? nvsi_coll_slot(c, team->team_pe) : NULL;
    c->state = NVSI_COLL_LAP;
    c->phase = 0;
    c->cursor = 0;
    c->awaited = -1;
    c->at = 0;
}

/* Takes the turn. */
NVSI_INLINE void nvsi_coll_count(const struct nvsi_coll *c)
{
    c->team->seq = c->seq;
    c->team->history = nvsi_coll_history(c);
}

NVSI_INLINE void nvsi_coll_stamp(const struct nvsi_coll *c)
{
    struct nvsi_flight *flight = nvsi.flight;
    NVSI_FLIGHT_SET(flight, op, c->args->flight ? c->args->flight : (uint32_t)c->kind->flight);
    NVSI_FLIGHT_SET(flight, team, c->team->slot);
    NVSI_FLIGHT_SET(flight, peer, -1);
    NVSI_FLIGHT_SET(flight, dtype, c->args->dtype);
    NVSI_FLIGHT_SET(flight, redop, c->args->op);
    NVSI_FLIGHT_SET(flight, seq, c->seq);
    NVSI_FLIGHT_SET(flight, nelems, c->args->nelems);
    NVSI_FLIGHT_SET(flight, nbytes, c->args->nelems * c->args->elem_bytes);
    NVSI_FLIGHT_SET(flight, busy, 1);
}

/* Takes a cache line for writing. An instruction rather than a builtin, which would not ask for a
 * line to write on a baseline CPU; where a CPU has not got it, it does nothing. */
NVSI_INLINE void own_line(const void *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* The cache lines that the next collective of this team will publish, if it brings as much data as
 * the latest one with data, are still where they were read a lap ago. Nobody reads them now. */
NVSI_INLINE void own_next_slot(const struct nvsi_coll *c, size_t nbytes)
{
    if (nbytes)
        c->team->slot_bytes = nbytes;
    const char *slot = c->team->channels + (size_t)c->team->team_pe * NVSI_CHANNEL_BYTES +
                       ((c->seq + 1) % NVSI_SLOT_RING) * NVSI_SLOT_BYTES;
    const char *end = slot + offsetof(struct nvsi_slot, data) + c->team->slot_bytes;
    for (const char *line = slot; line < end; line += 64)
        own_line(line);
}

/* The same loads as coll.c's reached(), for members from c->cursor up to `end`; false when one has
 * not arrived after some polls, or disagrees: coll.c looks at it again. */
NVSI_INLINE bool express_arrived(struct nvsi_coll *c, int end)
{
    uint64_t awaited = nvsi_coll_word(c->seq, 1);
    int polls = nvsi.polls;
    for (; c->cursor < end; c->cursor++) {
        if (c->cursor == c->team->team_pe)
            continue;
        const struct nvsi_slot *slot = nvsi_coll_slot(c, c->cursor);
        while (atomic_load_explicit(&slot->word, memory_order_acquire) - awaited >=
               NVSI_COLL_GAVE_UP)
            if (NVSI_UNLIKELY(--polls < 0))
                return false;
        if (NVSI_UNLIKELY(!nvsi_coll_matches(c, slot)))
            return false;
    }
    return true;
}

NVSI_INLINE bool express_open(const struct nvsi_team *team)
{
    return team->npes > 1 && atomic_load_explicit(&team->left, memory_order_acquire) == team->seq &&
           !atomic_load_explicit(&team->broken, memory_order_relaxed) &&
           team->seq + 1 < team->synced + NVSI_SLOT_RING;
}

NVSI_INLINE void express_enter(struct nvsi_coll *c, size_t nbytes)
{
    struct nvsi_slot *own = c->own;
    own->sig = c->sig;
    own->nelems = c->args->nelems;
    own->mode = c->mode = NVSI_EAGER;
    own->history = c->history;
    nvsi_copy_small(own->data, c->args->src, nbytes);
    NVSI_CRASH_POINT(express_filled);
    c->phase = 1;
    atomic_store_explicit(&own->word, nvsi_coll_word(c->seq, 1), memory_order_release);
    NVSI_CRASH_POINT(express_published);
    nvsi_wake_team(c->team);
    nvsi_coll_count(c);
    nvsi_coll_stamp(c);
    own_next_slot(c, nbytes);
    c->state = NVSI_COLL_ENTRY;
}

/* As nvsi_coll_run(). */
NVSI_INLINE int nvsi_coll_express(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                                  const struct nvsi_coll_args *args)
{
    struct nvsi_coll c;
    size_t src_bytes, dst_bytes;
    bool taken = false;
    int on_device = nvsi_coll_on_device(kind, team, args, &taken);
    if (NVSI_UNLIKELY(taken))
        return on_device;
    nvsi_coll_prepare(&c, kind, team, args);
    nvsi_coll_footprint(&c, &src_bytes, &dst_bytes);
    if (NVSI_UNLIKELY(!express_open(team) || src_bytes > NVSI_EAGER_BYTES || nvsi_coll_strided(&c)))
        return nvsi_coll_run(kind, team, args);
    int status = nvsi_coll_check_symmetric(&c);
    if (NVSI_UNLIKELY(status))
        return status;
    bool gives = !kind->rooted || nvsi_coll_is_root(&c), takes = !kind->rooted || !gives;
    express_enter(&c, gives ? src_bytes : 0);
    if (kind->rooted)
        c.cursor = args->root;
    if (NVSI_UNLIKELY(takes && !express_arrived(&c, kind->rooted ? args->root + 1 : team->npes)))
        return nvsi_coll_finish(&c);
    if (!kind->rooted)
        team->synced = c.seq;
    kind->eager(&c);
    atomic_store_explicit(&team->left, c.seq, memory_order_release);
    nvsi_flight_leave();
    return 0;
}

#endif
