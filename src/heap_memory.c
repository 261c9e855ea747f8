/*
 * heap_memory.c - whether the memory is there that the heap of host memory promises.
 *
 * A page of the heap is taken when it is first touched, and the kernel has no way to say no then:
 * it kills somebody (host or control group full) or raises SIGBUS (vm.overcommit_memory 2). So a
 * malloc that cannot be kept must fail itself. It compares two sums:
 *
 *   promised   all live objects and the new one, of all PEs, whether touched or not
 *   there      what the arena holds already, and what can still be taken (memory.c)
 *
 * Pages in free blocks are held, too, but for no object; when it gets tight they are given back, on
 * all PEs. Who computes this is in front of the agreement of an allocation: all PEs' copies of the
 * allocator are equal then and nobody uses a free block, so any PE may do that for all.
 *
 * What else is on the host may still take the memory between malloc and touch. Who wants to exclude
 * that has the pages taken by malloc (NVS_COMMIT=yes), which costs the time to clear them. Where
 * the kernel keeps account of promises that is done always, because there a failure is an answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heap.h"
#include "memory.h"

/* Asked anew at the latest when the objects of all PEs have grown by so much. */
#define CHECK_BYTES (UINT64_C(16) << 20)
/* The kernel's own tables for the pages, and a little air. */
#define AIR_BYTES (UINT64_C(4) << 20)
/* From this size on, a released block goes back to the kernel at once. */
#define GIVE_BACK_BYTES (UINT64_C(256) << 20)
#define PAGE UINT64_C(4096)

static struct nvsi_heap *host(void)
{
    return &nvsi_heaps[NVSI_HEAP_HOST];
}

uint64_t nvsi_heap_arena_bytes(void)
{
    struct stat stat;
    return fstat(nvsi.arena_fd, &stat) ? 0 : (uint64_t)stat.st_blocks * 512;
}

static off_t place_of(int pe, uint64_t offset)
{
    return (off_t)(nvsi_job_window(nvsi.job, (uint32_t)pe) + NVSI_STATIC_BYTES + offset);
}

/* Gives a block's memory, here or on another PE, back to the kernel; it reads as 0 then. */
static void give_back(int pe, uint64_t offset, uint64_t nbytes)
{
    uint64_t first = (offset + PAGE - 1) & ~(PAGE - 1), end = (offset + nbytes) & ~(PAGE - 1);
    if (first < end)
        (void)fallocate(nvsi.arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        place_of(pe, first), (off_t)(end - first));
}

static void give_back_on_all(uint64_t offset, uint64_t nbytes, void *arg)
{
    (void)arg;
    for (int pe = 0; pe < nvsi.npes; pe++)
        give_back(pe, offset, nbytes);
}

/* What the arena holds for objects: all of it, but for what was there before the heap, and at worst
 * for all static data. */
static uint64_t held(void)
{
    uint64_t arena = nvsi_heap_arena_bytes();
    uint64_t others = host()->foreign + nvsi.seg[NVSI_SEG_STATIC].size * (uint64_t)nvsi.npes;
    return arena > others ? arena - others : 0;
}

/* How far the objects may grow before the next look: half of what was left over. */
static uint64_t growth(uint64_t surplus)
{
    uint64_t bytes = surplus / 2 < CHECK_BYTES ? surplus / 2 : CHECK_BYTES;
    return bytes / (uint64_t)nvsi.npes;
}

