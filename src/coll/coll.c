/*
 * coll.c - drives collectives: sequence, slots, phases and the three ways of coll.h.
 *
 * Memory order: a slot's contents are stored before its word (release) and read after it (acquire),
 * so data, refs and the user buffers behind them are visible to whoever has seen the word.
 */
#include "express.h"
#include "util/copy.h"

#include <unistd.h>

#include "boot/crash.h"

/* ---- publishing and awaiting ---------------------------------------------------------------- */

static void publish(struct nvsi_coll *c)
{
    c->phase++;
    atomic_store_explicit(nvsi_coll_word_of(c->own, c->phase), nvsi_coll_word(c->seq, c->phase),
                          memory_order_release);
    nvsi_wake_team(c->team);
}

/* Whether a member's word is at least `wanted`: 1, 0 (and c->awaited), or an error. One compare
 * tells the usual case from both others. */
static inline int word_reached(struct nvsi_coll *c, int team_pe, struct nvsi_slot *slot,
                               uint64_t wanted)
{
    uint32_t phase = wanted & ((1u << NVSI_PHASE_BITS) - 1);
    uint64_t word = atomic_load_explicit(nvsi_coll_word_of(slot, phase), memory_order_acquire);
    if (NVSI_LIKELY(word - wanted < NVSI_COLL_GAVE_UP))
        return 1;
    if (word > wanted)
        return nvsi_coll_gave_up(c, team_pe, word);
    c->awaited = c->team->pes[team_pe];
    return 0;
}

/* 1 when members from c->cursor up to `end` have reached `phase`, 0 if one has not (c->awaited),
 * or an error if one takes part in another collective or has given up. */
static inline int reached(struct nvsi_coll *c, int end, uint32_t phase)
{
    for (; c->cursor < end; c->cursor++) {
        if (c->cursor == c->team->team_pe)
            continue;
        struct nvsi_slot *slot = nvsi_coll_slot(c, c->cursor);
        int status = word_reached(c, c->cursor, slot, nvsi_coll_word(c->seq, phase));
        if (NVSI_UNLIKELY(status <= 0))
            return status;
        if (NVSI_UNLIKELY(phase == 1 && !nvsi_coll_matches(c, slot)))
            return nvsi_coll_mismatch(c, c->cursor);
    }
    return 1;
}

/* Whom this PE awaits: all; in a rooted collective members await the root, and the root awaits
 * nobody at the entry. */
static int await_entry(struct nvsi_coll *c)
{
    if (!c->kind->rooted) {
        int status = reached(c, c->team->npes, 1);
        if (status > 0)
            c->team->synced = c->seq;
        return status;
    }
    if (nvsi_coll_is_root(c))
        return 1;
    if (c->cursor < c->args->root)
        c->cursor = c->args->root;
    return reached(c, c->args->root + 1, 1);
}

static int await_all(struct nvsi_coll *c, uint32_t phase)
{
    return reached(c, c->team->npes, phase);
}

/* Whether everybody has left the collective that used this ring entry before: 1, 0 or an error. */
static int lap_clear(struct nvsi_coll *c)
{
    struct nvsi_team *team = c->team;
    if (NVSI_LIKELY(c->seq < team->synced + NVSI_SLOT_RING))
        return 1;
    uint64_t next = c->seq - NVSI_SLOT_RING + 1; /* who has entered this one has left the other */
    for (; c->cursor < team->npes; c->cursor++) {
        if (c->cursor == team->team_pe)
            continue;
        struct nvsi_slot *slot =
            (struct nvsi_slot *)(team->channels + (size_t)c->cursor * NVSI_CHANNEL_BYTES +
                                 (next % NVSI_SLOT_RING) * NVSI_SLOT_BYTES);
        int status = word_reached(c, c->cursor, slot, nvsi_coll_word(next, 1));
        if (status <= 0)
            return status;
    }
    c->cursor = 0;
    team->synced = next;
    return 1;
}

