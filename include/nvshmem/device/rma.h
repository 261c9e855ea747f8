/*
 * nvshmem/device/rma.h - put, get, p, g, strided copies and signals, for kernels.
 *
 * A peer's memory is loaded and stored: nothing is queued, so a put has been issued, in the order
 * of the program, when the call returns, and the _nbi forms are the same functions.
 *
 * Memory order
 *   put, get      plain. What another thread may poll or store at the same time (the peer's side)
 *                 is accessed relaxed at system scope, so that no cache or compiler keeps an old
 *                 value; the caller's side is ordinary memory, of any kind that a pointer can name.
 *   scope         put_block and the like copy with all threads of the scope. They meet before, so
 *                 that src may have been written by any of them, and after, so that src may be
 *                 changed by any of them and that one thread's fence, signal or quiet then counts
 *                 for all: the barrier orders their stores before it, and fences are cumulative.
 *   p, signal     one relaxed store (or atomic) of the element, whole; no fence.
 *   put_signal    data, meeting of the scope, then one thread stores the signal with release: who
 *                 acquires the signal, as wait.h does, sees the data.
 *   fence         fence.acq_rel.sys: whoever sees what is stored after it sees what came before.
 *   quiet         fence.sc.sys: also completes them: no later load of this thread comes before.
 *
 * Copies go in the widest unit, up to 16 bytes, in which both addresses are aligned alike; the ends
 * in the powers of two that lead there, so an element that is aligned to its size is never torn.
 * Four loads are in flight for each thread. Loads never take the read-only path (ld.global.nc),
 * which may return what a peer has since overwritten.
 */
#ifndef NVS_NVSHMEM_DEVICE_RMA_H
#define NVS_NVSHMEM_DEVICE_RMA_H

#include "nvshmem/device/core.h"

#if !defined(__CUDACC_RTC__)
#include <string.h>
#endif

/* ---- one element ----------------------------------------------------------------------------- */

NVSD_FN uint8_t nvsd_load_shared(const uint8_t *ptr)
{
    return *(const volatile uint8_t *)ptr; /* in PTX volatile is relaxed at system scope */
}
NVSD_FN uint16_t nvsd_load_shared(const uint16_t *ptr)
{
    return *(const volatile uint16_t *)ptr;
}
NVSD_FN uint32_t nvsd_load_shared(const uint32_t *ptr)
{
    return nvsd_ld_relaxed32(ptr);
}
NVSD_FN uint64_t nvsd_load_shared(const uint64_t *ptr)
{
    return nvsd_ld_relaxed64(ptr);
}
NVSD_FN struct nvsd_vec4 nvsd_load_shared(const struct nvsd_vec4 *ptr)
{
    return nvsd_ld_relaxed128(ptr);
}
NVSD_FN void nvsd_store_shared(uint8_t *ptr, uint8_t value)
{
    *(volatile uint8_t *)ptr = value;
}
NVSD_FN void nvsd_store_shared(uint16_t *ptr, uint16_t value)
{
    *(volatile uint16_t *)ptr = value;
}
NVSD_FN void nvsd_store_shared(uint32_t *ptr, uint32_t value)
{
    nvsd_st_relaxed32(ptr, value);
}
NVSD_FN void nvsd_store_shared(uint64_t *ptr, uint64_t value)
{
    nvsd_st_relaxed64(ptr, value);
}
NVSD_FN void nvsd_store_shared(struct nvsd_vec4 *ptr, struct nvsd_vec4 value)
{
    nvsd_st_relaxed128(ptr, value);
}

template <size_t nbytes> struct nvsd_word;
template <> struct nvsd_word<1> {
    typedef uint8_t type;
};
template <> struct nvsd_word<2> {
    typedef uint16_t type;
};
template <> struct nvsd_word<4> {
    typedef uint32_t type;
};
template <> struct nvsd_word<8> {
    typedef uint64_t type;
};

template <> struct nvsd_word<16> {
    typedef struct nvsd_vec4 type;
};

template <typename To, typename From> NVSD_FN To nvsd_cast_bits(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy((void *)&to, (const void *)&from, sizeof to);
    return to;
}

