/*
 * heap.c - the symmetric heap: every PE replays the same history of allocations.
 *
 * The allocator (util/tlsf.c) is deterministic, so no addresses are exchanged: a malloc gathers
 * what each PE asks for, compares, and every replica then finds the same offset. That gather, and a
 * sync before return, are the barriers that the standards ask of shmem_malloc.
 *
 * Free is local. A PE marks a freed object with the number of its next allocation (`epoch`), in a
 * table that all PEs can read. At allocation number e an object is released if the marks of all PEs
 * are at most e: all PEs have entered e by then, so all see the same marks and decide alike. A mark
 * counts only if it is younger than the object, so marks need not be cleared; the sync before
 * return keeps anyone from marking anew while others still decide.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fast.h"
#include "memory.h"
#include "util/tlsf.h"
#include "wait.h"

/* From this size on, malloc asks whether the host has the memory. */
#define CHECK_BYTES (16u << 20)
/* From this size on, a released block goes back to the kernel at once. */
#define GIVE_BACK_BYTES (256u << 20)

struct request {
    uint64_t nbytes, align, offset; /* offset: realloc's object, else 0 */
    uint32_t kind;
    int32_t refusal; /* status of this PE's own objections */
};

enum { KIND_MALLOC = 1, KIND_ZERO = 2, KIND_REALLOC = 3 };

static struct {
    struct nvsi_tlsf *blocks;
    struct request *requests;  /* one per PE */
    uint32_t *born;            /* by object: the epoch that allocated it */
    uint32_t capacity;         /* of born and freed */
    bool *freed;               /* by object: this PE has freed it */
    uint32_t *limbo, *release; /* objects that this PE has freed, not yet all; to be released now */
    uint32_t nlimbo, limbo_max;
    uint64_t dumped; /* up to here the heap is part of a core dump */
    uint32_t epoch;  /* of the last allocation */
} heap;

/* Guards the tables against other threads' frees. Never held while waiting for other PEs. */
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint32_t *mark_of(int pe, uint32_t id)
{
    char *marks = nvsi.arena + nvsi_job_marks((uint32_t)nvsi.npes) + (size_t)pe * NVSI_MARKS_BYTES;
    return (_Atomic uint32_t *)marks + id;
}

/* Marks stay in the arena over finalize, init and exec, so the numbers must go on, too. */
uint32_t nvsi_heap_epoch(void)
{
    return atomic_load(&nvsi.job->pes[nvsi.me].heap_epoch);
}

int nvsi_heap_open(uint32_t epoch)
{
    heap.epoch = epoch;
    heap.blocks = nvsi_tlsf_create(nvsi.seg[NVSI_SEG_HEAP].size);
    heap.requests = calloc((size_t)nvsi.npes, sizeof *heap.requests);
    if (heap.blocks && heap.requests)
        return 0;
    nvsi_heap_close();
    return nvsi_error(NVS_ERR_MEMORY, "init: no memory for the heap's tables");
}

void nvsi_heap_close(void)
{
    if (heap.blocks)
        nvsi_tlsf_destroy(heap.blocks);
    free(heap.requests);
    free(heap.born);
    free(heap.freed);
    free(heap.limbo);
    free(heap.release);
    memset(&heap, 0, sizeof heap);
}

/* ---- agreement ------------------------------------------------------------------------------ */

static int disagree(const char *fn, int pe, const struct request *mine, const struct request *other)
{
    if (mine->kind != other->kind)
        return nvsi_error(NVS_ERR_MISMATCH,
                          "%s: PE %d calls another allocation function than PE %d", fn, pe,
                          nvsi.me);
    if (mine->nbytes == other->nbytes && mine->align == other->align)
        return nvsi_error(NVS_ERR_MISMATCH, "%s: PE %d passes another object than PE %d", fn, pe,
                          nvsi.me);
    return nvsi_error(NVS_ERR_MISMATCH,
                      "%s: PE %d asks for %llu bytes (alignment %llu), but PE %d for %llu bytes "
                      "(alignment %llu): all PEs must ask for the same",
                      fn, nvsi.me, (unsigned long long)mine->nbytes,
                      (unsigned long long)mine->align, pe, (unsigned long long)other->nbytes,
                      (unsigned long long)other->align);
}

