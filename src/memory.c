/*
 * memory.c - reads /proc/meminfo and the memory controller of this process's control group.
 */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    return length > 0 ? 0 : -1;
}

/* A line "Name:   123 kB"; UINT64_MAX if there is none. */
static uint64_t meminfo(const char *name)
{
    char text[4096];
    if (read_text("/proc/meminfo", text, sizeof text))
        return UINT64_MAX;
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : UINT64_MAX;
}

static uint64_t number_in(const char *directory, const char *file)
{
    char path[512], text[64];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (read_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX; /* no such file, or "max" */
    return strtoull(text, NULL, 10);
}

/* The limit of the control group and what is left of it: version 2, then version 1. */
static void group(uint64_t *limit, uint64_t *left)
{
    char text[1024], directory[384] = "/sys/fs/cgroup";
    const char *path =
        read_text("/proc/self/cgroup", text, sizeof text) ? NULL : strstr(text, "0::");
    if (path) {
        size_t length = strcspn(path + 3, "\n");
        snprintf(directory, sizeof directory, "/sys/fs/cgroup%.*s", (int)length, path + 3);
    }
    *limit = number_in(directory, "memory.max");
    uint64_t used = number_in(directory, "memory.current");
    if (*limit == UINT64_MAX) {
        *limit = number_in("/sys/fs/cgroup/memory", "memory.limit_in_bytes");
        used = number_in("/sys/fs/cgroup/memory", "memory.usage_in_bytes");
    }
    *left = *limit == UINT64_MAX || used == UINT64_MAX ? UINT64_MAX
            : *limit > used                            ? *limit - used
                                                       : 0;
}

uint64_t nvsi_memory_total(void)
{
    uint64_t limit, left, total = meminfo("MemTotal:");
    group(&limit, &left);
    return limit < total ? limit : total;
}

uint64_t nvsi_memory_available(void)
{
    uint64_t limit, left, available = meminfo("MemAvailable:");
    group(&limit, &left);
    return left < available ? left : available;
}
