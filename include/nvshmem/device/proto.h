/*
 * nvshmem/device/proto.h - how data and news travel between PEs: the protocols, without loops.
 *
 * Plain inline functions, compiled by nvcc into kernels and by the host compiler into the tests of
 * tests/unit/proto_*. Each does one step and never waits; who calls them loops, looks whether it is
 * worth waiting (prim.h), and knows which cell belongs to whom.
 *
 *   cells    16 bytes that arrive by themselves, at full bandwidth: no word of them is 0 once it
 *            has arrived (nvsd_cell_*)
 *   pairs    4 bytes of data beside a flag of 4 bytes, in one store of 8 (nvsd_pair_*)
 *   flags    a number that only grows says how far its writer has come (nvsd_flag_*, nvsd_mark_*)
 *   turns    two buffers in turn, and how far ahead a sender may be (nvsd_turn_*)
 *
 * Words
 *   round    one collective of a team, counted from 1 by each of its PEs for itself, in 64 bits
 *   empty    0, the state of new memory: nothing has arrived yet
 *
 * All memory is 0 before its first use, and everybody knows that of the others' (channel.h).
 */
#ifndef NVS_NVSHMEM_DEVICE_PROTO_H
#define NVS_NVSHMEM_DEVICE_PROTO_H

#include "nvshmem/device/prim.h"

/* ---- cells ----------------------------------------------------------------------------------- */

/*
 * A word is sent as word ^ NVSD_CELL_KEY, and 0 means that it has not arrived. The receiver polls
 * until no word is 0, takes them, and stores 0 for the next user of the cell. Nothing else is
 * needed: no flag, no fence, no second trip.
 *
 * Data may contain any word, also the one that becomes 0. It is sent as 1, and so is the one that
 * becomes 1; then a byte of the side table, which has one for each cell, tells them apart: bit 4
 * (always set) and bit k, whether word k was the one that becomes 1. A receiver that finds a 1
 * waits for the byte. The key is a number that no sensible data contains: each half of it is a NaN
 * of float16 and of bfloat16, the whole one is a NaN of float, and no small integer.
 *
 * Memory order. A word that is not 0 was stored by this round's sender, since the receiver emptied
 * the cell before (nvsd_turn_may_send() says why that is so) and every round stores it once. So it
 * does not matter in which order the words arrive, nor the byte: each says itself that it is there.
 * The data is the word; nothing else is published by it, so relaxed accesses suffice. That they are
 * whole is all that is asked of the machine: 4 bytes for the words, 1 for the byte. The receiver's
 * empty words come after its loads of the same cell, by the rule that all have for one word.
 */
#define NVSD_CELL_KEY 0xffb1ffd3u
#define NVSD_CELL_ESCAPED 0x10u

NVSD_FN struct nvsd_vec4 nvsd_vec4_xor(struct nvsd_vec4 a, uint32_t key)
{
    a.x ^= key, a.y ^= key, a.z ^= key, a.w ^= key;
    return a;
}

NVSD_FN struct nvsd_vec4 nvsd_vec4_zero(void)
{
    struct nvsd_vec4 zero = {0, 0, 0, 0};
    return zero;
}

/* A word as it is sent, and its bit in the byte. */
NVSD_FN uint32_t nvsd_cell_escape(uint32_t word, unsigned k, unsigned *byte)
{
    if (word > 1)
        return word;
    *byte |= NVSD_CELL_ESCAPED | word << k;
    return 1;
}

/* What travels; *byte is 0, or what has to be stored in the side table. */
NVSD_FN struct nvsd_vec4 nvsd_cell_seal(struct nvsd_vec4 data, unsigned *byte)
{
    struct nvsd_vec4 cell = nvsd_vec4_xor(data, NVSD_CELL_KEY);
    *byte = 0;
    if (cell.x <= 1 || cell.y <= 1 || cell.z <= 1 || cell.w <= 1) {
        cell.x = nvsd_cell_escape(cell.x, 0, byte);
        cell.y = nvsd_cell_escape(cell.y, 1, byte);
        cell.z = nvsd_cell_escape(cell.z, 2, byte);
        cell.w = nvsd_cell_escape(cell.w, 3, byte);
    }
    return cell;
}