static int room(const char *fn, size_t nbytes)
{
    if (nbytes > nvsi.seg[NVSI_SEG_HEAP].size)
        return 0; /* the allocator refuses that on all PEs alike */
    uint64_t npes = (uint64_t)nvsi.npes, live = nvsi_tlsf_used(host()->blocks) + nbytes;
    if (live <= host()->checked)
        return 0;
    const char *what;
    uint64_t left = nvsi_memory_available(&what), missing = live * npes;
    missing += missing / 256 + AIR_BYTES;
    if (missing > left) { /* as if no object had a page yet: look closer */
        nvsi_tlsf_each_free(host()->blocks, give_back_on_all, NULL);
        uint64_t there = held();
        missing -= there < missing ? there : missing;
        left = nvsi_memory_available(&what);
    }
    if (missing > left && !fn)
        return NVS_ERR_MEMORY;
    if (missing > left)
        return nvsi_error(NVS_ERR_MEMORY,
                          "%s: no memory for %zu bytes on each of %d PEs: with what is allocated "
                          "already, the heaps need %llu bytes more than they hold now, but %s has "
                          "%llu left",
                          fn, nbytes, nvsi.npes, (unsigned long long)missing, what,
                          (unsigned long long)left);
    host()->checked = live + growth(left - missing);
    return 0;
}

static bool wants_commit(void)
{
    return nvsi.config.commit || nvsi_memory_strict();
}

/* Takes the memory of this PE's part of a block. */
static int take_pages(const char *fn, uint64_t offset, uint64_t nbytes)
{
    uint64_t first = offset & ~(PAGE - 1), end = (offset + nbytes + PAGE - 1) & ~(PAGE - 1);
    int status;
    do
        status = fallocate(nvsi.arena_fd, 0, place_of(nvsi.me, first), (off_t)(end - first));
    while (status && errno == EINTR);
    if (!status || errno == EOPNOTSUPP)
        return 0;
    return nvsi_error(NVS_ERR_MEMORY, "%s: the kernel gives no memory for %llu bytes: %s", fn,
                      (unsigned long long)nbytes, strerror(errno));
}

/* ---- the heap of host memory ----------------------------------------------------------------- */

/* Core dumps hold the heap up to the highest object, not the terabyte behind it. */
static void let_into_dumps(struct nvsi_heap *heap, uint64_t end)
{
    if (end <= heap->dumped)
        return;
    uint64_t step = 64u << 20, size = nvsi.seg[NVSI_SEG_HEAP].size;
    end = (end + step - 1) / step * step;
    if (end > size)
        end = size;
    madvise(nvsi.seg[NVSI_SEG_HEAP].base + heap->dumped, end - heap->dumped, MADV_DODUMP);
    heap->dumped = end;
}

static int place(struct nvsi_heap *heap, size_t nbytes, size_t align, uint64_t *offset,
                 uint32_t *id)
{
    if (nvsi_tlsf_alloc(heap->blocks, nbytes, align, offset, id))
        return -1;
    let_into_dumps(heap, *offset + nbytes);
    return 0;
}

/* If anybody wants the pages at once: all PEs take them. */
static int commit(struct nvsi_heap *heap, const char *fn, enum nvsi_flight_op flight, uint32_t id,
                  bool fresh)
{
    uint64_t offset = nvsi_tlsf_offset(heap->blocks, id);
    uint64_t size = nvsi_tlsf_size(heap->blocks, id);
    let_into_dumps(heap, offset + size); /* it may have grown where it is */
    if (!nvsi_allocations.commit)
        return 0;
    int status = nvsi_heap_agree_on_status(fn, flight, take_pages(fn, offset, size), size);
    if (status && fresh)
        give_back(nvsi.me, offset, size);
    return status;
}

static int clear(const char *fn, void *ptr, size_t nbytes)
{
    (void)fn;
    memset(ptr, 0, nbytes);
    return 0;
}

static void released(struct nvsi_heap *heap, uint32_t id)
{
    uint64_t size = nvsi_tlsf_size(heap->blocks, id);
    if (size >= GIVE_BACK_BYTES)
        give_back(nvsi.me, nvsi_tlsf_offset(heap->blocks, id), size);
}

const struct nvsi_heap_kind nvsi_heap_of_host = {
    .name = "symmetric heap",
    .remedy = "NVS_HEAP_SIZE, NVSHMEM_SYMMETRIC_SIZE or SHMEM_SYMMETRIC_SIZE make it larger",
    .seg = NVSI_SEG_HEAP,
    .room = room,
    .wants_commit = wants_commit,
    .place = place,
    .commit = commit,
    .clear = clear,
    .released = released,
};