/* A PE takes the collectives of a team one after the other, in the order in which they were begun:
 * 1 when this one's turn has come, 0, or an error if one before it failed. Streams begin
 * collectives on the caller's thread and run them on theirs. What the one before has written in the
 * team is stored before `left` (release) and read after it (acquire). */
static int my_turn(const struct nvsi_coll *c)
{
    const struct nvsi_team *team = c->team;
    if (NVSI_UNLIKELY(team->broken))
        return nvsi_error(team->broken, "%s: an earlier collective of this team failed",
                          c->args->fn);
    return atomic_load_explicit(&team->left, memory_order_acquire) + 1 == c->seq;
}

int nvsi_coll_begin(struct nvsi_coll *c, const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                    const struct nvsi_coll_args *args)
{
    nvsi_coll_prepare(c, kind, team, args);
    if (NVSI_UNLIKELY(team->broken))
        return nvsi_error(team->broken, "%s: an earlier collective of this team failed", args->fn);
    int status = nvsi_coll_check_symmetric(c);
    if (NVSI_UNLIKELY(status))
        return status;
    nvsi_coll_count(c);
    return 0;
}

/* ---- the three ways ------------------------------------------------------------------------- */

/* After the entry: does anybody's ordinary memory force the staged way? All awaited slots say the
 * same to all members. A slot that is eager itself (collect) needs nothing. */
static bool anybody_staged(const struct nvsi_coll *c)
{
    int first = c->kind->rooted ? c->args->root : 0;
    int end = c->kind->rooted ? c->args->root + 1 : c->team->npes;
    for (int i = first; i < end; i++) {
        const struct nvsi_refs *refs = nvsi_coll_refs(c, i);
        if (!nvsi_coll_is_eager(c, i) && (!refs->src || (c->kind->needs_dst && !refs->dst)))
            return true;
    }
    return false;
}

static bool anybody_direct(const struct nvsi_coll *c)
{
    if (!c->kind->own_count)
        return c->mode != NVSI_EAGER;
    for (int i = 0; i < c->team->npes; i++)
        if (!nvsi_coll_is_eager(c, i))
            return true;
    return false;
}

static int finish(struct nvsi_coll *c)
{
    atomic_store_explicit(&c->team->left, c->seq, memory_order_release);
    nvsi_flight_leave();
    if (NVSI_UNLIKELY(atomic_load_explicit(&nvsi.streams, memory_order_relaxed)))
        nvsi_wake(nvsi.me); /* another thread of this PE may wait for its turn */
    return NVSI_STEP_DONE;
}

/* Blocks of different sizes: only now is known how much comes. All members see the same sum, so all
 * refuse alike. */
static int check_sum(struct nvsi_coll *c)
{
    uint64_t total = 0, bytes = 0;
    bool overflow = false;
    for (int i = 0; i < c->team->npes; i++)
        overflow |= __builtin_add_overflow(total, nvsi_coll_nelems(c, i), &total);
    overflow |= __builtin_mul_overflow(total, c->args->elem_bytes, &bytes);
    if (NVSI_LIKELY(!overflow && (!bytes || nvsi_coll_ref(c->args->dst, bytes))))
        return 0;
    int status =
        nvsi_error(NVS_ERR_INVALID,
                   "%s: %llu elements of %zu bytes from all PEs do not fit at dst %p: it "
                   "would run past the end of symmetric memory",
                   c->args->fn, (unsigned long long)total, c->args->elem_bytes, c->args->dst);
    nvsi_coll_break(c, status);
    return status;
}

static int after_entry(struct nvsi_coll *c)
{
    if (c->kind->own_count) {
        int status = check_sum(c);
        if (NVSI_UNLIKELY(status))
            return status;
    }
    if (!anybody_direct(c)) {
        c->kind->eager(c);
        return finish(c);
    }
    if (anybody_staged(c)) {
        c->state = NVSI_COLL_STAGE_IN;
        return NVSI_STEP_AGAIN;
    }
    own_line(&c->own->later);
    c->kind->direct(c);
    NVSI_CRASH_POINT(coll_moved);
    publish(c);
    c->cursor = 0;
    c->state = NVSI_COLL_EXIT;
    return NVSI_STEP_AGAIN;
}

