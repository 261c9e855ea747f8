/*
 * tlsf_long_test.c - long histories of the offset allocator: two replicas answer alike, and a
 * million calls neither fragment the range nor scatter the block numbers.
 */
#include "tlsf_help.h"

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

int main(void)
{
    test_replicas_agree();
    test_million_operations();
    return check_result();
}
