/*
 * heap_objects.c - the objects of the heap: whether a pointer is one, and which are free on all
 * PEs. heap.c explains marks and epochs.
 */
#include <stdlib.h>

#include "boot/crash.h"
#include "heap.h"

static _Atomic uint32_t *mark_of(const struct nvsi_heap *heap, int pe, uint32_t id)
{
    size_t table = (size_t)pe * NVSI_NUM_HEAPS + (size_t)(heap - nvsi_heaps);
    char *marks = nvsi.arena + nvsi_job_marks((uint32_t)nvsi.npes) + table * NVSI_MARKS_BYTES;
    return (_Atomic uint32_t *)marks + id;
}

static const struct nvsi_segment *segment_of(const struct nvsi_heap *heap)
{
    return &nvsi.seg[heap->kind->seg];
}

/* ---- room in the tables ---------------------------------------------------------------------- */

#define GROW(table, capacity)                                                                      \
    do {                                                                                           \
        void *grown = realloc(table, (capacity) * sizeof *(table));                                \
        if (!grown)                                                                                \
            return -1;                                                                             \
        (table) = grown;                                                                           \
    } while (0)

static int grow_tables(struct nvsi_heap *heap, uint32_t capacity)
{
    if (capacity <= heap->capacity)
        return 0;
    GROW(heap->born, capacity);
    GROW(heap->freed, capacity);
    GROW(heap->limbo, capacity);
    GROW(heap->release, capacity);
    if (nvsi.config.check) {
        GROW(heap->sorted, capacity);
        GROW(heap->asked, capacity);
    }
    heap->capacity = capacity;
    return 0;
}

int nvsi_heap_reserve(struct nvsi_heap *heap, const char *fn)
{
    uint32_t numbers;
    if (nvsi_tlsf_reserve(heap->blocks, &numbers) == 0 && grow_tables(heap, numbers) == 0)
        return 0;
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: no ordinary memory for the tables of one more object (%u there are)", fn,
                      heap->capacity);
}

/* ---- one object ------------------------------------------------------------------------------ */

static int not_in_heap(const char *fn, const void *ptr)
{
    size_t offset = (size_t)((const char *)ptr - nvsi.seg[NVSI_SEG_STATIC].base);
    bool is_static = offset < nvsi.seg[NVSI_SEG_STATIC].size;
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: ptr %p is not in the symmetric heap of PE %d%s: allowed is what an "
                      "allocation of symmetric memory returned",
                      fn, ptr, nvsi.me, is_static ? ", but a static variable" : "");
}

int nvsi_heap_find(const struct nvsi_heap *heap, const char *fn, const void *ptr, uint32_t *id)
{
    const struct nvsi_segment *segment = segment_of(heap);
    const struct nvsi_tlsf *blocks = heap->blocks;
    uint64_t offset = (uint64_t)((const char *)ptr - segment->base);
    if (offset >= segment->size)
        return not_in_heap(fn, ptr);
    if (nvsi_tlsf_find(blocks, offset, id)) {
        if (nvsi_tlsf_block(blocks, offset, id) == 0)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: ptr %p is %llu bytes inside of the object at %p: pass its start",
                              fn, ptr, (unsigned long long)(offset - nvsi_tlsf_offset(blocks, *id)),
                              (void *)(segment->base + nvsi_tlsf_offset(blocks, *id)));
        return nvsi_error(NVS_ERR_INVALID, "%s: ptr %p is not an allocated object (freed before?)",
                          fn, ptr);
    }
    if (heap->freed[*id])
        return nvsi_error(NVS_ERR_INVALID, "%s: ptr %p: PE %d has freed it already", fn, ptr,
                          nvsi.me);
    return 0;
}

/* ---- NVS_CHECK ------------------------------------------------------------------------------- */

static void note_block(uint64_t offset, uint32_t id, void *arg)
{
    struct nvsi_heap *heap = arg;
    (void)offset;
    heap->sorted[heap->nsorted++] = id;
}

/* The list of live objects, made anew after each change. */
static void list_objects(struct nvsi_heap *heap)
{
    if (!heap->stale)
        return;
    heap->nsorted = 0;
    nvsi_tlsf_each_live(heap->blocks, note_block, heap);
    heap->stale = false;
}