/* Members of a rooted collective need not wait for each other at the exit. */
static int await_exit(struct nvsi_coll *c)
{
    if (c->kind->rooted && !nvsi_coll_is_root(c))
        return 1;
    return await_all(c, 2);
}

static int stage_in(struct nvsi_coll *c)
{
    size_t left = c->args->nelems - c->at, chunk = c->kind->chunk_elems(c);
    c->count = left < chunk ? left : chunk;
    NVSI_CRASH_POINT(coll_staging);
    if (c->kind->copy_in)
        c->kind->copy_in(c);
    publish(c);
    c->cursor = 0;
    c->state = NVSI_COLL_STAGE_READY;
    return NVSI_STEP_AGAIN;
}

static int stage_out(struct nvsi_coll *c)
{
    if (c->kind->copy_out)
        c->kind->copy_out(c);
    c->at += c->count;
    if (c->at == c->args->nelems)
        return finish(c);
    c->state = NVSI_COLL_STAGE_IN;
    return NVSI_STEP_AGAIN;
}

int nvsi_coll_step(struct nvsi_coll *c)
{
    int status;
    switch (c->state) {
    case NVSI_COLL_LAP:
        status = my_turn(c);
        if (NVSI_UNLIKELY(status <= 0))
            return status;
        if (NVSI_UNLIKELY(c->team->npes == 1)) {
            c->kind->alone(c);
            return finish(c);
        }
        status = lap_clear(c);
        if (NVSI_UNLIKELY(status <= 0))
            return status;
        nvsi_coll_fill_slot(c);
        NVSI_CRASH_POINT(coll_filled);
        publish(c);
        nvsi_coll_stamp(c);
        own_next_slot(c, 0);
        c->state = NVSI_COLL_ENTRY;
        /* fall through */
    case NVSI_COLL_ENTRY:
        status = await_entry(c);
        return status > 0 ? after_entry(c) : status;
    case NVSI_COLL_EXIT:
        status = await_exit(c);
        return status > 0 ? finish(c) : status;
    case NVSI_COLL_STAGE_IN:
        return stage_in(c);
    case NVSI_COLL_STAGE_READY:
        status = await_all(c, c->phase);
        if (status <= 0)
            return status;
        c->kind->work(c);
        NVSI_CRASH_POINT(coll_worked);
        publish(c);
        c->cursor = 0;
        c->state = NVSI_COLL_STAGE_WORKED;
        return NVSI_STEP_AGAIN;
    default: /* NVSI_COLL_STAGE_WORKED */
        status = await_all(c, c->phase);
        return status > 0 ? stage_out(c) : status;
    }
}

/* Steps until done, with more and more patience while nothing moves. */
static int run_patiently(struct nvsi_coll *c)
{
    struct nvsi_wait wait = {0};
    int status, cursor = c->cursor;
    enum nvsi_coll_state state = c->state;
    while ((status = nvsi_coll_step(c)) == NVSI_STEP_AGAIN) {
        if (c->state != state || c->cursor != cursor) { /* something moved: be quick again */
            state = c->state;
            cursor = c->cursor;
            nvsi_wait_again(&wait);
            continue;
        }
        status = nvsi_wait_round(&wait, c->awaited);
        if (NVSI_UNLIKELY(status)) {
            nvsi_coll_break(c, status);
            break;
        }
    }
    nvsi_wait_end(&wait);
    return status;
}

/* Whether it has to wait before it enters: for its turn, or for the ring. Then nothing else tells
 * what this PE is doing. */
static bool held_back(const struct nvsi_coll *c)
{
    const struct nvsi_team *team = c->team;
    return c->state == NVSI_COLL_LAP &&
           (atomic_load_explicit(&team->left, memory_order_acquire) + 1 != c->seq ||
            c->seq >= team->synced + NVSI_SLOT_RING);
}

