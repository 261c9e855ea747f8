/*
 * proto_cells_test.c - cells and turns (nvshmem/device/proto.h): data arrives bit for bit, whatever
 * it is, in rounds that all send in and rounds that one sends in, in any mixture.
 *
 * What a sender may do is checked against what the receivers have really done (place->done), so a
 * sender that runs too far ahead is seen, also where the race would have gone well.
 */
#include "proto_run.h"

enum { ROUNDS = 120 };

/* A quarter of the words are those that cannot be sent as they are. */
static uint32_t word(uint64_t round, int from, int to, unsigned k)
{
    uint32_t kind = common_random(round * 31 + (uint64_t)from, (uint64_t)to * 1000 + k);
    switch (kind % 8) {
    case 0:
        return NVSD_CELL_KEY;
    case 1:
        return NVSD_CELL_KEY ^ 1;
    case 2:
        return 0;
    case 3:
        return 1;
    default:
        return common_random(kind, round);
    }
}

static struct nvsd_vec4 vector(uint64_t round, int from, int to, unsigned i)
{
    struct nvsd_vec4 data = {word(round, from, to, 4 * i), word(round, from, to, 4 * i + 1),
                             word(round, from, to, 4 * i + 2), word(round, from, to, 4 * i + 3)};
    return data;
}

static unsigned ncells(uint64_t round)
{
    return 1 + common_random(round, 5) % MAX_CELLS;
}

/* The root of a round, or -1: all send. Runs of each kind. */
static int root_of(const struct pe *pe, uint64_t round)
{
    uint32_t phase = common_random(round / 6, 9);
    return phase % 3 == 0 ? -1 : (int)(common_random(round / 3, 11) % (unsigned)pe->npes);
}

static void send(struct pe *pe, uint64_t round, int to)
{
    struct place *place = &pe->world->places[to];
    unsigned turn = nvsd_turn_buffer(round);
    uint64_t done = nvsd_ld_relaxed64(&place->done);
    if (done + 2 < round)
        pe_fail(pe, "sends although the receiver is only done with", round, done);
    for (unsigned i = 0; i < ncells(round); i++) {
        nvsd_cell_send(&place->cells[turn][pe->me][i], &place->sides[turn][pe->me][i],
                       vector(round, pe->me, to, i));
        pe_delay(pe);
    }
}

static void receive(struct pe *pe, uint64_t round, int from)
{
    struct place *place = &pe->world->places[pe->me];
    unsigned turn = nvsd_turn_buffer(round);
    for (unsigned i = 0; i < ncells(round); i++) {
        struct nvsd_vec4 data, want = vector(round, from, pe->me, i);
        unsigned rounds = 0;
        while (
            !nvsd_cell_receive(&place->cells[turn][from][i], &place->sides[turn][from][i], &data))
            if (!pe_wait(pe, &rounds, "waits for a cell", round))
                return;
        if (memcmp(&data, &want, sizeof data) != 0)
            pe_fail(pe, "wrong data in cell", round, i);
        pe_delay(pe);
    }
}

static void one_round(struct pe *pe, uint64_t round, bool last_was_rooted)
{
    int root = root_of(pe, round);
    struct place *place = &pe->world->places[pe->me];
    for (int i = 0; root >= 0 && i < pe->npes; i++)
        if (i != pe->me)
            nvsd_turn_begin_rooted(&pe->world->places[i].begun[pe->me], round);
    for (int i = 0; i < pe->npes && (root < 0 || root == pe->me); i++) {
        unsigned rounds = 0;
        while (i != pe->me && !nvsd_turn_may_send(round, last_was_rooted, &place->begun[i]))
            if (!pe_wait(pe, &rounds, "waits until it may send", round))
                return;
        if (i != pe->me)
            send(pe, round, i);
    }
    for (int i = 0; i < pe->npes; i++)
        if (i != pe->me && (root < 0 || root == i))
            receive(pe, round, i);
    nvsd_turn_fence();
    nvsd_st_relaxed64(&place->done, round);
}

static void scenario(struct pe *pe)
{
    bool rooted = false;
    for (uint64_t round = pe->first + 1; round <= pe->first + ROUNDS && !pe_over(pe); round++) {
        one_round(pe, round, rooted);
        rooted = root_of(pe, round) >= 0;
    }
}

/* Each pattern of escaped words, one cell. */
static void all_patterns(void)
{
    for (unsigned pattern = 0; pattern < 81; pattern++) {
        const uint32_t kinds[3] = {NVSD_CELL_KEY, NVSD_CELL_KEY ^ 1, 12345};
        struct nvsd_vec4 want = {kinds[pattern % 3], kinds[pattern / 3 % 3], kinds[pattern / 9 % 3],
                                 kinds[pattern / 27]};
        struct nvsd_vec4 cell = nvsd_vec4_zero(), data;
        uint8_t side = 0;
        CHECK(!nvsd_cell_receive(&cell, &side, &data), "pattern %u: empty", pattern);
        nvsd_cell_send(&cell, &side, want);
        CHECK(nvsd_cell_receive(&cell, &side, &data), "pattern %u: not there", pattern);
        CHECK(memcmp(&data, &want, sizeof data) == 0, "pattern %u", pattern);
        CHECK(!nvsd_cell_whole(cell) && !cell.x && !cell.w && !side, "pattern %u: not emptied",
              pattern);
    }
}

/* Words that arrive one by one, in any order, and the byte at any time. */
static void all_orders(void)
{
    struct nvsd_vec4 want = {NVSD_CELL_KEY, 7, NVSD_CELL_KEY ^ 1, 0}, data;
    unsigned byte;
    struct nvsd_vec4 sealed = nvsd_cell_seal(want, &byte);
    const uint32_t words[4] = {sealed.x, sealed.y, sealed.z, sealed.w};
    for (unsigned order = 0; order < 120; order++) {
        uint32_t cell[4] __attribute__((aligned(16))) = {0, 0, 0, 0};
        uint8_t side = 0;
        unsigned rest = order, left[5] = {0, 1, 2, 3, 4};
        for (unsigned n = 5; n > 0; rest /= n, n--) {
            CHECK(!nvsd_cell_receive((struct nvsd_vec4 *)(void *)cell, &side, &data),
                  "order %u: whole before everything has come", order);
            unsigned next = left[rest % n];
            left[rest % n] = left[n - 1];
            if (next == 4)
                side = (uint8_t)byte;
            else
                cell[next] = words[next];
        }
        CHECK(nvsd_cell_receive((struct nvsd_vec4 *)(void *)cell, &side, &data) &&
                  memcmp(&data, &want, sizeof data) == 0,
              "order %u", order);
    }
}

int main(void)
{
    const uint64_t firsts[] = {0, UINT32_MAX - (uint64_t)100, UINT64_C(3) << 31};
    all_patterns();
    all_orders();
    run_all("cells", scenario, firsts, 3, NULL);
    return check_result();
}
