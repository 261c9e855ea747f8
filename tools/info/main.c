/*
 * main.c - collects, then prints. The variables come first, since the start changes some of them;
 * the library's facts come while it is started, when it knows the most.
 *
 * Only PE 0 fails if nvs does not start: nvsrun would end the job at the first failure, perhaps
 * before PE 0 has printed why.
 */
#include "info.h"

#include <stdio.h>

static void system_collect(struct report *report)
{
    struct cgroup cgroup;
    cgroup_read(&cgroup);
    cpu_collect(report, &cgroup);
    memory_collect(report, &cgroup);
    limits_collect(report, &cgroup);
    kernel_collect(report);
}

int main(int argc, char **argv)
{
    static struct report report;
    struct options options;
    int pe = start_pe();
    options_parse(&options, argc, argv);
    nvs_info_variables(report_variable, &report);
    int failed = options.groups & GROUP_START ? start_try(&report) : 0;
    nvs_info_facts(report_fact, &report);
    if (options.groups & GROUP_START && !failed)
        nvs_finalize();
    if (pe != 0) /* PE 0 prints for all; what stopped this one it may not know */
        return failed ? fprintf(stderr, "nvs-info: PE %d: %s\n", pe, nvs_last_error()), 0 : 0;
    files_root(options.sysroot);
    if (options.groups & GROUP_SYSTEM)
        system_collect(&report);
    (options.json ? json_print : text_print)(&report, &options);
    if (fflush(stdout) || ferror(stdout))
        die(STATUS_REFUSED, "cannot write all of the output");
    return report.refused ? STATUS_REFUSED : 0;
}
