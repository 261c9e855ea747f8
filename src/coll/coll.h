/*
 * coll.h - collectives as resumable steps over slots.
 *
 * Every PE has, for each team, a ring of slots. The collective number seq of the team uses entry
 * seq mod ring. A PE publishes into its own slot only; the others read it:
 *
 *   word    seq << PHASE_BITS | phase: what this PE has reached; stored last, with release. The
 *           phases after the entry have a word of their own (later), in another line, so that the
 *           line that all have read at the entry has not to come back
 *   sig     kind, type, operator and root of the call, so that a mismatch is seen, not suffered
 *           (disagree.c)
 *   nelems  and the data itself if it is small ("eager": it arrives in the cache line that carries
 *           its own sequence number), else where dst and src are ("refs")
 *
 * A ring entry may be used again once every member has left the collective that used it before:
 * that is known when all have entered a later one (a PE enters in order). Only broadcasts let a PE
 * run ahead at all, so this check is no more than a compare unless a ring of broadcasts comes
 * without anything else in between (lap_clear).
 *
 * Three ways for the data, the same for all kinds of collective:
 *   eager   up to EAGER_BYTES: publish, wait for the others' slots, produce dst from them
 *   direct  symmetric memory: publish refs, wait, move data straight between user buffers, publish
 *           "done", wait for all
 *   staged  some memory is ordinary: chunk by chunk through the stages; per chunk: copy in,
 *           publish, wait, work, publish, wait, copy out
 *
 * A kind of collective is a table of functions for these (struct nvsi_coll_kind); coll.c drives it.
 * step() never blocks, so that several collectives can be in flight; blocking calls just repeat it.
 * Those of one team are in flight in order: one enters when the one before it has left, because to
 * enter says that (lap_clear).
 */
#ifndef NVSI_COLL_H
#define NVSI_COLL_H

#include "fast.h"
#include "fold.h"
#include "transport/transport.h"

/* Where src and dst of a call are: segment and offset, or 0 for ordinary memory. */
struct nvsi_refs {
    uint64_t src, dst;
};

/* A collective that was put into a stream of a GPU, which does not use the slots: gpu/disagree.c */
struct nvsi_stream_call {
    _Atomic uint64_t number; /* in its team, from 1 on */
    uint64_t sig, nelems;
    uint32_t history;
    uint32_t way; /* how it will be done: that depends on the memory, which may differ */
};
#define NVSI_SLOT_STREAM_CALLS 62 /* in each slot */

struct nvsi_slot {
    _Atomic uint64_t word;
    uint64_t sig;
    uint64_t nelems;
    uint32_t mode;    /* enum nvsi_mode */
    uint32_t history; /* hash of the calls on this team before this one: disagree.c */
    union {
        struct nvsi_refs refs;
        char data[NVSI_SLOT_BYTES - 32 - NVSI_SLOT_STREAM_CALLS * sizeof(struct nvsi_stream_call) -
                  64];
    };
    struct nvsi_stream_call stream_calls[NVSI_SLOT_STREAM_CALLS];
    _Alignas(64) _Atomic uint64_t later;
};
_Static_assert(sizeof(struct nvsi_slot) == NVSI_SLOT_BYTES, "shared layout");
_Static_assert(offsetof(struct nvsi_slot, data) == 32, "eager data starts in the word's line");

enum nvsi_mode { NVSI_EAGER = 1, NVSI_DIRECT = 2, NVSI_STAGED = 3 };

/* Beyond this, reading the peer's buffer in place is cheaper than a copy into the slot. */
#define NVSI_EAGER_BYTES 2048
_Static_assert(NVSI_EAGER_BYTES <= sizeof(((struct nvsi_slot *)0)->data), "fits a slot");

#define NVSI_PHASE_BITS 20

/* The word of a slot that tells a phase. */
static inline _Atomic uint64_t *nvsi_coll_word_of(struct nvsi_slot *slot, uint32_t phase)
{
    return phase == 1 ? &slot->word : &slot->later;
}

static inline uint64_t nvsi_coll_word(uint64_t seq, uint32_t phase)
{
    return seq << NVSI_PHASE_BITS | phase;
}

