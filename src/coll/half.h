/*
 * half.h - 16-bit floats to and from float, with integer arithmetic only.
 *
 * Integers, because the result must not depend on the rounding or flush-to-zero mode that the
 * application runs in, and must be the bits that the F16C and NEON instructions give: rounding to
 * nearest even, exact denormals, and a NaN that stays a NaN: made quiet, keeping its sign and the
 * upper bits of its payload.
 */
#ifndef NVSI_HALF_H
#define NVSI_HALF_H

#include <stdint.h>
#include <string.h>

static inline float nvsi_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t nvsi_float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* IEEE binary16: 1 sign, 5 exponent, 10 fraction bits. */
static inline float nvsi_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t magnitude = half & 0x7fff;
    if (magnitude > 0x7c00) /* NaN: set the quiet bit */
        return nvsi_float_from_bits(sign | 0x7fc00000 | magnitude << 13);
    if (magnitude == 0x7c00)
        return nvsi_float_from_bits(sign | 0x7f800000);
    if (magnitude >= 0x0400) /* normal: rebias the exponent from 15 to 127 */
        return nvsi_float_from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
    if (magnitude == 0)
        return nvsi_float_from_bits(sign);
    /* Denormal, fraction * 2^-24: move the leading one to bit 23, where it adds to the exponent. */
    uint32_t shift = (uint32_t)__builtin_clz(magnitude) - 8;
    return nvsi_float_from_bits(sign | ((magnitude << shift) + ((125u - shift) << 23)));
}

static inline uint16_t nvsi_float_to_half(float value)
{
    uint32_t bits = nvsi_float_to_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) /* NaN */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* 65520, halfway from the largest half to the next: infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x33000000) /* below half of the least denormal */
        return (uint16_t)sign;
    uint32_t shift = 13; /* fraction bits that do not fit */
    if (magnitude >= 0x38800000) {
        magnitude -= (127u - 15u) << 23;
    } else { /* the result is denormal: the leading one becomes a fraction bit */
        shift = 126 - (magnitude >> 23);
        magnitude = (magnitude & 0x7fffff) | 0x800000;
    }
    /* Adding just under half of the last place, or half when that place is odd, rounds to even;
     * a carry into the exponent is the right result. */
    uint32_t odd = magnitude >> shift & 1;
    return (uint16_t)(sign | (magnitude + (1u << (shift - 1)) - 1 + odd) >> shift);
}

/* bfloat16: the upper half of a float. */
static inline float nvsi_bfloat_to_float(uint16_t bfloat)
{
    return nvsi_float_from_bits((uint32_t)bfloat << 16);
}

static inline uint16_t nvsi_float_to_bfloat(float value)
{
    uint32_t bits = nvsi_float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
