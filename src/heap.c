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

#include "boot/crash.h"
#include "wait.h"

enum { KIND_MALLOC = 1, KIND_ZERO = 2, KIND_REALLOC = 3 };

struct nvsi_heap nvsi_heaps[NVSI_NUM_HEAPS];
struct nvsi_allocations nvsi_allocations;
pthread_mutex_t nvsi_heap_lock = PTHREAD_MUTEX_INITIALIZER;

/* Marks stay in the arena over finalize, init and exec, so the numbers must go on, too. */
uint32_t nvsi_heap_epoch(void)
{
    return atomic_load(&nvsi.job->pes[nvsi.me].heap_epoch);
}

int nvsi_heap_open_one(const char *fn, int number)
{
    static const struct nvsi_heap_kind *const kinds[NVSI_NUM_HEAPS] = {&nvsi_heap_of_host,
                                                                       &nvsi_heap_of_device};
    struct nvsi_heap *heap = &nvsi_heaps[number];
    heap->kind = kinds[number];
    heap->stale = true;
    heap->blocks = nvsi_tlsf_create(nvsi.seg[heap->kind->seg].size);
    if (heap->blocks)
        return 0;
    return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the heap's tables", fn);
}

int nvsi_heap_open(uint32_t epoch)
{
    nvsi_allocations.epoch = epoch;
    nvsi_allocations.requests = calloc((size_t)nvsi.npes, sizeof *nvsi_allocations.requests);
    nvsi_allocations.answers = calloc((size_t)nvsi.npes, sizeof *nvsi_allocations.answers);
    nvsi_heaps[NVSI_HEAP_HOST].foreign = nvsi_heap_arena_bytes();
    if (nvsi.config.check)
        nvsi.check = nvsi_heap_check;
    int status = nvsi_heap_open_one("init", NVSI_HEAP_HOST);
    if (!status && (!nvsi_allocations.requests || !nvsi_allocations.answers))
        status = nvsi_error(NVS_ERR_MEMORY, "init: no memory for the heap's tables");
    if (status)
        nvsi_heap_close();
    return status;
}

static void close_one(struct nvsi_heap *heap)
{
    if (heap->blocks)
        nvsi_tlsf_destroy(heap->blocks);
    free(heap->born);
    free(heap->freed);
    free(heap->limbo);
    free(heap->release);
    free(heap->sorted);
    free(heap->asked);
    memset(heap, 0, sizeof *heap);
}

void nvsi_heap_close(void)
{
    nvsi.check = NULL;
    nvsi_heap_lent_close();
    for (int i = 0; i < NVSI_NUM_HEAPS; i++)
        close_one(&nvsi_heaps[i]);
    free(nvsi_allocations.requests);
    free(nvsi_allocations.answers);
    memset(&nvsi_allocations, 0, sizeof nvsi_allocations);
}

/* ---- agreement ------------------------------------------------------------------------------ */

static int disagree(const char *fn, int pe, const struct nvsi_heap_request *mine,
                    const struct nvsi_heap_request *other)
{
    if (mine->kind != other->kind || mine->heap != other->heap)
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
    return nvsi_gather(fn, nvsi.teams[NVSI_TEAM_WORLD], flight, mine, nbytes, all);
}

static bool same_request(const struct nvsi_heap_request *a, const struct nvsi_heap_request *b)
{
    return a->nbytes == b->nbytes && a->align == b->align && a->kind == b->kind &&
           a->offset == b->offset && a->heap == b->heap;
}

int nvsi_heap_agree_on_status(const char *fn, enum nvsi_flight_op flight, int mine, uint64_t nbytes)
{
    int64_t answer = mine;
    int status = gather(fn, flight, &answer, sizeof answer, nvsi_allocations.answers);
    if (status || mine)
        return status ? status : mine;
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (nvsi_allocations.answers[pe])
            return nvsi_error((int)nvsi_allocations.answers[pe],
                              "%s: PE %d cannot provide %llu bytes", fn, pe,
                              (unsigned long long)nbytes);
    return 0;
}

/* Compares what all want. */
static int compare(const char *fn, const struct nvsi_heap_request *mine, bool *tight)
{
    nvsi_allocations.commit = *tight = false;
    for (int pe = 0; pe < nvsi.npes; pe++) {
        const struct nvsi_heap_request *other = &nvsi_allocations.requests[pe];
        nvsi_allocations.commit |= other->commit != 0;
        *tight |= other->tight != 0;
        if (other->refusal)
            return mine->refusal ? mine->refusal /* its sentence has been said */
                                 : refused(fn, pe, other);
        if (!same_request(other, mine))
            return disagree(fn, pe, mine, other);
    }
    return 0;
}

