/*
 * fast.h - the fast path: put, get, p, g and atomics on memory that is mapped here.
 *
 * Life of a put: the skin calls nvsi_put(); nvsi_map() turns the symmetric address into the peer's
 * copy as mapped here (two compares and an add), and the data is stored. No lock, no allocation, no
 * system call. Where the peer is not mapped (another host, or the chaos transport hides it), or an
 * argument is bad, nvsi_map() gives NULL and the *_slow function finds out which. Once this PE uses
 * a GPU, the local side may be its memory, and the slow functions look.
 *
 * After a store that somebody may wait for, nvsi_wake() looks at one word that nobody writes while
 * nobody sleeps. wait.c says why no fence is needed between the store and that look.
 */
#ifndef NVSI_FAST_H
#define NVSI_FAST_H

#include "nvs_internal.h"
#include "util/copy.h"

/* From this size a put or get is worth a flight record. */
#define NVSI_BULK_BYTES 4096

/* rma.c; op and pe are for the flight record. */
void nvsi_copy_bulk(void *dst, const void *src, size_t nbytes, enum nvsi_flight_op op, int pe);

/* World number of `pe` as given with a context; an out-of-range value stays out of range. */
NVSI_INLINE int nvsi_ctx_pe(const struct nvsi_ctx *ctx, int pe)
{
    if (NVSI_LIKELY(!ctx))
        return pe;
    return (unsigned)pe < (unsigned)ctx->team->npes ? ctx->team->pes[pe] : -1;
}

/* Where the symmetric range [sym, sym + nbytes) of PE pe is mapped here, or NULL. */
NVSI_INLINE void *nvsi_map(const void *sym, size_t nbytes, int pe)
{
    if (NVSI_UNLIKELY((unsigned)pe >= (unsigned)nvsi.npes))
        return NULL;
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)sym - nvsi.seg[s].base);
        if (NVSI_LIKELY(offset < nvsi.seg[s].size)) {
            char *base = nvsi.peers[pe].seg[s];
            if (NVSI_UNLIKELY(!base || nbytes > nvsi.seg[s].size - offset))
                return NULL;
            return base + offset;
        }
    }
    return NULL;
}

NVSI_INLINE void nvsi_wake(int pe)
{
    if (NVSI_UNLIKELY(atomic_load_explicit(&nvsi.job->nwatching, memory_order_relaxed)))
        nvsi_wake_watcher(pe);
}

/* After a store that members of a team wait for in a collective. */
NVSI_INLINE void nvsi_wake_team(const struct nvsi_team *team)
{
    if (NVSI_UNLIKELY(atomic_load_explicit(&nvsi.job->nawaiting, memory_order_relaxed) |
                      atomic_load_explicit(&nvsi.job->nwatching, memory_order_relaxed)))
        nvsi_wake_members(team);
}

NVSI_INLINE void nvsi_copy(void *dst, const void *src, size_t nbytes, enum nvsi_flight_op op,
                           int pe)
{
    if (NVSI_LIKELY(nbytes < NVSI_BULK_BYTES))
        nvsi_copy_small(dst, src, nbytes);
    else
        nvsi_copy_bulk(dst, src, nbytes, op, pe);
}

NVSI_INLINE int nvsi_put(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                         size_t nelems, size_t elem_bytes, int pe, bool nbi)
{
    size_t nbytes;
    int world_pe = nvsi_ctx_pe(ctx, pe);
    if (NVSI_LIKELY(!__builtin_mul_overflow(nelems, elem_bytes, &nbytes))) {
        void *mapped = nvsi_map(dst, nbytes, world_pe);
        if (NVSI_LIKELY(mapped && !nvsi.device)) {
            nvsi_copy(mapped, src, nbytes, NVSI_AT_PUT, world_pe);
            nvsi_wake(world_pe);
            return 0;
        }
    }
    return nvsi_put_slow(ctx, fn, dst, src, nelems, elem_bytes, pe, nbi);
}

