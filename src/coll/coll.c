/*
 * coll.c - drives collectives: sequence, slots, phases and the three ways of coll.h.
 *
 * Memory order: a slot's contents are stored before its word (release) and read after it (acquire),
 * so data, refs and the user buffers behind them are visible to whoever has seen the word.
 */
#include "coll.h"

#include "util/copy.h"
#include "wait.h"

enum { STATE_LAP, STATE_ENTRY, STATE_EXIT, STATE_STAGE_IN, STATE_STAGE_READY, STATE_STAGE_WORKED };

static uint64_t word_at(uint64_t seq, uint32_t phase)
{
    return seq << NVSI_PHASE_BITS | phase;
}

/* ---- publishing and awaiting ---------------------------------------------------------------- */

static void publish(struct nvsi_coll *c)
{
    c->phase++;
    atomic_store_explicit(&c->own->word, word_at(c->seq, c->phase), memory_order_release);
    nvsi_wake_team(c->team);
}

/* So far ahead is only the word of a PE that has given up: others are ahead of us by less than a
 * ring, and lap_clear() looks back by as much. */
#define GIVEN_UP (UINT64_C(2) * NVSI_SLOT_RING << NVSI_PHASE_BITS)

/* Whether a member's word is at least `wanted`: 1, 0 (and c->awaited), or an error. One compare
 * tells the usual case from both others. */
static inline int word_reached(struct nvsi_coll *c, int team_pe, const struct nvsi_slot *slot,
                               uint64_t wanted)
{
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    if (NVSI_LIKELY(word - wanted < GIVEN_UP))
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
        const struct nvsi_slot *slot = nvsi_coll_slot(c, c->cursor);
        int status = word_reached(c, c->cursor, slot, word_at(c->seq, phase));
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
    if (c->cursor < c->args.root)
        c->cursor = c->args.root;
    return reached(c, c->args.root + 1, 1);
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
        const struct nvsi_slot *slot =
            (const struct nvsi_slot *)(team->channels + (size_t)c->cursor * NVSI_CHANNEL_BYTES +
                                       (next % NVSI_SLOT_RING) * NVSI_SLOT_BYTES);
        int status = word_reached(c, c->cursor, slot, word_at(next, 1));
        if (status <= 0)
            return status;
    }
    c->cursor = 0;
    team->synced = next;
    return 1;
}

/* The members of a team take their collectives one after the other: 1 when this one's turn has
 * come, 0, or an error if one before it failed. */
static int my_turn(const struct nvsi_coll *c)
{
    const struct nvsi_team *team = c->team;
    if (NVSI_UNLIKELY(team->broken))
        return nvsi_error(team->broken, "%s: an earlier collective of this team failed",
                          c->args.fn);
    return c->seq + team->in_flight == team->seq + 1;
}

/* ---- entering ------------------------------------------------------------------------------- */

/* Segment and offset of a symmetric address in 64 bits, or 0. */
static uint64_t ref_of(const void *ptr, size_t nbytes)
{
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)ptr - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size && nbytes <= nvsi.seg[s].size - offset)
            return (uint64_t)(s + 1) << 60 | offset;
    }
    return 0;
}

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
        return c->args.src;
    return mapped_ref(c, team_pe, nvsi_coll_slot(c, team_pe)->ref.src);
}

char *nvsi_coll_dst(const struct nvsi_coll *c, int team_pe)
{
    if (team_pe == c->team->team_pe)
        return c->args.dst;
    return mapped_ref(c, team_pe, nvsi_coll_slot(c, team_pe)->ref.dst);
}

/* Bytes of src and dst that the call touches on this PE. */
static void footprint(const struct nvsi_coll *c, size_t *src_bytes, size_t *dst_bytes)
{
    size_t block = c->args.nelems * c->args.elem_bytes, all = block * (size_t)c->team->npes;
    *src_bytes = *dst_bytes = block;
    if (c->kind->whole_input)
        *src_bytes = all;
    if (c->kind->kind == NVSI_KIND_ALL_GATHER || c->kind->kind == NVSI_KIND_ALL_TO_ALL)
        *dst_bytes = all;
    if (c->kind->kind == NVSI_KIND_ALL_TO_ALL && all) {
        *src_bytes =
            (all / c->args.elem_bytes - 1) * (size_t)c->args.src_stride * c->args.elem_bytes +
            c->args.elem_bytes;
        *dst_bytes =
            (all / c->args.elem_bytes - 1) * (size_t)c->args.dst_stride * c->args.elem_bytes +
            c->args.elem_bytes;
    }
}

/* dst == src where direct work would overwrite what others still read. */
static bool in_place_conflict(const struct nvsi_coll *c)
{
    return c->args.dst == c->args.src && c->team->npes > 1 &&
           (c->kind->kind == NVSI_KIND_ALL_GATHER || c->kind->kind == NVSI_KIND_ALL_TO_ALL ||
            c->kind->kind == NVSI_KIND_REDUCE_SCATTER);
}

