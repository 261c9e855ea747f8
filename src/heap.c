/*
 * heap.c - the symmetric heap: every PE replays the same history of allocations.
 *
 * The allocator (util/tlsf.c) is deterministic, so no addresses are exchanged: a malloc gathers
 * what each PE asks for, compares, and every replica then finds the same offset. That gather, and a
 * sync before return, are the barriers that the standards ask of shmem_malloc.
 *
 * What one PE alone can fail at (ordinary memory for the tables, memory of the host) it tries
 * before the gather, which tells the others: all refuse, and the histories stay the same. Taking
 * the pages at once (NVS_COMMIT) can only fail afterwards, and has an exchange of its own.
 *
 * Free is local. A PE marks a freed object with the number of its next allocation (`epoch`), in a
 * table that all PEs can read. At allocation number e an object is released if the marks of all PEs
 * are at most e: all PEs have entered e by then, so all see the same marks and decide alike. A mark
 * counts only if it is younger than the object, so marks need not be cleared; the sync before
 * return keeps anyone from marking anew while others still decide.
 */
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "boot/crash.h"
#include "wait.h"

enum { KIND_MALLOC = 1, KIND_ZERO = 2, KIND_REALLOC = 3 };

struct nvsi_heap nvsi_heap;
pthread_mutex_t nvsi_heap_lock = PTHREAD_MUTEX_INITIALIZER;

/* Marks stay in the arena over finalize, init and exec, so the numbers must go on, too. */
uint32_t nvsi_heap_epoch(void)
{
    return atomic_load(&nvsi.job->pes[nvsi.me].heap_epoch);
}

int nvsi_heap_open(uint32_t epoch)
{
    nvsi_heap.epoch = epoch;
    nvsi_heap.foreign = nvsi_heap_arena_bytes();
    nvsi_heap.blocks = nvsi_tlsf_create(nvsi.seg[NVSI_SEG_HEAP].size);
    nvsi_heap.requests = calloc((size_t)nvsi.npes, sizeof *nvsi_heap.requests);
    nvsi_heap.answers = calloc((size_t)nvsi.npes, sizeof *nvsi_heap.answers);
    nvsi_heap.stale = true;
    if (nvsi.config.check)
        nvsi.check = nvsi_heap_check;
    if (nvsi_heap.blocks && nvsi_heap.requests && nvsi_heap.answers)
        return 0;
    nvsi_heap_close();
    return nvsi_error(NVS_ERR_MEMORY, "init: no memory for the heap's tables");
}

void nvsi_heap_close(void)
{
    nvsi.check = NULL;
    if (nvsi_heap.blocks)
        nvsi_tlsf_destroy(nvsi_heap.blocks);
    free(nvsi_heap.requests);
    free(nvsi_heap.answers);
    free(nvsi_heap.born);
    free(nvsi_heap.freed);
    free(nvsi_heap.limbo);
    free(nvsi_heap.release);
    free(nvsi_heap.sorted);
    memset(&nvsi_heap, 0, sizeof nvsi_heap);
}

/* ---- agreement ------------------------------------------------------------------------------ */

static int disagree(const char *fn, int pe, const struct nvsi_heap_request *mine,
                    const struct nvsi_heap_request *other)
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

static int refused(const char *fn, int pe, const struct nvsi_heap_request *request)
{
    if (request->refusal == NVS_ERR_MEMORY)
        return nvsi_error(NVS_ERR_MEMORY, "%s: PE %d cannot provide %llu bytes", fn, pe,
                          (unsigned long long)request->nbytes);
    return nvsi_error(
        request->refusal,
        "%s: PE %d passes an argument that is not allowed (its own message says which)", fn, pe);
}

static enum nvsi_flight_op flight_of(const struct nvsi_heap_request *request)
{
    return request->kind == KIND_REALLOC ? NVSI_AT_REALLOC : NVSI_AT_MALLOC;
}

static int gather(const char *fn, enum nvsi_flight_op flight, const void *mine, size_t nbytes,
                  void *all)
{
    struct nvsi_coll_args args = {.fn = fn,
                                  .flight = flight,
                                  .dst = all,
                                  .src = mine,
                                  .nelems = nbytes,
                                  .dtype = -1,
                                  .elem_bytes = 1,
                                  .op = NVSI_OP_INTERNAL,
                                  .dst_stride = 1,
                                  .src_stride = 1};
    return nvsi_all_gather(nvsi.teams[NVSI_TEAM_WORLD], &args);
}