static int refused(const char *fn, int pe, const struct request *request)
{
    if (request->refusal == NVS_ERR_MEMORY)
        return nvsi_error(NVS_ERR_MEMORY, "%s: PE %d cannot provide %llu bytes", fn, pe,
                          (unsigned long long)request->nbytes);
    return nvsi_error(request->refusal, "%s: what PE %d passes is not an object of the heap", fn,
                      pe);
}

static uint32_t flight_of(const struct request *request)
{
    return request->kind == KIND_REALLOC ? NVSI_AT_REALLOC : NVSI_AT_MALLOC;
}

/* Begins an allocation: exchanges requests; an error that any PE has, or a disagreement, is
 * everybody's. What another thread frees from now on counts for the next allocation. */
static int agree(const char *fn, const struct request *mine)
{
    pthread_mutex_lock(&heap_lock);
    heap.epoch++;
    atomic_store_explicit(&nvsi.job->pes[nvsi.me].heap_epoch, heap.epoch, memory_order_relaxed);
    pthread_mutex_unlock(&heap_lock);
    struct nvsi_coll_args args = {.fn = fn,
                                  .flight = flight_of(mine),
                                  .dst = heap.requests,
                                  .src = mine,
                                  .nelems = sizeof *mine,
                                  .dtype = -1,
                                  .elem_bytes = 1,
                                  .dst_stride = 1,
                                  .src_stride = 1};
    int status = nvsi_quiet(NULL, fn);
    if (!status)
        status = nvsi_all_gather(nvsi.teams[NVSI_TEAM_WORLD], &args);
    if (!status)
        status = mine->refusal; /* its sentence has been said */
    for (int pe = 0; !status && pe < nvsi.npes; pe++) {
        const struct request *other = &heap.requests[pe];
        if (other->refusal)
            status = refused(fn, pe, other);
        else if (other->nbytes != mine->nbytes || other->align != mine->align ||
                 other->kind != mine->kind || other->offset != mine->offset)
            status = disagree(fn, pe, mine, other);
    }
    return status;
}

/* Whether this PE objects to growing by nbytes: out of memory in words now, not SIGBUS later. */
static int refusal(const char *fn, size_t nbytes)
{
    if (nbytes < CHECK_BYTES)
        return 0;
    uint64_t available = nvsi_memory_available(), npes = (uint64_t)nvsi.npes;
    if (nbytes <= available / npes)
        return 0;
    return nvsi_error(
        NVS_ERR_MEMORY,
        "%s: %zu bytes on each of %d PEs do not fit into the %llu bytes of memory that "
        "this host has left",
        fn, nbytes, nvsi.npes, (unsigned long long)available);
}

/* ---- objects -------------------------------------------------------------------------------- */

static int grow_tables(uint32_t id)
{
    if (id < heap.capacity)
        return 0;
    uint32_t capacity = heap.capacity ? heap.capacity * 2 : 64;
    while (capacity <= id)
        capacity *= 2;
    uint32_t *born = realloc(heap.born, capacity * sizeof *born);
    if (born)
        heap.born = born;
    bool *freed = realloc(heap.freed, capacity * sizeof *freed);
    if (freed)
        heap.freed = freed;
    uint32_t *limbo = realloc(heap.limbo, capacity * sizeof *limbo);
    if (limbo)
        heap.limbo = limbo;
    uint32_t *release = realloc(heap.release, capacity * sizeof *release);
    if (release)
        heap.release = release;
    if (!born || !freed || !limbo || !release)
        return -1;
    heap.capacity = capacity;
    return 0;
}

static bool freed_by_all(uint32_t id)
{
    for (int pe = 0; pe < nvsi.npes; pe++) {
        uint32_t mark = atomic_load_explicit(mark_of(pe, id), memory_order_acquire);
        if (mark <= heap.born[id] || mark > heap.epoch)
            return false;
    }
    return true;
}