template <typename T> NVSD_FN void nvsd_p(nvsd_self self, const char *what, T *dst, T value, int pe)
{
    typedef typename nvsd_word<sizeof(T)>::type word;
    if (NVSD_LIKELY(nvsd_is_near(self, dst, pe))) {
        nvsd_store_shared((word *)nvsd_near(self, dst, pe), nvsd_cast_bits<word>(value));
        return;
    }
    word *at = (word *)nvsd_map_slow(self, what, dst, sizeof(T), pe);
    if (at)
        nvsd_store_shared(at, nvsd_cast_bits<word>(value));
}

template <typename T> NVSD_FN T nvsd_g(nvsd_self self, const char *what, const T *src, int pe)
{
    typedef typename nvsd_word<sizeof(T)>::type word;
    if (NVSD_LIKELY(nvsd_is_near(self, src, pe)))
        return nvsd_cast_bits<T>(nvsd_load_shared((const word *)nvsd_near(self, src, pe)));
    const word *at = (const word *)nvsd_map_slow(self, what, src, sizeof(T), pe);
    return nvsd_cast_bits<T>(at ? nvsd_load_shared(at) : (word)0);
}

/* ---- many bytes ------------------------------------------------------------------------------ */

/* Which side of a copy is the peer's. */
enum nvsd_direction { NVSD_TO_PEER, NVSD_FROM_PEER };

template <enum nvsd_direction direction, typename W> NVSD_FN W nvsd_copy_load(const W *src)
{
    return direction == NVSD_FROM_PEER ? nvsd_load_shared(src) : *src;
}

template <enum nvsd_direction direction, typename W> NVSD_FN void nvsd_copy_store(W *dst, W value)
{
    if (direction == NVSD_TO_PEER)
        nvsd_store_shared(dst, value);
    else
        *dst = value;
}

/* `unroll` loads, then as many stores, while that many words are left for this thread. Returns
 * where it goes on. */
template <enum nvsd_direction direction, unsigned unroll, typename W>
NVSD_FN uint64_t nvsd_copy_rows(W *dst, const W *src, uint64_t i, uint64_t step, uint64_t nwords)
{
    W words[unroll];
    NVSD_NO_UNROLL
    for (; i + (unroll - 1) * step < nwords; i += unroll * step) {
        NVSD_UNROLL
        for (unsigned k = 0; k < unroll; k++)
            words[k] = nvsd_copy_load<direction>(src + i + k * step);
        NVSD_UNROLL
        for (unsigned k = 0; k < unroll; k++)
            nvsd_copy_store<direction>(dst + i + k * step, words[k]);
    }
    return i;
}

/* Words that all threads of a scope copy in turns: neighbouring threads, neighbouring words. */
template <enum nvsd_direction direction, unsigned unroll, typename W>
NVSD_FN void nvsd_copy_words(enum nvsd_scope scope, void *dst_bytes, const void *src_bytes,
                             uint64_t nwords)
{
    W *dst = (W *)dst_bytes;
    const W *src = (const W *)src_bytes;
    uint64_t step = nvsd_size(scope), i = nvsd_rank(scope);

    if (unroll > 4)
        i = nvsd_copy_rows<direction, unroll>(dst, src, i, step, nwords);
    i = nvsd_copy_rows<direction, 4>(dst, src, i, step, nwords);
    NVSD_NO_UNROLL
    for (; i < nwords; i += step)
        nvsd_copy_store<direction>(dst + i, nvsd_copy_load<direction>(src + i));
}

template <enum nvsd_direction direction, typename W>
NVSD_FN void nvsd_copy_one(void *dst, const void *src)
{
    nvsd_copy_store<direction>((W *)dst, nvsd_copy_load<direction>((const W *)src));
}

/* An end of less than 16 bytes: for each bit of nbytes one word of that size, the smallest first
 * (`up`: addresses become aligned) or last. By one thread each, where there are so many. */
