/*
 * tlsf_test.c - single cases of the offset allocator: joining, alignment, sizes, the whole range.
 */
#include "tlsf_help.h"

static void test_coalescing(void)
{
    enum { BLOCKS = 1024 };
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(MIB);
    uint32_t ids[BLOCKS], id = 0;
    uint64_t offset = 0;
    for (int i = 0; i < BLOCKS; i++)
        CHECK(nvsi_tlsf_alloc(tlsf, 1000, 1, &offset, &ids[i]) == 0, "block %d", i);
    CHECK(nvsi_tlsf_alloc(tlsf, 1, 1, &offset, &id) == -1, "the range is full");
    CHECK(stats_of(tlsf).used == MIB && stats_of(tlsf).largest_free == 0, "stats when full");
    for (int i = 0; i < BLOCKS; i += 2)
        nvsi_tlsf_release(tlsf, ids[i]);
    check_sound(tlsf, "every other block freed");
    CHECK(stats_of(tlsf).largest_free == 1024, "nothing to join yet");
    CHECK(nvsi_tlsf_alloc(tlsf, 1025, 1, &offset, &id) == -1, "no hole is that large");
    for (int i = 1; i < BLOCKS; i += 2)
        nvsi_tlsf_release(tlsf, ids[i]);
    check_empty(tlsf, "all freed");
    CHECK(stats_of(tlsf).peak == MIB, "peak");
    nvsi_tlsf_destroy(tlsf);
}

static void test_whole_range(uint64_t span, uint64_t align)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(span);
    uint64_t offset = 1, other = 12345;
    uint32_t id = 0, other_id = 54321;
    CHECK(nvsi_tlsf_alloc(tlsf, span, align, &offset, &id) == 0 && offset == 0,
          "a range of %" PRIu64 " bytes cannot be had in one piece", span);
    CHECK(nvsi_tlsf_alloc(tlsf, 0, 1, &other, &other_id) == -1, "a full range");
    CHECK(other == 12345 && other_id == 54321, "a failed call touched its results");
    nvsi_tlsf_release(tlsf, id);
    check_empty(tlsf, "whole range");
    nvsi_tlsf_destroy(tlsf);
}

static void test_alignment(void)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(4 * GIB);
    uint64_t offset = 0;
    uint32_t ids[31], id = 0;
    CHECK(nvsi_tlsf_alloc(tlsf, 1, 1, &offset, &id) == 0, "a first block");
    for (unsigned log = 0; log <= 30; log++) {
        CHECK(nvsi_tlsf_alloc(tlsf, 100, UINT64_C(1) << log, &offset, &ids[log]) == 0 &&
                  offset % (UINT64_C(1) << log) == 0,
              "multiple of 2^%u: %" PRIu64, log, offset);
        check_sound(tlsf, "alignment");
    }
    CHECK(nvsi_tlsf_alloc(tlsf, 1, 0, &offset, &id) == -1, "align 0");
    CHECK(nvsi_tlsf_alloc(tlsf, 1, 96, &offset, &id) == -1, "align 96");
    CHECK(nvsi_tlsf_alloc(tlsf, 1, 2 * GIB, &offset, &id) == -1, "align 2 GiB");
    for (unsigned log = 0; log <= 30; log++)
        nvsi_tlsf_release(tlsf, ids[log]);
    CHECK(stats_of(tlsf).nblocks == 1, "only the first block is left");
    nvsi_tlsf_destroy(tlsf);
}

/* Freed and asked for again, an aligned block gets its old place though neighbours are taken. */
static void test_aligned_reuse(void)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(GIB);
    uint64_t offset = 0, again = 0, barrier = 0;
    uint32_t id = 0, barrier_id = 0;
    nvsi_tlsf_alloc(tlsf, 10000, 4096, &offset, &id);
    nvsi_tlsf_alloc(tlsf, 64, 64, &barrier, &barrier_id);
    for (int i = 0; i < 100; i++) {
        nvsi_tlsf_release(tlsf, id);
        CHECK(nvsi_tlsf_alloc(tlsf, 10000, 4096, &again, &id) == 0 && again == offset,
              "moved to %" PRIu64, again);
    }
    nvsi_tlsf_destroy(tlsf);
}