/* Stores what nvsd_cell_seal() has made, to as many receivers as there are. */
NVSD_FN void nvsd_cell_store(struct nvsd_vec4 *cell, uint8_t *side, struct nvsd_vec4 sealed,
                             unsigned byte)
{
    nvsd_st_relaxed128(cell, sealed);
    if (byte)
        nvsd_st_relaxed8(side, (uint8_t)byte);
}

NVSD_FN void nvsd_cell_send(struct nvsd_vec4 *cell, uint8_t *side, struct nvsd_vec4 data)
{
    unsigned byte;
    struct nvsd_vec4 sealed = nvsd_cell_seal(data, &byte);
    nvsd_cell_store(cell, side, sealed, byte);
}

/* Whether all words have arrived. */
NVSD_FN int nvsd_cell_whole(struct nvsd_vec4 cell)
{
    return cell.x != 0 && cell.y != 0 && cell.z != 0 && cell.w != 0;
}

NVSD_FN int nvsd_cell_escaped(struct nvsd_vec4 cell)
{
    return cell.x == 1 || cell.y == 1 || cell.z == 1 || cell.w == 1;
}

/* Puts back what nvsd_cell_escape() has taken out. */
NVSD_FN struct nvsd_vec4 nvsd_cell_restore(struct nvsd_vec4 cell, unsigned byte)
{
    if (cell.x == 1)
        cell.x = byte & 1;
    if (cell.y == 1)
        cell.y = byte >> 1 & 1;
    if (cell.z == 1)
        cell.z = byte >> 2 & 1;
    if (cell.w == 1)
        cell.w = byte >> 3 & 1;
    return cell;
}

/* The second half of a reception: `arrived` has been loaded from the cell. If it is whole, empties
 * the cell, gives *data and returns 1; else 0, and the cell has to be loaded again. */
NVSD_FN int nvsd_cell_take(struct nvsd_vec4 *cell, uint8_t *side, struct nvsd_vec4 arrived,
                           struct nvsd_vec4 *data)
{
    if (!nvsd_cell_whole(arrived))
        return 0;
    if (nvsd_cell_escaped(arrived)) {
        unsigned byte = nvsd_ld_relaxed8(side);
        if (!byte)
            return 0;
        arrived = nvsd_cell_restore(arrived, byte);
        nvsd_st_relaxed8(side, 0);
    }
    nvsd_st_relaxed128(cell, nvsd_vec4_zero());
    *data = nvsd_vec4_xor(arrived, NVSD_CELL_KEY);
    return 1;
}