template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy_end(enum nvsd_scope scope, char *dst, const char *src, unsigned nbytes,
                           bool up)
{
    unsigned me = nvsd_rank(scope), step = nvsd_size(scope);
    for (unsigned bit = 0; bit < 4; bit++) {
        unsigned word = 1u << bit;
        if (!(nbytes & word) || (step > 1 && me != bit % step))
            continue;
        unsigned offset = up ? nbytes & (word - 1) : nbytes & ~(2 * word - 1);
        switch (bit) {
        case 0:
            nvsd_copy_one<direction, uint8_t>(dst + offset, src + offset);
            break;
        case 1:
            nvsd_copy_one<direction, uint16_t>(dst + offset, src + offset);
            break;
        case 2:
            nvsd_copy_one<direction, uint32_t>(dst + offset, src + offset);
            break;
        default:
            nvsd_copy_one<direction, uint64_t>(dst + offset, src + offset);
        }
    }
}

/* Bytes that begin and end inside of one 16-byte unit, `at` bytes after its beginning: up to the
 * most aligned address between, then down. */
template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy_inside(enum nvsd_scope scope, char *dst, const char *src, unsigned at,
                              unsigned nbytes)
{
    unsigned end = at + nbytes, unlike = at ^ end, top = 0;
    if (nbytes == 0)
        return;
    while (unlike >> top > 1)
        top++;
    unsigned up = (end & ~((1u << top) - 1)) - at;
    nvsd_copy_end<direction>(scope, dst, src, up, true);
    nvsd_copy_end<direction>(scope, dst + up, src + up, nbytes - up, false);
}

template <enum nvsd_direction direction, typename W>
NVSD_FN void nvsd_copy_aligned_alike(enum nvsd_scope scope, char *dst, const char *src,
                                     uint64_t nbytes)
{
    uint64_t head = -(uint64_t)dst & (sizeof(W) - 1);
    if (head > nbytes) {
        nvsd_copy_inside<direction>(scope, dst, src, (unsigned)((uint64_t)dst & (sizeof(W) - 1)),
                                    (unsigned)nbytes);
        return;
    }
    if (head) {
        nvsd_copy_end<direction>(scope, dst, src, (unsigned)head, true);
        dst += head, src += head, nbytes -= head;
    }
    nvsd_copy_words<direction, 4, W>(scope, dst, src, nbytes / sizeof(W));
    unsigned tail = (unsigned)(nbytes & (sizeof(W) - 1));
    if (tail) {
        uint64_t body = nbytes - tail;
        nvsd_copy_end<direction>(scope, dst + body, src + body, tail, false);
    }
}

/* Any addresses and size. Not inlined, since it is long: what is aligned does not come here. */
template <enum nvsd_direction direction, enum nvsd_scope scope>
NVSD_OUT_OF_LINE void nvsd_copy_any(char *dst, const char *src, uint64_t nbytes)
{
    uint64_t unlike = ((uint64_t)dst ^ (uint64_t)src) & 15;
    if (unlike == 0)
        nvsd_copy_aligned_alike<direction, struct nvsd_vec4>(scope, dst, src, nbytes);
    else if ((unlike & 7) == 0)
        nvsd_copy_aligned_alike<direction, uint64_t>(scope, dst, src, nbytes);
    else if ((unlike & 3) == 0)
        nvsd_copy_aligned_alike<direction, uint32_t>(scope, dst, src, nbytes);
    else if ((unlike & 1) == 0)
        nvsd_copy_aligned_alike<direction, uint16_t>(scope, dst, src, nbytes);
    else
        nvsd_copy_aligned_alike<direction, uint8_t>(scope, dst, src, nbytes);
}

template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy_unaligned(enum nvsd_scope scope, void *dst, const void *src, uint64_t nbytes)
{
    char *to = (char *)dst;
    const char *from = (const char *)src;
    if (scope == NVSD_THREAD)
        nvsd_copy_any<direction, NVSD_THREAD>(to, from, nbytes);
    else if (scope == NVSD_WARP)
        nvsd_copy_any<direction, NVSD_WARP>(to, from, nbytes);
    else if (scope == NVSD_WARPGROUP)
        nvsd_copy_any<direction, NVSD_WARPGROUP>(to, from, nbytes);
    else
        nvsd_copy_any<direction, NVSD_BLOCK>(to, from, nbytes);
}

/* Whole vectors; a thread or warp has more loads in flight for each thread. */
template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy_vectors(enum nvsd_scope scope, void *dst, const void *src, uint64_t count)
{
    if (scope == NVSD_THREAD || scope == NVSD_WARP)
        nvsd_copy_words<direction, 8, struct nvsd_vec4>(scope, dst, src, count);
    else
        nvsd_copy_words<direction, 4, struct nvsd_vec4>(scope, dst, src, count);
}

