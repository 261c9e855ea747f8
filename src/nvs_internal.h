/*
 * nvs_internal.h - the words, the structures and the internal functions of libnvs.
 *
 * Glossary
 *   PE        a process of the job; numbered from 0. `pe` is always the number in the world team,
 *             `team_pe` the number inside a team.
 *   arena     the memory file that the PEs of one host share (boot/job.h).
 *   segment   a range of symmetric memory: the heap, the static data of the executable, or the
 *             heap of GPU memory. A symmetric object is (segment, offset); addresses differ from PE
 *             to PE.
 *   peer      what this PE knows of another: where its segments are mapped here (NULL: not
 *             reachable by loads and stores) and the transport to use then.
 *   slot      one message of a collective: the ring entry (team, PE, sequence mod ring) that a PE
 *             publishes and its team mates read (coll/coll.h).
 *   stage     buffer in the arena through which ordinary memory takes part in a collective.
 *   skin      a public function: checks, then calls the core. The core never checks twice.
 *
 * Status: internal functions return 0 or a negative NVS_ERR_*; whoever first knows the cause calls
 * nvsi_error() once. Layers, bottom up: util < dtype, error, log, config < boot, transport, wait <
 * rma, amo, order < coll < heap, team < init < api. A file may use what is below it.
 */
#ifndef NVS_INTERNAL_H
#define NVS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boot/job.h"
#include "config.h"
#include "dtype.h"
#include "nvs.h"

#define NVSI_LIKELY(x) __builtin_expect(!!(x), 1)
#define NVSI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NVSI_COLD __attribute__((cold, noinline))
/* For what must be part of its caller: with a constant size a copy is one instruction. */
#define NVSI_INLINE static inline __attribute__((always_inline))

enum {
    NVSI_SEG_HEAP = 0,
    NVSI_SEG_STATIC = 1,
    NVSI_SEG_DEVICE = 2, /* memory of the GPU: peers[].seg[] and mapped[] of it stay NULL */
    NVSI_NUM_SEGS = 3
};

/* A range of symmetric memory of this PE. */
struct nvsi_segment {
    char *base;
    size_t size; /* 0: there is none */
};

struct nvsi_transport;
struct nvsi_device;

struct nvsi_peer {
    char *seg[NVSI_NUM_SEGS];         /* its segments, for loads and stores; NULL: use ops */
    const struct nvsi_transport *ops; /* never NULL */
    char *mapped[NVSI_NUM_SEGS];      /* as seg, also where the chaos transport hides seg */
    struct nvsi_pe_slot *slot;        /* its state, flight record and doorbell */
};

/* A team as one of its members sees it. */
struct nvsi_team {
    int32_t id;   /* the handle: team.c says what is in it; -1 for the team of an active set */
    int32_t slot; /* its place in job->teams; -1 for a team of one */
    int32_t npes;
    int32_t team_pe;   /* this PE's number in it */
    int32_t *pes;      /* world number of each member, npes of them */
    char *channels;    /* slot rings of all members; NULL for a team of one */
    char *stages;      /* their staging buffers */
    const void **srcs; /* room for npes pointers each, so that no collective allocates */
    void **dsts;
    uint64_t seq;          /* collectives begun on it: by the caller, or when put into a stream */
    _Atomic uint64_t left; /* the latest one that this PE has left; coll.c, my_turn() */
    uint64_t synced;       /* all members are known to have entered this collective */
    _Atomic int broken;    /* 0, or the status that every later call returns */
    uint32_t history;      /* hash of the collectives begun: coll/disagree.c */
    size_t slot_bytes;     /* that the latest small collective with data published: express.h */
    uint64_t given_up;     /* broken teams: the number that the next team of the place begins at */
    _Atomic uint32_t queued; /* collectives put into streams and not done: stream/on_stream.c */
    uint64_t key;            /* active sets: their shape; 0 otherwise */
    struct nvsi_team *next;  /* in nvsi.active_sets */
    int num_contexts;        /* as asked for at creation */
};

/* A communication context. NULL is the default context of the world team. */
struct nvsi_ctx {
    struct nvsi_team *team; /* PE numbers given with it count in this team; ctx.c: destroyed ones */
    long options;
    uint64_t owner;        /* thread that made it: a private one is for this thread only */
    struct nvsi_ctx *next; /* in nvsi.contexts, for finalize */
};