/* Begins an allocation: takes the next number, releases what all have freed. What another thread
 * frees from now on counts for the next allocation. */
static int exchange(const char *fn, struct nvsi_heap_request *mine)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    nvsi_allocations.running = true;
    nvsi_allocations.epoch++;
    mine->limbo = nvsi_heaps[NVSI_HEAP_DEVICE].nlimbo;
    atomic_store_explicit(&nvsi.job->pes[nvsi.me].heap_epoch, nvsi_allocations.epoch,
                          memory_order_relaxed);
    pthread_mutex_unlock(&nvsi_heap_lock);
    NVSI_CRASH_POINT(heap_numbered);
    int status = nvsi_quiet(NULL, fn);
    if (!status)
        status = gather(fn, flight_of(mine), mine, sizeof *mine, nvsi_allocations.requests);
    if (status)
        return status;
    /* Also if this allocation is refused: the next one may need what is free now. */
    uint32_t released = 0;
    pthread_mutex_lock(&nvsi_heap_lock);
    for (int i = 0; i < NVSI_NUM_HEAPS; i++)
        if (nvsi_heaps[i].blocks)
            released = nvsi_heap_release_freed(&nvsi_heaps[i]);
    pthread_mutex_unlock(&nvsi_heap_lock);
    nvsi_allocations.ragged = false;
    for (int pe = 0; pe < nvsi.npes; pe++)
        nvsi_allocations.ragged |= nvsi_allocations.requests[pe].limbo > released;
    return 0;
}

int nvsi_heap_agree(const char *fn, struct nvsi_heap_request *mine)
{
    bool tight = false;
    int status = exchange(fn, mine);
    if (!status)
        status = compare(fn, mine, &tight);
    if (status || !tight)
        return status;
    pthread_mutex_lock(&nvsi_heap_lock);
    int room = nvsi_heaps[mine->heap].kind->room(fn, mine->nbytes);
    pthread_mutex_unlock(&nvsi_heap_lock);
    return nvsi_heap_agree_on_status(fn, flight_of(mine), room, mine->nbytes);
}

/* Ends an allocation: nobody goes on before all have decided, as what one frees next must not look
 * like freed now. */
static int finish(const char *fn, enum nvsi_flight_op flight)
{
    return nvsi_sync_within(fn, nvsi.teams[NVSI_TEAM_WORLD], flight);
}

/* What other threads have freed in the meantime can be given back now. */
void nvsi_heap_leave(const char *fn)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    nvsi_allocations.running = false;
    pthread_mutex_unlock(&nvsi_heap_lock);
    for (int i = 0; i < NVSI_NUM_HEAPS; i++)
        if (nvsi_heaps[i].blocks && nvsi_heaps[i].kind->settle)
            nvsi_heaps[i].kind->settle(fn);
    nvsi_flight_leave();
}

/* Fills in what this PE alone may object to: wrong arguments (`status`), no memory. nbytes: how
 * much more it needs. */
static void object(const char *fn, int status, size_t nbytes, struct nvsi_heap_request *request)
{
    struct nvsi_heap *heap = &nvsi_heaps[request->heap];
    pthread_mutex_lock(&nvsi_heap_lock);
    if (!status)
        status = nvsi_heap_reserve(heap, fn);
    if (!status && heap->kind->room && heap->nlimbo == 0)
        status = heap->kind->room(fn, nbytes);
    else if (!status && heap->kind->room)
        request->tight = heap->kind->room(NULL, nbytes) != 0;
    pthread_mutex_unlock(&nvsi_heap_lock);
    request->refusal = status;
    request->commit = heap->kind->wants_commit && heap->kind->wants_commit();
}

/* ---- objects -------------------------------------------------------------------------------- */

static int no_room(const struct nvsi_heap *heap, const char *fn, size_t nbytes)
{
    struct nvsi_tlsf_stats stats;
    nvsi_tlsf_get_stats(heap->blocks, &stats);
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: no room for %zu bytes in the %s of %llu bytes: %llu are in use, the "
                      "largest free block has %llu (%s)",
                      fn, nbytes, heap->kind->name, (unsigned long long)stats.span,
                      (unsigned long long)stats.used, (unsigned long long)stats.largest_free,
                      heap->kind->remedy);
}

/* From the agreement on nothing here depends on anything but the history, so all PEs succeed, or
 * all fail. */
