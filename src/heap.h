/*
 * heap.h - what the files of the symmetric heap share.
 *
 *   heap.c          malloc, realloc, free: agreement, and the history that all PEs replay
 *   heap_objects.c  which objects there are, and which of them this PE has freed
 *   heap_memory.c   whether the memory for them is there
 */
#ifndef NVSI_HEAP_H
#define NVSI_HEAP_H

#include "nvs_internal.h"
#include "util/tlsf.h"

struct nvsi_heap_request {
    uint64_t nbytes, align, offset; /* offset: realloc's object, else 0 */
    uint32_t kind;
    int32_t refusal; /* status of this PE's own objections */
    uint32_t commit; /* 1: this PE wants the memory taken at once */
    uint32_t tight;  /* 1: there is memory only if what was freed is enough */
};

struct nvsi_heap {
    struct nvsi_tlsf *blocks;
    struct nvsi_heap_request *requests; /* one per PE */
    int64_t *answers;                   /* one per PE */
    uint32_t *born;                     /* by object: the epoch that allocated it */
    bool *freed;                        /* by object: this PE has freed it */
    uint32_t *limbo, *release; /* objects that this PE has freed, not yet all; to be released now */
    uint32_t *sorted;          /* NVS_CHECK: live objects by offset */
    uint32_t nsorted;
    bool stale;        /* sorted is */
    uint32_t capacity; /* of the five tables */
    uint32_t nlimbo;
    uint32_t epoch;   /* of the last allocation */
    bool commit;      /* some PE wants the memory of this allocation taken at once */
    uint64_t dumped;  /* up to here the heap is part of a core dump */
    uint64_t checked; /* up to so many bytes in use there is memory for sure */
    uint64_t foreign; /* bytes that the arena held when the heap was opened */
};

extern struct nvsi_heap nvsi_heap;
/* Guards the tables against other threads' frees. Never held while waiting for other PEs. */
extern pthread_mutex_t nvsi_heap_lock;

/* ---- heap_objects.c: the caller holds the lock, but for the last one ------------------------- */

/* Ordinary memory for one more object, so that none is needed once the PEs have agreed. */
int nvsi_heap_reserve(const char *fn);
/* The live object that starts at ptr, or an error that says what ptr is instead. */
int nvsi_heap_find(const char *fn, const void *ptr, uint32_t *id);
void nvsi_heap_mark_freed(uint32_t id);
/* Releases what all PEs have freed, in the same order on all of them. */
void nvsi_heap_release_freed(void);
/* NVS_CHECK: whether [sym, sym + nbytes) is part of one object, which neither this PE nor pe has
 * freed. 0 also for what is not in the heap. */
int nvsi_heap_check(const char *fn, const char *what, const void *sym, size_t nbytes, int pe);

/* ---- heap_memory.c --------------------------------------------------------------------------- */

/* Whether the memory for nbytes more on each PE is there: 0, or an error, with a sentence if fn is
 * not NULL. */
int nvsi_heap_room(const char *fn, size_t nbytes);
bool nvsi_heap_wants_commit(void);
/* Takes the memory of this PE's part of a block. */
int nvsi_heap_commit(const char *fn, uint64_t offset, uint64_t nbytes);
/* Gives a block's memory, here or on all PEs, back to the kernel; it reads as 0 then. */
void nvsi_heap_give_back(int pe, uint64_t offset, uint64_t nbytes);
/* Bytes of memory that the arena holds. */
uint64_t nvsi_heap_arena_bytes(void);

#endif
