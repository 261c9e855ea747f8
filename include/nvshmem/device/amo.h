/*
 * nvshmem/device/amo.h - atomics on a peer's word, for kernels.
 *
 * The memory system that owns the word does them: of a word in device memory, that GPU's, whoever
 * asks, so that atomics of all kernels, streams and host calls on it are exact together. Relaxed at
 * system scope, as NVSHMEM's are: they order nothing else; fence and put_signal do. A word of the
 * host heap belongs to the CPUs, which a GPU's atomics would not exclude: such calls are refused,
 * except for fetch and set, which are one load and one store.
 */
#ifndef NVS_NVSHMEM_DEVICE_AMO_H
#define NVS_NVSHMEM_DEVICE_AMO_H

#include "nvshmem/device/rma.h"

/* Where a word is that will be changed by what was in it, if it is not near (core.h). */
NVSD_COLD void *nvsd_map_atomic(nvsd_self self, const char *what, void *word, unsigned nbytes,
                                int pe)
{
    void *at = nvsd_map_slow(self, what, word, nbytes, pe);
    if (!at || nvsd_in(self.heap, self.heap_bytes, word))
        return at;
    nvsd_report(self, NVSI_DEV_UNREACHABLE, what, pe, -1, (uint64_t)word, nbytes);
    return nullptr;
}

enum nvsd_amo { NVSD_AMO_ADD, NVSD_AMO_AND, NVSD_AMO_OR, NVSD_AMO_XOR, NVSD_AMO_SWAP };

NVSD_FN uint32_t nvsd_atomic(enum nvsd_amo amo, uint32_t *ptr, uint32_t operand)
{
    switch (amo) {
    case NVSD_AMO_ADD:
        return nvsd_atomic_add32(ptr, operand);
    case NVSD_AMO_AND:
        return nvsd_atomic_and32(ptr, operand);
    case NVSD_AMO_OR:
        return nvsd_atomic_or32(ptr, operand);
    case NVSD_AMO_XOR:
        return nvsd_atomic_xor32(ptr, operand);
    default:
        return nvsd_atomic_swap32(ptr, operand);
    }
}

NVSD_FN uint64_t nvsd_atomic(enum nvsd_amo amo, uint64_t *ptr, uint64_t operand)
{
    switch (amo) {
    case NVSD_AMO_ADD:
        return nvsd_atomic_add64(ptr, operand);
    case NVSD_AMO_AND:
        return nvsd_atomic_and64(ptr, operand);
    case NVSD_AMO_OR:
        return nvsd_atomic_or64(ptr, operand);
    case NVSD_AMO_XOR:
        return nvsd_atomic_xor64(ptr, operand);
    default:
        return nvsd_atomic_swap64(ptr, operand);
    }
}

/* Nothing comes back. There is no swap of this kind: nvsd_p stores. */
NVSD_FN void nvsd_red(enum nvsd_amo amo, uint32_t *ptr, uint32_t operand)
{
    switch (amo) {
    case NVSD_AMO_ADD:
        nvsd_red_add32(ptr, operand);
        break;
    case NVSD_AMO_AND:
        nvsd_red_and32(ptr, operand);
        break;
    case NVSD_AMO_OR:
        nvsd_red_or32(ptr, operand);
        break;
    default:
        nvsd_red_xor32(ptr, operand);
    }
}

NVSD_FN void nvsd_red(enum nvsd_amo amo, uint64_t *ptr, uint64_t operand)
{
    switch (amo) {
    case NVSD_AMO_ADD:
        nvsd_red_add64(ptr, operand);
        break;
    case NVSD_AMO_AND:
        nvsd_red_and64(ptr, operand);
        break;
    case NVSD_AMO_OR:
        nvsd_red_or64(ptr, operand);
        break;
    default:
        nvsd_red_xor64(ptr, operand);
    }
}

NVSD_FN uint32_t nvsd_atomic_cas(uint32_t *ptr, uint32_t compare, uint32_t value)
{
    return nvsd_atomic_cas32(ptr, compare, value);
}

NVSD_FN uint64_t nvsd_atomic_cas(uint64_t *ptr, uint64_t compare, uint64_t value)
{
    return nvsd_atomic_cas64(ptr, compare, value);
}

/* The value before; 0 if the call is refused. */
template <typename T>
NVSD_FN T nvsd_amo_op(nvsd_self self, enum nvsd_amo amo, const char *what, T *dst, T operand,
                      int pe)
{
    typedef typename nvsd_word<sizeof(T)>::type word;
    word bits = nvsd_cast_bits<word>(operand);
    if (NVSD_LIKELY(nvsd_is_near(self, dst, pe)))
        return nvsd_cast_bits<T>(nvsd_atomic(amo, (word *)nvsd_near(self, dst, pe), bits));
    word *at = (word *)nvsd_map_atomic(self, what, dst, sizeof(T), pe);
    return nvsd_cast_bits<T>(at ? nvsd_atomic(amo, at, bits) : (word)0);
}

/* Nothing comes back. */
template <typename T>
NVSD_FN void nvsd_amo_red(nvsd_self self, enum nvsd_amo amo, const char *what, T *dst, T operand,
                          int pe)
{
    typedef typename nvsd_word<sizeof(T)>::type word;
    word bits = nvsd_cast_bits<word>(operand);
    if (NVSD_LIKELY(nvsd_is_near(self, dst, pe))) {
        nvsd_red(amo, (word *)nvsd_near(self, dst, pe), bits);
        return;
    }
    word *at = (word *)nvsd_map_atomic(self, what, dst, sizeof(T), pe);
    if (at)
        nvsd_red(amo, at, bits);
}

template <typename T>
NVSD_FN T nvsd_amo_cswap(nvsd_self self, const char *what, T *dst, T compare, T value, int pe)
{
    typedef typename nvsd_word<sizeof(T)>::type word;
    word before = nvsd_cast_bits<word>(compare), bits = nvsd_cast_bits<word>(value);
    if (NVSD_LIKELY(nvsd_is_near(self, dst, pe)))
        return nvsd_cast_bits<T>(nvsd_atomic_cas((word *)nvsd_near(self, dst, pe), before, bits));
    word *at = (word *)nvsd_map_atomic(self, what, dst, sizeof(T), pe);
    return nvsd_cast_bits<T>(at ? nvsd_atomic_cas(at, before, bits) : (word)0);
}

#endif