static int allocate(struct nvsi_heap *heap, const char *fn, size_t nbytes, size_t align,
                    uint32_t *id)
{
    uint64_t offset;
    if (heap->kind->place(heap, nbytes, align, &offset, id))
        return no_room(heap, fn, nbytes);
    if (*id >= NVSI_MAX_OBJECTS) {
        nvsi_tlsf_release(heap->blocks, *id);
        return nvsi_error(NVS_ERR_LIMIT, "%s: more than %u symmetric objects", fn,
                          NVSI_MAX_OBJECTS);
    }
    heap->born[*id] = nvsi_allocations.epoch;
    heap->freed[*id] = false;
    if (heap->asked)
        heap->asked[*id] = nbytes;
    heap->stale = true;
    return 0;
}

static char *address_of(const struct nvsi_heap *heap, uint32_t id)
{
    return nvsi.seg[heap->kind->seg].base + nvsi_tlsf_offset(heap->blocks, id);
}

/* ---- malloc ---------------------------------------------------------------------------------- */

/* The part of a malloc behind the agreement. */
static int make(struct nvsi_heap *heap, const char *fn, const struct nvsi_heap_request *request,
                void **ptr)
{
    uint32_t id;
    bool lent = request->kind == NVSI_HEAP_LENT;
    uint64_t lead = 0, extra = lent ? nvsi_heap_lent_extra(&lead) : 0;
    pthread_mutex_lock(&nvsi_heap_lock);
    int status = allocate(heap, fn, extra + request->nbytes, request->align, &id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (status)
        return status;
    status = lent ? nvsi_heap_lent_commit(fn, nvsi_tlsf_offset(heap->blocks, id), request->nbytes)
                  : heap->kind->commit(heap, fn, NVSI_AT_MALLOC, id, true);
    pthread_mutex_lock(&nvsi_heap_lock);
    if (status)
        nvsi_tlsf_release(heap->blocks, id);
    else
        *ptr = address_of(heap, id) + lead;
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (*ptr && request->kind == KIND_ZERO)
        status = heap->kind->clear(fn, *ptr, request->nbytes);
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

int nvsi_heap_allocate(struct nvsi_heap_request *mine, const char *fn, int refusal, void **ptr)
{
    object(fn, refusal, mine->nbytes, mine);
    int status = nvsi_heap_agree(fn, mine);
    /* The exchange has ended its own record. */
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, mine->nbytes);
    if (status || !mine->nbytes)
        return status;
    status = make(&nvsi_heaps[mine->heap], fn, mine, ptr);
    NVSI_CRASH_POINT(heap_decided);
    int synced = finish(fn, NVSI_AT_MALLOC);
    return status ? status : synced;
}

int nvsi_heap_malloc(const char *fn, size_t nbytes, size_t align, int flags, void **ptr)
{
    *ptr = NULL;
    int number = NVSI_HEAP_HOST, status = nvsi_ready(fn);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, nbytes);
    struct nvsi_heap_request mine = {.nbytes = nbytes,
                                     .align = align < 64 ? 64 : align,
                                     .kind = flags & NVSI_HEAP_ZERO ? KIND_ZERO : KIND_MALLOC};
    if (NVSI_UNLIKELY(flags & (NVSI_HEAP_ON_GPU | NVSI_HEAP_CHOICE)))
        status = nvsi_heap_choose(fn, flags, &mine, &number);
    mine.heap = (uint32_t)number;
    if (!status) {
        int refusal = flags & NVSI_HEAP_OVERFLOW ? NVS_ERR_INVALID : check_align(fn, align);
        status = nvsi_heap_allocate(&mine, fn, refusal, ptr);
    }
    nvsi_heap_leave(fn);
    return status;
}

/* ---- free ------------------------------------------------------------------------------------ */

int nvsi_heap_free_object(const char *fn, void *ptr, bool barrier)
{
    int status = nvsi_ready(fn);
    if (status || !ptr)
        return status;
    struct nvsi_heap *heap = nvsi_heap_of(ptr);
    bool device = heap && heap == &nvsi_heaps[NVSI_HEAP_DEVICE];
    heap = heap ? heap : &nvsi_heaps[NVSI_HEAP_HOST];
    nvsi_flight_enter(NVSI_AT_FREE, -1, -1, 0);
    if (barrier)
        status = nvsi_barrier(fn, nvsi.teams[NVSI_TEAM_WORLD]);
    if (!status && device)
        nvsi_heap_device_freeing(fn);
    pthread_mutex_lock(&nvsi_heap_lock);
    uint32_t id = 0;
    if (!status)
        status = nvsi_heap_find(heap, fn, ptr, &id);
    if (!status)
        nvsi_heap_mark_freed(heap, id);
    if (device && !nvsi_allocations.running)
        nvsi_heap_device_drop();
    pthread_mutex_unlock(&nvsi_heap_lock);
    nvsi_flight_leave();
    return status;
}

