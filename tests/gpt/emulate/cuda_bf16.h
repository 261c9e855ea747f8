/*
 * cuda_bf16.h - CUDA's bfloat16, as far as examples/gpt uses it: the upper half of a float, rounded
 * to nearest, ties to even.
 */
#ifndef GPT_EMULATE_CUDA_BF16_H
#define GPT_EMULATE_CUDA_BF16_H

#include <stdint.h>
#include <string.h>

struct __nv_bfloat16 {
    uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (x != x)
        return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#endif