static void give_back(uint32_t id)
{
    uint64_t size = nvsi_tlsf_size(heap.blocks, id), offset = nvsi_tlsf_offset(heap.blocks, id);
    if (size < GIVE_BACK_BYTES)
        return;
    uint64_t first = (offset + 4095) & ~UINT64_C(4095), end = (offset + size) & ~UINT64_C(4095);
    madvise(nvsi.seg[NVSI_SEG_HEAP].base + first, end - first, MADV_REMOVE);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Releases what all PEs have freed, in the same order on all of them. */
static void release_freed(void)
{
    uint32_t kept = 0, count = 0;
    for (uint32_t i = 0; i < heap.nlimbo; i++) {
        uint32_t id = heap.limbo[i];
        if (freed_by_all(id))
            heap.release[count++] = id;
        else
            heap.limbo[kept++] = id;
    }
    heap.nlimbo = kept;
    if (count > 1)
        qsort(heap.release, count, sizeof *heap.release, by_number);
    for (uint32_t i = 0; i < count; i++) {
        give_back(heap.release[i]);
        nvsi_tlsf_release(heap.blocks, heap.release[i]);
    }
}

/* Core dumps hold the heap up to the highest object, not the terabyte behind it. */
static void let_into_dumps(uint64_t end)
{
    if (end <= heap.dumped)
        return;
    uint64_t step = 64u << 20, size = nvsi.seg[NVSI_SEG_HEAP].size;
    end = (end + step - 1) / step * step;
    if (end > size)
        end = size;
    madvise(nvsi.seg[NVSI_SEG_HEAP].base + heap.dumped, end - heap.dumped, MADV_DODUMP);
    heap.dumped = end;
}

static int allocate(const char *fn, size_t nbytes, size_t align, uint64_t *offset, uint32_t *id)
{
    if (nvsi_tlsf_alloc(heap.blocks, nbytes, align, offset, id) == 0) {
        if (*id < NVSI_MAX_OBJECTS && grow_tables(*id) == 0) {
            heap.born[*id] = heap.epoch;
            heap.freed[*id] = false;
            let_into_dumps(*offset + nbytes);
            return 0;
        }
        nvsi_tlsf_release(heap.blocks, *id);
        return nvsi_error(NVS_ERR_LIMIT, "%s: more than %u symmetric objects", fn,
                          NVSI_MAX_OBJECTS);
    }
    struct nvsi_tlsf_stats stats;
    nvsi_tlsf_get_stats(heap.blocks, &stats);
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: no room for %zu bytes in the symmetric heap of %llu bytes: %llu are in "
                      "use, the largest free block has %llu (NVS_HEAP_SIZE, NVSHMEM_SYMMETRIC_SIZE "
                      "or SHMEM_SYMMETRIC_SIZE make it larger)",
                      fn, nbytes, (unsigned long long)stats.span, (unsigned long long)stats.used,
                      (unsigned long long)stats.largest_free);
}

/* Nobody goes on before all have decided: what one frees next must not look like freed now. */
static int finish(const char *fn, enum nvsi_flight_op flight)
{
    return nvsi_sync_within(fn, nvsi.teams[NVSI_TEAM_WORLD], flight);
}

int nvsi_heap_malloc(const char *fn, size_t nbytes, size_t align, int flags, void **ptr)
{
    *ptr = NULL;
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (align < 64)
        align = 64;
    if (align > NVSI_HEAP_ALIGN_MAX)
        return nvsi_error(NVS_ERR_INVALID, "%s: alignment %zu: at most %zu", fn, align,
                          NVSI_HEAP_ALIGN_MAX);
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, nbytes);
    struct request mine = {.nbytes = nbytes,
                           .align = align,
                           .kind = flags & NVSI_HEAP_ZERO ? KIND_ZERO : KIND_MALLOC,
                           .refusal = refusal(fn, nbytes)};
    status = agree(fn, &mine);
    uint64_t offset;
    uint32_t id;
    if (!status && nbytes) {
        pthread_mutex_lock(&heap_lock);
        release_freed();
        status = allocate(fn, nbytes, align, &offset, &id);
        pthread_mutex_unlock(&heap_lock);
        if (!status)
            *ptr = nvsi.seg[NVSI_SEG_HEAP].base + offset;
        if (*ptr && flags & NVSI_HEAP_ZERO)
            memset(*ptr, 0, nbytes);
        int synced = finish(fn, NVSI_AT_MALLOC);
        status = status ? status : synced;
    }
    nvsi_flight_leave();
    return status;
}

