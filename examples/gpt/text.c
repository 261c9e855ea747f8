/*
 * text.c - reads text and draws training sequences from it.
 */
#define _POSIX_C_SOURCE 200809L
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rng.h"

enum { TEXT_MAX_FILES = 4096, STREAM_BATCH = 1u << 20 };

/* Everything that one load carries around. */
struct loader {
    struct text text;
    struct {
        dev_t device;
        ino_t inode;
    } seen[TEXT_MAX_FILES];
    int nseen;
    char *error;
    size_t error_size;
};

static int refuse(struct loader *loader, const char *path, const char *reason)
{
    snprintf(loader->error, loader->error_size, "--text '%s': %s", path, reason);
    return -1;
}

/* Whether this file is new; remembers it. */
static int file_remember(struct loader *loader, const struct stat *status)
{
    for (int i = 0; i < loader->nseen; i++)
        if (loader->seen[i].device == status->st_dev && loader->seen[i].inode == status->st_ino)
            return 0;
    if (loader->nseen < TEXT_MAX_FILES) {
        loader->seen[loader->nseen].device = status->st_dev;
        loader->seen[loader->nseen++].inode = status->st_ino;
    }
    return 1;
}

/* Appends up to `size` bytes of an open file. */
static int bytes_append(struct text *text, int fd, size_t size)
{
    unsigned char *bytes = realloc(text->bytes, text->size + size + 1);
    if (!bytes)
        return -1;
    text->bytes = bytes;
    while (size > 0) {
        ssize_t got = read(fd, bytes + text->size, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        text->size += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static int file_load(struct loader *loader, const char *path, const struct stat *status)
{
    if (!file_remember(loader, status))
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(loader, path, strerror(errno));
    int failed = bytes_append(&loader->text, fd, (size_t)status->st_size);
    int error = errno;
    close(fd);
    return failed ? refuse(loader, path, strerror(error)) : 0;
}

static int folder_load(struct loader *loader, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort), result = 0;
    if (count < 0)
        return refuse(loader, path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char name[4096];
        struct stat status;
        int length = snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (result == 0 && length < (int)sizeof(name) && stat(name, &status) == 0 &&
            S_ISREG(status.st_mode))
            result = file_load(loader, name, &status);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int path_load(struct loader *loader, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return refuse(loader, path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return folder_load(loader, path);
    if (!S_ISREG(status.st_mode))
        return refuse(loader, path, "neither a regular file nor a folder");
    return file_load(loader, path, &status);
}

static int size_check(struct loader *loader, const char *path, size_t min_size)
{
    char reason[128];
    if (loader->text.size >= min_size)
        return 0;
    snprintf(reason, sizeof(reason),
             "%zu bytes of text in all; at least %zu are needed (--context + 1)", loader->text.size,
             min_size);
    return refuse(loader, path, reason);
}

int text_load(const char *const *paths, int npaths, size_t min_size, struct text *text, char *error,
              size_t error_size)
{
    struct loader *loader = calloc(1, sizeof(*loader));
    if (!loader) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    loader->error = error;
    loader->error_size = error_size;
    int result = 0;
    for (int i = 0; i < npaths && result == 0; i++)
        result = path_load(loader, paths[i]);
    if (result == 0)
        result = size_check(loader, paths[npaths - 1], min_size);
    if (result == 0)
        *text = loader->text;
    else
        text_free(&loader->text);
    free(loader);
    return result;
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

uint64_t text_checksum(const struct text *text)
{
    uint64_t sum = text->size;
    for (size_t i = 0; i < text->size; i++)
        sum = (sum ^ text->bytes[i]) * 0x100000001b3u;
    return rng_mix(sum);
}

void text_draw(const struct text *text, uint64_t seed, long step, long index, int context,
               unsigned char *bytes, unsigned char *targets)
{
    size_t starts = text->size - (size_t)context;
    size_t start =
        (size_t)(rng_bits(seed, STREAM_BATCH + (uint64_t)step, (uint64_t)index) % starts);
    memcpy(bytes, text->bytes + start, (size_t)context);
    memcpy(targets, text->bytes + start + 1, (size_t)context);
}
