/*
 * memory.c - reads /proc/meminfo and the memory controllers above this process.
 *
 * A limit of a control group is as deadly as the end of the host's memory: who exceeds it is
 * killed. So all groups from this process's own up to the root of what is mounted are asked, in
 * version 2 and in version 1 of the interface; on some hosts both are mounted. What a group counts
 * as used includes cached files, which the kernel gives up when it needs the memory; that part is
 * not counted here.
 */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

const char *nvsi_memory_root = "";

/* ---- reading ------------------------------------------------------------------------------- */

static int read_text(const char *directory, const char *file, char *text, size_t size)
{
    char path[2048];
    int made = snprintf(path, sizeof path, "%s%s/%s", nvsi_memory_root, directory, file);
    int fd = made < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    return length > 0 ? 0 : -1;
}

/* The number behind a name at the beginning of a line; UINT64_MAX if there is none. */
static uint64_t number_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    while (text && strncmp(text, name, length) != 0) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text + length, NULL, 10) : UINT64_MAX;
}

static uint64_t number_in(const char *directory, const char *file)
{
    char text[64];
    if (read_text(directory, file, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX; /* no such file, or "max" */
    return strtoull(text, NULL, 10);
}

/* A line "Name:   123 kB" in bytes. Without /proc, or without a descriptor left to read it, there
 * is still a system call. */
static uint64_t meminfo(const char *name)
{
    char text[4096];
    struct sysinfo info;
    if (!read_text("/proc", "meminfo", text, sizeof text)) {
        uint64_t kib = number_of(text, name);
        return kib == UINT64_MAX ? kib : kib * 1024;
    }
    if (sysinfo(&info))
        return UINT64_MAX;
    if (!strcmp(name, "MemTotal:"))
        return (uint64_t)info.totalram * info.mem_unit;
    if (!strcmp(name, "MemAvailable:"))
        return (uint64_t)(info.freeram + info.bufferram) * info.mem_unit;
    return UINT64_MAX;
}

/* ---- control groups ------------------------------------------------------------------------- */

/* The two versions of the interface. */
static const struct version {
    const char *fstype, *option; /* as the mount says; option: NULL = any */
    const char *limit, *used, *cached;
} versions[] = {
    {"cgroup2", NULL, "memory.max", "memory.current", "inactive_file "},
    {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

/* Whether a word is in a list with commas. */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (!strncmp(list, word, length) && (!list[length] || strchr(",:\n ", list[length])))
            return true;
    }
    return false;
}

/* The group of this process: the third field of its line in /proc/self/cgroup. */
static int group_of(const struct version *version, char *group, size_t size)
{
    char text[4096], *rest = text;
    if (read_text("/proc/self", "cgroup", text, sizeof text))
        return -1;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path = 0;
        if (version->option ? listed(controllers + 1, version->option) : !controllers[1]) {
            snprintf(group, size, "%s", path + 1);
            return 0;
        }
    }
    return -1;
}

/* A line of /proc/self/mountinfo: number parent device root mount options... - type source super.
 * Whether it is this version's; then where, and which group its root is. */
static bool is_mount(char *line, const struct version *version, char **root, char **mount)
{
    char *tail = strstr(line, " - "), *type, *super, *field = line;
    if (!tail)
        return false;
    *tail = 0;
    tail += 3;
    type = strsep(&tail, " ");
    (void)strsep(&tail, " ");
    super = tail;
    if (strcmp(type, version->fstype) != 0 || !super ||
        (version->option && !listed(super, version->option)))
        return false;
    for (int i = 0; i < 3; i++)
        (void)strsep(&field, " ");
    *root = strsep(&field, " ");
    *mount = strsep(&field, " ");
    return *root && *mount;
}

/* The directory of this process's group, and how much of its path is the mount itself. In a
 * container the path may be one that only the host can see; then the mount's root is ours. */
static int find_directory(const struct version *version, char *directory, size_t size,
                          size_t *mounted)
{
    char path[512], group[512], *line = NULL, *root = NULL, *mount = NULL;
    size_t room = 0;
    bool found = false;
    if (group_of(version, group, sizeof group))
        return -1;
    int made = snprintf(path, sizeof path, "%s/proc/self/mountinfo", nvsi_memory_root);
    FILE *file = made < (int)sizeof path ? fopen(path, "re") : NULL;
    while (file && !found && getline(&line, &room, file) > 0)
        found = is_mount(line, version, &root, &mount);
    if (found) {
        size_t length = strcmp(root, "/") ? strlen(root) : 0;
        const char *rest = strncmp(group, root, length) ? "" : group + length;
        *mounted = (size_t)snprintf(directory, size, "%s", mount);
        snprintf(directory + *mounted, size - *mounted, "%s", rest);
        if (number_in(directory, version->used) == UINT64_MAX)
            directory[*mounted] = 0;
    }
    if (file)
        fclose(file);
    free(line);
    return found ? 0 : -1;
}

/* What one group leaves, cached files not counted. */
static uint64_t left_in(const struct version *version, const char *directory, uint64_t limit)
{
    char text[8192];
    uint64_t used = number_in(directory, version->used), cached = UINT64_MAX;
    if (used == UINT64_MAX)
        return limit;
    if (!read_text(directory, "memory.stat", text, sizeof text))
        cached = number_of(text, version->cached);
    used -= cached <= used ? cached : 0;
    return limit > used ? limit - used : 0;
}

/* The lowest limit, and the least that is left, from this process's group upwards. */
static void walk_up(const struct version *version, uint64_t *lowest, uint64_t *left)
{
    char directory[1024];
    size_t mounted;
    if (find_directory(version, directory, sizeof directory, &mounted))
        return;
    for (;;) {
        uint64_t limit = number_in(directory, version->limit);
        if (limit < UINT64_C(1) << 62) { /* version 1 says nearly 2^63 for none */
            uint64_t here = left_in(version, directory, limit);
            *lowest = limit < *lowest ? limit : *lowest;
            *left = here < *left ? here : *left;
        }
        char *slash = strrchr(directory, '/');
        if (!slash || (size_t)(slash - directory) < mounted)
            return;
        *slash = 0;
    }
}

static void groups(uint64_t *lowest, uint64_t *left)
{
    *lowest = *left = UINT64_MAX;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        walk_up(&versions[i], lowest, left);
}

/* ---- answers -------------------------------------------------------------------------------- */

uint64_t nvsi_memory_total(void)
{
    uint64_t limit, left, total = meminfo("MemTotal:");
    groups(&limit, &left);
    return limit < total ? limit : total;
}

bool nvsi_memory_strict(void)
{
    return number_in("/proc/sys/vm", "overcommit_memory") == 2;
}

uint64_t nvsi_memory_available(const char **what)
{
    uint64_t limit, left, least = meminfo("MemAvailable:");
    const char *name = "the host";
    groups(&limit, &left);
    if (left < least) {
        least = left;
        name = "the control group";
    }
    if (nvsi_memory_strict()) {
        uint64_t most = meminfo("CommitLimit:"), promised = meminfo("Committed_AS:");
        uint64_t free = most > promised ? most - promised : 0;
        if (most != UINT64_MAX && promised != UINT64_MAX && free < least) {
            least = free;
            name = "the host's account of promises (vm.overcommit_memory is 2)";
        }
    }
    if (what)
        *what = name;
    return least;
}
