/*
 * copy.h - memcpy for large pieces, by a loop of our own.
 *
 * C libraries copy from a few KiB on with `rep movsb`, which AMD's Zen cores do 10 to 30 times more
 * slowly when dst lies 1 to 63 bytes behind src in its page. Private memory (which begins 16 bytes
 * behind a page) and symmetric memory (which begins with one) meet like that all the time.
 */
#ifndef NVSI_COPY_H
#define NVSI_COPY_H

#include <stddef.h>

/* Chooses the loop for this CPU; before that, and on others, it is memcpy. Idempotent; to be called
 * before threads exist. */
void nvsi_copy_setup(void);

/* Any size and alignment, no overlap. What does not fit the caches goes around them, with a fence.
 */
void nvsi_copy_large(void *dst, const void *src, size_t nbytes);

/* The same for what the caches should not keep, whatever its size; fenced on return. */
void nvsi_copy_stream(void *dst, const void *src, size_t nbytes);

#endif
