/*
 * start.c - starts the library as a program would: the one sure way to know whether it starts here.
 *
 * Outside of a job this is a job of one PE. Inside of one all PEs tell where they run.
 */
#include "info.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of a PE, set by nvsrun; documented in docs/environment.md. */
#define JOB_PE "NVS_JOB_PE"

int start_pe(void)
{
    const char *pe = getenv(JOB_PE);
    return pe ? atoi(pe) : 0;
}

/* What the start would print is in the report already: names that do not exist, the version, the
 * variables. A value that is refused stays, since it has to be refused. */
static void quieten(const struct report *report)
{
    static const char *const wanted[][2] = {
        {"NVS_LOG", "error"}, {"NVS_VERSION", "no"}, {"NVS_INFO", "no"}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        for (size_t v = 0; v < report->nvariables; v++)
            if (!strcmp(report->variables[v].name, wanted[i][0]) && !report->variables[v].problem)
                setenv(wanted[i][0], wanted[i][1], 1);
}

static struct place here(void)
{
    struct place place = {.pid = getpid(), .cpu = -1, .node = -1};
    unsigned cpu, node;
    if (!syscall(SYS_getcpu, &cpu, &node, NULL)) {
        place.cpu = (int32_t)cpu;
        place.node = (int32_t)node;
    }
    file_field(place.cpus, sizeof(place.cpus), "/proc/self/status", "Cpus_allowed_list");
    return place;
}

static int gather_places(struct report *report)
{
    struct place mine = here();
    report->nplaces = nvs_n_pes();
    report->places = calloc((size_t)report->nplaces, sizeof(mine));
    if (!report->places)
        die(STATUS_REFUSED, "out of memory");
    return nvs_all_gather(NVS_TEAM_WORLD, report->places, &mine, sizeof(mine), NVS_UINT8, NULL);
}

int start_try(struct report *report)
{
    quieten(report);
    int status = nvs_init();
    if (!status)
        status = gather_places(report);
    report->section = "start";
    fact_flag(report, "starts", !status, status ? nvs_last_error() : NULL);
    if (status) {
        if (!report->refused)
            report_problem(report, nvs_last_error());
        report->refused = true;
    }
    return status;
}
