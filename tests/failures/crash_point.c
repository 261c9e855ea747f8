/*
 * crash_point.c - kills the process at the planted point that CRASH_AT names (boot/crash.h).
 *
 * CRASH_AT is a list of POINT:PE separated by commas; PE is the number of the PE, or -1 for nvsrun
 * and for whoever has not got a number yet.
 */
#include "boot/crash.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void nvsi_crash_point(const char *name)
{
    const char *wanted = getenv("CRASH_AT"), *pe = getenv("NVS_JOB_PE");
    char here[96];
    int length = snprintf(here, sizeof here, "%s:%s", name, pe ? pe : "-1");
    while (wanted) {
        if (strncmp(wanted, here, (size_t)length) == 0 &&
            (!wanted[length] || wanted[length] == ','))
            kill(getpid(), SIGKILL);
        const char *comma = strchr(wanted, ',');
        wanted = comma ? comma + 1 : NULL;
    }
}