/* The last object that begins at or before offset; false if there is none. */
static bool object_at(const struct nvsi_heap *heap, uint64_t offset, uint32_t *id)
{
    uint32_t low = 0, high = heap->nsorted;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nvsi_tlsf_offset(heap->blocks, heap->sorted[middle]) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *id = heap->sorted[low - 1];
    return low > 0;
}

static int check_object(const struct nvsi_heap *heap, const char *fn, const char *what,
                        const void *sym, size_t nbytes, int pe, uint32_t id)
{
    char *base = segment_of(heap)->base;
    uint64_t start = nvsi_tlsf_offset(heap->blocks, id);
    uint64_t size = heap->asked[id];
    uint64_t inside = (uint64_t)((const char *)sym - base) - start;
    if (inside >= size || nbytes > size - inside)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %s: %zu bytes at %p are not inside of one object: the one at %p has "
                          "%llu bytes",
                          fn, what, nbytes, sym, (void *)(base + start), (unsigned long long)size);
    uint32_t mark = atomic_load_explicit(mark_of(heap, pe, id), memory_order_acquire);
    int freed_by = heap->freed[id] ? nvsi.me : mark > heap->born[id] ? pe : -1;
    if (freed_by >= 0)
        return nvsi_error(NVS_ERR_INVALID, "%s: %s: PE %d has freed the object at %p", fn, what,
                          freed_by, (void *)(base + start));
    return 0;
}

static int check_in(struct nvsi_heap *heap, const char *fn, const char *what, const void *sym,
                    size_t nbytes, int pe)
{
    uint64_t offset = (uint64_t)((const char *)sym - segment_of(heap)->base);
    uint32_t id;
    int status;
    pthread_mutex_lock(&nvsi_heap_lock);
    list_objects(heap);
    if (object_at(heap, offset, &id))
        status = check_object(heap, fn, what, sym, nbytes, pe, id);
    else
        status = nvsi_error(NVS_ERR_INVALID, "%s: %s: there is no object at %p", fn, what, sym);
    pthread_mutex_unlock(&nvsi_heap_lock);
    return status;
}

struct nvsi_heap *nvsi_heap_of(const void *ptr)
{
    for (int i = 0; i < NVSI_NUM_HEAPS; i++) {
        struct nvsi_heap *heap = &nvsi_heaps[i];
        if (heap->blocks &&
            (size_t)((const char *)ptr - segment_of(heap)->base) < segment_of(heap)->size)
            return heap;
    }
    return NULL;
}

int nvsi_heap_check(const char *fn, const char *what, const void *sym, size_t nbytes, int pe)
{
    struct nvsi_heap *heap = nvsi_heap_of(sym);
    return heap && nbytes ? check_in(heap, fn, what, sym, nbytes, pe) : 0;
}

/* ---- freeing --------------------------------------------------------------------------------- */

void nvsi_heap_mark_freed(struct nvsi_heap *heap, uint32_t id)
{
    heap->freed[id] = true;
    heap->limbo[heap->nlimbo++] = id;
    NVSI_CRASH_POINT(heap_marking);
    atomic_store_explicit(mark_of(heap, nvsi.me, id), nvsi_allocations.epoch + 1,
                          memory_order_release);
    if (heap->kind->freed)
        heap->kind->freed(heap, id);
}

bool nvsi_heap_freed_by(const struct nvsi_heap *heap, int pe, uint32_t id)
{
    uint32_t mark = atomic_load_explicit(mark_of(heap, pe, id), memory_order_acquire);
    return mark > heap->born[id] && mark <= nvsi_allocations.epoch;
}

static bool freed_by_all(const struct nvsi_heap *heap, uint32_t id)
{
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (!nvsi_heap_freed_by(heap, pe, id))
            return false;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void release(struct nvsi_heap *heap, uint32_t id)
{
    if (heap->kind->released)
        heap->kind->released(heap, id);
    nvsi_tlsf_release(heap->blocks, id);
    heap->stale = true;
}

uint32_t nvsi_heap_release_freed(struct nvsi_heap *heap)
{
    uint32_t kept = 0, count = 0;
    for (uint32_t i = 0; i < heap->nlimbo; i++) {
        uint32_t id = heap->limbo[i];
        if (freed_by_all(heap, id))
            heap->release[count++] = id;
        else
            heap->limbo[kept++] = id;
    }
    heap->nlimbo = kept;
    if (count > 1)
        qsort(heap->release, count, sizeof *heap->release, by_number);
    for (uint32_t i = 0; i < count; i++)
        release(heap, heap->release[i]);
    return count;
}
