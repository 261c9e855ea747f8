/*
 * proto_pairs_test.c - pairs of data and flag, and flags (nvshmem/device/proto.h), with numbers
 * that wrap around at 2^32.
 *
 * Each PE sends as many pairs as the round says to all others. Before the wrap-around few are used;
 * behind them lie pairs from "2^32 rounds ago" with the flags that come after it, which must not be
 * taken for new ones.
 */
#include "proto_run.h"

enum { ROUNDS = 150, FEW = 8 };

static uint32_t word(uint64_t round, int from, int to, unsigned k)
{
    return common_random(round * 31 + (uint64_t)from, (uint64_t)to * 1000 + k);
}

static unsigned npairs(const struct pe *pe, uint64_t round)
{
    bool wrapped = round >> 32 != pe->first >> 32;
    return (1 + common_random(round, 5) % (wrapped ? MAX_PAIRS / 2 : FEW)) * 2;
}

static void barrier(struct pe *pe, uint32_t number)
{
    struct place *place = &pe->world->places[pe->me];
    for (int i = 0; i < pe->npes; i++) {
        if (i != pe->me)
            nvsd_flag_post(&pe->world->places[i].flags[pe->me], number);
        pe_delay(pe);
    }
    for (int i = 0; i < pe->npes; i++) {
        unsigned rounds = 0;
        while (i != pe->me && !nvsd_flag_test(&place->flags[i], number))
            if (!pe_wait(pe, &rounds, "waits in a barrier", number))
                return;
    }
}

/* Each PE stores ordinary data at the others before one barrier, and looks at its own between that
 * and the next. */
static void barriers(struct pe *pe)
{
    uint32_t number = (uint32_t)pe->first;
    for (int n = 0; n < ROUNDS && !pe_over(pe); n++) {
        for (int i = 0; i < pe->npes; i++)
            pe->world->places[i].plain[pe->me] = common_random(number, (uint64_t)pe->me);
        barrier(pe, number + 1);
        for (int i = 0; i < pe->npes && !pe_over(pe); i++)
            if (pe->world->places[pe->me].plain[i] != common_random(number, (uint64_t)i))
                pe_fail(pe, "a barrier ended before data was there, of PE", number, (uint64_t)i);
        barrier(pe, number + 2);
        number += 2;
    }
}

static void number_flags(struct world *world, int npes, uint64_t first)
{
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < npes; i++)
            world->places[pe].flags[i] = (uint32_t)first;
}

static void send(struct pe *pe, uint64_t round, int to)
{
    struct place *place = &pe->world->places[to];
    uint64_t *pairs = place->pairs[nvsd_turn_buffer(round)][pe->me];
    bool wide = common_random(round, 3) % 2;
    for (unsigned i = 0; i < npairs(pe, round); i += wide ? 2 : 1) {
        uint64_t data = word(round, pe->me, to, i);
        if (wide)
            nvsd_pair_send2((struct nvsd_vec4 *)(void *)&pairs[i],
                            data | (uint64_t)word(round, pe->me, to, i + 1) << 32, round);
        else
            nvsd_pair_send(&pairs[i], (uint32_t)data, round);
        pe_delay(pe);
    }
}

static void receive(struct pe *pe, uint64_t round, int from)
{
    uint64_t *pairs = pe->world->places[pe->me].pairs[nvsd_turn_buffer(round)][from];
    bool wide = common_random(round, 4) % 2;
    for (unsigned i = 0; i < npairs(pe, round); i += wide ? 2 : 1) {
        uint64_t both = 0;
        uint32_t one = 0;
        unsigned rounds = 0;
        while (wide ? !nvsd_pair_receive2((struct nvsd_vec4 *)(void *)&pairs[i], &both, round)
                    : !nvsd_pair_receive(&pairs[i], &one, round))
            if (!pe_wait(pe, &rounds, "waits for a pair", round))
                return;
        uint64_t want = word(round, from, pe->me, i);
        if (wide)
            want |= (uint64_t)word(round, from, pe->me, i + 1) << 32;
        if ((wide ? both : one) != want)
            pe_fail(pe, "wrong data in pair", round, i);
    }
}

static void wipe(struct pe *pe, uint32_t *barriers_done)
{
    struct place *place = &pe->world->places[pe->me];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < pe->npes; i++)
            for (int k = 0; k < MAX_PAIRS; k++)
                nvsd_st_relaxed64(&place->pairs[turn][i][k], 0);
    barrier(pe, ++*barriers_done);
}

static void pairs(struct pe *pe)
{
    uint64_t round = pe->first;
    uint32_t barriers_done = 0;
    for (int n = 0; n < ROUNDS && !pe_over(pe); n++) {
        round = nvsd_pair_round(round);
        if (nvsd_pair_wraps(round))
            wipe(pe, &barriers_done);
        for (int i = 0; i < pe->npes; i++)
            if (i != pe->me)
                send(pe, round, i);
        for (int i = 0; i < pe->npes; i++)
            if (i != pe->me)
                receive(pe, round, i);
        nvsd_turn_fence();
    }
}

/* Pairs of the rounds to come, from the lap before. */
static void leave_stale(struct world *world, int npes, uint64_t first)
{
    (void)first;
    for (int pe = 0; pe < npes; pe++)
        for (int turn = 0; turn < 2; turn++)
            for (int i = 0; i < npes; i++)
                for (unsigned k = 2 * FEW; k < MAX_PAIRS; k++) {
                    unsigned stale = 1 + (k * 7 + (unsigned)i) % 100;
                    stale += (stale & 1) != (unsigned)turn; /* of this buffer */
                    nvsd_pair_send(&world->places[pe].pairs[turn][i][k], 0xdead, stale);
                }
}

int main(void)
{
    const uint64_t early[] = {0}, late[] = {UINT32_MAX - (uint64_t)20, (UINT64_C(5) << 32) - 30};
    const uint64_t numbers[] = {0, UINT32_MAX - (uint64_t)99, (UINT64_C(1) << 31) - 100};
    CHECK(nvsd_pair_round(UINT32_MAX) == (UINT64_C(1) << 32) + 1, "a round without a flag");
    CHECK(nvsd_flag_reached(2, UINT32_MAX) && !nvsd_flag_reached(UINT32_MAX, 2), "wrap-around");
    run_all("pairs", pairs, early, 1, NULL);
    run_all("pairs with stale ones", pairs, late, 2, leave_stale);
    run_all("flags", barriers, numbers, 3, number_flags);
    return check_result();
}
