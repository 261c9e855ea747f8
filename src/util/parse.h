/*
 * parse.h - strict readers for what people type: configuration and command lines.
 *
 * A value is read whole or refused. Nothing is cut off, wrapped around, taken from the locale or
 * guessed, because a heap of 4 bytes instead of 4 GiB fails far from its cause. All return 0, or -1
 * and leave the result alone.
 */
#ifndef NVSI_UTIL_PARSE_H
#define NVSI_UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* "64", "1k", "1.5G", "2GiB", "512 MB": a decimal number, at most one blank, and k, m, g or t in
 * either case, with or without "b" or "ib", always in powers of 1024 as SHMEM_SYMMETRIC_SIZE wants
 * it. A part of a byte is rounded down. */
int nvsi_parse_size(const char *text, uint64_t *nbytes);

/* A decimal integer from min to max. */
int nvsi_parse_int(const char *text, long min, long max, long *value);

/* 0/1, no/yes, off/on, false/true in either case. */
int nvsi_parse_bool(const char *text, bool *value);

/* "60", "1.5", "500ms", "2m", "1h", "off": seconds unless a unit says otherwise. Off is 0; a time
 * above zero that is less than a millisecond is refused, since it would turn into off. */
int nvsi_parse_seconds(const char *text, int64_t *milliseconds);

/* Which of the words, separated by '|' in `choices` ("shm|chaos"), the text is, from 0; case does
 * not matter. */
int nvsi_parse_choice(const char *text, const char *choices, int *index);

/* The one of n words that `word` was probably meant to be, or NULL if none is close: up to one slip
 * in three letters (a letter wrong, missing, added, or two swapped), case does not matter. */
const char *nvsi_closest(const char *word, const char *const *words, int n);

#endif
