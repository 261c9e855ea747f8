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
#include <stdint.h>
#include <string.h>

/* Up to 16 bytes without a call: two words that overlap where the size is between. What has the
 * size of a word is stored whole. */
static inline __attribute__((always_inline)) void nvsi_copy_small(void *dst, const void *src,
                                                                  size_t nbytes)
{
    uint64_t low, high;
    uint32_t first, last;
    uint16_t left, right;
    char *to = dst;
    const char *from = src;
    if (nbytes > 16) {
        memcpy(dst, src, nbytes);
    } else if (nbytes >= 8) {
        memcpy(&low, from, 8);
        memcpy(&high, from + nbytes - 8, 8);
        memcpy(to, &low, 8);
        memcpy(to + nbytes - 8, &high, 8);
    } else if (nbytes >= 4) {
        memcpy(&first, from, 4);
        memcpy(&last, from + nbytes - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + nbytes - 4, &last, 4);
    } else if (nbytes >= 2) {
        memcpy(&left, from, 2);
        memcpy(&right, from + nbytes - 2, 2);
        memcpy(to, &left, 2);
        memcpy(to + nbytes - 2, &right, 2);
    } else if (nbytes) {
        *to = *from;
    }
}

/* Chooses the loop for this CPU; before that, and on others, it is memcpy. Idempotent; to be called
 * before threads exist. */
void nvsi_copy_setup(void);

/* Any size and alignment, no overlap. What does not fit the caches goes around them, with a fence.
 */
void nvsi_copy_large(void *dst, const void *src, size_t nbytes);

/* The same for what the caches should not keep, whatever its size; fenced on return. */
void nvsi_copy_stream(void *dst, const void *src, size_t nbytes);

#endif
