/*
 * canary.c - bytes that nobody may write.
 */
#include "perf.h"

#include <string.h>

/* Eight bytes of canary; the number of the word is in them, so that moved bytes do not fit. */
static uint64_t canary(size_t word)
{
    return (word + 1) * 0x9e3779b97f4a7c15u;
}

/* Bytes of the word at `at` that lie before `to`; *skip of its bytes lie before `at`. */
static size_t canary_part(size_t at, size_t to, size_t *skip)
{
    *skip = at % 8;
    return to - at < 8 - *skip ? to - at : 8 - *skip;
}

void canary_fill(char *base, size_t from, size_t to)
{
    for (size_t at = from, n, skip; at < to; at += n) {
        uint64_t word = canary(at / 8);
        n = canary_part(at, to, &skip);
        memcpy(base + at, (char *)&word + skip, n);
    }
}

size_t canary_wrong(const char *base, size_t from, size_t to)
{
    size_t wrong = 0;
    for (size_t at = from, n, skip; at < to; at += n) {
        uint64_t word = canary(at / 8);
        n = canary_part(at, to, &skip);
        const char *is = base + at, *was = (char *)&word + skip;
        if (memcmp(is, was, n) != 0)
            for (size_t i = 0; i < n; i++)
                wrong += is[i] != was[i];
    }
    return wrong;
}