/* Without the meetings of the scope. Inlined are whole vectors and one word. */
template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy(enum nvsd_scope scope, void *dst, const void *src, uint64_t nbytes)
{
    unsigned low = (unsigned)((uint64_t)dst | (uint64_t)src);
    if (nbytes >= 16 && low % 16 == 0) {
        nvsd_copy_vectors<direction>(scope, dst, src, nbytes / 16);
        unsigned tail = (unsigned)(nbytes % 16);
        uint64_t body = nbytes - tail;
        if (tail)
            nvsd_copy_unaligned<direction>(scope, (char *)dst + body, (const char *)src + body,
                                           tail);
    } else if (nbytes == 8 && low % 8 == 0) {
        if (nvsd_rank(scope) == 0)
            nvsd_copy_one<direction, uint64_t>(dst, src);
    } else if (nbytes == 4 && low % 4 == 0) {
        if (nvsd_rank(scope) == 0)
            nvsd_copy_one<direction, uint32_t>(dst, src);
    } else {
        nvsd_copy_unaligned<direction>(scope, dst, src, nbytes);
    }
}

NVSD_FN void nvsd_put(nvsd_self self, enum nvsd_scope scope, const char *what, void *dst,
                      const void *src, uint64_t nbytes, int pe)
{
    char *at = (char *)nvsd_map(self, what, dst, nbytes, pe);
    nvsd_sync(scope);
    if (NVSD_LIKELY(at))
        nvsd_copy<NVSD_TO_PEER>(scope, at, src, nbytes);
    nvsd_sync(scope);
}

NVSD_FN void nvsd_get(nvsd_self self, enum nvsd_scope scope, const char *what, void *dst,
                      const void *src, uint64_t nbytes, int pe)
{
    const char *at = (const char *)nvsd_map(self, what, src, nbytes, pe);
    nvsd_sync(scope);
    if (NVSD_LIKELY(at))
        nvsd_copy<NVSD_FROM_PEER>(scope, dst, at, nbytes);
    nvsd_sync(scope);
}

/* ---- strided --------------------------------------------------------------------------------- */

template <enum nvsd_direction direction, typename W>
NVSD_FN void nvsd_copy_strided(enum nvsd_scope scope, void *dst, const void *src,
                               ptrdiff_t dst_stride, ptrdiff_t src_stride, uint64_t nelems,
                               unsigned words)
{
    for (uint64_t i = nvsd_rank(scope); i < nelems; i += nvsd_size(scope)) {
        W *to = (W *)dst + (int64_t)i * dst_stride * words;
        const W *from = (const W *)src + (int64_t)i * src_stride * words;
        for (unsigned w = 0; w < words; w++)
            nvsd_copy_one<direction, W>(to + w, from + w);
    }
}

/* Strides count in elements and may be negative. Elements that are not aligned to their size go in
 * pieces that are. */
template <enum nvsd_direction direction>
NVSD_FN void nvsd_copy_elements(enum nvsd_scope scope, void *dst, const void *src,
                                ptrdiff_t dst_stride, ptrdiff_t src_stride, uint64_t nelems,
                                unsigned elem_bytes)
{
    unsigned bits = (unsigned)(((uint64_t)dst | (uint64_t)src | elem_bytes) & 31);
    if ((bits & 15) == 0)
        nvsd_copy_strided<direction, struct nvsd_vec4>(scope, dst, src, dst_stride, src_stride,
                                                       nelems, elem_bytes / 16);
    else if ((bits & 7) == 0)
        nvsd_copy_strided<direction, uint64_t>(scope, dst, src, dst_stride, src_stride, nelems,
                                               elem_bytes / 8);
    else if ((bits & 3) == 0)
        nvsd_copy_strided<direction, uint32_t>(scope, dst, src, dst_stride, src_stride, nelems,
                                               elem_bytes / 4);
    else if ((bits & 1) == 0)
        nvsd_copy_strided<direction, uint16_t>(scope, dst, src, dst_stride, src_stride, nelems,
                                               elem_bytes / 2);
    else
        nvsd_copy_strided<direction, uint8_t>(scope, dst, src, dst_stride, src_stride, nelems,
                                              elem_bytes);
}