/* So far ahead is only the word of a PE that has given up: others are ahead of us by less than a
 * ring, and lap_clear() looks back by as much. So one compare tells the usual case, a word that has
 * reached what is awaited, from both others: word - awaited < NVSI_COLL_GAVE_UP. */
#define NVSI_COLL_GAVE_UP (UINT64_C(2) * NVSI_SLOT_RING << NVSI_PHASE_BITS)

enum nvsi_kind {
    NVSI_KIND_SYNC = 1,
    NVSI_KIND_BROADCAST,
    NVSI_KIND_ALL_GATHER,
    NVSI_KIND_COLLECT,
    NVSI_KIND_ALL_TO_ALL,
    NVSI_KIND_ALL_REDUCE,
    NVSI_KIND_REDUCE_SCATTER
};

struct nvsi_coll;

struct nvsi_coll_kind {
    enum nvsi_kind kind;
    enum nvsi_flight_op flight;
    bool rooted;      /* members wait for the root only */
    bool own_count;   /* nelems may differ among PEs */
    bool needs_dst;   /* direct also needs every dst to be symmetric */
    bool whole_input; /* src and dst blocks: src holds npes blocks of nelems */
    /* What the call does in a team of one. */
    void (*alone)(struct nvsi_coll *c);
    /* All awaited slots have arrived with their data: produce dst. */
    void (*eager)(struct nvsi_coll *c);
    /* All refs have arrived: move data. */
    void (*direct)(struct nvsi_coll *c);
    /* One chunk of the staged way (c->at, c->count in elements); copy_out may be NULL. */
    size_t (*chunk_elems)(const struct nvsi_coll *c);
    void (*copy_in)(struct nvsi_coll *c);
    void (*work)(struct nvsi_coll *c);
    void (*copy_out)(struct nvsi_coll *c);
};

enum nvsi_coll_state {
    NVSI_COLL_LAP, /* not entered yet */
    NVSI_COLL_ENTRY,
    NVSI_COLL_EXIT,
    NVSI_COLL_STAGE_IN,
    NVSI_COLL_STAGE_READY,
    NVSI_COLL_STAGE_WORKED
};

/* One collective in flight. */
struct nvsi_coll {
    const struct nvsi_coll_kind *kind;
    struct nvsi_team *team;
    const struct nvsi_coll_args *args; /* the caller's, until the collective is done */
    uint64_t seq;
    uint64_t sig;
    uint32_t history; /* of the calls before it */
    struct nvsi_slot *own;
    struct nvsi_refs refs; /* as in the own slot, unless that is eager */
    enum nvsi_coll_state state;
    uint32_t mode;
    uint32_t phase;   /* the last one published */
    int cursor;       /* members below it have reached the awaited phase */
    int awaited;      /* world PE that is missing */
    size_t at, count; /* the current chunk of the staged way */
};

enum { NVSI_STEP_AGAIN = 0, NVSI_STEP_DONE = 1 };

/* The kinds there are. */
extern const struct nvsi_coll_kind nvsi_kind_sync, nvsi_kind_barrier, nvsi_kind_broadcast,
    nvsi_kind_all_gather, nvsi_kind_collect, nvsi_kind_all_to_all, nvsi_kind_all_reduce,
    nvsi_kind_reduce_scatter;

/* ---- coll.c ---- */

/* Begins a collective. 0, or an error (team broken, address not symmetric). */
int nvsi_coll_begin(struct nvsi_coll *c, const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                    const struct nvsi_coll_args *args);
/* Does what can be done without waiting: NVSI_STEP_*, or an error. */
int nvsi_coll_step(struct nvsi_coll *c);
/* Begin, then step until done. */
int nvsi_coll_run(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                  const struct nvsi_coll_args *args);
/* Steps until done: one that was begun, by this thread or by the one that put it into a stream, or
 * one that has entered by the short way of express.h. */
int nvsi_coll_finish(struct nvsi_coll *c);
/* Returns when all that was put into streams is done on this team. */
void nvsi_coll_settle(const struct nvsi_team *team);

/* ---- enter.c: the addresses of a call, and filling its slot ---- */

