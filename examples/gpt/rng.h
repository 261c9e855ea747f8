/*
 * rng.h - random numbers that depend on a key only.
 *
 * Number i of stream s is a hash of (seed, s, i). No state is carried along, so every PE can draw
 * exactly the numbers of its own share of the batch, and the global batch of a step is the same
 * however many PEs there are.
 */
#ifndef GPT_RNG_H
#define GPT_RNG_H

#include <math.h>
#include <stdint.h>

/* A bijection of 64-bit numbers that changes half of the bits, on average, for any change of input.
 */
static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t rng_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t x = rng_mix(seed + 0x9e3779b97f4a7c15u);
    x = rng_mix(x + stream * 0x9e3779b97f4a7c15u);
    return rng_mix(x + index * 0x9e3779b97f4a7c15u);
}

/* Uniform in [0, 1). */
static inline double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(rng_bits(seed, stream, index) >> 11) * 0x1p-53;
}

/* Normal with mean 0 and variance 1, by Box and Muller. */
static inline double rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    double u = rng_uniform(seed, stream, 2 * index), v = rng_uniform(seed, stream, 2 * index + 1);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

#endif