static void fill_slot(struct nvsi_coll *c)
{
    size_t src_bytes = 0, dst_bytes = 0;
    footprint(c, &src_bytes, &dst_bytes);
    struct nvsi_slot *own = c->own;
    /* A team of one has no slots and does not come here, which the checker cannot know. */
    own->sig = c->sig; // NOLINT(clang-analyzer-core.NullDereference)
    own->history = c->history;
    own->nelems = c->args.nelems;
    bool strided = c->args.src_stride != 1 || c->args.dst_stride != 1;
    if (src_bytes <= NVSI_EAGER_BYTES && !strided) {
        own->mode = c->mode = NVSI_EAGER;
        if (src_bytes && (!c->kind->rooted || nvsi_coll_is_root(c)))
            memcpy(own->data, c->args.src, src_bytes);
        return;
    }
    own->mode = c->mode = NVSI_DIRECT;
    own->ref.src = ref_of(c->args.src, src_bytes);
    own->ref.dst = ref_of(c->args.dst, dst_bytes);
    if (in_place_conflict(c) && !strided)
        own->ref.src = 0;
}

/* OpenSHMEM and NVSHMEM allow symmetric addresses only. */
static int check_symmetric(const struct nvsi_coll *c)
{
    size_t src_bytes, dst_bytes;
    footprint(c, &src_bytes, &dst_bytes);
    if (dst_bytes && !ref_of(c->args.dst, dst_bytes))
        return nvsi_bad_access(c->args.fn, c->args.dst, dst_bytes, 1, nvsi.me);
    if (src_bytes && !ref_of(c->args.src, src_bytes))
        return nvsi_bad_access(c->args.fn, c->args.src, src_bytes, 1, nvsi.me);
    return 0;
}

static void stamp_flight(const struct nvsi_coll *c)
{
    struct nvsi_flight *flight = nvsi.flight;
    NVSI_FLIGHT_SET(flight, op, c->args.flight ? c->args.flight : (uint32_t)c->kind->flight);
    NVSI_FLIGHT_SET(flight, team, c->team->slot);
    NVSI_FLIGHT_SET(flight, peer, -1);
    NVSI_FLIGHT_SET(flight, dtype, c->args.dtype);
    NVSI_FLIGHT_SET(flight, redop, c->args.op);
    NVSI_FLIGHT_SET(flight, seq, c->seq);
    NVSI_FLIGHT_SET(flight, nelems, c->args.nelems);
    NVSI_FLIGHT_SET(flight, nbytes, c->args.nelems * c->args.elem_bytes);
    NVSI_FLIGHT_SET(flight, busy, 1);
}

int nvsi_coll_begin(struct nvsi_coll *c, const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                    const struct nvsi_coll_args *args)
{
    c->kind = kind;
    c->team = team;
    c->args = *args;
    if (args->dtype >= 0)
        c->args.elem_bytes = nvsi_dtype_size(args->dtype);
    if (NVSI_UNLIKELY(team->broken))
        return nvsi_error(team->broken, "%s: an earlier collective of this team failed",
                          c->args.fn);
    if (c->args.flags & NVSI_COLL_SYMMETRIC) {
        int status = check_symmetric(c);
        if (NVSI_UNLIKELY(status))
            return status;
    }
    c->seq = ++team->seq;
    c->sig = nvsi_coll_sig(c);
    c->history = team->history;
    team->history = nvsi_coll_history(c);
    team->in_flight++;
    c->state = STATE_LAP;
    c->phase = 0;
    c->cursor = 0;
    c->awaited = -1;
    c->any_staged = false;
    c->at = 0;
    stamp_flight(c);
    c->own = team->npes > 1 ? nvsi_coll_slot(c, team->team_pe) : NULL;
    return 0;
}

/* ---- the three ways ------------------------------------------------------------------------- */

/* After the entry: does anybody's ordinary memory force the staged way? All awaited slots say the
 * same to all members. A slot that is eager itself (collect) needs nothing. */
static bool anybody_staged(const struct nvsi_coll *c)
{
    int first = c->kind->rooted ? c->args.root : 0;
    int end = c->kind->rooted ? c->args.root + 1 : c->team->npes;
    for (int i = first; i < end; i++) {
        const struct nvsi_slot *slot = nvsi_coll_slot(c, i);
        if (slot->mode == NVSI_EAGER)
            continue;
        if (!slot->ref.src || (c->kind->needs_dst && !slot->ref.dst))
            return true;
    }
    return false;
}

static bool anybody_direct(const struct nvsi_coll *c)
{
    if (!c->kind->own_count)
        return c->mode != NVSI_EAGER;
    for (int i = 0; i < c->team->npes; i++)
        if (nvsi_coll_slot(c, i)->mode != NVSI_EAGER)
            return true;
    return false;
}

static int finish(struct nvsi_coll *c)
{
    c->team->in_flight--;
    nvsi_flight_leave();
    return NVSI_STEP_DONE;
}

