/*
 * copy_test.c - our own copy loops against memcpy: sizes around every border of theirs, all
 * alignments of both sides, and not a byte outside.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/util/copy.h"
#include "check.h"

enum { SLACK = 256, GUARD = 0xa5 };

static uint64_t state;

static size_t below(size_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % bound;
}

static bool untouched(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == GUARD)
        from++;
    return from == to;
}

static void check_copy(const char *name, void (*copy)(void *, const void *, size_t), size_t nbytes)
{
    size_t room = nbytes + 2 * SLACK, dst_at = below(SLACK), src_at = below(SLACK);
    unsigned char *dst = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    unsigned char *src = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    memset(dst, GUARD, room);
    for (size_t i = 0; i < room; i++)
        src[i] = (unsigned char)below(256);
    copy(dst + dst_at, src + src_at, nbytes);
    CHECK(memcmp(dst + dst_at, src + src_at, nbytes) == 0, "%s of %zu bytes, dst + %zu, src + %zu",
          name, nbytes, dst_at, src_at);
    CHECK(untouched(dst, dst + dst_at) && untouched(dst + dst_at + nbytes, dst + room),
          "%s of %zu bytes, dst + %zu: wrote outside", name, nbytes, dst_at);
    free(dst);
    free(src);
}

static void copy_small(void *dst, const void *src, size_t nbytes)
{
    nvsi_copy_small(dst, src, nbytes);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)state);
    for (int chosen = 0; chosen < 2; chosen++) { /* before and after the choice of a loop */
        for (size_t nbytes = 0; nbytes < 600; nbytes++) {
            check_copy("nvsi_copy_large", nvsi_copy_large, nbytes);
            check_copy("nvsi_copy_stream", nvsi_copy_stream, nbytes);
            check_copy("nvsi_copy_small", copy_small, nbytes % 40);
        }
        for (int round = 0; round < 300; round++) {
            check_copy("nvsi_copy_large", nvsi_copy_large, below(100000));
            check_copy("nvsi_copy_stream", nvsi_copy_stream, below(100000));
        }
        check_copy("nvsi_copy_large", nvsi_copy_large, ((size_t)40 << 20) + below(100));
        nvsi_copy_setup();
    }
    return check_result();
}
