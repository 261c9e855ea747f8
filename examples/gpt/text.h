/*
 * text.h - the bytes to learn from.
 */
#ifndef GPT_TEXT_H
#define GPT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    unsigned char *bytes;
    size_t size;
};

/* Reads the named files, and for a folder the regular files in it, in sorted order; a file that is
 * reached twice (two names, a symbolic link) counts once. There must be at least min_size bytes.
 * Returns 0, or -1 with a sentence in `error`. */
int text_load(const char *const *paths, int npaths, size_t min_size, struct text *text, char *error,
              size_t error_size);
void text_free(struct text *text);

/* A number that differs for different texts (almost surely). */
uint64_t text_checksum(const struct text *text);

/* Copies sequence `index` of the global batch of `step`, and the same moved on by one byte. Depends
 * on nothing else, so that PEs need not talk to share out a batch. */
void text_draw(const struct text *text, uint64_t seed, long step, long index, int context,
               unsigned char *bytes, unsigned char *targets);

#endif
