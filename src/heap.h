/*
 * heap.h - what the files of the symmetric heaps share.
 *
 *   heap.c          malloc, realloc, free: agreement, and the history that all PEs replay
 *   heap_choose.c   host memory or GPU memory, for the functions that may return either
 *   heap_objects.c  which objects there are, and which of them this PE has freed
 *   heap_memory.c   the heap of host memory: promises, and pages
 *   heap_device.c   the heap of GPU memory: granules
 *   heap_lent.c     memory of the caller that becomes symmetric
 *
 * There are two heaps, of host memory and of GPU memory; the second one only after stage two
 * (gpu/gpu.h). They are the same code over different memory: struct nvsi_heap_kind. Allocations of
 * both are one history with one numbering.
 */
#ifndef NVSI_HEAP_H
#define NVSI_HEAP_H

#include "nvs_internal.h"
#include "util/tlsf.h"

enum { NVSI_HEAP_HOST = 0, NVSI_HEAP_DEVICE = 1 };

struct nvsi_heap_request {
    uint64_t nbytes, align, offset; /* offset: realloc's object, else 0 */
    uint32_t kind;
    int32_t refusal;         /* status of this PE's own objections */
    uint32_t commit;         /* 1: this PE wants the memory taken at once */
    uint32_t tight;          /* 1: there is memory only if what was freed is enough */
    uint32_t heap;           /* NVSI_HEAP_*; while that is being chosen: what the call allows */
    uint32_t limbo;          /* objects of GPU memory that this PE has freed, and not everybody */
    uint32_t wish, presence; /* heap_choose.c */
    uint64_t lead, tail, npieces; /* heap_lent.c */
};

/* `kind` of a request for a place only, for memory that the caller lends. */
enum { NVSI_HEAP_LENT = 4 };

struct nvsi_heap;

/* What differs between heaps. NULL: nothing to be done. */
struct nvsi_heap_kind {
    const char *name, *remedy; /* remedy: when its address space is full */
    int seg;
    /* Before the agreement: whether there is memory for nbytes more on each PE. 0, or an error,
     * with a sentence if fn is not NULL. */
    int (*room)(const char *fn, size_t nbytes);
    bool (*wants_commit)(void);
    /* Finds a place for an object, from the history alone: 0, or -1. */
    int (*place)(struct nvsi_heap *heap, size_t nbytes, size_t align, uint64_t *offset,
                 uint32_t *id);
    /* Behind the agreement, on all PEs: memory for a block. The first error is everybody's. fresh:
     * it holds nothing yet. */
    int (*commit)(struct nvsi_heap *heap, const char *fn, enum nvsi_flight_op flight, uint32_t id,
                  bool fresh);
    int (*clear)(const char *fn, void *ptr, size_t nbytes);
    void (*freed)(struct nvsi_heap *heap, uint32_t id);    /* by this PE */
    void (*released)(struct nvsi_heap *heap, uint32_t id); /* by all */
    void (*settle)(const char *fn);                        /* at the end of an allocation */
};
extern const struct nvsi_heap_kind nvsi_heap_of_host, nvsi_heap_of_device;

struct nvsi_heap {
    const struct nvsi_heap_kind *kind;
    struct nvsi_tlsf *blocks;  /* NULL: there is no such heap (yet) */
    uint32_t *born;            /* by object: the epoch that allocated it */
    bool *freed;               /* by object: this PE has freed it */
    uint32_t *limbo, *release; /* objects that this PE has freed, not yet all; to be released now */
    uint32_t *sorted;          /* NVS_CHECK: live objects by offset */
    uint64_t *asked;           /* NVS_CHECK: bytes that were asked for */
    uint32_t nsorted;
    bool stale;        /* sorted is */
    uint32_t capacity; /* of the six tables */
    uint32_t nlimbo;
    /* of host memory */
    uint64_t dumped;  /* up to here the heap is part of a core dump */
    uint64_t checked; /* up to so many bytes in use there is memory for sure */
    uint64_t foreign; /* bytes that the arena held when the heap was opened */
};

