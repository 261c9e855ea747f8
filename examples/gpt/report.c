/*
 * report.c - the progress line.
 */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PLAIN_STEPS = 50 };
static const double TERMINAL_SECONDS = 0.1;

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void reporter_init(struct reporter *r)
{
    *r = (struct reporter){.terminal = isatty(STDOUT_FILENO)};
}

static bool reporter_due(const struct reporter *r, const struct progress *p)
{
    if (p->step == 1)
        return true;
    if (r->terminal)
        return p->seconds - r->printed_seconds >= TERMINAL_SECONDS;
    return p->step % PLAIN_STEPS == 0;
}

void reporter_step(struct reporter *r, const struct progress *p, bool last)
{
    if (!last && !reporter_due(r, p))
        return;
    char exposed[40] = "";
    if (p->overlapped)
        snprintf(exposed, sizeof(exposed), " (exposed %.1f %%)",
                 100 * p->exposed_seconds / p->seconds);
    printf("%sstep %5ld   loss %6.3f   %7.0f tokens/s   communication %4.1f %%%s   %5.1f s%s",
           r->terminal ? "\r" : "", p->step, p->loss, p->tokens / p->seconds,
           100 * p->comm_seconds / p->seconds, exposed, p->seconds,
           r->terminal && !last ? " " : "\n");
    fflush(stdout);
    r->printed_seconds = p->seconds;
    r->printed_step = p->step;
}
