/*
 * tlsf_help.h - what the tests of the offset allocator share: random numbers from fixed seeds, so
 * that a test does the same on every run, and checks that the allocator is sound.
 */
#ifndef TESTS_UNIT_TLSF_HELP_H
#define TESTS_UNIT_TLSF_HELP_H

#include "check.h"
#include "util/tlsf.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GRANULE NVSI_TLSF_GRANULE
#define NOBODY UINT32_MAX
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A block that lives. */
struct live {
    uint32_t id;
    uint64_t offset, nbytes;
};

static uint64_t random_state;

static inline uint64_t random_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t n)
{
    return random_next() % n;
}

/* Small sizes are the most frequent ones, as in real programs. */
static inline uint64_t random_size(uint64_t largest)
{
    uint64_t bits = 1 + random_below(64 - (uint64_t)__builtin_clzll(largest));
    return random_below(UINT64_C(1) << bits) % (largest + 1);
}

static inline void check_sound(const struct nvsi_tlsf *tlsf, const char *when)
{
    const char *wrong = nvsi_tlsf_check(tlsf);
    CHECK(!wrong, "%s: %s", when, wrong);
}

static inline struct nvsi_tlsf_stats stats_of(const struct nvsi_tlsf *tlsf)
{
    struct nvsi_tlsf_stats stats;
    nvsi_tlsf_get_stats(tlsf, &stats);
    return stats;
}

static inline void check_empty(const struct nvsi_tlsf *tlsf, const char *when)
{
    struct nvsi_tlsf_stats stats = stats_of(tlsf);
    check_sound(tlsf, when);
    CHECK(stats.nblocks == 0 && stats.used == 0, "%s: %u blocks live", when, stats.nblocks);
    CHECK(stats.largest_free == stats.span, "%s: %" PRIu64 " of %" PRIu64 " in one piece", when,
          stats.largest_free, stats.span);
}

#endif
