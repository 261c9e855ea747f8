/*
 * progress.c - a bar on standard error while a line is measured. Only on a terminal: a log has no
 * use for it. It is wiped before the table's line is printed, since both may go to one screen.
 */
#include "perf.h"

#include <unistd.h>

enum { CELLS = 30 };

static struct {
    bool on, shown;
    size_t total;
} progress;

void progress_open(size_t total)
{
    progress.on = isatty(STDERR_FILENO);
    progress.total = total;
}

void progress_show(size_t done, const char *op, size_t size)
{
    static const char full[] = "##############################";
    if (!progress.on || !progress.total)
        return;
    int cells = (int)(done * CELLS / progress.total);
    fprintf(stderr, "\r[%.*s%*s] %zu/%zu  %s  %s\033[K", cells, full, CELLS - cells, "", done,
            progress.total, op, word_bytes(size));
    progress.shown = true;
}

void progress_clear(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}
