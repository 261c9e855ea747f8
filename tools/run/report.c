/*
 * report.c - what nvsrun says. One line is one write, so that it is not torn by the PEs' output;
 * where nvsrun carries their output itself, its own lines queue up with it.
 */
#include "run.h"

#include "boot/table.h"

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

void refuse(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
    exit(status);
}

const char *signal_name(int sig)
{
    const char *name = sigdescr_np(sig);
    return name ? name : "a real-time signal";
}

/* What only nvsrun knows of a PE. */
static void view_amend(void *arg, int number, struct nvsi_pe_view *view)
{
    const struct run *run = arg;
    const struct pe *pe = &run->pes[number];
    if (!view->pid)
        view->pid = pe->child;
    if (number >= run->nstarted)
        view->word = "not started";
    else if (pe->over && !pe->lost && view->state != NVSI_PE_DEAD)
        view->word = "ended";
}

static void line_say(void *arg, const char *text)
{
    (void)arg;
    say("  %s", text);
}

void report_table(struct run *run)
{
    struct nvsi_table *table = nvsi_table_take(run->job, view_amend, run);
    if (!table)
        say("no memory for the table of %d PEs", run->options.npes);
    else
        nvsi_table_lines(table, line_say, NULL);
    nvsi_table_release(table);
}
