/*
 * windows.c - maps every PE's part of the arena: static data and heap.
 *
 * Address space for all heaps is reserved in one piece before the PEs agree on the size, so that
 * who has too little of it says so in time; the heaps are then mapped into that piece side by side.
 */
#include "windows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

/* The address space where all PEs' heaps are mapped, PE after PE. */
static struct {
    char *base;
    size_t bytes;
    size_t static_bytes; /* mapped of each PE, elsewhere */
} heaps;

/* Huge pages need the same alignment in memory as in the file. */
#define HUGE_BYTES ((size_t)2 << 20)

/* Heaps begin at multiples of this, so that an aligned offset is an aligned address: the largest
 * power of two that an object of the heap can be aligned to. */
static size_t heap_align(size_t heap_bytes)
{
    size_t align = HUGE_BYTES;
    while (align < NVSI_HEAP_ALIGN_MAX && align * 2 <= heap_bytes)
        align *= 2;
    return align;
}

static size_t round_up(uint64_t bytes, uint64_t to)
{
    return (size_t)((bytes + to - 1) / to * to);
}

/* From one PE's heap to the next: an odd multiple of the alignment. A core finds a line in its
 * first cache by a hash of the address, of bits 12 to 27 on AMD's Zen; where two addresses agree in
 * them, only one of the two is there at a time. Collectives go through the same offsets of several
 * heaps at once, which took twice as long when heaps were powers of two apart. So neighbours differ
 * in these bits, sixteen or more of them. */
static size_t heap_stride(size_t heap_bytes)
{
    size_t align = heap_align(heap_bytes), stride = round_up(heap_bytes, align);
    return stride / align % 2 ? stride : stride + align;
}

/* Bytes that this process keeps in memory by mlock() and mlockall(). */
static uint64_t locked_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "VmLck: %llu", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return kib * 1024;
}

/* After mlockall(MCL_FUTURE) whatever is mapped is also filled with pages at once. That would take
 * all of every heap, and end the process if there is not so much. */
static int check_locked(uint64_t before, size_t heap_bytes)
{
    uint64_t all = (uint64_t)heap_bytes * (uint64_t)nvsi.npes, left = nvsi_memory_available(NULL);
    if (locked_bytes() < before + heaps.bytes || all <= left)
        return 0;
    return nvsi_error(NVS_ERR_MEMORY,
                      "init: mlockall(MCL_FUTURE) is in force, which would take the memory of %d "
                      "heaps of %zu bytes at once, but %llu bytes are left: set NVS_HEAP_SIZE, or "
                      "add MCL_ONFAULT",
                      nvsi.npes, heap_bytes, (unsigned long long)left);
}

int nvsi_windows_reserve(size_t *each)
{
    bool set = nvsi.config.heap_size != 0;
    uint64_t room = nvsi.job->window_bytes - NVSI_STATIC_BYTES;
    uint64_t wanted = set ? nvsi.config.heap_size : nvsi_memory_total();
    if (wanted > room && set)
        return nvsi_error(NVS_ERR_INVALID, "init: %s asks for a heap of %llu bytes: at most %llu",
                          nvsi.config.set_by[NVSI_CONFIG_heap_size], (unsigned long long)wanted,
                          (unsigned long long)room);
    size_t bytes = round_up(wanted < room ? wanted : room, HUGE_BYTES);
    uint64_t locked = locked_bytes();
    for (;;) {
        heaps.bytes = heap_stride(bytes) * (size_t)nvsi.npes + heap_align(bytes);
        heaps.base =
            mmap(NULL, heaps.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (heaps.base != MAP_FAILED)
            break;
        if (set || bytes <= 64u << 20)
            return nvsi_error(NVS_ERR_MEMORY,
                              "init: no address space for %d heaps of %zu bytes: %s (see %s; "
                              "NVS_HEAP_SIZE sets the size)",
                              nvsi.npes, bytes, strerror(errno),
                              errno == EAGAIN ? "'ulimit -l', since mlockall() is in force"
                                              : "'ulimit -v'");
        bytes = round_up(bytes / 2, HUGE_BYTES);
    }
    *each = bytes;
    return check_locked(locked, bytes);
}

static int map_failed(int pe, const char *what)
{
    return nvsi_error(NVS_ERR_SYSTEM,
                      "init: cannot map the %s of PE %d: %s (see 'ulimit -v', 'ulimit -l' and "
                      "/proc/sys/vm/max_map_count)",
                      what, pe, strerror(errno));
}

static int map_window(int pe, size_t heap_bytes, const struct nvsi_segment *image)
{
    struct nvsi_peer *peer = &nvsi.peers[pe];
    off_t window = (off_t)nvsi_job_window(nvsi.job, (uint32_t)pe);
    char *heap = (char *)round_up((uintptr_t)heaps.base, heap_align(heap_bytes)) +
                 (size_t)pe * heap_stride(heap_bytes);
    if (mmap(heap, heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             nvsi.arena_fd, window + (off_t)NVSI_STATIC_BYTES) == MAP_FAILED)
        return map_failed(pe, "heap");
    if (nvsi.config.huge_pages)
        madvise(heap, heap_bytes, MADV_HUGEPAGE);
    /* A core dump would read, and so allocate, all of it; heap.c lets in what is in use. */
    madvise(heap, heap_bytes, MADV_DONTDUMP);
    peer->mapped[NVSI_SEG_HEAP] = heap;
    char *statics = NULL;
    if (image->size && pe == nvsi.me)
        statics = image->base;
    else if (image->size)
        statics =
            mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_SHARED, nvsi.arena_fd, window);
    if (statics == MAP_FAILED)
        return map_failed(pe, "static data");
    if (statics && pe != nvsi.me)
        madvise(statics, image->size, MADV_DONTDUMP);
    peer->mapped[NVSI_SEG_STATIC] = statics;
    memcpy(peer->seg, peer->mapped, sizeof peer->seg);
    return 0;
}

int nvsi_windows_map(size_t heap_bytes, const struct nvsi_segment *image)
{
    int status = 0;
    heaps.static_bytes = image->size;
    for (int pe = 0; !status && pe < nvsi.npes; pe++)
        status = map_window(pe, heap_bytes, image);
    if (status)
        return status;
    nvsi.seg[NVSI_SEG_HEAP] = (struct nvsi_segment){
        .base = nvsi.peers[nvsi.me].mapped[NVSI_SEG_HEAP], .size = heap_bytes};
    nvsi.seg[NVSI_SEG_STATIC] = *image;
    nvsi.heap_offset = (int64_t)(nvsi_job_window(nvsi.job, (uint32_t)nvsi.me) + NVSI_STATIC_BYTES);
    return 0;
}

void nvsi_windows_unmap(void)
{
    for (int pe = 0; nvsi.peers && pe < nvsi.npes; pe++) {
        char *statics = nvsi.peers[pe].mapped[NVSI_SEG_STATIC];
        if (statics && pe != nvsi.me)
            munmap(statics, heaps.static_bytes);
    }
    /* Others may live on in this job for long: they need not pay for what was in this heap. */
    if (nvsi.seg[NVSI_SEG_HEAP].size)
        (void)fallocate(nvsi.arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, nvsi.heap_offset,
                        (off_t)nvsi.seg[NVSI_SEG_HEAP].size);
    if (heaps.base && heaps.base != MAP_FAILED)
        munmap(heaps.base, heaps.bytes);
    heaps.base = NULL;
    memset(nvsi.seg, 0, sizeof nvsi.seg);
}
