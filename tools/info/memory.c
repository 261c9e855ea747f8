/*
 * memory.c - how much memory there is for heaps, and in which pages.
 *
 * The symmetric heaps are one unnamed memory file. It is memory of tmpfs as far as the kernel is
 * concerned, but of no mounted file system: the size of /dev/shm does not limit it, and its huge
 * pages are governed by shmem_enabled, not by the setting for ordinary memory.
 */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void meminfo_collect(struct report *report, const char *key, const char *field,
                            const char *note)
{
    char text[64];
    if (file_field(text, sizeof(text), "/proc/meminfo", field))
        fact_bytes(report, key, strtoull(text, NULL, 10) * 1024, note);
    else
        fact_unknown(report, key, NVS_FACT_BYTES, "/proc/meminfo does not say");
}

static void cgroup_collect(struct report *report, const struct cgroup *cgroup)
{
    if (!cgroup->version)
        fact_unknown(report, "cgroup_version", NVS_FACT_NUMBER, "no control groups");
    else
        fact_number(report, "cgroup_version", (uint64_t)cgroup->version, NULL);
    if (cgroup->memory_limit == UINT64_MAX) {
        fact_unknown(report, "cgroup_limit", NVS_FACT_BYTES, "no control group limits memory");
        return;
    }
    fact_bytes(report, "cgroup_limit", cgroup->memory_limit,
               "whoever needs more is killed by the kernel");
    if (cgroup->memory_used == UINT64_MAX)
        fact_unknown(report, "cgroup_used", NVS_FACT_BYTES, "the group does not say");
    else
        fact_bytes(report, "cgroup_used", cgroup->memory_used, "by all processes of the group");
}

static void shm_collect(struct report *report)
{
    struct statvfs shm;
    if (statvfs("/dev/shm", &shm)) {
        fact_unknown(report, "dev_shm", NVS_FACT_BYTES, "not there; nvs does not need it");
        return;
    }
    fact_bytes(report, "dev_shm", (uint64_t)shm.f_blocks * shm.f_frsize,
               "nvs does not use it, other programs do");
    fact_bytes(report, "dev_shm_free", (uint64_t)shm.f_bavail * shm.f_frsize, NULL);
}

/* The word in brackets: "always [madvise] never". */
static bool choice_read(char *word, size_t size, const char *path)
{
    char line[128];
    if (!file_line(line, sizeof(line), "%s", path))
        return false;
    char *begin = strchr(line, '['), *end = begin ? strchr(begin, ']') : NULL;
    if (!end)
        return false;
    *end = '\0';
    snprintf(word, size, "%s", begin + 1);
    return true;
}

static const char *shmem_note(const char *word)
{
    if (!strcmp(word, "always") || !strcmp(word, "force") || !strcmp(word, "within_size"))
        return "heaps get huge pages";
    if (!strcmp(word, "advise"))
        return "heaps get huge pages, unless NVS_HUGE_PAGES is no";
    return "heaps get none: write advise into "
           "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
}

static void thp_collect(struct report *report)
{
    char word[64];
    const char *folder = "/sys/kernel/mm/transparent_hugepage";
    char path[128];
    snprintf(path, sizeof(path), "%s/shmem_enabled", folder);
    if (choice_read(word, sizeof(word), path))
        fact_text(report, "huge_pages_shared", word, shmem_note(word));
    else
        fact_unknown(report, "huge_pages_shared", NVS_FACT_TEXT, "the kernel has none");
    snprintf(path, sizeof(path), "%s/enabled", folder);
    if (choice_read(word, sizeof(word), path))
        fact_text(report, "huge_pages_private", word, "of ordinary memory");
    else
        fact_unknown(report, "huge_pages_private", NVS_FACT_TEXT, "the kernel has none");
}

static void hugetlb_collect(struct report *report)
{
    static const struct {
        const char *key;
        unsigned kib;
    } sizes[] = {{"hugetlb_2m", 2048}, {"hugetlb_1g", 1048576}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint64_t pages, unused;
        char note[96];
        if (!file_number(&pages, "/sys/kernel/mm/hugepages/hugepages-%ukB/nr_hugepages",
                         sizes[i].kib) ||
            !file_number(&unused, "/sys/kernel/mm/hugepages/hugepages-%ukB/free_hugepages",
                         sizes[i].kib))
            continue;
        snprintf(note, sizeof(note), "reserved pages, %llu of them free; nvs does not use these",
                 (unsigned long long)unused);
        fact_number(report, sizes[i].key, pages, note);
    }
}

void memory_collect(struct report *report, const struct cgroup *cgroup)
{
    report->section = "memory";
    meminfo_collect(report, "total", "MemTotal", NULL);
    meminfo_collect(report, "available", "MemAvailable", "without swapping");
    meminfo_collect(report, "swap", "SwapTotal", NULL);
    cgroup_collect(report, cgroup);
    fact_bytes(report, "page_size", (uint64_t)sysconf(_SC_PAGESIZE), NULL);
    shm_collect(report);
    thp_collect(report);
    hugetlb_collect(report);
}