static bool same_request(const struct nvsi_heap_request *a, const struct nvsi_heap_request *b)
{
    return a->nbytes == b->nbytes && a->align == b->align && a->kind == b->kind &&
           a->offset == b->offset;
}

/* What each PE says about something that may have gone wrong on it alone. The first error is
 * everybody's. */
static int agree_on_status(const char *fn, enum nvsi_flight_op flight, int mine, uint64_t nbytes)
{
    int64_t answer = mine;
    int status = gather(fn, flight, &answer, sizeof answer, nvsi_heap.answers);
    if (status || mine)
        return status ? status : mine;
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (nvsi_heap.answers[pe])
            return nvsi_error((int)nvsi_heap.answers[pe], "%s: PE %d cannot provide %llu bytes", fn,
                              pe, (unsigned long long)nbytes);
    return 0;
}

/* Compares what all want. */
static int compare(const char *fn, const struct nvsi_heap_request *mine, bool *tight)
{
    nvsi_heap.commit = *tight = false;
    for (int pe = 0; pe < nvsi.npes; pe++) {
        const struct nvsi_heap_request *other = &nvsi_heap.requests[pe];
        nvsi_heap.commit |= other->commit != 0;
        *tight |= other->tight != 0;
        if (other->refusal)
            return mine->refusal ? mine->refusal /* its sentence has been said */
                                 : refused(fn, pe, other);
        if (!same_request(other, mine))
            return disagree(fn, pe, mine, other);
    }
    return 0;
}

/* Begins an allocation: exchanges requests; an error that any PE has, or a disagreement, is
 * everybody's. What another thread frees from now on counts for the next allocation. */
static int agree(const char *fn, const struct nvsi_heap_request *mine)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    nvsi_heap.epoch++;
    atomic_store_explicit(&nvsi.job->pes[nvsi.me].heap_epoch, nvsi_heap.epoch,
                          memory_order_relaxed);
    pthread_mutex_unlock(&nvsi_heap_lock);
    NVSI_CRASH_POINT(heap_numbered);
    int status = nvsi_quiet(NULL, fn);
    if (!status)
        status = gather(fn, flight_of(mine), mine, sizeof *mine, nvsi_heap.requests);
    if (status)
        return status;
    /* Also if this allocation is refused: the next one may need what is free now. */
    pthread_mutex_lock(&nvsi_heap_lock);
    nvsi_heap_release_freed();
    pthread_mutex_unlock(&nvsi_heap_lock);
    bool tight;
    status = compare(fn, mine, &tight);
    if (status || !tight)
        return status;
    pthread_mutex_lock(&nvsi_heap_lock);
    int room = nvsi_heap_room(fn, mine->nbytes);
    pthread_mutex_unlock(&nvsi_heap_lock);
    return agree_on_status(fn, flight_of(mine), room, mine->nbytes);
}

/* Fills in what this PE alone may object to: wrong arguments (`status`), no memory. nbytes: how
 * much more it needs. */
static void object(const char *fn, int status, size_t nbytes, struct nvsi_heap_request *request)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    if (!status)
        status = nvsi_heap_reserve(fn);
    if (!status && nvsi_heap.nlimbo == 0)
        status = nvsi_heap_room(fn, nbytes);
    else if (!status)
        request->tight = nvsi_heap_room(NULL, nbytes) != 0;
    pthread_mutex_unlock(&nvsi_heap_lock);
    request->refusal = status;
    request->commit = nvsi_heap_wants_commit();
}

/* ---- objects -------------------------------------------------------------------------------- */

/* Core dumps hold the heap up to the highest object, not the terabyte behind it. */
static void let_into_dumps(uint64_t end)
{
    if (end <= nvsi_heap.dumped)
        return;
    uint64_t step = 64u << 20, size = nvsi.seg[NVSI_SEG_HEAP].size;
    end = (end + step - 1) / step * step;
    if (end > size)
        end = size;
    madvise(nvsi.seg[NVSI_SEG_HEAP].base + nvsi_heap.dumped, end - nvsi_heap.dumped, MADV_DODUMP);
    nvsi_heap.dumped = end;
}

