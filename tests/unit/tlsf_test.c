/*
 * tlsf_test.c - the offset allocator against a simple model.
 *
 * The model is an array with the owner of each granule, which sees every overlap and knows whether
 * a request could have fitted. Seeds are fixed: the test does the same on every run.
 */
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

static uint64_t random_state;

static uint64_t random_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t random_below(uint64_t n)
{
    return random_next() % n;
}

/* Small sizes are the most frequent ones, as in real programs. */
static uint64_t random_size(uint64_t largest)
{
    uint64_t bits = 1 + random_below(64 - (uint64_t)__builtin_clzll(largest));
    return random_below(UINT64_C(1) << bits) % (largest + 1);
}

static void check_sound(const struct nvsi_tlsf *tlsf, const char *when)
{
    const char *wrong = nvsi_tlsf_check(tlsf);
    CHECK(!wrong, "%s: %s", when, wrong);
}

static struct nvsi_tlsf_stats stats_of(const struct nvsi_tlsf *tlsf)
{
    struct nvsi_tlsf_stats stats;
    nvsi_tlsf_get_stats(tlsf, &stats);
    return stats;
}

static void check_empty(const struct nvsi_tlsf *tlsf, const char *when)
{
    struct nvsi_tlsf_stats stats = stats_of(tlsf);
    check_sound(tlsf, when);
    CHECK(stats.nblocks == 0 && stats.used == 0, "%s: %u blocks live", when, stats.nblocks);
    CHECK(stats.largest_free == stats.span, "%s: %" PRIu64 " of %" PRIu64 " in one piece", when,
          stats.largest_free, stats.span);
}

/* ---- the model ---- */

struct live {
    uint32_t id;
    uint64_t offset, nbytes;
};

struct model {
    struct nvsi_tlsf *tlsf;
    uint64_t ngranules;
    uint32_t *owner;   /* block number in each granule, or NOBODY */
    struct live *live; /* in no order */
    uint32_t nlive;
};

static struct model model_create(uint64_t span)
{
    struct model model = {.tlsf = nvsi_tlsf_create(span), .ngranules = span / GRANULE};
    model.owner = malloc(model.ngranules * sizeof(*model.owner));
    model.live = malloc(model.ngranules * sizeof(*model.live));
    if (!model.tlsf || !model.owner || !model.live)
        abort();
    memset(model.owner, 0xff, model.ngranules * sizeof(*model.owner));
    return model;
}

static void model_destroy(struct model *model)
{
    nvsi_tlsf_destroy(model->tlsf);
    free(model->owner);
    free(model->live);
}

static uint64_t granules(uint64_t nbytes)
{
    return nbytes ? (nbytes + GRANULE - 1) / GRANULE : 1;
}

/* Makes granules [start, start + count) change hands; false if one was not `from`'s. */
static bool model_hand_over(struct model *model, uint64_t start, uint64_t count, uint32_t from,
                            uint32_t to)
{
    if (start > model->ngranules || count > model->ngranules - start)
        return false;
    bool right = true;
    for (uint64_t g = start; g < start + count; g++) {
        right = right && model->owner[g] == from;
        model->owner[g] = to;
    }
    return right;
}

static bool model_could_fit(const struct model *model, uint64_t nbytes, uint64_t align)
{
    uint64_t step = align > GRANULE ? align / GRANULE : 1, run = 0;
    for (uint64_t g = model->ngranules; g-- > 0;) {
        run = model->owner[g] == NOBODY ? run + 1 : 0;
        if (run >= granules(nbytes) && g % step == 0)
            return true;
    }
    return false;
}

static void model_alloc(struct model *model, uint64_t nbytes, uint64_t align)
{
    struct live live = {.nbytes = nbytes};
    if (nvsi_tlsf_alloc(model->tlsf, nbytes, align, &live.offset, &live.id) != 0) {
        CHECK(!model_could_fit(model, nbytes, align),
              "%" PRIu64 " bytes at a multiple of %" PRIu64 " were refused", nbytes, align);
        return;
    }
    CHECK(live.offset % align == 0, "%" PRIu64 " is no multiple of %" PRIu64, live.offset, align);
    CHECK(model_hand_over(model, live.offset / GRANULE, granules(nbytes), NOBODY, live.id),
          "block %u at %" PRIu64 " overlaps another", live.id, live.offset);
    CHECK(nvsi_tlsf_size(model->tlsf, live.id) == nbytes, "size of block %u", live.id);
    CHECK(nvsi_tlsf_offset(model->tlsf, live.id) == live.offset, "offset of block %u", live.id);
    model->live[model->nlive++] = live;
}

