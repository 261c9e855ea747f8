/*
 * files.c - reads the small files of /proc and /sys. What is not there is not an error: kernels and
 * containers differ, and the fact is then reported as not known.
 */
#include "info.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *root = "";

void files_root(const char *directory)
{
    root = directory;
}

/* The path below the root; false if it is too long for any file that we look for. */
static bool path_make(char *path, size_t size, const char *format, va_list args)
{
    size_t used = (size_t)snprintf(path, size, "%s", root);
    if (used >= size)
        return false;
    int more = vsnprintf(path + used, size - used, format, args);
    return more >= 0 && (size_t)more < size - used;
}

static bool line_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool found = file && fgets(text, (int)size, file);
    if (file)
        fclose(file);
    if (!found)
        *text = '\0';
    text[strcspn(text, "\n")] = '\0';
    return found;
}

bool file_line(char *text, size_t size, const char *path_format, ...)
{
    char path[4096];
    va_list args;
    va_start(args, path_format);
    bool fits = path_make(path, sizeof(path), path_format, args);
    va_end(args);
    *text = '\0';
    return fits && line_read(path, text, size);
}

bool file_number(uint64_t *value, const char *path_format, ...)
{
    char path[4096], text[64], *end;
    va_list args;
    va_start(args, path_format);
    bool fits = path_make(path, sizeof(path), path_format, args);
    va_end(args);
    if (!fits || !line_read(path, text, sizeof(text)) || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return true;
}

bool file_exists(const char *path_format, ...)
{
    char path[4096];
    va_list args;
    va_start(args, path_format);
    bool fits = path_make(path, sizeof(path), path_format, args);
    va_end(args);
    return fits && access(path, F_OK) == 0;
}

/* What follows the key, blanks and a colon; NULL if the line is another's. */
static const char *field_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length;
    line += strspn(line, " \t");
    if (*line != ':')
        return NULL;
    line++;
    return line + strspn(line, " \t");
}

bool file_field(char *text, size_t size, const char *path, const char *key)
{
    char full[4096], line[4096];
    const char *value = NULL;
    *text = '\0';
    if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
        return false;
    FILE *file = fopen(full, "re");
    while (file && !value && fgets(line, sizeof(line), file))
        value = field_of(line, key);
    if (file)
        fclose(file);
    if (!value)
        return false;
    snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
    return true;
}

int list_count(const char *list, void (*each)(int number, void *arg), void *arg)
{
    int n = 0;
    while (*list >= '0' && *list <= '9') {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long number = first; number <= last; number++) {
            if (each)
                each((int)number, arg);
            n++;
        }
        list = end + (*end == ',');
    }
    return n;
}