/* Bytes from the first element's beginning on that strided elements reach; of a negative stride,
 * the first one's only. */
NVSD_FN uint64_t nvsd_span(ptrdiff_t stride, uint64_t nelems, unsigned elem_bytes)
{
    if (nelems == 0)
        return 0;
    return stride > 0 ? ((nelems - 1) * (uint64_t)stride + 1) * elem_bytes : elem_bytes;
}

NVSD_FN void nvsd_iput(nvsd_self self, enum nvsd_scope scope, const char *what, void *dst,
                       const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride, uint64_t nelems,
                       unsigned elem_bytes, int pe)
{
    void *at = nvsd_map(self, what, dst, nvsd_span(dst_stride, nelems, elem_bytes), pe);
    nvsd_sync(scope);
    if (NVSD_LIKELY(at))
        nvsd_copy_elements<NVSD_TO_PEER>(scope, at, src, dst_stride, src_stride, nelems,
                                         elem_bytes);
    nvsd_sync(scope);
}

NVSD_FN void nvsd_iget(nvsd_self self, enum nvsd_scope scope, const char *what, void *dst,
                       const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride, uint64_t nelems,
                       unsigned elem_bytes, int pe)
{
    const void *at = nvsd_map(self, what, src, nvsd_span(src_stride, nelems, elem_bytes), pe);
    nvsd_sync(scope);
    if (NVSD_LIKELY(at))
        nvsd_copy_elements<NVSD_FROM_PEER>(scope, dst, at, dst_stride, src_stride, nelems,
                                           elem_bytes);
    nvsd_sync(scope);
}

/* ---- signals --------------------------------------------------------------------------------- */

enum { NVSD_SIGNAL_SET = 9, NVSD_SIGNAL_ADD = 10 }; /* NVSHMEM's values */

NVSD_COLD void nvsd_bad_signal(nvsd_self self, const char *what, int sig_op, int pe)
{
    nvsd_report(self, NVSI_DEV_BAD_ARGUMENT, what, pe, -1, (uint64_t)(int64_t)sig_op, 0);
}

NVSD_FN void nvsd_signal(nvsd_self self, const char *what, uint64_t *sig, uint64_t value,
                         int sig_op, int pe)
{
    uint64_t *at = (uint64_t *)nvsd_map(self, what, sig, sizeof *sig, pe);
    if (!at)
        return;
    if (sig_op == NVSD_SIGNAL_SET)
        nvsd_st_relaxed64(at, value);
    else if (sig_op == NVSD_SIGNAL_ADD)
        nvsd_red_add64(at, value);
    else
        nvsd_bad_signal(self, what, sig_op, pe);
}

NVSD_FN void nvsd_put_signal(nvsd_self self, enum nvsd_scope scope, const char *what, void *dst,
                             const void *src, uint64_t nbytes, uint64_t *sig, uint64_t value,
                             int sig_op, int pe)
{
    char *at = (char *)nvsd_map(self, what, dst, nbytes, pe);
    uint64_t *sig_at = (uint64_t *)nvsd_map(self, what, sig, sizeof *sig, pe);
    bool good = at && sig_at;
    nvsd_sync(scope);
    if (NVSD_LIKELY(good))
        nvsd_copy<NVSD_TO_PEER>(scope, at, src, nbytes);
    nvsd_sync(scope);
    if (!good || nvsd_rank(scope) != 0)
        return;
    if (sig_op == NVSD_SIGNAL_SET)
        nvsd_st_release64(sig_at, value);
    else if (sig_op == NVSD_SIGNAL_ADD)
        nvsd_add_release64(sig_at, value);
    else
        nvsd_bad_signal(self, what, sig_op, pe);
}

/* ---- order ----------------------------------------------------------------------------------- */

NVSD_FN void nvsd_fence(enum nvsd_scope scope)
{
    nvsd_sync(scope);
    nvsd_fence_system();
    nvsd_sync(scope);
}

NVSD_FN void nvsd_quiet(enum nvsd_scope scope)
{
    nvsd_sync(scope);
    nvsd_fence_full();
    nvsd_sync(scope);
}

#endif