static void test_zero_and_huge_sizes(void)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(MIB);
    uint64_t a = 0, b = 0, offset = 0;
    uint32_t a_id = 0, b_id = 0, id = 0;
    CHECK(nvsi_tlsf_alloc(tlsf, 0, 1, &a, &a_id) == 0, "size zero");
    CHECK(nvsi_tlsf_alloc(tlsf, 0, 1, &b, &b_id) == 0 && a != b, "two of size zero");
    CHECK(nvsi_tlsf_size(tlsf, a_id) == 0, "the size is kept");
    const uint64_t huge[] = {MIB + 1,         GIB,       UINT64_C(1) << 63, UINT64_MAX - 64,
                             UINT64_MAX - 63, UINT64_MAX};
    for (unsigned i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
        for (unsigned log = 0; log <= 30; log += 5) {
            int status = nvsi_tlsf_alloc(tlsf, huge[i], UINT64_C(1) << log, &offset, &id);
            CHECK(status == -1, "%" PRIu64 " bytes of a MiB", huge[i]);
        }
        CHECK(nvsi_tlsf_resize(tlsf, b_id, huge[i]) == -1, "resize to %" PRIu64, huge[i]);
    }
    check_sound(tlsf, "huge sizes");
    nvsi_tlsf_release(tlsf, a_id);
    nvsi_tlsf_release(tlsf, b_id);
    check_empty(tlsf, "huge sizes");
    nvsi_tlsf_destroy(tlsf);
}

static void test_empty_range(void)
{
    uint64_t offset = 0;
    uint32_t id = 0;
    for (uint64_t span = 0; span < GRANULE; span += 63) {
        struct nvsi_tlsf *tlsf = nvsi_tlsf_create(span);
        CHECK(nvsi_tlsf_alloc(tlsf, 0, 1, &offset, &id) == -1, "a range of %" PRIu64, span);
        CHECK(nvsi_tlsf_find(tlsf, 0, &id) == -1 && nvsi_tlsf_block(tlsf, 0, &id) == -1, "find");
        check_empty(tlsf, "empty range");
        nvsi_tlsf_destroy(tlsf);
    }
    nvsi_tlsf_destroy(NULL);
}

static void test_find(void)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(MIB);
    uint64_t offset = 0;
    uint32_t id = 0, found = NOBODY;
    nvsi_tlsf_alloc(tlsf, 64, 1, &offset, &found);
    nvsi_tlsf_alloc(tlsf, 100, 1, &offset, &id);
    CHECK(nvsi_tlsf_find(tlsf, offset, &found) == 0 && found == id, "the start");
    CHECK(nvsi_tlsf_find(tlsf, offset + 1, &found) == -1, "one byte in");
    CHECK(nvsi_tlsf_find(tlsf, offset + 64, &found) == -1, "one granule in");
    CHECK(nvsi_tlsf_find(tlsf, UINT64_MAX, &found) == -1, "far outside");
    found = NOBODY;
    CHECK(nvsi_tlsf_block(tlsf, offset + 99, &found) == 0 && found == id, "the last byte");
    CHECK(nvsi_tlsf_block(tlsf, offset + 128, &found) == -1, "behind it");
    CHECK(nvsi_tlsf_block(tlsf, UINT64_MAX, &found) == -1, "far outside");
    nvsi_tlsf_destroy(tlsf);
}

static void test_resize(void)
{
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(64 * 10);
    uint64_t a = 0, b = 0;
    uint32_t a_id = 0, b_id = 0;
    nvsi_tlsf_alloc(tlsf, 64, 1, &a, &a_id);
    nvsi_tlsf_alloc(tlsf, 64, 1, &b, &b_id);
    CHECK(nvsi_tlsf_resize(tlsf, a_id, 65) == -1, "a neighbour is in the way");
    CHECK(nvsi_tlsf_resize(tlsf, b_id, 64 * 9 + 1) == -1, "one byte too many");
    CHECK(nvsi_tlsf_resize(tlsf, b_id, 64 * 9) == 0, "up to the end");
    CHECK(stats_of(tlsf).largest_free == 0 && stats_of(tlsf).used == 640, "nothing is left");
    CHECK(nvsi_tlsf_resize(tlsf, b_id, 1) == 0, "shrink");
    CHECK(stats_of(tlsf).largest_free == 64 * 8, "the rest is free again");
    nvsi_tlsf_release(tlsf, a_id);
    CHECK(nvsi_tlsf_resize(tlsf, b_id, 64 * 10) == -1, "only grows upwards");
    CHECK(nvsi_tlsf_resize(tlsf, b_id, 0) == 0 && nvsi_tlsf_size(tlsf, b_id) == 0, "to zero");
    nvsi_tlsf_release(tlsf, b_id);
    check_empty(tlsf, "resize");
    nvsi_tlsf_destroy(tlsf);
}

int main(void)
{
    const uint64_t spans[] = {64, 64 * 31, 64 * 33, 1000 * 64, MIB, GIB, GIB + 64, 1000003 * 64};
    for (unsigned i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        test_whole_range(spans[i], 1);
        test_whole_range(spans[i], 2 * MIB);
    }
    test_whole_range(UINT64_MAX - 63, GIB);
    test_coalescing();
    test_alignment();
    test_aligned_reuse();
    test_zero_and_huge_sizes();
    test_empty_range();
    test_find();
    test_resize();
    return check_result();
}