enum nvsi_life { NVSI_BEFORE_INIT = 0, NVSI_INITIALISED = 1, NVSI_AFTER_FINALIZE = 2 };

/* Everything this process knows. Written by init and finalize only, but for the teams. */
struct nvsi_state {
    /* The fast path's lines. npes is 0 outside of init .. finalize, so that the check of a PE
     * number is also the check of the state. */
    int npes;
    int me;
    struct nvsi_segment seg[NVSI_NUM_SEGS];
    struct nvsi_peer *peers;
    /* What memory of the GPU is reached through (transport.h); NULL while there is none, so that
     * nobody has to ask whether a pointer is such memory. */
    const struct nvsi_device *device;
    struct nvsi_job *job;
    struct nvsi_flight *flight; /* this PE's; a dummy before init */
    const struct nvsi_transport *transport;
    bool delays;          /* the transport may have operations in flight, for which quiet waits */
    _Atomic bool streams; /* threads of ours may wait: there are streams */
    int polls;            /* of a word that should come at once, before patience begins: wait.c */

    /* NVS_CHECK: whether a range of the heap is inside of one object; NULL otherwise. A seam:
     * set by heap.c, asked by what lies below it. 0, or an error with a sentence. */
    int (*check)(const char *fn, const char *what, const void *sym, size_t nbytes, int pe);

    enum nvsi_life life;
    uint32_t session; /* how often nvs was initialised in this process */
    int init_count;
    _Atomic int thread_level; /* SHMEM_THREAD_* = NVSHMEM_THREAD_*; an init may raise it */
    int arena_fd;
    int64_t heap_offset; /* where this PE's heap is in it */
    bool forked;         /* this process is a child of a PE, not a PE */
    char *arena;         /* the control area, mapped */
    bool crowded;        /* more PEs than cores: do not spin long */
    struct nvsi_config config;
    struct nvsi_team *teams[NVSI_MAX_TEAMS]; /* by handle % NVSI_MAX_TEAMS; NULL = free */
    struct nvsi_team *active_sets;
    struct nvsi_ctx *contexts;
    pthread_mutex_t lock; /* team table and contexts of this process */
};

/* Hidden, so that the fast path reaches it without a table of addresses. */
extern struct nvsi_state nvsi __attribute__((visibility("hidden")));

/* ---- error.c: the sentence of an error, the oldest unreported one, the end of the job -------- */

/* Records an error for the calling thread and for nvshmemx_error_check(); logs it at level info.
 * Returns status. */
int nvsi_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a void function of the standards does with a failure: with NVS_ON_ERROR=end prints the last
 * sentence and ends the job, otherwise leaves it to nvshmemx_error_check(). */
NVSI_COLD void nvsi_failed(int status);
/* What a function of the standards does that returns a status, which many programs ignore: with
 * NVS_ON_ERROR=end the last sentence is printed. Returns the status. */
NVSI_COLD int nvsi_tell(int status);
static inline void nvsi_check(int status)
{
    if (NVSI_UNLIKELY(status < 0))
        nvsi_failed(status);
}
/* The oldest error not yet asked for, as a status; forgets it. */
int nvsi_error_take(void);
/* The calling thread's latest sentence, without the PE in front; and a sentence of another thread
 * as this one's latest, without recording the error again. */
const char *nvsi_error_words(void);
void nvsi_error_repeat(const char *sentence);
/* Ends the whole job with `status` on behalf of this PE. Does not return. */
_Noreturn void nvsi_end_job(int status);
/* Diagnoses why a PE number or address is refused: before init, after finalize, context destroyed,
 * PE out of range (pe as passed: a number in the context's team), address not symmetric, range too
 * long. fn names the public function, what its argument. Returns the status. */
struct nvsi_ctx;
NVSI_COLD int nvsi_bad_access(const struct nvsi_ctx *ctx, const char *fn, const char *what,
                              const void *sym, size_t nelems, size_t elem_bytes, int pe);
/* NVS_ERR_INVALID with a sentence for a context that was destroyed (ctx.c); NULL is the default
 * one. */
int nvsi_check_ctx(const char *fn, const struct nvsi_ctx *ctx);
/* NVS_ERR_STATE with a sentence, unless between init and finalize. */
NVSI_COLD int nvsi_not_ready(const char *fn);
static inline int nvsi_ready(const char *fn)
{
    return NVSI_LIKELY(nvsi.npes > 0) ? 0 : nvsi_not_ready(fn);
}