static void model_release(struct model *model, uint32_t i)
{
    struct live live = model->live[i];
    uint32_t id = NOBODY;
    CHECK(nvsi_tlsf_find(model->tlsf, live.offset, &id) == 0 && id == live.id,
          "block %u is not found at %" PRIu64, live.id, live.offset);
    nvsi_tlsf_release(model->tlsf, live.id);
    CHECK(nvsi_tlsf_find(model->tlsf, live.offset, &id) != 0, "block %u is still found", live.id);
    CHECK(model_hand_over(model, live.offset / GRANULE, granules(live.nbytes), live.id, NOBODY),
          "block %u had lost a part", live.id);
    model->live[i] = model->live[--model->nlive];
}

static void model_resize(struct model *model, uint32_t i, uint64_t nbytes)
{
    struct live *live = &model->live[i];
    uint64_t old = granules(live->nbytes), new = granules(nbytes);
    uint64_t end = live->offset / GRANULE + old;
    uint64_t room = 0;
    while (end + room < model->ngranules && old + room < new && model->owner[end + room] == NOBODY)
        room++;
    int status = nvsi_tlsf_resize(model->tlsf, live->id, nbytes);
    CHECK(status == (old + room >= new ? 0 : -1), "resize from %" PRIu64 " to %" PRIu64 ": %d",
          live->nbytes, nbytes, status);
    CHECK(nvsi_tlsf_size(model->tlsf, live->id) == (status ? live->nbytes : nbytes), "size");
    CHECK(nvsi_tlsf_offset(model->tlsf, live->id) == live->offset, "a resize moved the block");
    if (status != 0)
        return;
    if (new > old)
        CHECK(model_hand_over(model, end, new - old, NOBODY, live->id), "grew into a block");
    else
        CHECK(model_hand_over(model, end - (old - new), old - new, live->id, NOBODY), "shrank");
    live->nbytes = nbytes;
}

/* Every offset of the range belongs to whom the model says. */
static void model_compare(const struct model *model)
{
    for (uint64_t g = 0; g < model->ngranules; g++) {
        uint32_t id = NOBODY;
        int status = nvsi_tlsf_block(model->tlsf, g * GRANULE + random_below(GRANULE), &id);
        CHECK(status == (model->owner[g] == NOBODY ? -1 : 0) && id == model->owner[g],
              "granule %" PRIu64 " belongs to %u, not %u", g, model->owner[g], id);
    }
}

static void test_random_against_model(void)
{
    struct model model = model_create(96 * 1024 + 17);
    random_state = 1;
    for (int i = 0; i < 60000; i++) {
        uint64_t what = random_below(10), nbytes = random_size(8000);
        uint64_t align = UINT64_C(1) << random_below(13);
        /* Phases of growth and of decline, so that the range runs full and empty. */
        if (what < (i / 2000 % 2 ? 4 : 6))
            model_alloc(&model, nbytes, align);
        else if (what < 8 && model.nlive)
            model_release(&model, (uint32_t)random_below(model.nlive));
        else if (model.nlive)
            model_resize(&model, (uint32_t)random_below(model.nlive), nbytes);
        if (i % 50 == 0)
            check_sound(model.tlsf, "random operations");
        if (i % 5000 == 0)
            model_compare(&model);
    }
    while (model.nlive)
        model_release(&model, (uint32_t)random_below(model.nlive));
    check_empty(model.tlsf, "after random operations");
    model_destroy(&model);
}

/* ---- two replicas ---- */