/* The live object that starts at ptr, or an error that says what ptr is instead. */
static int find(const char *fn, const void *ptr, uint32_t *id)
{
    const struct nvsi_segment *segment = &nvsi.seg[NVSI_SEG_HEAP];
    uint64_t offset = (uint64_t)((const char *)ptr - segment->base);
    if (offset >= segment->size)
        return nvsi_error(NVS_ERR_INVALID, "%s: %p is not in the symmetric heap of PE %d", fn, ptr,
                          nvsi.me);
    if (nvsi_tlsf_find(heap.blocks, offset, id)) {
        if (nvsi_tlsf_block(heap.blocks, offset, id) == 0)
            return nvsi_error(
                NVS_ERR_INVALID, "%s: %p is %llu bytes inside of the object at %p: pass its start",
                fn, ptr, (unsigned long long)(offset - nvsi_tlsf_offset(heap.blocks, *id)),
                (void *)(segment->base + nvsi_tlsf_offset(heap.blocks, *id)));
        return nvsi_error(NVS_ERR_INVALID, "%s: %p is not an allocated object (freed before?)", fn,
                          ptr);
    }
    if (heap.freed[*id])
        return nvsi_error(NVS_ERR_INVALID, "%s: PE %d has freed %p already", fn, nvsi.me, ptr);
    return 0;
}

static void mark_freed(uint32_t id)
{
    heap.freed[id] = true;
    heap.limbo[heap.nlimbo++] = id;
    atomic_store_explicit(mark_of(nvsi.me, id), heap.epoch + 1, memory_order_release);
}

int nvsi_heap_free(const char *fn, void *ptr, bool barrier)
{
    int status = nvsi_ready(fn);
    if (status || !ptr)
        return status;
    nvsi_flight_enter(NVSI_AT_FREE, -1, -1, 0);
    if (barrier)
        status = nvsi_barrier(fn, nvsi.teams[NVSI_TEAM_WORLD]);
    pthread_mutex_lock(&heap_lock);
    uint32_t id = 0;
    if (!status)
        status = find(fn, ptr, &id);
    if (!status)
        mark_freed(id);
    pthread_mutex_unlock(&heap_lock);
    nvsi_flight_leave();
    return status;
}

/* Resizes where it is, or moves; every PE copies its own part. */
static int resize(const char *fn, uint32_t id, size_t nbytes, uint64_t *offset)
{
    uint64_t old = nvsi_tlsf_offset(heap.blocks, id), size = nvsi_tlsf_size(heap.blocks, id);
    *offset = old;
    if (nvsi_tlsf_resize(heap.blocks, id, nbytes) == 0)
        return 0;
    uint32_t moved;
    int status = allocate(fn, nbytes, 64, offset, &moved);
    if (status)
        return status;
    char *base = nvsi.seg[NVSI_SEG_HEAP].base;
    memcpy(base + *offset, base + old, size < nbytes ? size : nbytes);
    nvsi_tlsf_release(heap.blocks, id);
    return 0;
}

int nvsi_heap_realloc(const char *fn, void *ptr, size_t nbytes, void **new_ptr)
{
    *new_ptr = NULL;
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (!ptr)
        return nvsi_heap_malloc(fn, nbytes, 64, 0, new_ptr);
    if (nbytes == 0)
        return nvsi_heap_free(fn, ptr, true);
    nvsi_flight_enter(NVSI_AT_REALLOC, -1, -1, nbytes);
    uint32_t id = 0;
    pthread_mutex_lock(&heap_lock);
    status = find(fn, ptr, &id);
    pthread_mutex_unlock(&heap_lock);
    struct request mine = {.nbytes = nbytes,
                           .align = 64,
                           .kind = KIND_REALLOC,
                           .offset = (uint64_t)((char *)ptr - nvsi.seg[NVSI_SEG_HEAP].base),
                           .refusal = status ? status : refusal(fn, nbytes)};
    status = agree(fn, &mine);
    uint64_t offset;
    if (!status) {
        pthread_mutex_lock(&heap_lock);
        release_freed();
        status = resize(fn, id, nbytes, &offset);
        pthread_mutex_unlock(&heap_lock);
        if (!status)
            *new_ptr = nvsi.seg[NVSI_SEG_HEAP].base + offset;
        int synced = finish(fn, NVSI_AT_REALLOC);
        status = status ? status : synced;
    }
    nvsi_flight_leave();
    return status;
}
