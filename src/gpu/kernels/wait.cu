/*
 * wait.cu - waiting on a stream until words of this PE compare as wanted.
 *
 * Launch shape: one block, one thread for each element, more elements in turns.
 *
 * Memory order: words are polled relaxed, and a fence after the last one makes these loads acquires
 * for all that comes later in the stream.
 */
#include "kernel.h"

enum { WORD_16, WORD_U16, WORD_32, WORD_U32, WORD_64, WORD_U64 }; /* enum nvsi_word */
enum { CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE };

NVSD_FN unsigned word_bytes(uint32_t word)
{
    return word <= WORD_U16 ? 2 : word <= WORD_U32 ? 4 : 8;
}

/* A narrow word as 64 bits: with its sign, or without. */
NVSD_FN uint64_t word_extend(uint64_t bits, uint32_t word)
{
    switch (word) {
    case WORD_16:
        return (uint64_t)(int64_t)(int16_t)bits;
    case WORD_U16:
        return (uint16_t)bits;
    case WORD_32:
        return (uint64_t)(int64_t)(int32_t)bits;
    case WORD_U32:
        return (uint32_t)bits;
    default:
        return bits;
    }
}

NVSD_FN uint64_t word_load(uint64_t at, uint32_t word)
{
    uint64_t bits = word_bytes(word) == 2   ? nvsd_ld_relaxed16(nvsk_at<const uint16_t>(at))
                    : word_bytes(word) == 4 ? nvsd_ld_relaxed32(nvsk_at<const uint32_t>(at))
                                            : nvsd_ld_relaxed64(nvsk_at<const uint64_t>(at));
    return word_extend(bits, word);
}

NVSD_FN bool word_less(uint64_t a, uint64_t b, uint32_t word)
{
    return word == WORD_U64 ? a < b : (int64_t)a < (int64_t)b;
}

NVSD_FN bool compares(uint64_t have, int cmp, uint64_t want, uint32_t word)
{
    switch (cmp) {
    case CMP_EQ:
        return have == want;
    case CMP_NE:
        return have != want;
    case CMP_GT:
        return word_less(want, have, word);
    case CMP_LE:
        return !word_less(want, have, word);
    case CMP_LT:
        return word_less(have, want, word);
    default:
        return !word_less(have, want, word);
    }
}

NVSD_FN bool counts(const struct nvsk_wait_args &args, uint64_t i)
{
    if (!args.masked)
        return true;
    if (args.status)
        return nvsk_at<const int>(args.status)[i] == 0;
    return !(args.excluded[i / 8] >> i % 8 & 1);
}

NVSD_FN uint64_t wanted(const struct nvsk_wait_args &args, uint64_t i)
{
    if (!args.vector)
        return word_extend(args.value, args.word);
    uint64_t at = i * word_bytes(args.word), bits = 0;
    if (args.values)
        return word_load(args.values + at, args.word);
    for (unsigned k = 0; k < word_bytes(args.word); k++)
        bits |= (uint64_t)args.inlined[at + k] << 8 * k;
    return word_extend(bits, args.word);
}

/* False: the host has ended the wait. */
NVSD_FN bool await_word(const struct nvsk_wait_args &args, uint64_t i)
{
    uint64_t at = args.words + i * word_bytes(args.word), want = wanted(args, i);
    struct nvsk_wait wait = nvsk_wait_begin();
    for (;;) {
        uint64_t have = word_load(at, args.word);
        if (compares(have, args.cmp, want, args.word))
            break;
        struct nvsd_awaited awaited = {"wait_until", NVSI_DEV_WAIT_WORD, -1, -1, at, want};
        if (!nvsk_round(&wait, args.page, awaited, have)) {
            nvsk_gate_shut(args.gate);
            return false;
        }
    }
    nvsk_done(&wait, args.page);
    return true;
}

NVSD_KERNEL(nvsk_wait, struct nvsk_wait_args, args)
{
    for (uint64_t i = threadIdx.x; i < args.nelems; i += blockDim.x)
        if (counts(args, i) && !await_word(args, i))
            return;
    nvsd_fence_system();
}
