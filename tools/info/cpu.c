/*
 * cpu.c - which processor, how many CPUs, and how many of them this process may use.
 *
 * "CPU" is what Linux schedules on: a hardware thread. PEs are placed by the mask of allowed CPUs;
 * a quota of a control group does not show in it, but stops all PEs for a part of every period,
 * which makes spinning waits expensive.
 */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void model_collect(struct report *report)
{
    char model[256], part[64], text[512];
    struct utsname names;
    if (!uname(&names))
        fact_text(report, "architecture", names.machine, NULL);
    if (file_field(model, sizeof(model), "/proc/cpuinfo", "model name")) {
        fact_text(report, "model", model, NULL);
    } else if (file_field(model, sizeof(model), "/proc/cpuinfo", "CPU implementer") &&
               file_field(part, sizeof(part), "/proc/cpuinfo", "CPU part")) {
        snprintf(text, sizeof(text), "implementer %s, part %s", model, part);
        fact_text(report, "model", text, NULL);
    } else {
        fact_unknown(report, "model", NVS_FACT_TEXT, "/proc/cpuinfo does not say");
    }
}

/* Counts CPUs that are the first of those with which they share something. */
struct leaders {
    const char *siblings; /* file below topology/ */
    int n;
};

static void leader_count(int cpu, void *arg)
{
    struct leaders *leaders = arg;
    char list[1024];
    if (file_line(list, sizeof(list), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
                  leaders->siblings) &&
        atoi(list) == cpu)
        leaders->n++;
}

static void leaders_collect(struct report *report, const char *online, const char *key,
                            const char *siblings)
{
    struct leaders leaders = {.siblings = siblings};
    list_count(online, leader_count, &leaders);
    if (leaders.n)
        fact_number(report, key, (uint64_t)leaders.n, NULL);
    else
        fact_unknown(report, key, NVS_FACT_NUMBER, "/sys does not say");
}

static void cpus_collect(struct report *report)
{
    char online[1024], allowed[1024];
    if (file_line(online, sizeof(online), "/sys/devices/system/cpu/online"))
        fact_number(report, "cpus", (uint64_t)list_count(online, NULL, NULL), online);
    else
        fact_unknown(report, "cpus", NVS_FACT_NUMBER, "/sys does not say");
    leaders_collect(report, online, "cores", "thread_siblings_list");
    leaders_collect(report, online, "sockets", "core_siblings_list");
    if (file_field(allowed, sizeof(allowed), "/proc/self/status", "Cpus_allowed_list"))
        fact_number(report, "cpus_allowed", (uint64_t)list_count(allowed, NULL, NULL), allowed);
    else
        fact_unknown(report, "cpus_allowed", NVS_FACT_NUMBER, "/proc does not say");
}

static void quota_collect(struct report *report, const struct cgroup *cgroup)
{
    if (cgroup->cpu_percent == UINT64_MAX)
        fact_unknown(report, "quota_percent", NVS_FACT_NUMBER,
                     "no control group limits the time on CPUs");
    else
        fact_number(report, "quota_percent", cgroup->cpu_percent,
                    "of one CPU, by a control group: beyond that all PEs are stopped");
}

static void node_describe(int node, void *arg)
{
    char *text = arg, cpus[256];
    size_t used = strlen(text);
    if (file_line(cpus, sizeof(cpus), "/sys/devices/system/node/node%d/cpulist", node))
        snprintf(text + used, 1024 - used, "%snode %d: %s", used ? "; " : "", node,
                 *cpus ? cpus : "no CPU");
}

static void nodes_collect(struct report *report)
{
    char online[256], text[1024] = "";
    if (!file_line(online, sizeof(online), "/sys/devices/system/node/online")) {
        fact_unknown(report, "numa_nodes", NVS_FACT_NUMBER, "/sys does not say");
        return;
    }
    int n = list_count(online, node_describe, text);
    fact_number(report, "numa_nodes", (uint64_t)n, text);
}

/* "512K" or "32M"; 0 if it is neither. */
static uint64_t cache_bytes(const char *text)
{
    char *unit;
    uint64_t value = strtoull(text, &unit, 10);
    return *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : 0;
}

static void cache_collect(struct report *report, uint64_t wanted, const char *key)
{
    for (int index = 0; index < 8; index++) {
        char type[32], size[32], shared[256], note[320];
        uint64_t level;
        const char *cache = "/sys/devices/system/cpu/cpu0/cache/index";
        if (!file_number(&level, "%s%d/level", cache, index) || level != wanted)
            continue;
        file_line(type, sizeof(type), "%s%d/type", cache, index);
        if (!strcmp(type, "Instruction") ||
            !file_line(size, sizeof(size), "%s%d/size", cache, index))
            continue;
        file_line(shared, sizeof(shared), "%s%d/shared_cpu_list", cache, index);
        snprintf(note, sizeof(note), "of CPU 0, for CPUs %s", shared);
        fact_bytes(report, key, cache_bytes(size), *shared ? note : NULL);
        return;
    }
    fact_unknown(report, key, NVS_FACT_BYTES, "none, or /sys does not say");
}

void cpu_collect(struct report *report, const struct cgroup *cgroup)
{
    report->section = "cpu";
    model_collect(report);
    cpus_collect(report);
    quota_collect(report, cgroup);
    nodes_collect(report);
    cache_collect(report, 1, "cache_l1d");
    cache_collect(report, 2, "cache_l2");
    cache_collect(report, 3, "cache_l3");
}