int nvsi_coll_finish(struct nvsi_coll *c)
{
    int status = NVSI_STEP_AGAIN;
    if (NVSI_UNLIKELY(held_back(c)))
        nvsi_coll_stamp(c);
    for (int polls = nvsi.polls; polls && status == NVSI_STEP_AGAIN; polls--)
        status = nvsi_coll_step(c);
    if (NVSI_UNLIKELY(status == NVSI_STEP_AGAIN))
        status = run_patiently(c);
    if (NVSI_LIKELY(status == NVSI_STEP_DONE))
        return 0;
    nvsi_flight_leave();
    return status;
}

int nvsi_coll_run(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                  const struct nvsi_coll_args *args)
{
    struct nvsi_coll c;
    bool taken = false;
    int status = nvsi_coll_on_device(kind, team, args, &taken);
    if (NVSI_UNLIKELY(taken))
        return status;
    status = nvsi_coll_begin(&c, kind, team, args);
    return NVSI_UNLIKELY(status) ? status : nvsi_coll_finish(&c);
}

void nvsi_coll_settle(const struct nvsi_team *team)
{
    struct nvsi_wait wait = {0};
    while (atomic_load(&team->queued))
        if (nvsi_wait_round(&wait, -1)) /* whatever happened ends those collectives too */
            usleep(1000);
    nvsi_wait_end(&wait);
}

/* ---- what the kinds use --------------------------------------------------------------------- */

/* Where a published reference of a member is mapped here; NULL for 0, ordinary memory. */
static char *mapped_ref(const struct nvsi_coll *c, int team_pe, uint64_t ref)
{
    if (!ref)
        return NULL;
    const struct nvsi_peer *peer = &nvsi.peers[c->team->pes[team_pe]];
    return peer->mapped[(ref >> 60) - 1] + (ref & ((UINT64_C(1) << 60) - 1));
}

const char *nvsi_coll_src(const struct nvsi_coll *c, int team_pe)
{
    if (team_pe == c->team->team_pe)
        return c->args->src;
    return mapped_ref(c, team_pe, nvsi_coll_refs(c, team_pe)->src);
}

char *nvsi_coll_dst(const struct nvsi_coll *c, int team_pe)
{
    if (team_pe == c->team->team_pe)
        return c->args->dst;
    return mapped_ref(c, team_pe, nvsi_coll_refs(c, team_pe)->dst);
}

static bool streams(const struct nvsi_coll *c, size_t nbytes)
{
    return nbytes >= nvsi.config.stream_threshold &&
           c->args->nelems * c->args->elem_bytes >= nvsi.config.stream_threshold;
}

void nvsi_coll_copy(const struct nvsi_coll *c, void *dst, const void *src, size_t nbytes)
{
    if (dst == src || nbytes == 0)
        return;
    if (streams(c, nbytes))
        nvsi_copy_stream(dst, src, nbytes);
    else if (nbytes >= NVSI_BULK_BYTES)
        nvsi_copy_large(dst, src, nbytes);
    else
        memcpy(dst, src, nbytes);
}

void nvsi_coll_fold(const struct nvsi_coll *c, void *const *dsts, int ndst, const void *const *srcs,
                    size_t nelems)
{
    struct nvsi_fold fold = {.dst = dsts,
                             .src = srcs,
                             .ndst = ndst,
                             .nsrc = c->team->npes,
                             .nelems = nelems,
                             .dtype = c->args->dtype,
                             .op = c->args->op,
                             .divisor = c->team->npes,
                             .stream = c->args->nelems * c->args->elem_bytes >=
                                       nvsi.config.stream_threshold};
    if (nelems)
        nvsi_fold(&fold);
}

void nvsi_coll_share(const struct nvsi_coll *c, size_t nelems, int part, size_t *first,
                     size_t *count)
{
    size_t npes = (size_t)c->team->npes, line = 64 / c->args->elem_bytes;
    size_t share = (nelems + npes - 1) / npes;
    if (line > 1)
        share = (share + line - 1) / line * line;
    size_t begin = share * (size_t)part;
    *first = begin < nelems ? begin : nelems;
    *count = nelems - *first < share ? nelems - *first : share;
}
