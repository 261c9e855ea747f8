/*
 * log.c - one line on stderr per event, in one write, with the PE in front.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvs_internal.h"

/* A process that nvsrun has started knows its PE before init. */
size_t nvsi_pe_words(char *text, size_t size)
{
    *text = 0;
    if (nvsi.npes > 0 || (nvsi.job && !nvsi.forked))
        return (size_t)snprintf(text, size, "PE %d: ", nvsi.me);
    return 0;
}

void nvsi_log(enum nvsi_log_level level, const char *format, ...)
{
    if ((int)level > (int)nvsi.config.log)
        return;
    char line[1024] = "nvs: ";
    size_t used = strlen(line);
    used += nvsi_pe_words(line + used, sizeof line - used);
    va_list args;
    va_start(args, format);
    int added = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    size_t length = used + (size_t)(added < 0 ? 0 : added);
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    /* Nobody can be told if stderr is gone. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}