NVSI_INLINE int nvsi_get(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                         size_t nelems, size_t elem_bytes, int pe, bool nbi)
{
    size_t nbytes;
    if (NVSI_LIKELY(!__builtin_mul_overflow(nelems, elem_bytes, &nbytes))) {
        int world_pe = nvsi_ctx_pe(ctx, pe);
        const void *mapped = nvsi_map(src, nbytes, world_pe);
        if (NVSI_LIKELY(mapped && !nvsi.device)) {
            nvsi_copy(dst, mapped, nbytes, NVSI_AT_GET, world_pe);
            return 0;
        }
    }
    return nvsi_get_slow(ctx, fn, dst, src, nelems, elem_bytes, pe, nbi);
}

/* One element, atomically written as far as the machine does so (naturally aligned, <= 8 bytes): a
 * waiting PE never sees half of it. */
NVSI_INLINE int nvsi_p(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *value,
                       size_t elem_bytes, int pe)
{
    int world_pe = nvsi_ctx_pe(ctx, pe);
    void *mapped = nvsi_map(dst, elem_bytes, world_pe);
    if (NVSI_UNLIKELY(!mapped))
        return nvsi_put_slow(ctx, fn, dst, value, 1, elem_bytes, pe, false);
    memcpy(mapped, value, elem_bytes); /* a constant size: one store */
    nvsi_wake(world_pe);
    return 0;
}

/* Atomics. Those that return a value are sequentially consistent, a set is a release store: on the
 * machines we know a locked instruction costs the same whatever the order asked for. old == NULL:
 * nobody needs the value before, so that a transport may complete the operation later. */
#define NVSI_AMO_FAST(bits)                                                                        \
    NVSI_INLINE int nvsi_amo##bits(struct nvsi_ctx *ctx, const char *fn, enum nvsi_amo_code code,  \
                                   void *dst, uint##bits##_t operand, uint##bits##_t compare,      \
                                   int pe, uint##bits##_t *old)                                    \
    {                                                                                              \
        int world_pe = nvsi_ctx_pe(ctx, pe);                                                       \
        uint##bits##_t *word = nvsi_map(dst, sizeof *word, world_pe);                              \
        if (NVSI_UNLIKELY(!word || (uintptr_t)word % sizeof *word)) {                              \
            uint64_t wide = 0;                                                                     \
            int status = nvsi_amo_slow(ctx, fn, code, dst, sizeof *word, operand, compare, pe,     \
                                       old ? &wide : NULL);                                        \
            if (old)                                                                               \
                *old = (uint##bits##_t)wide;                                                       \
            return status;                                                                         \
        }                                                                                          \
        uint##bits##_t before = nvsi_amo_word##bits(code, word, operand, compare);                 \
        if (old)                                                                                   \
            *old = before;                                                                         \
        if (code != NVSI_AMO_FETCH)                                                                \
            nvsi_wake(world_pe);                                                                   \
        return 0;                                                                                  \
    }

/* The operation itself on a mapped word; returns the value before it. `code` is a constant at every
 * call in the skins, so the switch vanishes. */
#define NVSI_AMO_WORD(bits)                                                                        \
    NVSI_INLINE uint##bits##_t nvsi_amo_word##bits(enum nvsi_amo_code code, uint##bits##_t *word,  \
                                                   uint##bits##_t operand, uint##bits##_t compare) \
    {                                                                                              \
        switch (code) {                                                                            \
        case NVSI_AMO_FETCH:                                                                       \
            return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                        \
        case NVSI_AMO_SET:                                                                         \
            __atomic_store_n(word, operand, __ATOMIC_RELEASE);                                     \
            return 0;                                                                              \
        case NVSI_AMO_ADD:                                                                         \
            return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);                            \
        case NVSI_AMO_AND:                                                                         \
            return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);                            \
        case NVSI_AMO_OR:                                                                          \
            return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);                             \
        case NVSI_AMO_XOR:                                                                         \
            return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);                            \
        case NVSI_AMO_SWAP:                                                                        \
            return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);                           \
        case NVSI_AMO_CSWAP:                                                                       \
            __atomic_compare_exchange_n(word, &compare, operand, 0, __ATOMIC_SEQ_CST,              \
                                        __ATOMIC_SEQ_CST);                                         \
            return compare;                                                                        \
        }                                                                                          \
        return 0;                                                                                  \
    }

NVSI_AMO_WORD(32)
NVSI_AMO_WORD(64)
NVSI_AMO_FAST(32)
NVSI_AMO_FAST(64)

#endif
