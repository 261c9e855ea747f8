/*
 * report.c - what nvsrun says. One line is one write, so that it is not torn by the PEs' output;
 * where nvsrun carries their output itself, its own lines queue up with it.
 */
#include "run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *prefix(void)
{
    const char *no_color = getenv("NO_COLOR");
    bool plain = (no_color && *no_color) || !isatty(STDERR_FILENO);
    return plain ? "nvsrun: " : "\033[1mnvsrun:\033[0m ";
}

static void line_write(const char *line, size_t length)
{
    if (sinks_active()) {
        sink_add(STDERR_FILENO, line, length);
        return;
    }
    while (length) {
        ssize_t put = write(STDERR_FILENO, line, length);
        if (put < 0 && errno != EINTR)
            return;
        if (put > 0) {
            line += put;
            length -= (size_t)put;
        }
    }
}

static void line_print(const char *format, va_list args)
{
    char line[1024];
    size_t length = (size_t)snprintf(line, sizeof(line), "%s", prefix());
    int more = vsnprintf(line + length, sizeof(line) - length, format, args);
    length += more > 0 ? (size_t)more : 0;
    if (length > sizeof(line) - 1)
        length = sizeof(line) - 1;
    line[length++] = '\n';
    line_write(line, length);
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
    exit(STATUS_NVSRUN);
}

const char *signal_name(int sig)
{
    const char *name = sigdescr_np(sig);
    return name ? name : "a real-time signal";
}

/* The state of a PE in one word or two. */
static const char *state_name(const struct pe *pe, uint32_t state)
{
    if (pe->lost || state == NVSI_PE_DEAD)
        return "lost";
    if (pe->over)
        return "ended";
    switch (state) {
    case NVSI_PE_CLAIMED:
        return "before init";
    case NVSI_PE_RUNNING:
        return "running";
    case NVSI_PE_FINALIZED:
        return "finalized";
    default:
        return "without nvs";
    }
}

void report_table(struct run *run)
{
    for (int number = 0; number < run->nstarted; number++) {
        const struct pe *pe = &run->pes[number];
        const struct nvsi_pe_slot *slot = &run->job->pes[number];
        uint32_t state = atomic_load(&slot->state);
        pid_t pid = atomic_load(&slot->pid);
        char doing[256] = "";
        if (state == NVSI_PE_RUNNING || state == NVSI_PE_DEAD)
            nvsi_flight_describe(&slot->flight, doing, sizeof(doing));
        say("  PE %d (pid %d): %s%s%s", number, (int)(pid ? pid : pe->child), state_name(pe, state),
            *doing ? " " : "", doing);
    }
}