/* ---- log.c ---------------------------------------------------------------------------------- */
enum nvsi_log_level { NVSI_LOG_ERROR, NVSI_LOG_WARN, NVSI_LOG_INFO, NVSI_LOG_DEBUG };
void nvsi_log(enum nvsi_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "PE 1: " if this process is a PE (nvsrun says so before init), else "". Returns the length. */
size_t nvsi_pe_words(char *text, size_t size);

/* ---- init.c --------------------------------------------------------------------------------- */
int nvsi_init(int thread_level, int *provided);
int nvsi_finalize(const char *fn);

/* ---- heap.c: the symmetric heaps; collective over the world, the same on all PEs ------------- */
/* The number of this PE's last allocation, also of earlier lives; where the numbers go on. */
uint32_t nvsi_heap_epoch(void);
int nvsi_heap_open(uint32_t epoch);
void nvsi_heap_close(void);
#define NVSI_HEAP_ALIGN_MAX ((size_t)16 << 20) /* windows.c says why not more */
/* OVERFLOW: the caller could not compute nbytes and has said so; the other PEs must hear of it. */
enum {
    NVSI_HEAP_ZERO = 1,
    NVSI_HEAP_OVERFLOW = 2,
    NVSI_HEAP_ON_GPU = 4, /* memory of the GPU, or an error */
    NVSI_HEAP_CHOICE = 8  /* that or host memory: agreed upon once (heap_choose.c) */
};
/* *ptr is NULL when nbytes is 0 (not an error). */
int nvsi_heap_malloc(const char *fn, size_t nbytes, size_t align, int flags, void **ptr);
/* barrier: the standard's shmem_free; otherwise local, reuse once all PEs have freed. */
int nvsi_heap_free(const char *fn, void *ptr, bool barrier);
int nvsi_heap_realloc(const char *fn, void *ptr, size_t nbytes, void **new_ptr);
/* heap_lent.c: memory of the caller, on GPUs. Registering is collective; unregistering is local.
 * ptr: the symmetric address. */
int nvsi_heap_register(const char *fn, void *buf, size_t nbytes, void **ptr);
int nvsi_heap_unregister(const char *fn, void *ptr, size_t nbytes);

/* ---- rma.c, amo.c: what fast.h does not finish inline; fn is the public function's name ------ */
struct nvsi_strided {
    ptrdiff_t dst_stride, src_stride; /* in elements */
    size_t nelems, elem_bytes;
};
int nvsi_put_slow(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                  size_t elem_bytes, int pe, bool nbi);
int nvsi_get_slow(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                  size_t elem_bytes, int pe, bool nbi);
int nvsi_iput(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
              const struct nvsi_strided *shape, int pe);
int nvsi_iget(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
              const struct nvsi_strided *shape, int pe);
enum nvsi_amo_code {
    NVSI_AMO_FETCH,
    NVSI_AMO_SET,
    NVSI_AMO_ADD,
    NVSI_AMO_AND,
    NVSI_AMO_OR,
    NVSI_AMO_XOR,
    NVSI_AMO_SWAP,
    NVSI_AMO_CSWAP
};
/* Any atomic on a word of 4 or 8 bytes; *old (may be NULL) gets the value before it. */
int nvsi_amo_slow(struct nvsi_ctx *ctx, const char *fn, enum nvsi_amo_code code, void *dst,
                  size_t nbytes, uint64_t operand, uint64_t compare, int pe, uint64_t *old);

/* ---- signal.c ------------------------------------------------------------------------------- */
enum { NVSI_SIGNAL_SET = 9, NVSI_SIGNAL_ADD = 10 }; /* NVSHMEM's values; shmem.h uses them too */
int nvsi_put_signal(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                    size_t elem_bytes, uint64_t *sig, uint64_t value, int op, int pe);
int nvsi_signal(struct nvsi_ctx *ctx, const char *fn, uint64_t *sig, uint64_t value, int op,
                int pe);

/* ---- order.c -------------------------------------------------------------------------------- */
int nvsi_fence(struct nvsi_ctx *ctx, const char *fn);
int nvsi_quiet_slow(struct nvsi_ctx *ctx, const char *fn);
static inline int nvsi_quiet(struct nvsi_ctx *ctx, const char *fn)
{
    if (NVSI_UNLIKELY(nvsi.npes == 0 || nvsi.delays))
        return nvsi_quiet_slow(ctx, fn);
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}

/* ---- wait.c: waiting on words, and being woken ---------------------------------------------- */

/* State of one wait; zero-initialise. */
struct nvsi_wait {
    unsigned rounds, spins, naps;
    uint32_t until;            /* what was written on the bed: see pe slot's `sleeping` */
    bool announced, watching;  /* counted among the sleepers: as one that any PE may wake */
    bool asleep;               /* the next round really sleeps */
    int64_t since_ms, warn_ms; /* when it first slept; when it is worth a (next) warning */
    int64_t seen_ms;           /* when overdue.c last looked at it */
    int gone;                  /* PE + 1 that overdue.c has found finalized, or 0 */
    int grace_ms; /* somebody else knows better what is waited for, and has so long to say it */
};
/* One round of waiting, called after the caller found its condition false: spins, then yields, then
 * sleeps until `pe` (or anyone: -1) does something or a short time is over. Returns 0, or the error
 * of a lost PE. */
int nvsi_wait_round(struct nvsi_wait *wait, int pe);
/* Wakes PE pe if it sleeps until a word changes; called through nvsi_wake() of fast.h. Not cold:
 * that would make the stores before it cold, too. */
__attribute__((noinline)) void nvsi_wake_watcher(int pe);
/* Wakes the members of a team that sleep until this PE goes on in a collective; through
 * nvsi_wake_team() of fast.h. */
NVSI_COLD void nvsi_wake_members(const struct nvsi_team *team);
/* Kinds of words that point-to-point synchronisation knows. */
enum nvsi_word { NVSI_W16, NVSI_WU16, NVSI_W32, NVSI_WU32, NVSI_W64, NVSI_WU64 };
/* cmp: enum values of SHMEM_CMP_* = NVSHMEM_CMP_* (EQ 0, NE 1, GT 2, LE 3, LT 4, GE 5). Values are
 * passed as the 64-bit pattern of the word's type (sign-extended where it is signed). */
int nvsi_wait_until(const char *fn, const void *ivar, enum nvsi_word word, int cmp, uint64_t value);
bool nvsi_test(const void *ivar, enum nvsi_word word, int cmp, uint64_t value);
/* The families over arrays. status may be NULL; a nonzero status[i] excludes element i. values: one
 * (vector false) or nelems (vector true) of the word's type. */
struct nvsi_words {
    const void *ivars;
    size_t nelems;
    const int *status;
    enum nvsi_word word;
    int cmp;
    const void *values;
    bool vector;
};
int nvsi_wait_until_all(const char *fn, const struct nvsi_words *words);
/* *index: SIZE_MAX if all elements are excluded. */
int nvsi_wait_until_any(const char *fn, const struct nvsi_words *words, size_t *index);
int nvsi_wait_until_some(const char *fn, const struct nvsi_words *words, size_t *indices,
                         size_t *count);
bool nvsi_test_all(const struct nvsi_words *words);
size_t nvsi_test_any(const struct nvsi_words *words); /* SIZE_MAX: none */
size_t nvsi_test_some(const struct nvsi_words *words, size_t *indices);

/* ---- lock.c --------------------------------------------------------------------------------- */
int nvsi_lock_set(const char *fn, long *lock);
int nvsi_lock_test(const char *fn, long *lock, int *busy); /* *busy 0: taken by this call */
int nvsi_lock_clear(const char *fn, long *lock);

/* ---- team.c --------------------------------------------------------------------------------- */
enum {
    NVSI_TEAM_INVALID = -1,
    NVSI_TEAM_WORLD = 0,
    NVSI_TEAM_SHARED = 1,
    NVSI_TEAM_NODE = 2,
    NVSI_TEAM_SAME_MYNODE_INDEX = 3,
    NVSI_TEAM_SAME_GPU = 4,
    NVSI_TEAM_GPU_LEADERS = 5,
    NVSI_NUM_PREDEFINED_TEAMS = 6
};
int nvsi_team_open(void); /* the predefined teams */
void nvsi_team_close(void);
/* The team of a handle; NULL for an invalid one (no error recorded). Also in a forked child, which
 * would take its parent's turn. */
static inline struct nvsi_team *nvsi_team_get(int32_t handle)
{
    if (NVSI_UNLIKELY(handle < 0 || nvsi.npes == 0))
        return NULL;
    struct nvsi_team *team = nvsi.teams[(uint32_t)handle % NVSI_MAX_TEAMS];
    return NVSI_LIKELY(team && team->id == handle) ? team : NULL;
}
/* All PEs of the parent call these. *handle is NVSI_TEAM_INVALID where this PE is no member. */
int nvsi_team_split_strided(const char *fn, int32_t parent, int start, int stride, int size,
                            int num_contexts, int32_t *handle);
int nvsi_team_split_2d(const char *fn, int32_t parent, int xrange, const int num_contexts[2],
                       int32_t *x_handle, int32_t *y_handle);
/* A team of any members: each PE of the parent gives the list (parent numbers, in the order of the
 * new team) of the team that it joins; npes 0: none. */
int nvsi_team_create(const char *fn, int32_t parent, const int *members, int npes, int num_contexts,
                     int32_t *handle);
/* A team whose members know only an id (below 2^62, used once), their count and their own number;
 * only they call. */
int nvsi_team_join(const char *fn, uint64_t id, int npes, int team_pe, int num_contexts,
                   int32_t *handle);
int nvsi_team_destroy(const char *fn, int32_t handle);
int nvsi_team_translate(int32_t from, int team_pe, int32_t to); /* -1 where it has none */
/* The team of an active set (PE_start, logPE_stride, PE_size), which this PE belongs to. */
int nvsi_team_active_set(const char *fn, int start, int log_stride, int size,
                         struct nvsi_team **team);

/* ---- ctx.c ---------------------------------------------------------------------------------- */
int nvsi_ctx_create(const char *fn, struct nvsi_team *team, long options, struct nvsi_ctx **ctx);
int nvsi_ctx_destroy(const char *fn, struct nvsi_ctx *ctx);
/* The calling thread, as contexts tell threads apart; and another way to tell (NULL: the system's).
 */
uint64_t nvsi_ctx_thread(void);
void nvsi_ctx_thread_from(uint64_t (*thread)(void));
/* Frees the contexts of a team, or all of them (NULL). */
void nvsi_ctx_destroy_all(const struct nvsi_team *team);

/* ---- coll/: collectives; all take the team by pointer, counts in elements -------------------- */
/* op of the all_gathers that init, malloc and splits consist of, so that no call of a user's
 * matches them. */
enum { NVSI_OP_INTERNAL = 255 };
/* And of the one by which blocking collectives of nvs.h on memory of the GPU begin: host_coll.c */
enum { NVSI_OP_ON_GPU = 254 };
enum { NVSI_COLL_SYMMETRIC = 1 }; /* addresses must be symmetric (the standards' calls) */
struct nvsi_coll_args {
    const char *fn; /* the public function, for error sentences */
    void *dst;
    const void *src;
    size_t nelems;
    ptrdiff_t dst_stride, src_stride; /* all_to_all only; 1 otherwise */
    int dtype;                        /* enum nvsi_dtype, or -1: elem_bytes counts */
    size_t elem_bytes;                /* of dtype, unless that is -1 */
    int op;                           /* enum nvsi_op, reductions only */
    int root;                         /* team PE, broadcast only */
    int flags;
    uint32_t flight; /* enum nvsi_flight_op of an operation that this is a part of; 0: none */
    bool root_keeps; /* broadcast: OpenSHMEM's active-set form does not write the root's dst */
};
int nvsi_barrier(const char *fn, struct nvsi_team *team); /* quiet, then sync */
int nvsi_sync(const char *fn, struct nvsi_team *team);
/* A sync as the last part of another operation, which the flight record goes on to name. */
int nvsi_sync_within(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight);
int nvsi_broadcast(struct nvsi_team *team, const struct nvsi_coll_args *args);
int nvsi_all_gather(struct nvsi_team *team, const struct nvsi_coll_args *args);
/* What each member has to say, nbytes of it: the all_gathers that init, malloc and splits consist
 * of. flight: what all of them are doing. Its own record ends that of the caller. */
int nvsi_gather(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight,
                const void *mine, size_t nbytes, void *all);
int nvsi_collect(struct nvsi_team *team, const struct nvsi_coll_args *args);
int nvsi_all_to_all(struct nvsi_team *team, const struct nvsi_coll_args *args);
int nvsi_all_reduce(struct nvsi_team *team, const struct nvsi_coll_args *args);
int nvsi_reduce_scatter(struct nvsi_team *team, const struct nvsi_coll_args *args);

#endif
