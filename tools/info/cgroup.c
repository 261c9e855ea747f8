/*
 * cgroup.c - the limits of the control groups that this process is in.
 *
 * A limit counts wherever it is set between the process's own group and the root, so all of them
 * are looked at and the least is taken. In version 2 there is one tree; in version 1 each
 * controller has its own. A container often shows its group as the root of the tree although
 * /proc/self/cgroup names it by the host's path; the way up from there leads to the root all the
 * same.
 */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 says "no limit" as the largest number of pages. */
#define NO_LIMIT_V1 (UINT64_C(1) << 62)

/* A group: a folder of one tree. */
struct group {
    char tree[64];   /* "/sys/fs/cgroup" or "/sys/fs/cgroup/memory" */
    char path[2048]; /* of the group in it: "/a/b"; "" is the root */
};

/* The path after the second colon of the line of /proc/self/cgroup that lists the controller; for
 * version 2, whose line lists none, controller is "". */
static bool group_find(struct group *group, const char *controller)
{
    char line[2200], names[128];
    size_t length = strlen(controller);
    for (int id = 0; id < 64; id++) {
        snprintf(names, sizeof(names), "%d", id);
        if (!file_field(line, sizeof(line), "/proc/self/cgroup", names))
            continue;
        char *path = strchr(line, ':');
        if (!path)
            continue;
        *path++ = '\0';
        bool listed = !*line && !length;
        for (char *name = length ? strtok(line, ",") : NULL; name; name = strtok(NULL, ","))
            listed |= !strcmp(name, controller);
        if (!listed)
            continue;
        snprintf(group->path, sizeof(group->path), "%s", strcmp(path, "/") ? path : "");
        return true;
    }
    return false;
}

static bool group_number(const struct group *group, const char *file, uint64_t *value)
{
    return file_number(value, "%s%s/%s", group->tree, group->path, file);
}

/* To the group above; false at the root. */
static bool group_up(struct group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static void least_memory(struct cgroup *cgroup, struct group group, const char *limit_file,
                         const char *used_file)
{
    do {
        uint64_t limit, used;
        if (!group_number(&group, limit_file, &limit) || limit >= NO_LIMIT_V1 ||
            limit >= cgroup->memory_limit)
            continue;
        cgroup->memory_limit = limit;
        cgroup->memory_used = group_number(&group, used_file, &used) ? used : UINT64_MAX;
    } while (group_up(&group));
}

static void least_pids(struct cgroup *cgroup, struct group group)
{
    do {
        uint64_t limit;
        if (group_number(&group, "pids.max", &limit) && limit < cgroup->pids_limit)
            cgroup->pids_limit = limit;
    } while (group_up(&group));
}

/* Of one group: cpu.max is "150000 100000", or "max 100000"; version 1 has two files. */
static bool quota_read(const struct group *group, int version, uint64_t *percent)
{
    uint64_t quota = 0, period = 0;
    char line[64], *rest;
    if (version == 2 && file_line(line, sizeof(line), "%s%s/cpu.max", group->tree, group->path)) {
        quota = strtoull(line, &rest, 10); /* 0 for "max" */
        period = strtoull(rest, NULL, 10);
    } else if (version == 1) { /* the quota is -1 where there is none */
        if (!group_number(group, "cpu.cfs_quota_us", &quota) ||
            !group_number(group, "cpu.cfs_period_us", &period))
            return false;
    }
    if (!quota || !period)
        return false;
    *percent = quota * 100 / period;
    return true;
}

static void least_quota(struct cgroup *cgroup, struct group group, int version)
{
    do {
        uint64_t percent;
        if (quota_read(&group, version, &percent) && percent < cgroup->cpu_percent)
            cgroup->cpu_percent = percent;
    } while (group_up(&group));
}

static bool read_v2(struct cgroup *cgroup)
{
    struct group group = {.tree = "/sys/fs/cgroup"};
    if (!file_exists("/sys/fs/cgroup/cgroup.controllers") || !group_find(&group, ""))
        return false;
    least_memory(cgroup, group, "memory.max", "memory.current");
    least_pids(cgroup, group);
    least_quota(cgroup, group, 2);
    return true;
}

/* The group of one controller of version 1. */
static bool enter_v1(struct group *group, const char *controller)
{
    *group = (struct group){.tree = ""};
    if (!group_find(group, controller))
        return false;
    snprintf(group->tree, sizeof(group->tree), "/sys/fs/cgroup/%s", controller);
    return file_exists("%s", group->tree);
}

static bool read_v1(struct cgroup *cgroup)
{
    struct group group;
    bool found = false;
    if (enter_v1(&group, "memory")) {
        least_memory(cgroup, group, "memory.limit_in_bytes", "memory.usage_in_bytes");
        found = true;
    }
    if (enter_v1(&group, "cpu")) {
        least_quota(cgroup, group, 1);
        found = true;
    }
    if (enter_v1(&group, "pids")) {
        least_pids(cgroup, group);
        found = true;
    }
    return found;
}

void cgroup_read(struct cgroup *cgroup)
{
    *cgroup = (struct cgroup){.memory_limit = UINT64_MAX,
                              .memory_used = UINT64_MAX,
                              .pids_limit = UINT64_MAX,
                              .cpu_percent = UINT64_MAX};
    cgroup->version = read_v2(cgroup) ? 2 : read_v1(cgroup) ? 1 : 0;
}
