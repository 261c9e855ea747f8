/*
 * static.c - global and static variables of the executable become symmetric.
 *
 * The writable part of the executable's image (.data and .bss, without the part that the loader
 * made read-only after relocation) is copied into this PE's window of the arena, and the window is
 * mapped over it in one step. Addresses stay, so the program notices nothing; the peers map the
 * same window, so a put to a global variable is a store, also while its owner computes.
 *
 * This is safe only while nobody else writes: it runs as a constructor, with signals blocked, and
 * refuses if the process has a second thread. Pages of .bss that were never touched are not copied,
 * so a huge static array costs nothing.
 */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot/boot.h"
#include "util/parse.h"

static struct {
    struct nvsi_segment segment;
    size_t file_bytes; /* from its start; behind it is .bss */
    uint64_t program;
    bool moved;          /* it lives in the arena */
    const char *refusal; /* why it is not symmetric, or NULL */
} image = {.refusal = "libnvs was loaded too late"};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Sets image.segment to the largest writable range of the executable. */
static int find_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    size_t page = page_bytes();
    uintptr_t relro_end = 0;
    uint64_t print = 1469598103934665603u; /* FNV-1a over the program headers */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_GNU_RELRO)
            relro_end = (info->dlpi_addr + ph->p_vaddr + ph->p_memsz) & ~(page - 1);
        print = (print ^ ph->p_vaddr ^ ph->p_memsz << 20 ^ ph->p_filesz << 40) * 1099511628211u;
    }
    image.program = print;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || (ph->p_flags & (PF_W | PF_X)) != PF_W)
            continue; /* code that is writable stays where it can be executed */
        uintptr_t begin = (info->dlpi_addr + ph->p_vaddr) & ~(page - 1);
        uintptr_t end = (info->dlpi_addr + ph->p_vaddr + ph->p_memsz + page - 1) & ~(page - 1);
        uintptr_t file_end = info->dlpi_addr + ph->p_vaddr + ph->p_filesz;
        if (begin < relro_end && relro_end <= end)
            begin = relro_end;
        if (end > begin && end - begin > image.segment.size) {
            image.segment = (struct nvsi_segment){.base = (char *)begin, .size = end - begin};
            image.file_bytes = file_end > begin ? file_end - begin : 0;
        }
    }
    return 1; /* the executable comes first; no library's data is symmetric */
}

static int count_threads(void)
{
    char text[512];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), threads = 0;
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return -1;
    text[length] = 0;
    const char *rest = strrchr(text, ')'); /* the name may hold anything */
    /* after the name: state ppid pgrp session tty tpgid flags 4 faults 4 times prio nice threads */
    if (!rest ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
               &threads) != 1)
        return -1;
    return threads;
}

/* memcpy that no sanitizer looks at: between variables there is poisoned memory. */
__attribute__((no_sanitize("address", "undefined"))) static void
copy_raw(char *dst, const char *src, size_t nbytes)
{
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(nbytes) : : "memory");
#else
    for (size_t i = 0; i < nbytes; i++)
        ((volatile char *)dst)[i] = src[i];
#endif
}

/* Copies the pages of [from, size) that exist; all of them if the kernel does not tell. */
static void copy_touched(char *dst, size_t from)
{
    size_t page = page_bytes();
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entries[512];
    while (from < image.segment.size) {
        size_t pages = (image.segment.size - from + page - 1) / page;
        size_t n = pages < 512 ? pages : 512;
        off_t at = (off_t)((uintptr_t)(image.segment.base + from) / page * sizeof *entries);
        bool known = fd >= 0 &&
                     pread(fd, entries, n * sizeof *entries, at) == (ssize_t)(n * sizeof *entries);
        for (size_t i = 0; i < n; i++)
            if (!known || entries[i] >> 62) /* present or swapped out */
                copy_raw(dst + from + i * page, image.segment.base + from + i * page, page);
        from += n * page;
    }
    if (fd >= 0)
        close(fd);
}

static off_t window(void)
{
    return (off_t)nvsi_job_window(nvsi.job, (uint32_t)nvsi.me);
}

/* Whether both addresses are the same memory: another libnvs in this process has moved the image
 * already. */
__attribute__((no_sanitize("address", "undefined"))) static bool same_memory(volatile char *a,
                                                                             volatile char *b)
{
    char before = *b;
    *a = (char)~*a;
    bool same = *b != before;
    *a = (char)~*a;
    return same;
}

/* NULL, or what the kernel refused. */
static const char *move_image(bool used)
{
    size_t size = image.segment.size, page = page_bytes();
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, nvsi.arena_fd, window());
    if (copy == MAP_FAILED)
        return "its window could not be mapped";
    if (used && same_memory(copy, image.segment.base)) {
        munmap(copy, size);
        return NULL;
    }
    if (used && madvise(copy, size, MADV_REMOVE)) { /* what is not copied must be 0 */
        munmap(copy, size);
        return "its window could not be cleared";
    }
    size_t full = (image.file_bytes + page - 1) & ~(page - 1);
    if (full > size)
        full = size;
    copy_raw(copy, image.segment.base, full);
    copy_touched(copy, full);
    void *moved = mmap(image.segment.base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       nvsi.arena_fd, window());
    munmap(copy, size);
    return moved == MAP_FAILED ? "its window could not be mapped over it" : NULL;
}

void nvsi_static_share(bool used)
{
    const char *wanted = getenv("NVS_STATIC");
    bool on = true;
    if (wanted && nvsi_parse_bool(wanted, &on) == 0 && !on) {
        image.refusal = "NVS_STATIC is off";
        return;
    }
    dl_iterate_phdr(find_image, NULL);
    if (image.segment.size == 0)
        image.refusal = "the executable has no writable data";
    else if (image.segment.size > NVSI_STATIC_BYTES || image.segment.size >= nvsi.job->window_bytes)
        image.refusal = "the executable's data is larger than its window";
    else if (count_threads() < 0)
        image.refusal = "/proc/self/stat could not be read to count the process's threads";
    else if (count_threads() != 1)
        image.refusal = "the process had several threads when libnvs was loaded";
    else {
        sigset_t all, before;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        image.refusal = move_image(used);
        image.moved = !image.refusal;
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
}

void nvsi_static_adopt(void)
{
    if (image.moved || nvsi.forked)
        return;
    dl_iterate_phdr(find_image, NULL);
    image.refusal = image.segment.size ? NULL : "the executable has no writable data";
}

struct nvsi_segment nvsi_static_segment(uint64_t *program)
{
    *program = image.program;
    if (image.refusal)
        return (struct nvsi_segment){0};
    return image.segment;
}

const char *nvsi_static_refusal(void)
{
    return image.refusal;
}

void nvsi_static_unshare(void)
{
    if (!image.moved)
        return;
    size_t size = image.segment.size;
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        _exit(1); /* to go on would write into the parent's variables */
    off_t base = window(), end = base + (off_t)size;
    for (off_t data = base; data < end;) { /* only what exists in the file */
        off_t from = lseek(nvsi.arena_fd, data, SEEK_DATA);
        if (from < 0 || from >= end)
            break;
        off_t to = lseek(nvsi.arena_fd, from, SEEK_HOLE);
        if (to < 0 || to > end)
            to = end;
        copy_raw(copy + (from - base), image.segment.base + (from - base), (size_t)(to - from));
        data = to;
    }
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, image.segment.base) == MAP_FAILED)
        _exit(1);
    image.moved = false;
    image.refusal = "this process is a forked child";
}
