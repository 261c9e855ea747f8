/*
 * copy.c - see copy.h. Both loops store whole vectors to aligned addresses; the ragged ends are
 * vectors that overlap the loop's, loaded before it stores anything near them.
 */
#include "copy.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <immintrin.h>

enum { LINE_BYTES = 64, VECTOR_BYTES = 32, LOOP_BYTES = 4 * VECTOR_BYTES };

/* A last-level cache of this size keeps both sides of a copy half as large. */
static size_t cache_bytes = (size_t)32 << 20;

__attribute__((target("avx2"))) static inline void store4(char *dst, const char *src)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)src);
    __m256i b = _mm256_loadu_si256((const __m256i *)(src + 32));
    __m256i c = _mm256_loadu_si256((const __m256i *)(src + 64));
    __m256i d = _mm256_loadu_si256((const __m256i *)(src + 96));
    _mm256_store_si256((__m256i *)dst, a);
    _mm256_store_si256((__m256i *)(dst + 32), b);
    _mm256_store_si256((__m256i *)(dst + 64), c);
    _mm256_store_si256((__m256i *)(dst + 96), d);
}

/* nbytes >= LOOP_BYTES. */
__attribute__((target("avx2"))) static void copy_avx2(char *dst, const char *src, size_t nbytes)
{
    char *end = dst + nbytes;
    __m256i head = _mm256_loadu_si256((const __m256i *)src);
    __m256i tail = _mm256_loadu_si256((const __m256i *)(src + nbytes - VECTOR_BYTES));
    _mm256_storeu_si256((__m256i *)dst, head);
    size_t skip = VECTOR_BYTES - ((uintptr_t)dst & (VECTOR_BYTES - 1));
    dst += skip;
    src += skip;
    for (; (size_t)(end - dst) >= LOOP_BYTES; dst += LOOP_BYTES, src += LOOP_BYTES)
        store4(dst, src);
    for (; end - dst > VECTOR_BYTES; dst += VECTOR_BYTES, src += VECTOR_BYTES)
        _mm256_store_si256((__m256i *)dst, _mm256_loadu_si256((const __m256i *)src));
    _mm256_storeu_si256((__m256i *)(end - VECTOR_BYTES), tail);
}

static void (*copy_cached)(char *dst, const char *src, size_t nbytes);

void nvsi_copy_setup(void)
{
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes > 0)
        cache_bytes = (size_t)bytes;
    if (__builtin_cpu_supports("avx2"))
        copy_cached = copy_avx2;
}

void nvsi_copy_large(void *dst, const void *src, size_t nbytes)
{
    if (nbytes > cache_bytes / 4)
        nvsi_copy_stream(dst, src, nbytes);
    else if (copy_cached && nbytes >= LOOP_BYTES)
        copy_cached(dst, src, nbytes);
    else
        memcpy(dst, src, nbytes);
}

static void copy_line_stream(char *dst, const char *src)
{
    __m128i a = _mm_loadu_si128((const __m128i *)src);
    __m128i b = _mm_loadu_si128((const __m128i *)(src + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(src + 32));
    __m128i d = _mm_loadu_si128((const __m128i *)(src + 48));
    _mm_stream_si128((__m128i *)dst, a);
    _mm_stream_si128((__m128i *)(dst + 16), b);
    _mm_stream_si128((__m128i *)(dst + 32), c);
    _mm_stream_si128((__m128i *)(dst + 48), d);
}

/* Whole lines of dst, because a line that is streamed in part costs a read of it; 16-byte stores,
 * because write combining makes them as fast as wider ones. */
void nvsi_copy_stream(void *dst, const void *src, size_t nbytes)
{
    char *to = dst;
    const char *from = src;
    size_t head_bytes = -(uintptr_t)to & (LINE_BYTES - 1);

    if (nbytes < 2 * LINE_BYTES) {
        memcpy(dst, src, nbytes);
        return;
    }
    memcpy(to, from, head_bytes);
    to += head_bytes;
    from += head_bytes;
    nbytes -= head_bytes;
    for (; nbytes >= LINE_BYTES; nbytes -= LINE_BYTES) {
        copy_line_stream(to, from);
        to += LINE_BYTES;
        from += LINE_BYTES;
    }
    memcpy(to, from, nbytes);
    _mm_sfence();
}
#else
void nvsi_copy_setup(void) {}

void nvsi_copy_large(void *dst, const void *src, size_t nbytes)
{
    memcpy(dst, src, nbytes);
}

void nvsi_copy_stream(void *dst, const void *src, size_t nbytes)
{
    memcpy(dst, src, nbytes);
}
#endif