/* The error of an address that is not symmetric although the call asks for that. */
NVSI_COLD int nvsi_coll_not_symmetric(const struct nvsi_coll *c);
/* All of this PE's slot but the word; chooses c->mode. */
void nvsi_coll_fill_slot(struct nvsi_coll *c);
/* Segment and offset of a symmetric address in 64 bits, or 0. */
NVSI_INLINE uint64_t nvsi_coll_ref(const void *ptr, size_t nbytes)
{
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)ptr - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size && nbytes <= nvsi.seg[s].size - offset)
            return (uint64_t)(s + 1) << 60 | offset;
    }
    return 0;
}

/* A collective on memory of the GPU goes another way (gpu/host_ops.c); *taken: it went. */
NVSI_INLINE int nvsi_coll_on_device(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                                    const struct nvsi_coll_args *args, bool *taken)
{
    if (NVSI_LIKELY(!nvsi.device) || args->op >= NVSI_OP_ON_GPU)
        return 0;
    return nvsi.device->collective((int)kind->kind, team, args, taken);
}

/* From the first element of a strided object to the end of its last. */
NVSI_INLINE size_t nvsi_coll_span(size_t nelems, ptrdiff_t stride, size_t elem_bytes)
{
    return nelems ? ((nelems - 1) * (size_t)stride + 1) * elem_bytes : 0;
}

/* Bytes of src and dst that the call touches on this PE. */
NVSI_INLINE void nvsi_coll_footprint(const struct nvsi_coll *c, size_t *src_bytes,
                                     size_t *dst_bytes)
{
    const struct nvsi_coll_args *args = c->args;
    size_t block = args->nelems * args->elem_bytes, all = args->nelems * (size_t)c->team->npes;
    enum nvsi_kind kind = c->kind->kind;
    *src_bytes = c->kind->whole_input ? all * args->elem_bytes : block;
    *dst_bytes = kind == NVSI_KIND_ALL_GATHER ? all * args->elem_bytes : block;
    if (kind == NVSI_KIND_ALL_TO_ALL) {
        *src_bytes = nvsi_coll_span(all, args->src_stride, args->elem_bytes);
        *dst_bytes = nvsi_coll_span(all, args->dst_stride, args->elem_bytes);
    }
}

/* OpenSHMEM and NVSHMEM allow symmetric addresses only. */
NVSI_INLINE int nvsi_coll_check_symmetric(const struct nvsi_coll *c)
{
    size_t src_bytes, dst_bytes;
    nvsi_coll_footprint(c, &src_bytes, &dst_bytes);
    if (NVSI_LIKELY(!(c->args->flags & NVSI_COLL_SYMMETRIC) ||
                    ((!dst_bytes || nvsi_coll_ref(c->args->dst, dst_bytes)) &&
                     (!src_bytes || nvsi_coll_ref(c->args->src, src_bytes)))))
        return 0;
    return nvsi_coll_not_symmetric(c);
}

NVSI_INLINE bool nvsi_coll_strided(const struct nvsi_coll *c)
{
    return c->kind->kind == NVSI_KIND_ALL_TO_ALL &&
           (c->args->src_stride != 1 || c->args->dst_stride != 1);
}

/* ---- disagree.c ---- */

/* What PEs must agree on but for the count, in 64 bits. */
static inline uint64_t nvsi_coll_sig(const struct nvsi_coll *c)
{
    const struct nvsi_coll_args *args = c->args;
    uint64_t strides =
        ((uint64_t)args->dst_stride * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)args->src_stride) *
        UINT64_C(0xff51afd7ed558ccd);
    uint64_t detail = c->kind->rooted ? (uint64_t)args->root : strides >> 40;
    return (uint64_t)c->kind->kind | (uint64_t)(args->dtype + 1) << 8 | (uint64_t)args->op << 16 |
           (detail & 0xffffff) << 24 | (uint64_t)args->elem_bytes << 48;
}