static int no_room(const char *fn, size_t nbytes)
{
    struct nvsi_tlsf_stats stats;
    nvsi_tlsf_get_stats(nvsi_heap.blocks, &stats);
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: no room for %zu bytes in the symmetric heap of %llu bytes: %llu are in "
                      "use, the largest free block has %llu (NVS_HEAP_SIZE, NVSHMEM_SYMMETRIC_SIZE "
                      "or SHMEM_SYMMETRIC_SIZE make it larger)",
                      fn, nbytes, (unsigned long long)stats.span, (unsigned long long)stats.used,
                      (unsigned long long)stats.largest_free);
}

/* From the agreement on nothing here depends on anything but the history, so all PEs succeed, or
 * all fail. */
static int allocate(const char *fn, size_t nbytes, size_t align, uint32_t *id)
{
    uint64_t offset;
    if (nvsi_tlsf_alloc(nvsi_heap.blocks, nbytes, align, &offset, id))
        return no_room(fn, nbytes);
    if (*id >= NVSI_MAX_OBJECTS) {
        nvsi_tlsf_release(nvsi_heap.blocks, *id);
        return nvsi_error(NVS_ERR_LIMIT, "%s: more than %u symmetric objects", fn,
                          NVSI_MAX_OBJECTS);
    }
    nvsi_heap.born[*id] = nvsi_heap.epoch;
    nvsi_heap.freed[*id] = false;
    nvsi_heap.stale = true;
    let_into_dumps(offset + nbytes);
    return 0;
}

/* If anybody wants the pages at once: all PEs take them, and the first error is everybody's.
 * fresh: the block holds nothing yet. */
static int commit(const char *fn, enum nvsi_flight_op flight, uint32_t id, bool fresh)
{
    if (!nvsi_heap.commit)
        return 0;
    uint64_t offset = nvsi_tlsf_offset(nvsi_heap.blocks, id);
    uint64_t size = nvsi_tlsf_size(nvsi_heap.blocks, id);
    int status = agree_on_status(fn, flight, nvsi_heap_commit(fn, offset, size), size);
    if (status && fresh)
        nvsi_heap_give_back(nvsi.me, offset, size);
    return status;
}

/* Nobody goes on before all have decided: what one frees next must not look like freed now. */
static int finish(const char *fn, enum nvsi_flight_op flight)
{
    return nvsi_sync_within(fn, nvsi.teams[NVSI_TEAM_WORLD], flight);
}

static char *address_of(uint32_t id)
{
    return nvsi.seg[NVSI_SEG_HEAP].base + nvsi_tlsf_offset(nvsi_heap.blocks, id);
}

/* ---- malloc ---------------------------------------------------------------------------------- */

/* The part of a malloc behind the agreement. */
static int make(const char *fn, const struct nvsi_heap_request *request, void **ptr)
{
    uint32_t id;
    pthread_mutex_lock(&nvsi_heap_lock);
    int status = allocate(fn, request->nbytes, request->align, &id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (status)
        return status;
    status = commit(fn, NVSI_AT_MALLOC, id, true);
    pthread_mutex_lock(&nvsi_heap_lock);
    if (status)
        nvsi_tlsf_release(nvsi_heap.blocks, id);
    else
        *ptr = address_of(id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (*ptr && request->kind == KIND_ZERO)
        memset(*ptr, 0, request->nbytes);
    return status;
}

static int check_align(const char *fn, size_t align)
{
    if (align && !(align & (align - 1)) && align <= NVSI_HEAP_ALIGN_MAX)
        return 0;
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: alignment is %zu: allowed are powers of two from 1 to %zu", fn, align,
                      NVSI_HEAP_ALIGN_MAX);
}

int nvsi_heap_malloc(const char *fn, size_t nbytes, size_t align, int flags, void **ptr)
{
    *ptr = NULL;
    int status = nvsi_ready(fn);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, nbytes);
    int refusal = flags & NVSI_HEAP_OVERFLOW ? NVS_ERR_INVALID : check_align(fn, align);
    struct nvsi_heap_request mine = {.nbytes = nbytes,
                                     .align = align < 64 ? 64 : align,
                                     .kind = flags & NVSI_HEAP_ZERO ? KIND_ZERO : KIND_MALLOC};
    object(fn, refusal, nbytes, &mine);
    status = agree(fn, &mine);
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, nbytes); /* the exchange has ended its own record */
    if (!status && nbytes) {
        status = make(fn, &mine, ptr);
        NVSI_CRASH_POINT(heap_decided);
        int synced = finish(fn, NVSI_AT_MALLOC);
        status = status ? status : synced;
    }
    nvsi_flight_leave();
    return status;
}

