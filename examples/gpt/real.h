/*
 * real.h - the number type of the model and how its hot loops reach the vector unit.
 *
 * The model is float32. The gradient check compiles the same sources with GPT_DOUBLE, so that
 * finite differences are accurate enough to judge every single derivative.
 *
 * Hot functions are written once, as `name_body`, and SIMD_FUNCTION compiles that body twice on
 * x86-64: for any processor and for AVX2 with FMA. Which one runs is decided at run time, so that
 * one binary works everywhere. Elsewhere (NEON is always there on 64-bit ARM) one version is
 * enough.
 */
#ifndef GPT_REAL_H
#define GPT_REAL_H

#include <math.h>
#include <string.h>

#ifdef GPT_DOUBLE
typedef double real;
#else
typedef float real;
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* linkage is static or extern; params and args stand in parentheses; the function returns void. */
#if defined(__x86_64__)
#define SIMD_FUNCTION(linkage, name, params, args)                                                 \
    static void name##_base params                                                                 \
    {                                                                                              \
        name##_body args;                                                                          \
    }                                                                                              \
    __attribute__((target("avx2,fma"))) static void name##_avx2 params                             \
    {                                                                                              \
        name##_body args;                                                                          \
    }                                                                                              \
    linkage void name params                                                                       \
    {                                                                                              \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                       \
            name##_avx2 args;                                                                      \
        else                                                                                       \
            name##_base args;                                                                      \
    }
#else
#define SIMD_FUNCTION(linkage, name, params, args)                                                 \
    linkage void name params                                                                       \
    {                                                                                              \
        name##_body args;                                                                          \
    }
#endif

#ifdef GPT_DOUBLE
static ALWAYS_INLINE real real_exp(real x)
{
    return exp(x);
}
static ALWAYS_INLINE real real_sqrt(real x)
{
    return sqrt(x);
}
#else
/*
 * e^x without a call or a branch, so that loops over it vectorise; libm's expf would cost a quarter
 * of the training time. x = n ln2 + r with |r| <= ln2 / 2: e^r by its Taylor series (relative error
 * below 3e-7), 2^n by writing the exponent bits. Adding and subtracting 1.5 * 2^23 rounds to an
 * integer. Arguments are clamped to where the result is a normal float.
 */
static ALWAYS_INLINE real real_exp(real x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln2 in two parts */
    float p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int bits = ((int)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}
static ALWAYS_INLINE real real_sqrt(real x)
{
    return sqrtf(x);
}
#endif

/* The largest of n >= 1 numbers. In eight lanes by hand, because without -ffast-math (NaN!)
 * compilers do not vectorise it. */
static ALWAYS_INLINE real real_max(const real *x, int n)
{
    real lane[8], top = x[0];
    int i = 0;
    for (int l = 0; l < 8; l++)
        lane[l] = top;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    for (; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (int l = 0; l < 8; l++)
        top = lane[l] > top ? lane[l] : top;
    return top;
}

#endif