/* c->history with this call added. */
static inline uint32_t nvsi_coll_history(const struct nvsi_coll *c)
{
    uint64_t hash = c->sig ^ (c->kind->own_count ? 0 : c->args->nelems << 20) ^ c->history;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

/* Whether a member has published the same call as this PE. */
static inline bool nvsi_coll_matches(const struct nvsi_coll *c, const struct nvsi_slot *slot)
{
    return slot->sig == c->sig && slot->history == c->history &&
           (c->kind->own_count || slot->nelems == c->args->nelems);
}

/* A published call in words: "all_reduce of 10 elements (float32, sum)". */
void nvsi_coll_call_words(uint64_t sig, uint64_t nelems, char *text, size_t size);
/* Member team_pe takes part in another collective, or has given up the team (`word` of its slot
 * says so): records the error, breaks the team. Returns the status. */
NVSI_COLD int nvsi_coll_mismatch(struct nvsi_coll *c, int team_pe);
NVSI_COLD int nvsi_coll_gave_up(struct nvsi_coll *c, int team_pe, uint64_t word);
/* Later calls on the team return status, here and, once they look, on all other members. */
NVSI_COLD void nvsi_coll_break(struct nvsi_coll *c, int status);

/* ---- what the kinds use ---- */

static inline struct nvsi_slot *nvsi_coll_slot(const struct nvsi_coll *c, int team_pe)
{
    return (struct nvsi_slot *)(c->team->channels + (size_t)team_pe * NVSI_CHANNEL_BYTES +
                                (c->seq % NVSI_SLOT_RING) * NVSI_SLOT_BYTES);
}

/* This PE's own slot is better not read again: where a core that reads a modified line takes it
 * over altogether (AMD's do), it would have to come back. So a call keeps what it has published. */
static inline const struct nvsi_refs *nvsi_coll_refs(const struct nvsi_coll *c, int team_pe)
{
    return team_pe == c->team->team_pe ? &c->refs : &nvsi_coll_slot(c, team_pe)->refs;
}

static inline bool nvsi_coll_is_eager(const struct nvsi_coll *c, int team_pe)
{
    uint32_t mode = team_pe == c->team->team_pe ? c->mode : nvsi_coll_slot(c, team_pe)->mode;
    return mode == NVSI_EAGER;
}

static inline uint64_t nvsi_coll_nelems(const struct nvsi_coll *c, int team_pe)
{
    return team_pe == c->team->team_pe ? c->args->nelems : nvsi_coll_slot(c, team_pe)->nelems;
}

/* What a member gives to a small collective. */
static inline const char *nvsi_coll_input(const struct nvsi_coll *c, int team_pe)
{
    return team_pe == c->team->team_pe ? c->args->src : nvsi_coll_slot(c, team_pe)->data;
}

static inline bool nvsi_coll_is_root(const struct nvsi_coll *c)
{
    return c->team->team_pe == c->args->root;
}

/* The member that this PE reads in turn n: PEs begin with themselves, so that no source is read by
 * all at once. */
static inline int nvsi_coll_nth_source(const struct nvsi_coll *c, int n)
{
    int i = c->team->team_pe + n;
    return i < c->team->npes ? i : i - c->team->npes;
}

/* Whether a member's src is ordinary memory and has to be read from its stage. */
static inline bool nvsi_coll_staged(const struct nvsi_coll *c, int team_pe)
{
    return !nvsi_coll_refs(c, team_pe)->src;
}

static inline char *nvsi_coll_stage(const struct nvsi_coll *c, int team_pe)
{
    return c->team->stages + (size_t)team_pe * NVSI_STAGE_BYTES;
}

/* The src or dst of a member as mapped here; NULL if that is ordinary memory of another PE. */
const char *nvsi_coll_src(const struct nvsi_coll *c, int team_pe);
char *nvsi_coll_dst(const struct nvsi_coll *c, int team_pe);

/* The words for a kind in a published sig. */
const char *nvsi_coll_kind_name(int kind);

/* Copies, around the caches where the whole collective is larger than they are. */
void nvsi_coll_copy(const struct nvsi_coll *c, void *dst, const void *src, size_t nbytes);

/* Folds nelems elements of npes inputs into ndst outputs. */
void nvsi_coll_fold(const struct nvsi_coll *c, void *const *dsts, int ndst, const void *const *srcs,
                    size_t nelems);

/* Share number `part` of nelems elements cut into npes parts at cache lines. */
void nvsi_coll_share(const struct nvsi_coll *c, size_t nelems, int part, size_t *first,
                     size_t *count);

#endif