/* Blocks of different sizes: only now is known how much comes. All members see the same sum, so all
 * refuse alike. */
static int check_sum(struct nvsi_coll *c)
{
    uint64_t total = 0, bytes = 0;
    bool overflow = false;
    for (int i = 0; i < c->team->npes; i++)
        overflow |= __builtin_add_overflow(total, nvsi_coll_slot(c, i)->nelems, &total);
    overflow |= __builtin_mul_overflow(total, c->args.elem_bytes, &bytes);
    if (NVSI_LIKELY(!overflow && (!bytes || ref_of(c->args.dst, bytes))))
        return 0;
    int status = nvsi_error(NVS_ERR_INVALID,
                            "%s: %llu elements of %zu bytes from all PEs do not fit at dst %p: it "
                            "would run past the end of symmetric memory",
                            c->args.fn, (unsigned long long)total, c->args.elem_bytes, c->args.dst);
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
        c->any_staged = true;
        c->state = STATE_STAGE_IN;
        return NVSI_STEP_AGAIN;
    }
    c->kind->direct(c);
    publish(c);
    c->cursor = 0;
    c->state = STATE_EXIT;
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
    size_t left = c->args.nelems - c->at, chunk = c->kind->chunk_elems(c);
    c->count = left < chunk ? left : chunk;
    if (c->kind->copy_in)
        c->kind->copy_in(c);
    publish(c);
    c->cursor = 0;
    c->state = STATE_STAGE_READY;
    return NVSI_STEP_AGAIN;
}

static int stage_out(struct nvsi_coll *c)
{
    if (c->kind->copy_out)
        c->kind->copy_out(c);
    c->at += c->count;
    if (c->at == c->args.nelems)
        return finish(c);
    c->state = STATE_STAGE_IN;
    return NVSI_STEP_AGAIN;
}

int nvsi_coll_step(struct nvsi_coll *c)
{
    int status;
    switch (c->state) {
    case STATE_LAP:
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
        fill_slot(c);
        publish(c);
        c->state = STATE_ENTRY;
        /* fall through */
    case STATE_ENTRY:
        status = await_entry(c);
        return status > 0 ? after_entry(c) : status;
    case STATE_EXIT:
        status = await_exit(c);
        return status > 0 ? finish(c) : status;
    case STATE_STAGE_IN:
        return stage_in(c);
    case STATE_STAGE_READY:
        status = await_all(c, c->phase);
        if (status <= 0)
            return status;
        c->kind->work(c);
        publish(c);
        c->cursor = 0;
        c->state = STATE_STAGE_WORKED;
        return NVSI_STEP_AGAIN;
    default: /* STATE_STAGE_WORKED */
        status = await_all(c, c->phase);
        return status > 0 ? stage_out(c) : status;
    }
}

/* Steps until done, with more and more patience while nothing moves. */
static int run_patiently(struct nvsi_coll *c)
{
    struct nvsi_wait wait = {0};
    int status, state = c->state, cursor = c->cursor;
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

/* Polls before patience begins: a small collective is over within a fraction of a microsecond, and
 * even a pause instruction takes a good part of that. */
enum { EAGER_POLLS = 50 };

int nvsi_coll_run(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                  const struct nvsi_coll_args *args)
{
    struct nvsi_coll c;
    int status = nvsi_coll_begin(&c, kind, team, args);
    if (NVSI_UNLIKELY(status))
        return status;
    for (int poll = 0; poll < EAGER_POLLS; poll++) {
        status = nvsi_coll_step(&c);
        if (NVSI_LIKELY(status == NVSI_STEP_DONE))
            return 0;
        if (NVSI_UNLIKELY(status < 0))
            break;
    }
    if (status == NVSI_STEP_AGAIN)
        status = run_patiently(&c);
    if (NVSI_UNLIKELY(status < 0))
        nvsi_flight_leave();
    return status == NVSI_STEP_DONE ? 0 : status;
}

/* ---- what the kinds use --------------------------------------------------------------------- */

static bool streams(const struct nvsi_coll *c, size_t nbytes)
{
    return nbytes >= nvsi.config.stream_threshold &&
           c->args.nelems * c->args.elem_bytes >= nvsi.config.stream_threshold;
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
                             .dtype = c->args.dtype,
                             .op = c->args.op,
                             .divisor = c->team->npes,
                             .stream = c->args.nelems * c->args.elem_bytes >=
                                       nvsi.config.stream_threshold};
    if (nelems)
        nvsi_fold(&fold);
}

void nvsi_coll_share(const struct nvsi_coll *c, size_t nelems, int part, size_t *first,
                     size_t *count)
{
    size_t npes = (size_t)c->team->npes, line = 64 / c->args.elem_bytes;
    size_t share = (nelems + npes - 1) / npes;
    if (line > 1)
        share = (share + line - 1) / line * line;
    size_t begin = share * (size_t)part;
    *first = begin < nelems ? begin : nelems;
    *count = nelems - *first < share ? nelems - *first : share;
}