int nvsi_heap_free(const char *fn, void *ptr, bool barrier)
{
    if (NVSI_LIKELY(!nvsi.device) || !nvsi_heap_is_lent(ptr))
        return nvsi_heap_free_object(fn, ptr, barrier);
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: ptr %p is memory of the caller: nvshmemx_buffer_unregister_symmetric "
                      "takes it back",
                      fn, ptr);
}

/* ---- realloc: of host memory; the standard of GPU memory has none -----------------------------
 */

/* Resizes where it is, or finds another place; *moved is the object then. */
static int resize(struct nvsi_heap *heap, const char *fn, uint32_t id, size_t nbytes,
                  uint32_t *moved)
{
    *moved = id;
    if (nvsi_tlsf_resize(heap->blocks, id, nbytes))
        return allocate(heap, fn, nbytes, 64, moved);
    if (heap->asked)
        heap->asked[id] = nbytes;
    heap->stale = true;
    return 0;
}

/* After the commit: every PE copies its own part and lets the old place go, or all go back. */
static void settle(struct nvsi_heap *heap, uint32_t id, uint32_t moved, uint64_t old_size,
                   int status)
{
    pthread_mutex_lock(&nvsi_heap_lock);
    if (status && moved == id) {
        (void)nvsi_tlsf_resize(heap->blocks, id, old_size); /* fits: it had that */
        if (heap->asked)
            heap->asked[id] = old_size;
    } else if (status) {
        nvsi_tlsf_release(heap->blocks, moved);
    } else if (moved != id) {
        uint64_t size = nvsi_tlsf_size(heap->blocks, moved);
        memcpy(address_of(heap, moved), address_of(heap, id), old_size < size ? old_size : size);
        nvsi_tlsf_release(heap->blocks, id);
    }
    pthread_mutex_unlock(&nvsi_heap_lock);
}

/* The part of a realloc behind the agreement. */
static int remake(struct nvsi_heap *heap, const char *fn, uint32_t id, size_t nbytes,
                  void **new_ptr)
{
    uint32_t moved;
    pthread_mutex_lock(&nvsi_heap_lock);
    uint64_t old_size = nvsi_tlsf_size(heap->blocks, id);
    int status = resize(heap, fn, id, nbytes, &moved);
    pthread_mutex_unlock(&nvsi_heap_lock);
    if (status)
        return status;
    status = heap->kind->commit(heap, fn, NVSI_AT_REALLOC, moved, moved != id);
    settle(heap, id, moved, old_size, status);
    if (!status)
        *new_ptr = address_of(heap, moved);
    return status;
}

static int find_to_resize(struct nvsi_heap *heap, const char *fn, void *ptr, uint32_t *id,
                          uint64_t *old_size)
{
    if (nvsi_heap_of(ptr) == &nvsi_heaps[NVSI_HEAP_DEVICE])
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: ptr %p is memory of the GPU: only host memory can be resized", fn,
                          ptr);
    pthread_mutex_lock(&nvsi_heap_lock);
    int status = nvsi_heap_find(heap, fn, ptr, id);
    *old_size = status ? 0 : nvsi_tlsf_size(heap->blocks, *id);
    pthread_mutex_unlock(&nvsi_heap_lock);
    return status;
}

int nvsi_heap_realloc(const char *fn, void *ptr, size_t nbytes, void **new_ptr)
{
    struct nvsi_heap *heap = &nvsi_heaps[NVSI_HEAP_HOST];
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
    uint64_t old_size = 0;
    status = find_to_resize(heap, fn, ptr, &id, &old_size);
    struct nvsi_heap_request mine = {.nbytes = nbytes,
                                     .align = 64,
                                     .kind = KIND_REALLOC,
                                     .offset =
                                         (uint64_t)((char *)ptr - nvsi.seg[NVSI_SEG_HEAP].base)};
    object(fn, status, nbytes > old_size ? nbytes : 0, &mine);
    status = nvsi_heap_agree(fn, &mine);
    nvsi_flight_enter(NVSI_AT_REALLOC, -1, -1, nbytes);
    if (!status) {
        status = remake(heap, fn, id, nbytes, new_ptr);
        NVSI_CRASH_POINT(heap_resized);
        int synced = finish(fn, NVSI_AT_REALLOC);
        status = status ? status : synced;
    }
    nvsi_heap_leave(fn);
    return status;
}
