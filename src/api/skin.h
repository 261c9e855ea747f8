/*
 * skin.h - what the public functions are made of: the checks that all of one kind share, then one
 * call of the core. The typed functions are generated (gen.py) and only name their type.
 *
 * A void function of the standards cannot return a status: nvsi_check() does what NVS_ON_ERROR
 * says. For calls without a context ctx is the constant NULL and its check vanishes.
 */
#ifndef NVSI_SKIN_H
#define NVSI_SKIN_H

#include <limits.h>

#include "fast.h"

_Static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(void *) == 8,
               "the table of types in gen_table.py is that of LP64 machines");

#define NVSI_DTYPE_CHAR (CHAR_MIN < 0 ? NVSI_INT8 : NVSI_UINT8)

/* Symmetric memory is aligned to this, unless more is asked for. */
#define NVSI_MALLOC_ALIGN 64

/* shmem_x as another name of pshmem_x, which a program or a tool may define itself. */
#define NVSI_PROFILED(name) extern __typeof__(p##name) name __attribute__((weak, alias("p" #name)))

#define NVSI_CTX_INVALID ((struct nvsi_ctx *)-1)

NVSI_COLD void nvsi_skin_bad_ctx(const char *fn); /* skin_args.c */

NVSI_INLINE bool nvsi_skin_ctx(const struct nvsi_ctx *ctx, const char *fn)
{
    if (NVSI_LIKELY(ctx != NVSI_CTX_INVALID))
        return true;
    nvsi_skin_bad_ctx(fn);
    return false;
}

/* The status of a function of the standards that returns one. */
static inline int nvsi_skin_told(int status)
{
    return NVSI_UNLIKELY(status < 0) ? nvsi_tell(status) : status;
}

/* ---- pointers (skin_args.c) ------------------------------------------------------------------ */

/* False, after nvsi_check() of what is wrong, if the place for a result is NULL. */
NVSI_COLD void nvsi_skin_no_room(const char *fn, const char *what);
NVSI_INLINE bool nvsi_skin_out(const char *fn, const char *what, const void *ptr)
{
    if (NVSI_LIKELY(ptr != NULL))
        return true;
    nvsi_skin_no_room(fn, what);
    return false;
}

/* Whether nelems words of nbytes each at ptr are aligned and in this PE's symmetric memory. The
 * slow one finds out why not, calls nvsi_check() and returns false; ptr may be in static data. */
NVSI_COLD bool nvsi_skin_words_slow(const char *fn, const char *what, const volatile void *ptr,
                                    size_t nelems, size_t nbytes);
NVSI_INLINE bool nvsi_skin_words_ok(const char *fn, const char *what, const volatile void *ptr,
                                    size_t nelems, size_t nbytes)
{
    size_t offset = (size_t)((const volatile char *)ptr - nvsi.seg[NVSI_SEG_HEAP].base);
    if (NVSI_LIKELY(offset < nvsi.seg[NVSI_SEG_HEAP].size && offset % nbytes == 0 &&
                    nelems <= (nvsi.seg[NVSI_SEG_HEAP].size - offset) / nbytes && !nvsi.check))
        return true;
    return nvsi_skin_words_slow(fn, what, ptr, nelems, nbytes);
}

/* ---- put, get -------------------------------------------------------------------------------- */

NVSI_INLINE void nvsi_skin_put(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                               size_t nelems, size_t elem_bytes, int pe, bool nbi)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_put(ctx, fn, dst, src, nelems, elem_bytes, pe, nbi));
}

NVSI_INLINE void nvsi_skin_get(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                               size_t nelems, size_t elem_bytes, int pe, bool nbi)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_get(ctx, fn, dst, src, nelems, elem_bytes, pe, nbi));
}

NVSI_INLINE void nvsi_skin_p(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *value,
                             size_t elem_bytes, int pe)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_p(ctx, fn, dst, value, elem_bytes, pe));
}

static inline void nvsi_skin_iput(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                                  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
                                  size_t elem_bytes, int pe)
{
    struct nvsi_strided shape = {dst_stride, src_stride, nelems, elem_bytes};
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_iput(ctx, fn, dst, src, &shape, pe));
}

static inline void nvsi_skin_iget(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
                                  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
                                  size_t elem_bytes, int pe)
{
    struct nvsi_strided shape = {dst_stride, src_stride, nelems, elem_bytes};
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_iget(ctx, fn, dst, src, &shape, pe));
}

static inline void nvsi_skin_put_signal(struct nvsi_ctx *ctx, const char *fn, void *dst,
                                        const void *src, size_t nelems, size_t elem_bytes,
                                        uint64_t *sig, uint64_t value, int op, int pe)
{
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_put_signal(ctx, fn, dst, src, nelems, elem_bytes, sig, value, op, pe));
}

/* ---- atomics: words as bits, with and without a result --------------------------------------- */

#define NVSI_SKIN_AMO(bits)                                                                        \
    static inline void nvsi_skin_amo##bits(struct nvsi_ctx *ctx, const char *fn,                   \
                                           enum nvsi_amo_code code, void *word,                    \
                                           uint##bits##_t operand, uint##bits##_t compare, int pe) \
    {                                                                                              \
        if (nvsi_skin_ctx(ctx, fn))                                                                \
            nvsi_check(nvsi_amo##bits(ctx, fn, code, word, operand, compare, pe, NULL));           \
    }                                                                                              \
    static inline uint##bits##_t nvsi_skin_fetch##bits(                                            \
        struct nvsi_ctx *ctx, const char *fn, enum nvsi_amo_code code, const void *word,           \
        uint##bits##_t operand, uint##bits##_t compare, int pe)                                    \
    {                                                                                              \
        uint##bits##_t old = 0;                                                                    \
        if (nvsi_skin_ctx(ctx, fn))                                                                \
            nvsi_check(nvsi_amo##bits(ctx, fn, code, (void *)word, operand, compare, pe, &old));   \
        return old;                                                                                \
    }
NVSI_SKIN_AMO(32)
NVSI_SKIN_AMO(64)

static inline uint32_t nvsi_bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t nvsi_bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float nvsi_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double nvsi_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