static void test_replicas_agree(void)
{
    enum { SLOTS = 500 };
    struct nvsi_tlsf *a = nvsi_tlsf_create(GIB), *b = nvsi_tlsf_create(GIB);
    struct live slots[SLOTS] = {0};
    bool taken[SLOTS] = {false};
    random_state = 2;
    for (int i = 0; i < 100000; i++) {
        uint32_t s = (uint32_t)random_below(SLOTS);
        uint64_t nbytes = random_size(16 * MIB), align = UINT64_C(1) << random_below(22);
        uint64_t other_offset = 0;
        uint32_t other_id = 0;
        if (!taken[s]) {
            int one = nvsi_tlsf_alloc(a, nbytes, align, &slots[s].offset, &slots[s].id);
            int two = nvsi_tlsf_alloc(b, nbytes, align, &other_offset, &other_id);
            taken[s] = one == 0;
            CHECK(one == two, "one replica refused %" PRIu64 " bytes", nbytes);
            CHECK(one || (other_offset == slots[s].offset && other_id == slots[s].id),
                  "replicas differ: %" PRIu64 ", %" PRIu64, slots[s].offset, other_offset);
        } else if (i % 4 == 0) {
            CHECK(nvsi_tlsf_resize(a, slots[s].id, nbytes) ==
                      nvsi_tlsf_resize(b, slots[s].id, nbytes),
                  "resize of block %u to %" PRIu64, slots[s].id, nbytes);
        } else {
            nvsi_tlsf_release(a, slots[s].id);
            nvsi_tlsf_release(b, slots[s].id);
            taken[s] = false;
        }
    }
    check_sound(a, "replica a");
    check_sound(b, "replica b");
    nvsi_tlsf_destroy(a);
    nvsi_tlsf_destroy(b);
}

/* ---- a million operations ---- */

/* How far up the range is ever used, over the bytes that were ever live at once, tells
 * fragmentation; block numbers must stay as dense as promised. */
static void test_million_operations(void)
{
    enum { SLOTS = 2000, OPERATIONS = 1000000 };
    struct nvsi_tlsf *tlsf = nvsi_tlsf_create(64 * GIB);
    static uint32_t ids[SLOTS];
    static bool taken[SLOTS];
    uint64_t top = 0, top_half = 0;
    uint32_t most = 0, highest_id = 0;
    random_state = 3;
    for (int i = 0; i < OPERATIONS; i++) {
        uint32_t s = (uint32_t)random_below(SLOTS);
        if (taken[s]) {
            nvsi_tlsf_release(tlsf, ids[s]);
            taken[s] = false;
            continue;
        }
        uint64_t nbytes = random_size(4 * MIB), offset = 0;
        int status = nvsi_tlsf_alloc(tlsf, nbytes, 64, &offset, &ids[s]);
        CHECK(status == 0, "%" PRIu64 " bytes were refused", nbytes);
        taken[s] = status == 0;
        top = offset + nbytes > top ? offset + nbytes : top;
        highest_id = ids[s] > highest_id ? ids[s] : highest_id;
        most = stats_of(tlsf).nblocks > most ? stats_of(tlsf).nblocks : most;
        if (i < OPERATIONS / 2)
            top_half = top;
    }
    uint64_t peak = stats_of(tlsf).peak;
    printf("million operations: peak %" PRIu64 " MiB, top %" PRIu64 " MiB, at half time %" PRIu64
           " MiB, %u blocks at most, highest number %u\n",
           peak / MIB, top / MIB, top_half / MIB, most, highest_id);
    CHECK(top < peak + peak / 2, "top of use %" PRIu64 ", peak %" PRIu64, top, peak);
    CHECK(top <= top_half + top_half / 10, "use creeps upwards: %" PRIu64, top);
    CHECK(highest_id < 2 * most + 2, "number %u for %u blocks", highest_id, most);
    for (uint32_t s = 0; s < SLOTS; s++) {
        if (taken[s])
            nvsi_tlsf_release(tlsf, ids[s]);
    }
    check_empty(tlsf, "after a million operations");
    nvsi_tlsf_destroy(tlsf);
}

/* ---- single cases ---- */

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
    test_random_against_model();
    test_replicas_agree();
    test_million_operations();
    return check_result();
}
