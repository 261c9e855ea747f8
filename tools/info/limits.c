/*
 * limits.c - the limits that a job can run into, and what each of them is needed for.
 */
#include "info.h"

#include <stdio.h>
#include <sys/resource.h>

static const struct limit {
    const char *key;
    int resource;
    enum nvs_fact_kind kind;
    const char *note;
} rlimits[] = {
    {"address_space", RLIMIT_AS, NVS_FACT_BYTES, "ulimit -v; each PE maps the heaps of all"},
    {"file_size", RLIMIT_FSIZE, NVS_FACT_BYTES, "ulimit -f; bounds the sum of all heaps"},
    {"open_files", RLIMIT_NOFILE, NVS_FACT_NUMBER, "ulimit -n; a PE needs 1, nvsrun 64 and 4 a PE"},
    {"processes", RLIMIT_NPROC, NVS_FACT_NUMBER, "ulimit -u; of the user"},
    {"locked_memory", RLIMIT_MEMLOCK, NVS_FACT_BYTES, "ulimit -l; nvs locks nothing"},
    {"core_size", RLIMIT_CORE, NVS_FACT_BYTES, "ulimit -c; a dump leaves out unused heap"},
};

static void limit_add(struct report *report, const char *key, enum nvs_fact_kind kind, rlim_t value,
                      const char *note)
{
    char unlimited[160];
    snprintf(unlimited, sizeof(unlimited), "unlimited; %s", note);
    if (value == RLIM_INFINITY)
        fact_unknown(report, key, kind, unlimited);
    else if (kind == NVS_FACT_BYTES)
        fact_bytes(report, key, value, note);
    else
        fact_number(report, key, value, note);
}

/* The hard limit only where it is another: a user can raise the soft one up to it. */
static void rlimit_collect(struct report *report, const struct limit *limit)
{
    struct rlimit value;
    char hard_key[64];
    if (getrlimit((__rlimit_resource_t)limit->resource, &value)) {
        fact_unknown(report, limit->key, limit->kind, "getrlimit does not say");
        return;
    }
    limit_add(report, limit->key, limit->kind, value.rlim_cur, limit->note);
    if (value.rlim_cur == value.rlim_max)
        return;
    snprintf(hard_key, sizeof(hard_key), "%s_hard", limit->key);
    limit_add(report, hard_key, limit->kind, value.rlim_max, "what the limit can be raised to");
}

static void sysctl_collect(struct report *report, const char *key, const char *path,
                           const char *note)
{
    uint64_t value;
    if (file_number(&value, "%s", path))
        fact_number(report, key, value, note);
    else
        fact_unknown(report, key, NVS_FACT_NUMBER, "this kernel has no such setting");
}

void limits_collect(struct report *report, const struct cgroup *cgroup)
{
    report->section = "limits";
    for (size_t i = 0; i < sizeof(rlimits) / sizeof(*rlimits); i++)
        rlimit_collect(report, &rlimits[i]);
    if (cgroup->pids_limit == UINT64_MAX)
        fact_unknown(report, "cgroup_pids", NVS_FACT_NUMBER,
                     "no control group limits the number of processes");
    else
        fact_number(report, "cgroup_pids", cgroup->pids_limit,
                    "processes and threads of the group");
    sysctl_collect(report, "max_map_count", "/proc/sys/vm/max_map_count",
                   "vm.max_map_count; a PE needs at least 2 for each PE");
    sysctl_collect(report, "overcommit_memory", "/proc/sys/vm/overcommit_memory",
                   "vm.overcommit_memory; 2 refuses address space beyond memory");
    sysctl_collect(report, "memfd_noexec", "/proc/sys/vm/memfd_noexec",
                   "vm.memfd_noexec; any value will do");
}