/* What allocations of all heaps have in common. */
struct nvsi_allocations {
    struct nvsi_heap_request *requests; /* one per PE */
    int64_t *answers;                   /* one per PE */
    uint32_t epoch;                     /* of the last allocation */
    bool commit;                        /* some PE wants the memory of this one taken at once */
    bool ragged;                        /* some PE has freed GPU memory that another one has not */
    bool running;                       /* this PE is inside of an allocation */
    bool chosen;                        /* what nvshmem_malloc returns has been agreed upon: */
    int choice;                         /* NVSI_HEAP_* */
};

extern struct nvsi_heap nvsi_heaps[NVSI_NUM_HEAPS];
extern struct nvsi_allocations nvsi_allocations;
/* Guards the tables against other threads' frees. Never held while waiting for other PEs. */
extern pthread_mutex_t nvsi_heap_lock;

/* ---- heap.c ---------------------------------------------------------------------------------- */

/* Opens the tables of a heap over the segment of its kind. */
int nvsi_heap_open_one(const char *fn, int number);
/* One exchange: what each PE wants, which must be the same; then nvsi_allocations.requests is
 * complete, and what all have freed is released. */
int nvsi_heap_agree(const char *fn, struct nvsi_heap_request *mine);
/* An allocation from the exchange on. refusal: this PE's own objection. */
int nvsi_heap_allocate(struct nvsi_heap_request *mine, const char *fn, int refusal, void **ptr);
/* After it, whatever came of it. */
void nvsi_heap_leave(const char *fn);
/* free, of any object. */
int nvsi_heap_free_object(const char *fn, void *ptr, bool barrier);
/* What each PE says about something that may have gone wrong on it alone. The first error is
 * everybody's. */
int nvsi_heap_agree_on_status(const char *fn, enum nvsi_flight_op flight, int mine,
                              uint64_t nbytes);

/* ---- heap_choose.c --------------------------------------------------------------------------- */

/* Which heap a call takes its memory from. flags: NVSI_HEAP_ON_GPU or NVSI_HEAP_CHOICE; collective
 * if that is not known yet. */
int nvsi_heap_choose(const char *fn, int flags, const struct nvsi_heap_request *wanted,
                     int *number);

/* ---- heap_objects.c: the caller holds the lock, but for the last two ------------------------- */

/* Ordinary memory for one more object, so that none is needed once the PEs have agreed. */
int nvsi_heap_reserve(struct nvsi_heap *heap, const char *fn);
/* The live object that starts at ptr, or an error that says what ptr is instead. */
int nvsi_heap_find(const struct nvsi_heap *heap, const char *fn, const void *ptr, uint32_t *id);
void nvsi_heap_mark_freed(struct nvsi_heap *heap, uint32_t id);
/* Whether PE pe had freed an object when it entered the current allocation: all PEs see the same.
 */
bool nvsi_heap_freed_by(const struct nvsi_heap *heap, int pe, uint32_t id);
/* Releases what all PEs have freed, in the same order on all of them. Returns how many. */
uint32_t nvsi_heap_release_freed(struct nvsi_heap *heap);
/* The heap that an address is in, or NULL. */
struct nvsi_heap *nvsi_heap_of(const void *ptr);
/* NVS_CHECK: whether [sym, sym + nbytes) is part of one object, which neither this PE nor pe has
 * freed. 0 also for what is not in a heap. */
int nvsi_heap_check(const char *fn, const char *what, const void *sym, size_t nbytes, int pe);

/* ---- heap_memory.c --------------------------------------------------------------------------- */

/* Bytes of memory that the arena holds. */
uint64_t nvsi_heap_arena_bytes(void);

/* ---- heap_lent.c ------------------------------------------------------------------------------
 */

/* Behind the exchange: bytes of the place that are not the caller's range; *lead: in front of it.
 */
uint64_t nvsi_heap_lent_extra(uint64_t *lead);
/* Memory for the place at an offset of the heap, for a range of nbytes. All PEs. */
int nvsi_heap_lent_commit(const char *fn, uint64_t offset, uint64_t nbytes);
/* Whether it is a place of lent memory. */
bool nvsi_heap_is_lent(const void *ptr);
void nvsi_heap_lent_close(void);

/* ---- heap_device.c --------------------------------------------------------------------------- */

/* Before this PE marks GPU memory as freed: waits for kernels that may use it, as cudaFree() does.
 */
void nvsi_heap_device_freeing(const char *fn);
/* After that: gives back what no object needs. */
void nvsi_heap_device_drop(void);

#endif
