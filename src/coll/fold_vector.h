/*
 * fold_vector.h - what vector extensions cannot say, or compilers make slow, and each instruction
 * set says its own way: stores around the caches, and the conversions of 16-bit floats.
 *
 * For fold_kernels.inc.c only: what it gives depends on the compile options of the includer. Sizes
 * are compile-time constants, so that of each chain of ifs one branch is left, and the vectors that
 * go through memory here stay in registers.
 */
#ifndef NVSI_FOLD_VECTOR_H
#define NVSI_FOLD_VECTOR_H

#include "half.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif
#ifdef __aarch64__
#include <arm_neon.h>
#endif

#define FOLD_INLINE static inline __attribute__((always_inline))

/* dst is aligned to nbytes. A plain store where the target has no such instruction. */
FOLD_INLINE void store_around(void *dst, const void *src, size_t nbytes)
{
#ifdef __AVX512F__
    if (nbytes == 64) {
        _mm512_stream_si512(dst, _mm512_loadu_si512(src));
        return;
    }
#endif
#ifdef __AVX__
    if (nbytes == 32) {
        _mm256_stream_si256(dst, _mm256_loadu_si256(src));
        return;
    }
#endif
#ifdef __SSE2__
    if (nbytes == 16) {
        _mm_stream_si128(dst, _mm_loadu_si128(src));
        return;
    }
    if (nbytes == 8) {
        long long word;
        memcpy(&word, src, sizeof(word));
        _mm_stream_si64(dst, word);
        return;
    }
#endif
    memcpy(dst, src, nbytes);
}

/* Out of line: a loop of some twenty instructions a lane has no place inside every kernel. */
static __attribute__((noinline, unused)) void float16_widen_lanes(float *dst, const uint16_t *src,
                                                                  int lanes)
{
    for (int lane = 0; lane < lanes; lane++)
        dst[lane] = nvsi_half_to_float(src[lane]);
}

static __attribute__((noinline, unused)) void float16_round_lanes(uint16_t *dst, const float *src,
                                                                  int lanes)
{
    for (int lane = 0; lane < lanes; lane++)
        dst[lane] = nvsi_float_to_half(src[lane]);
}

/* The F16C instructions ignore the application's rounding and flush-to-zero modes, as half.h does,
 * and give the same bits, NaNs included. */
FOLD_INLINE void float16_widen(float *dst, const uint16_t *src, int lanes)
{
#ifdef __AVX512F__
    if (lanes == 16) {
        _mm512_storeu_ps(dst, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)src)));
        return;
    }
#endif
#ifdef __F16C__
    if (lanes == 8) {
        _mm256_storeu_ps(dst, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)src)));
        return;
    }
    if (lanes == 4) {
        _mm_storeu_ps(dst, _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)src)));
        return;
    }
    if (lanes == 1) {
        *dst = _cvtsh_ss(*src);
        return;
    }
#endif
#ifdef __aarch64__
    if (lanes == 4) {
        vst1q_f32(dst, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(src))));
        return;
    }
#endif
    float16_widen_lanes(dst, src, lanes);
}

FOLD_INLINE void float16_round(uint16_t *dst, const float *src, int lanes)
{
#ifdef __AVX512F__
    if (lanes == 16) {
        __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256((__m256i *)dst, halves);
        return;
    }
#endif
#ifdef __F16C__
    if (lanes == 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)dst, halves);
        return;
    }
    if (lanes == 4) {
        __m128i halves = _mm_cvtps_ph(_mm_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT);
        _mm_storel_epi64((__m128i *)dst, halves);
        return;
    }
    if (lanes == 1) {
        *dst = _cvtss_sh(*src, _MM_FROUND_TO_NEAREST_INT);
        return;
    }
#endif
#ifdef __aarch64__
    if (lanes == 4) {
        vst1_u16(dst, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src))));
        return;
    }
#endif
    float16_round_lanes(dst, src, lanes);
}

/* uint16 lanes to uint32 lanes. */
FOLD_INLINE void uint16_extend(void *dst, const void *src, int lanes)
{
#ifdef __AVX512F__
    if (lanes == 16) {
        _mm512_storeu_si512(dst, _mm512_cvtepu16_epi32(_mm256_loadu_si256(src)));
        return;
    }
#endif
#ifdef __AVX2__
    if (lanes == 8) {
        _mm256_storeu_si256(dst, _mm256_cvtepu16_epi32(_mm_loadu_si128(src)));
        return;
    }
#endif
#ifdef __SSE2__
    if (lanes == 4) {
        _mm_storeu_si128(dst, _mm_unpacklo_epi16(_mm_loadl_epi64(src), _mm_setzero_si128()));
        return;
    }
#endif
    for (int lane = 0; lane < lanes; lane++)
        ((uint32_t *)dst)[lane] = ((const uint16_t *)src)[lane];
}

/* The upper 16 bits of uint32 lanes. An arithmetic shift brings them into the range of int16, so
 * that the packing instructions, which saturate, change nothing. */
FOLD_INLINE void uint32_upper_halves(void *dst, const void *src, int lanes)
{
#ifdef __AVX512F__
    if (lanes == 16) {
        __m512i words = _mm512_srli_epi32(_mm512_loadu_si512(src), 16);
        _mm256_storeu_si256(dst, _mm512_cvtepi32_epi16(words));
        return;
    }
#endif
#ifdef __AVX2__
    if (lanes == 8) {
        __m256i words = _mm256_srai_epi32(_mm256_loadu_si256(src), 16);
        __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
        _mm_storeu_si128(dst, _mm_packs_epi32(low, high));
        return;
    }
#endif
#ifdef __SSE2__
    if (lanes == 4) {
        __m128i words = _mm_srai_epi32(_mm_loadu_si128(src), 16);
        _mm_storel_epi64(dst, _mm_packs_epi32(words, words));
        return;
    }
#endif
    for (int lane = 0; lane < lanes; lane++)
        ((uint16_t *)dst)[lane] = (uint16_t)(((const uint32_t *)src)[lane] >> 16);
}

#endif