NVSD_FN int nvsd_cell_receive(struct nvsd_vec4 *cell, uint8_t *side, struct nvsd_vec4 *data)
{
    return nvsd_cell_take(cell, side, nvsd_ld_relaxed128(cell), data);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/*
 * Half the bandwidth of cells, but nothing to empty: data of another round has another flag. The
 * flag is the low half of the round's number; 0 is no flag, so rounds which would have it are left
 * out (nvsd_pair_round).
 *
 * Memory order: data and flag are one access of 8 bytes, so whoever sees the flag has the data.
 *
 * Wrap-around. The rounds on both sides of one that is left out have the same buffer (turns,
 * below), and a pair that no one has overwritten for 2^32 rounds would look new again. So when the
 * low half begins anew (nvsd_pair_wraps), each receiver stores 0 in all its pairs, and all members
 * pass a barrier before anybody sends: once in 2^32 rounds. The barrier's release and acquire order
 * the zeros before the next data.
 */

/* The number after `round` that has a flag. */
NVSD_FN uint64_t nvsd_pair_round(uint64_t round)
{
    round++;
    return (uint32_t)round ? round : round + 1;
}

/* Whether this round is the first with its flags: the pairs have to be emptied before. Not so for
 * the very first one, since new memory is empty. */
NVSD_FN int nvsd_pair_wraps(uint64_t round)
{
    return (uint32_t)round == 1 && round != 1;
}

NVSD_FN void nvsd_pair_send(uint64_t *pair, uint32_t data, uint64_t round)
{
    nvsd_st_relaxed64(pair, data | round << 32);
}

NVSD_FN int nvsd_pair_receive(const uint64_t *pair, uint32_t *data, uint64_t round)
{
    uint64_t arrived = nvsd_ld_relaxed64(pair);
    if ((uint32_t)(arrived >> 32) != (uint32_t)round)
        return 0;
    *data = (uint32_t)arrived;
    return 1;
}

/* Two pairs in one access, each of which arrives whole. */
NVSD_FN void nvsd_pair_send2(struct nvsd_vec4 *pairs, uint64_t data, uint64_t round)
{
    struct nvsd_vec4 both = {(uint32_t)data, (uint32_t)round, (uint32_t)(data >> 32),
                             (uint32_t)round};
    nvsd_st_relaxed128(pairs, both);
}

NVSD_FN int nvsd_pair_receive2(const struct nvsd_vec4 *pairs, uint64_t *data, uint64_t round)
{
    struct nvsd_vec4 both = nvsd_ld_relaxed128(pairs);
    if (both.y != (uint32_t)round || both.w != (uint32_t)round)
        return 0;
    *data = both.x | (uint64_t)both.z << 32;
    return 1;
}

/* ---- flags ----------------------------------------------------------------------------------- */

/*
 * A word with one writer, who stores growing numbers. Those of 32 bits wrap around, which is why
 * they are compared by their distance. That is right while a word is never 2^31 numbers behind what
 * it is compared with: every number must be stored in it. A word that is left out in some rounds
 * has 64 bits instead (nvsd_mark_*), which do not wrap around in the life of a machine.
 *
 * Memory order: the store is a release, the load an acquire. So all that the writer did or saw
 * before it comes before all that the reader does after it has seen the number or a later one (the
 * later one is a release, too, and comes after what came before the earlier one).
 *
 * A barrier: member i has one word for each member at each member. It stores the barrier's number
 * in its word at all, then waits until all its own words have reached that number. A member that is
 * already in the next barrier has stored a greater number, which says the same; it cannot be in the
 * one after that, which waits for us. So one word for each suffices, and nothing is reset.
 */
NVSD_FN int nvsd_flag_reached(uint32_t have, uint32_t want)
{
    return (int32_t)(have - want) >= 0;
}

NVSD_FN void nvsd_flag_post(uint32_t *flag, uint32_t number)
{
    nvsd_st_release32(flag, number);
}

NVSD_FN int nvsd_flag_test(const uint32_t *flag, uint32_t want)
{
    return nvsd_flag_reached(nvsd_ld_acquire32(flag), want);
}

NVSD_FN void nvsd_mark_post(uint64_t *mark, uint64_t number)
{
    nvsd_st_release64(mark, number);
}

NVSD_FN int nvsd_mark_test(const uint64_t *mark, uint64_t want)
{
    return nvsd_ld_acquire64(mark) >= want;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/*
 * Rounds use two buffers in turn. When may a PE send its data of round r to a member? When the
 * member has emptied the cells of round r - 2, or taken its pairs: when it is done with that round.
 *
 *   Rounds in which all send to all ("mutual"): who is done with round r - 1 has the data of all in
 *   that round, so all have begun it, so all are done with round r - 2. Nothing has to be asked.
 *
 *   Rounds with one sender ("rooted"): the root hears nothing from the others, and they nothing
 * from each other. So in a rooted round everybody tells everybody that it has begun it: a flag.
 * Before it sends in the round after a rooted one, a PE waits for the flags of those that it sends
 * to. So a root is never more than one round ahead of the slowest receiver.
 *
 * Memory order. The receiver's emptying of round r - 2 must come before the sender's store of round
 * r. In a rooted round the mark's release comes after the emptying, its acquire before the store.
 * In mutual rounds the news is data that is stored and loaded relaxed, but each round is a kernel
 * of its own, or is begun by a fence (nvsd_turn_fence): the emptying, the end of the receiver's
 * kernel, its data of round r - 1 - seen by the sender, whose kernel then ends - and the store of
 * round r. What a kernel did is visible to the whole system before the next kernel of its stream
 * begins, so the two ends are the release and the acquire.
 */
NVSD_FN unsigned nvsd_turn_buffer(uint64_t round)
{
    return (unsigned)(round & 1);
}

/* begun: the member's mark for rooted rounds that it has begun. */
NVSD_FN int nvsd_turn_may_send(uint64_t round, int last_was_rooted, const uint64_t *begun)
{
    return !last_was_rooted || nvsd_mark_test(begun, round - 1);
}

NVSD_FN void nvsd_turn_begin_rooted(uint64_t *begun, uint64_t round)
{
    nvsd_mark_post(begun, round);
}

/* Between two mutual rounds inside one kernel. */
NVSD_FN void nvsd_turn_fence(void)
{
    nvsd_fence_system();
}

#endif
