/*
 * log.c - one line on stderr per event, in one write, with the PE in front.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "nvs_internal.h"

void nvsi_log(enum nvsi_log_level level, const char *format, ...)
{
    if ((int)level > (int)nvsi.config.log)
        return;
    char line[1024];
    int used = nvsi.npes > 0 ? snprintf(line, sizeof line, "nvs: PE %d: ", nvsi.me)
                             : snprintf(line, sizeof line, "nvs: ");
    va_list args;
    va_start(args, format);
    int added = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    size_t length = (size_t)used + (size_t)(added < 0 ? 0 : added);
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    /* Nobody can be told if stderr is gone. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}
