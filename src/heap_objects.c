/*
 * heap_objects.c - the objects of the heap: whether a pointer is one, and which are free on all
 * PEs. heap.c explains marks and epochs.
 */
#include <stdlib.h>

#include "boot/crash.h"
#include "heap.h"

/* From this size on, a released block goes back to the kernel at once. */
#define GIVE_BACK_BYTES (256u << 20)

static _Atomic uint32_t *mark_of(int pe, uint32_t id)
{
    char *marks = nvsi.arena + nvsi_job_marks((uint32_t)nvsi.npes) + (size_t)pe * NVSI_MARKS_BYTES;
    return (_Atomic uint32_t *)marks + id;
}

/* ---- room in the tables ---------------------------------------------------------------------- */

#define GROW(table, capacity)                                                                      \
    do {                                                                                           \
        void *grown = realloc(table, (capacity) * sizeof *(table));                                \
        if (!grown)                                                                                \
            return -1;                                                                             \
        (table) = grown;                                                                           \
    } while (0)

static int grow_tables(uint32_t capacity)
{
    if (capacity <= nvsi_heap.capacity)
        return 0;
    GROW(nvsi_heap.born, capacity);
    GROW(nvsi_heap.freed, capacity);
    GROW(nvsi_heap.limbo, capacity);
    GROW(nvsi_heap.release, capacity);
    if (nvsi.config.check)
        GROW(nvsi_heap.sorted, capacity);
    nvsi_heap.capacity = capacity;
    return 0;
}

int nvsi_heap_reserve(const char *fn)
{
    uint32_t numbers;
    if (nvsi_tlsf_reserve(nvsi_heap.blocks, &numbers) == 0 && grow_tables(numbers) == 0)
        return 0;
    return nvsi_error(NVS_ERR_MEMORY,
                      "%s: no ordinary memory for the tables of one more object (%u there are)", fn,
                      nvsi_heap.capacity);
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

int nvsi_heap_find(const char *fn, const void *ptr, uint32_t *id)
{
    const struct nvsi_segment *segment = &nvsi.seg[NVSI_SEG_HEAP];
    const struct nvsi_tlsf *blocks = nvsi_heap.blocks;
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
    if (nvsi_heap.freed[*id])
        return nvsi_error(NVS_ERR_INVALID, "%s: ptr %p: PE %d has freed it already", fn, ptr,
                          nvsi.me);
    return 0;
}

/* ---- NVS_CHECK ------------------------------------------------------------------------------- */

static void note_block(uint64_t offset, uint32_t id, void *arg)
{
    (void)offset, (void)arg;
    nvsi_heap.sorted[nvsi_heap.nsorted++] = id;
}

/* The list of live objects, made anew after each change. */
static void list_objects(void)
{
    if (!nvsi_heap.stale)
        return;
    nvsi_heap.nsorted = 0;
    nvsi_tlsf_each_live(nvsi_heap.blocks, note_block, NULL);
    nvsi_heap.stale = false;
}

/* The last object that begins at or before offset; false if there is none. */
static bool object_at(uint64_t offset, uint32_t *id)
{
    uint32_t low = 0, high = nvsi_heap.nsorted;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nvsi_tlsf_offset(nvsi_heap.blocks, nvsi_heap.sorted[middle]) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *id = nvsi_heap.sorted[low - 1];
    return low > 0;
}

static int check_object(const char *fn, const char *what, const void *sym, size_t nbytes, int pe,
                        uint32_t id)
{
    char *base = nvsi.seg[NVSI_SEG_HEAP].base;
    uint64_t start = nvsi_tlsf_offset(nvsi_heap.blocks, id);
    uint64_t size = nvsi_tlsf_size(nvsi_heap.blocks, id);
    uint64_t inside = (uint64_t)((const char *)sym - base) - start;
    if (inside >= size || nbytes > size - inside)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %s: %zu bytes at %p are not inside of one object: the one at %p has "
                          "%llu bytes",
                          fn, what, nbytes, sym, (void *)(base + start), (unsigned long long)size);
    uint32_t mark = atomic_load_explicit(mark_of(pe, id), memory_order_acquire);
    int freed_by = nvsi_heap.freed[id] ? nvsi.me : mark > nvsi_heap.born[id] ? pe : -1;
    if (freed_by >= 0)
        return nvsi_error(NVS_ERR_INVALID, "%s: %s: PE %d has freed the object at %p", fn, what,
                          freed_by, (void *)(base + start));
    return 0;
}

int nvsi_heap_check(const char *fn, const char *what, const void *sym, size_t nbytes, int pe)
{
    uint64_t offset = (uint64_t)((const char *)sym - nvsi.seg[NVSI_SEG_HEAP].base);
    if (offset >= nvsi.seg[NVSI_SEG_HEAP].size || !nbytes)
        return 0;
    uint32_t id;
    int status;
    pthread_mutex_lock(&nvsi_heap_lock);
    list_objects();
    if (object_at(offset, &id))
        status = check_object(fn, what, sym, nbytes, pe, id);
    else
        status = nvsi_error(NVS_ERR_INVALID, "%s: %s: there is no object at %p", fn, what, sym);
    pthread_mutex_unlock(&nvsi_heap_lock);
    return status;
}

/* ---- freeing --------------------------------------------------------------------------------- */

void nvsi_heap_mark_freed(uint32_t id)
{
    nvsi_heap.freed[id] = true;
    nvsi_heap.limbo[nvsi_heap.nlimbo++] = id;
    NVSI_CRASH_POINT(heap_marking);
    atomic_store_explicit(mark_of(nvsi.me, id), nvsi_heap.epoch + 1, memory_order_release);
}

static bool freed_by_all(uint32_t id)
{
    for (int pe = 0; pe < nvsi.npes; pe++) {
        uint32_t mark = atomic_load_explicit(mark_of(pe, id), memory_order_acquire);
        if (mark <= nvsi_heap.born[id] || mark > nvsi_heap.epoch)
            return false;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void release(uint32_t id)
{
    uint64_t size = nvsi_tlsf_size(nvsi_heap.blocks, id);
    if (size >= GIVE_BACK_BYTES)
        nvsi_heap_give_back(nvsi.me, nvsi_tlsf_offset(nvsi_heap.blocks, id), size);
    nvsi_tlsf_release(nvsi_heap.blocks, id);
    nvsi_heap.stale = true;
}

void nvsi_heap_release_freed(void)
{
    uint32_t kept = 0, count = 0;
    for (uint32_t i = 0; i < nvsi_heap.nlimbo; i++) {
        uint32_t id = nvsi_heap.limbo[i];
        if (freed_by_all(id))
            nvsi_heap.release[count++] = id;
        else
            nvsi_heap.limbo[kept++] = id;
    }
    nvsi_heap.nlimbo = kept;
    if (count > 1)
        qsort(nvsi_heap.release, count, sizeof *nvsi_heap.release, by_number);
    for (uint32_t i = 0; i < count; i++)
        release(nvsi_heap.release[i]);
}