/* ---- free ------------------------------------------------------------------------------------ */

int nvsi_heap_free(const char *fn, void *ptr, bool barrier)
{
    int status = nvsi_ready(fn);
    if (status || !ptr)
        return status;
    nvsi_flight_enter(NVSI_AT_FREE, -1, -1, 0);
    if (barrier)
        status = nvsi_barrier(fn, nvsi.teams[NVSI_TEAM_WORLD]);
    pthread_mutex_lock(&nvsi_heap_lock);
    uint32_t id = 0;
    if (!status)
        status = nvsi_heap_find(fn, ptr, &id);
    if (!status)
        nvsi_heap_mark_freed(id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    nvsi_flight_leave();
    return status;
}

/* ---- realloc --------------------------------------------------------------------------------- */

/* Resizes where it is, or finds another place; *moved is the object then. */
static int resize(const char *fn, uint32_t id, size_t nbytes, uint32_t *moved)
{
    *moved = id;
    if (nvsi_tlsf_resize(nvsi_heap.blocks, id, nbytes))
        return allocate(fn, nbytes, 64, moved);
    nvsi_heap.stale = true;
    let_into_dumps(nvsi_tlsf_offset(nvsi_heap.blocks, id) + nbytes);
    return 0;
}

/* After the commit: every PE copies its own part and lets the old place go, or all go back. */
static void settle(uint32_t id, uint32_t moved, uint64_t old_size, int status)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    if (status && moved == id) {
        (void)nvsi_tlsf_resize(nvsi_heap.blocks, id, old_size); /* fits: it had that */
    } else if (status) {
        nvsi_tlsf_release(nvsi_heap.blocks, moved);
    } else if (moved != id) {
        uint64_t size = nvsi_tlsf_size(nvsi_heap.blocks, moved);
        memcpy(address_of(moved), address_of(id), old_size < size ? old_size : size);
        nvsi_tlsf_release(nvsi_heap.blocks, id);
    }
    pthread_mutex_unlock(&nvsi_heap_lock);
}

/* The part of a realloc behind the agreement. */
static int remake(const char *fn, uint32_t id, size_t nbytes, void **new_ptr)
{
    uint32_t moved;
    pthread_mutex_lock(&nvsi_heap_lock);
    uint64_t old_size = nvsi_tlsf_size(nvsi_heap.blocks, id);
    int status = resize(fn, id, nbytes, &moved);
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (status)
        return status;
    status = commit(fn, NVSI_AT_REALLOC, moved, moved != id);
    settle(id, moved, old_size, status);
    if (!status)
        *new_ptr = address_of(moved);
    return status;
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
    pthread_mutex_lock(&nvsi_heap_lock);
    status = nvsi_heap_find(fn, ptr, &id);
    uint64_t old_size = status ? 0 : nvsi_tlsf_size(nvsi_heap.blocks, id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    struct nvsi_heap_request mine = {.nbytes = nbytes,
                                     .align = 64,
                                     .kind = KIND_REALLOC,
                                     .offset =
                                         (uint64_t)((char *)ptr - nvsi.seg[NVSI_SEG_HEAP].base)};
    object(fn, status, nbytes > old_size ? nbytes : 0, &mine);
    status = agree(fn, &mine);
    nvsi_flight_enter(NVSI_AT_REALLOC, -1, -1, nbytes);
    if (!status) {
        status = remake(fn, id, nbytes, new_ptr);
        NVSI_CRASH_POINT(heap_resized);
        int synced = finish(fn, NVSI_AT_REALLOC);
        status = status ? status : synced;
    }
    nvsi_flight_leave();
    return status;
}
