/*
 * coll.h - collectives as resumable steps over slots.
 *
 * Every PE has, for each team, a ring of slots. The collective number seq of the team uses entry
 * seq mod ring. A PE publishes into its own slot only; the others read it:
 *
 *   word    seq << PHASE_BITS | phase: what this PE has reached; stored last, with release
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

struct nvsi_slot {
    _Atomic uint64_t word;
    uint64_t sig;
    uint64_t nelems;
    uint32_t mode;    /* enum nvsi_mode */
    uint32_t history; /* hash of the calls on this team before this one: disagree.c */
    union {
        struct {
            uint64_t src, dst; /* segment and offset, or 0: not symmetric */
        } ref;
        char data[NVSI_SLOT_BYTES - 32];
    };
};
_Static_assert(sizeof(struct nvsi_slot) == NVSI_SLOT_BYTES, "shared layout");
_Static_assert(offsetof(struct nvsi_slot, data) == 32, "eager data starts in the word's line");

enum nvsi_mode { NVSI_EAGER = 1, NVSI_DIRECT = 2, NVSI_STAGED = 3 };

/* Beyond this, reading the peer's buffer in place is cheaper than a copy into the slot. */
#define NVSI_EAGER_BYTES 2048
_Static_assert(NVSI_EAGER_BYTES <= sizeof(((struct nvsi_slot *)0)->data), "fits a slot");

#define NVSI_PHASE_BITS 20

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

/* One collective in flight. */
struct nvsi_coll {
    const struct nvsi_coll_kind *kind;
    struct nvsi_team *team;
    struct nvsi_coll_args args;
    uint64_t seq;
    uint64_t sig;
    uint32_t history; /* of the calls before it */
    struct nvsi_slot *own;
    int state;
    uint32_t mode;
    uint32_t phase;   /* the last one published */
    int cursor;       /* members below it have reached the awaited phase */
    int awaited;      /* world PE that is missing */
    bool any_staged;  /* some PE's memory is ordinary */
    size_t at, count; /* the current chunk of the staged way */
};

enum { NVSI_STEP_AGAIN = 0, NVSI_STEP_DONE = 1 };

/* Begins a collective. 0, or an error (team broken, address not symmetric). */
int nvsi_coll_begin(struct nvsi_coll *c, const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                    const struct nvsi_coll_args *args);
/* Does what can be done without waiting: NVSI_STEP_*, or an error. */
int nvsi_coll_step(struct nvsi_coll *c);
/* Begin, then step until done. */
int nvsi_coll_run(const struct nvsi_coll_kind *kind, struct nvsi_team *team,
                  const struct nvsi_coll_args *args);

/* ---- disagree.c ---- */

/* What PEs must agree on but for the count, in 64 bits. */
static inline uint64_t nvsi_coll_sig(const struct nvsi_coll *c)
{
    const struct nvsi_coll_args *args = &c->args;
    uint64_t detail = c->kind->rooted ? (uint64_t)args->root
                                      : (uint64_t)(args->dst_stride * 4096 + args->src_stride);
    return (uint64_t)c->kind->kind | (uint64_t)(args->dtype + 1) << 8 | (uint64_t)args->op << 16 |
           (detail & 0xffffff) << 24 | (uint64_t)args->elem_bytes << 48;
}

/* c->history with this call added. */
static inline uint32_t nvsi_coll_history(const struct nvsi_coll *c)
{
    uint64_t hash = c->sig ^ (c->kind->own_count ? 0 : c->args.nelems << 20) ^ c->history;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

/* Whether a member has published the same call as this PE. */
static inline bool nvsi_coll_matches(const struct nvsi_coll *c, const struct nvsi_slot *slot)
{
    return slot->sig == c->sig && slot->history == c->history &&
           (c->kind->own_count || slot->nelems == c->args.nelems);
}

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

static inline bool nvsi_coll_is_root(const struct nvsi_coll *c)
{
    return c->team->team_pe == c->args.root;
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
    return !nvsi_coll_slot(c, team_pe)->ref.src;
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
