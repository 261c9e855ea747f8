/*
 * nvshmem/device/fold.h - the arithmetic of reductions in kernels: 16 bytes of elements at a time.
 *
 * The rules are those of the host's folds, and so are the bits: a strict left fold in the order of
 * the PEs; integers wrap around; float16 and bfloat16 are folded in float and rounded once, at the
 * end; min keeps the left value unless the right one is less, max likewise; avg divides the sum
 * once, integers towards zero. One thing differs: where the result is a NaN, its sign and payload
 * are the hardware's.
 *
 * Instructions are spelled out where the compiler could choose: neither -use_fast_math nor -fmad of
 * the application's compile may change a bit. long double does not exist on GPUs.
 *
 *     struct nvsd_fold_acc acc[U];                   U vectors are folded alike: the switch over
 *     nvsd_fold_begin<U>(code, acc, first);          type and operator is paid once for them, and
 *     nvsd_fold_next<U>(code, acc, next);            not at all where the code is a constant
 *     nvsd_fold_end<U>(code, npes, acc, result);
 */
#ifndef NVS_NVSHMEM_DEVICE_FOLD_H
#define NVS_NVSHMEM_DEVICE_FOLD_H

#include "nvshmem/device/prim.h"

#if !defined(__CUDA_ARCH__)
#include <string.h>
#endif

/* The values of the host's enum nvsi_dtype and enum nvsi_op. */
enum nvsd_dtype {
    NVSD_INT8 = 0,
    NVSD_UINT8 = 1,
    NVSD_INT32 = 2,
    NVSD_UINT32 = 3,
    NVSD_INT64 = 4,
    NVSD_UINT64 = 5,
    NVSD_FLOAT16 = 6,
    NVSD_FLOAT32 = 7,
    NVSD_FLOAT64 = 8,
    NVSD_BFLOAT16 = 9,
    NVSD_INT16 = 10,
    NVSD_UINT16 = 11,
    NVSD_COMPLEXF = 13,
    NVSD_COMPLEXD = 14
};
enum nvsd_op {
    NVSD_SUM = 0,
    NVSD_PROD = 1,
    NVSD_MAX = 2,
    NVSD_MIN = 3,
    NVSD_AVG = 4,
    NVSD_AND = 5,
    NVSD_OR = 6,
    NVSD_XOR = 7
};
#define NVSD_FOLD(dtype, op) ((unsigned)(dtype) << 3 | (unsigned)(op))

#ifdef __cplusplus /* C has the names alone */

/* A vector while it is folded: its words, or its eight halves as floats. */
struct nvsd_fold_acc {
    uint32_t w[8];
};

/* ---- one lane -------------------------------------------------------------------------------- */

NVSD_FN uint64_t nvsd_join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

#if defined(__CUDA_ARCH__)

NVSD_FN float nvsd_float(uint32_t bits)
{
    return __uint_as_float(bits);
}
NVSD_FN uint32_t nvsd_bits(float value)
{
    return __float_as_uint(value);
}
NVSD_FN double nvsd_double(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}
NVSD_FN uint64_t nvsd_bits(double value)
{
    return (uint64_t)__double_as_longlong(value);
}
#define NVSD_ARITHMETIC_(name, instruction, type, reg)                                             \
    NVSD_FN type name(type a, type b)                                                              \
    {                                                                                              \
        type result;                                                                               \
        asm(instruction " %0, %1, %2;" : "=" reg(result) : reg(a), reg(b));                        \
        return result;                                                                             \
    }
NVSD_ARITHMETIC_(nvsd_add, "add.rn.f32", float, "f")
NVSD_ARITHMETIC_(nvsd_add, "add.rn.f64", double, "d")
NVSD_ARITHMETIC_(nvsd_mul, "mul.rn.f32", float, "f")
NVSD_ARITHMETIC_(nvsd_mul, "mul.rn.f64", double, "d")
NVSD_ARITHMETIC_(nvsd_div, "div.rn.f32", float, "f")
NVSD_ARITHMETIC_(nvsd_div, "div.rn.f64", double, "d")
#undef NVSD_ARITHMETIC_

/* Comparisons, which fast math would have take denormals for zeros. */
NVSD_FN bool nvsd_less(float a, float b)
{
    int less;
    asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
        : "=r"(less)
        : "f"(a), "f"(b));
    return less != 0;
}
NVSD_FN bool nvsd_less(double a, double b)
{
    return a < b;
}

NVSD_FN float nvsd_half_widen(uint32_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)half));
    return value;
}
/* Two floats to the halves of a word, to nearest even. */
NVSD_FN uint32_t nvsd_half_round2(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
NVSD_FN uint32_t nvsd_bfloat_round2(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

#else /* the host compiler: compile with -ffp-contract=off */

NVSD_FN float nvsd_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
NVSD_FN uint32_t nvsd_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
NVSD_FN double nvsd_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
NVSD_FN uint64_t nvsd_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
#define NVSD_ARITHMETIC_(name, type, operator)                                                     \
    NVSD_FN type name(type a, type b)                                                              \
    {                                                                                              \
        return a operator b;                                                                       \
    }
NVSD_ARITHMETIC_(nvsd_add, float, +)
NVSD_ARITHMETIC_(nvsd_add, double, +)
NVSD_ARITHMETIC_(nvsd_mul, float, *)
NVSD_ARITHMETIC_(nvsd_mul, double, *)
NVSD_ARITHMETIC_(nvsd_div, float, /)
NVSD_ARITHMETIC_(nvsd_div, double, /)
#undef NVSD_ARITHMETIC_
NVSD_FN bool nvsd_less(float a, float b)
{
    return a < b;
}
NVSD_FN bool nvsd_less(double a, double b)
{
    return a < b;
}

/* Halves by multiplication with powers of two, which is exact; a NaN keeps its payload. */
NVSD_FN float nvsd_half_widen(uint32_t half)
{
    uint32_t sign = (half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude > 0x7c00)
        return nvsd_float(sign | 0x7fc00000 | magnitude << 13);
    if (magnitude == 0x7c00)
        return nvsd_float(sign | 0x7f800000);
    /* As a float with the half's exponent: 2^112 times too small, also where it is a denormal. */
    return nvsd_float(sign | nvsd_bits(nvsd_float(magnitude << 13) * nvsd_float(0x77800000)));
}
NVSD_FN uint32_t nvsd_half_round(float value)
{
    uint32_t bits = nvsd_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
    if (magnitude >= 0x477ff000) /* halfway from the largest half to the next */
        return sign | 0x7c00;
    if (magnitude < 0x38800000) /* a denormal half: the sum's last place is 2^-24 */
        return sign | (nvsd_bits(nvsd_float(magnitude) + 0.5f) - nvsd_bits(0.5f));
    magnitude -= 112u << 23;
    return sign | (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13;
}
NVSD_FN uint32_t nvsd_half_round2(float low, float high)
{
    return nvsd_half_round(low) | nvsd_half_round(high) << 16;
}
NVSD_FN uint32_t nvsd_bfloat_round(float value)
{
    uint32_t bits = nvsd_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
NVSD_FN uint32_t nvsd_bfloat_round2(float low, float high)
{
    return nvsd_bfloat_round(low) | nvsd_bfloat_round(high) << 16;
}

#endif

/* The half in the lower 16 bits of a word. */
NVSD_FN float nvsd_widen(bool bfloat, uint32_t half)
{
    return bfloat ? nvsd_float(half << 16) : nvsd_half_widen(half & 0xffff);
}

/* ---- what a code means ----------------------------------------------------------------------- */

NVSD_FN unsigned nvsd_fold_dtype(unsigned code)
{
    return code >> 3;
}
NVSD_FN unsigned nvsd_fold_op(unsigned code)
{
    return code & 7;
}
NVSD_FN bool nvsd_fold_is_half(unsigned code)
{
    return nvsd_fold_dtype(code) == NVSD_FLOAT16 || nvsd_fold_dtype(code) == NVSD_BFLOAT16;
}
NVSD_FN bool nvsd_fold_is_bfloat(unsigned code)
{
    return nvsd_fold_dtype(code) == NVSD_BFLOAT16;
}
/* min and max compare halves as floats, but keep them as they are. */
NVSD_FN bool nvsd_fold_picks(unsigned code)
{
    return nvsd_fold_op(code) == NVSD_MAX || nvsd_fold_op(code) == NVSD_MIN;
}
NVSD_FN bool nvsd_fold_is_wide(unsigned code)
{
    return nvsd_fold_is_half(code) && !nvsd_fold_picks(code);
}

/* ---- walks over the lanes of a vector -------------------------------------------------------- */

template <unsigned U, class Combine>
NVSD_FN void nvsd_fold_words(struct nvsd_fold_acc (&acc)[U], const struct nvsd_vec4 (&next)[U],
                             Combine combine)
{
    NVSD_UNROLL
    for (unsigned u = 0; u < U; u++) {
        acc[u].w[0] = combine(acc[u].w[0], next[u].x);
        acc[u].w[1] = combine(acc[u].w[1], next[u].y);
        acc[u].w[2] = combine(acc[u].w[2], next[u].z);
        acc[u].w[3] = combine(acc[u].w[3], next[u].w);
    }
}

template <unsigned U, class Combine>
NVSD_FN void nvsd_fold_longs(struct nvsd_fold_acc (&acc)[U], const struct nvsd_vec4 (&next)[U],
                             Combine combine)
{
    NVSD_UNROLL
    for (unsigned u = 0; u < U; u++) {
        uint64_t low =
            combine(nvsd_join(acc[u].w[0], acc[u].w[1]), nvsd_join(next[u].x, next[u].y));
        uint64_t high =
            combine(nvsd_join(acc[u].w[2], acc[u].w[3]), nvsd_join(next[u].z, next[u].w));
        acc[u].w[0] = (uint32_t)low, acc[u].w[1] = (uint32_t)(low >> 32);
        acc[u].w[2] = (uint32_t)high, acc[u].w[3] = (uint32_t)(high >> 32);
    }
}

template <unsigned U, class Combine>
NVSD_FN void nvsd_fold_floats(struct nvsd_fold_acc (&acc)[U], const struct nvsd_vec4 (&next)[U],
                              Combine combine)
{
    nvsd_fold_words<U>(acc, next, [=](uint32_t a, uint32_t b) {
        return nvsd_bits(combine(nvsd_float(a), nvsd_float(b)));
    });
}

template <unsigned U, class Combine>
NVSD_FN void nvsd_fold_doubles(struct nvsd_fold_acc (&acc)[U], const struct nvsd_vec4 (&next)[U],
                               Combine combine)
{
    nvsd_fold_longs<U>(acc, next, [=](uint64_t a, uint64_t b) {
        return nvsd_bits(combine(nvsd_double(a), nvsd_double(b)));
    });
}

/* Halves in float lanes. */
template <unsigned U, class Combine>
NVSD_FN void nvsd_fold_wide(bool bfloat, struct nvsd_fold_acc (&acc)[U],
                            const struct nvsd_vec4 (&next)[U], Combine combine)
{
    NVSD_UNROLL
    for (unsigned u = 0; u < U; u++) {
        const uint32_t words[4] = {next[u].x, next[u].y, next[u].z, next[u].w};
        NVSD_UNROLL
        for (unsigned k = 0; k < 8; k++) {
            uint32_t half = k % 2 ? words[k / 2] >> 16 : words[k / 2];
            acc[u].w[k] = nvsd_bits(combine(nvsd_float(acc[u].w[k]), nvsd_widen(bfloat, half)));
        }
    }
}

/* min and max of halves. */
template <unsigned U>
NVSD_FN void nvsd_fold_pick_halves(bool bfloat, bool least, struct nvsd_fold_acc (&acc)[U],
                                   const struct nvsd_vec4 (&next)[U])
{
    nvsd_fold_words<U>(acc, next, [=](uint32_t a, uint32_t b) {
        float a0 = nvsd_widen(bfloat, a), b0 = nvsd_widen(bfloat, b);
        float a1 = nvsd_widen(bfloat, a >> 16), b1 = nvsd_widen(bfloat, b >> 16);
        uint32_t low = (least ? nvsd_less(b0, a0) : nvsd_less(a0, b0)) ? b : a;
        uint32_t high = (least ? nvsd_less(b1, a1) : nvsd_less(a1, b1)) ? b : a;
        return (low & 0xffff) | (high & 0xffff0000);
    });
}

/* ---- types that nobody waits for: not inlined ------------------------------------------------ */

/* One element of `bits` bits, extended to 32; a the left one. */
NVSD_FN uint32_t nvsd_fold_small_lane(unsigned op, bool is_signed, unsigned bits, uint32_t a,
                                      uint32_t b)
{
    unsigned up = 32 - bits;
    int32_t sa = (int32_t)(a << up) >> up, sb = (int32_t)(b << up) >> up;
    uint32_t ua = a << up >> up, ub = b << up >> up;
    switch (op) {
    case NVSD_PROD:
        return ua * ub;
    case NVSD_MAX:
        return (is_signed ? sb > sa : ub > ua) ? ub : ua;
    case NVSD_MIN:
        return (is_signed ? sb < sa : ub < ua) ? ub : ua;
    default:
        return ua + ub;
    }
}

/* Elements of 8 and 16 bits in a word. */
NVSD_FN uint32_t nvsd_fold_small_word(unsigned code, uint32_t a, uint32_t b)
{
    unsigned dtype = nvsd_fold_dtype(code), bits = dtype <= NVSD_UINT8 ? 8 : 16;
    bool is_signed = dtype == NVSD_INT8 || dtype == NVSD_INT16;
    uint32_t result = 0, mask = (1u << bits) - 1;
    for (unsigned at = 0; at < 32; at += bits)
        result |=
            (nvsd_fold_small_lane(nvsd_fold_op(code), is_signed, bits, a >> at, b >> at) & mask)
            << at;
    return result;
}

NVSD_FN struct nvsd_vec4 nvsd_complexf_prod(struct nvsd_vec4 a, struct nvsd_vec4 b)
{
    float ar = nvsd_float(a.x), ai = nvsd_float(a.y), br = nvsd_float(b.x), bi = nvsd_float(b.y);
    float cr = nvsd_float(a.z), ci = nvsd_float(a.w), dr = nvsd_float(b.z), di = nvsd_float(b.w);
    struct nvsd_vec4 product = {
        nvsd_bits(nvsd_add(nvsd_mul(ar, br), -nvsd_mul(ai, bi))),
        nvsd_bits(nvsd_add(nvsd_mul(ar, bi), nvsd_mul(ai, br))),
        nvsd_bits(nvsd_add(nvsd_mul(cr, dr), -nvsd_mul(ci, di))),
        nvsd_bits(nvsd_add(nvsd_mul(cr, di), nvsd_mul(ci, dr))),
    };
    return product;
}

NVSD_FN struct nvsd_vec4 nvsd_complexd_prod(struct nvsd_vec4 a, struct nvsd_vec4 b)
{
    double ar = nvsd_double(nvsd_join(a.x, a.y)), ai = nvsd_double(nvsd_join(a.z, a.w));
    double br = nvsd_double(nvsd_join(b.x, b.y)), bi = nvsd_double(nvsd_join(b.z, b.w));
    uint64_t re = nvsd_bits(nvsd_add(nvsd_mul(ar, br), -nvsd_mul(ai, bi)));
    uint64_t im = nvsd_bits(nvsd_add(nvsd_mul(ar, bi), nvsd_mul(ai, br)));
    struct nvsd_vec4 product = {(uint32_t)re, (uint32_t)(re >> 32), (uint32_t)im,
                                (uint32_t)(im >> 32)};
    return product;
}

NVSD_COLD struct nvsd_vec4 nvsd_fold_rare(unsigned code, struct nvsd_vec4 a, struct nvsd_vec4 b)
{
    if (nvsd_fold_dtype(code) == NVSD_COMPLEXF)
        return nvsd_complexf_prod(a, b);
    if (nvsd_fold_dtype(code) == NVSD_COMPLEXD)
        return nvsd_complexd_prod(a, b);
    struct nvsd_vec4 result = {
        nvsd_fold_small_word(code, a.x, b.x), nvsd_fold_small_word(code, a.y, b.y),
        nvsd_fold_small_word(code, a.z, b.z), nvsd_fold_small_word(code, a.w, b.w)};
    return result;
}

/* ---- begin, next, end ------------------------------------------------------------------------ */

template <unsigned U>
NVSD_FN void nvsd_fold_begin(unsigned code, struct nvsd_fold_acc (&acc)[U],
                             const struct nvsd_vec4 (&first)[U])
{
    NVSD_UNROLL
    for (unsigned u = 0; u < U; u++) {
        const uint32_t words[4] = {first[u].x, first[u].y, first[u].z, first[u].w};
        bool wide = nvsd_fold_is_wide(code), bfloat = nvsd_fold_is_bfloat(code);
        NVSD_UNROLL
        for (unsigned k = 0; k < 8; k++) {
            uint32_t half = k % 2 ? words[k / 2] >> 16 : words[k / 2];
            acc[u].w[k] = wide ? nvsd_bits(nvsd_widen(bfloat, half)) : k < 4 ? words[k] : 0;
        }
    }
}

#define NVSD_CASE(dtype, op) case NVSD_FOLD(NVSD_##dtype, NVSD_##op)
#define NVSD_CASE_INTEGERS(op)                                                                     \
    NVSD_CASE(INT8, op)                                                                            \
        : NVSD_CASE(UINT8, op)                                                                     \
        : NVSD_CASE(INT16, op)                                                                     \
        : NVSD_CASE(UINT16, op)                                                                    \
        : NVSD_CASE(INT32, op)                                                                     \
        : NVSD_CASE(UINT32, op) : NVSD_CASE(INT64, op) : NVSD_CASE(UINT64, op)

/* clang-format off */
template <unsigned U>
NVSD_FN void nvsd_fold_next_integers(unsigned code, struct nvsd_fold_acc (&acc)[U],
                                      const struct nvsd_vec4 (&next)[U])
{
    switch (code) {
    NVSD_CASE(INT32, SUM): NVSD_CASE(UINT32, SUM): NVSD_CASE(INT32, AVG): NVSD_CASE(UINT32, AVG):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return a + b; });
        break;
    NVSD_CASE(INT64, SUM): NVSD_CASE(UINT64, SUM): NVSD_CASE(INT64, AVG): NVSD_CASE(UINT64, AVG):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) { return a + b; });
        break;
    NVSD_CASE(INT32, PROD): NVSD_CASE(UINT32, PROD):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return a * b; });
        break;
    NVSD_CASE(INT64, PROD): NVSD_CASE(UINT64, PROD):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) { return a * b; });
        break;
    NVSD_CASE(INT32, MAX):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) {
            return (int32_t)b > (int32_t)a ? b : a;
        });
        break;
    NVSD_CASE(INT32, MIN):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) {
            return (int32_t)b < (int32_t)a ? b : a;
        });
        break;
    NVSD_CASE(UINT32, MAX):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return b > a ? b : a; });
        break;
    NVSD_CASE(UINT32, MIN):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return b < a ? b : a; });
        break;
    NVSD_CASE(INT64, MAX):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) {
            return (int64_t)b > (int64_t)a ? b : a;
        });
        break;
    NVSD_CASE(INT64, MIN):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) {
            return (int64_t)b < (int64_t)a ? b : a;
        });
        break;
    NVSD_CASE(UINT64, MAX):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) { return b > a ? b : a; });
        break;
    NVSD_CASE(UINT64, MIN):
        nvsd_fold_longs<U>(acc, next, [](uint64_t a, uint64_t b) { return b < a ? b : a; });
        break;
    NVSD_CASE_INTEGERS(AND):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return a & b; });
        break;
    NVSD_CASE_INTEGERS(OR):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return a | b; });
        break;
    NVSD_CASE_INTEGERS(XOR):
        nvsd_fold_words<U>(acc, next, [](uint32_t a, uint32_t b) { return a ^ b; });
        break;
    default:
        for (unsigned u = 0; u < U; u++) {
            struct nvsd_vec4 a = {acc[u].w[0], acc[u].w[1], acc[u].w[2], acc[u].w[3]};
            a = nvsd_fold_rare(code, a, next[u]);
            acc[u].w[0] = a.x, acc[u].w[1] = a.y, acc[u].w[2] = a.z, acc[u].w[3] = a.w;
        }
        break;
    }
}

template <unsigned U>
NVSD_FN void nvsd_fold_next(unsigned code, struct nvsd_fold_acc (&acc)[U],
                             const struct nvsd_vec4 (&next)[U])
{
    switch (code) {
    NVSD_CASE(FLOAT32, SUM): NVSD_CASE(FLOAT32, AVG): NVSD_CASE(COMPLEXF, SUM):
        nvsd_fold_floats<U>(acc, next, [](float a, float b) { return nvsd_add(a, b); });
        break;
    NVSD_CASE(BFLOAT16, SUM): NVSD_CASE(BFLOAT16, AVG):
        nvsd_fold_wide<U>(true, acc, next, [](float a, float b) { return nvsd_add(a, b); });
        break;
    NVSD_CASE(FLOAT16, SUM): NVSD_CASE(FLOAT16, AVG):
        nvsd_fold_wide<U>(false, acc, next, [](float a, float b) { return nvsd_add(a, b); });
        break;
    NVSD_CASE(FLOAT64, SUM): NVSD_CASE(FLOAT64, AVG): NVSD_CASE(COMPLEXD, SUM):
        nvsd_fold_doubles<U>(acc, next, [](double a, double b) { return nvsd_add(a, b); });
        break;
    NVSD_CASE(FLOAT32, PROD):
        nvsd_fold_floats<U>(acc, next, [](float a, float b) { return nvsd_mul(a, b); });
        break;
    NVSD_CASE(FLOAT64, PROD):
        nvsd_fold_doubles<U>(acc, next, [](double a, double b) { return nvsd_mul(a, b); });
        break;
    NVSD_CASE(BFLOAT16, PROD): NVSD_CASE(FLOAT16, PROD):
        nvsd_fold_wide<U>(nvsd_fold_is_bfloat(code), acc, next,
                          [](float a, float b) { return nvsd_mul(a, b); });
        break;
    NVSD_CASE(FLOAT32, MAX):
        nvsd_fold_floats<U>(acc, next, [](float a, float b) { return nvsd_less(a, b) ? b : a; });
        break;
    NVSD_CASE(FLOAT32, MIN):
        nvsd_fold_floats<U>(acc, next, [](float a, float b) { return nvsd_less(b, a) ? b : a; });
        break;
    NVSD_CASE(FLOAT64, MAX):
        nvsd_fold_doubles<U>(acc, next, [](double a, double b) { return nvsd_less(a, b) ? b : a; });
        break;
    NVSD_CASE(FLOAT64, MIN):
        nvsd_fold_doubles<U>(acc, next, [](double a, double b) { return nvsd_less(b, a) ? b : a; });
        break;
    NVSD_CASE(BFLOAT16, MAX): NVSD_CASE(BFLOAT16, MIN): NVSD_CASE(FLOAT16, MAX):
    NVSD_CASE(FLOAT16, MIN):
        nvsd_fold_pick_halves<U>(nvsd_fold_is_bfloat(code), nvsd_fold_op(code) == NVSD_MIN, acc,
                                 next);
        break;
    default:
        nvsd_fold_next_integers<U>(code, acc, next);
        break;
    }
}
/* clang-format on */

/* The sum of integers of up to 32 bits in a word, divided. */
NVSD_FN uint32_t nvsd_fold_divide_word(unsigned dtype, uint32_t word, uint32_t divisor)
{
    unsigned bits = dtype <= NVSD_UINT8 ? 8 : dtype >= NVSD_INT16 ? 16 : 32;
    bool is_signed = dtype == NVSD_INT8 || dtype == NVSD_INT16 || dtype == NVSD_INT32;
    uint32_t result = 0, mask = ~0u >> (32 - bits);
    for (unsigned at = 0; at < 32; at += bits) {
        uint32_t lane = word >> at << (32 - bits);
        uint32_t quotient = is_signed
                                ? (uint32_t)(((int32_t)lane >> (32 - bits)) / (int32_t)divisor)
                                : (lane >> (32 - bits)) / divisor;
        result |= (quotient & mask) << at;
    }
    return result;
}

NVSD_FN uint64_t nvsd_fold_divide_long(unsigned dtype, uint64_t value, uint32_t divisor)
{
    if (dtype == NVSD_FLOAT64)
        return nvsd_bits(nvsd_div(nvsd_double(value), (double)divisor));
    if (dtype == NVSD_INT64)
        return (uint64_t)((int64_t)value / (int64_t)divisor);
    return value / divisor;
}

/* The averages but for halves; not inlined, since divisions are long. */
NVSD_COLD struct nvsd_vec4 nvsd_fold_divide(unsigned code, uint32_t divisor, struct nvsd_vec4 sum)
{
    unsigned dtype = nvsd_fold_dtype(code);
    if (dtype == NVSD_FLOAT32) {
        float by = (float)divisor;
        sum.x = nvsd_bits(nvsd_div(nvsd_float(sum.x), by));
        sum.y = nvsd_bits(nvsd_div(nvsd_float(sum.y), by));
        sum.z = nvsd_bits(nvsd_div(nvsd_float(sum.z), by));
        sum.w = nvsd_bits(nvsd_div(nvsd_float(sum.w), by));
    } else if (dtype == NVSD_FLOAT64 || dtype == NVSD_INT64 || dtype == NVSD_UINT64) {
        uint64_t low = nvsd_fold_divide_long(dtype, nvsd_join(sum.x, sum.y), divisor);
        uint64_t high = nvsd_fold_divide_long(dtype, nvsd_join(sum.z, sum.w), divisor);
        sum.x = (uint32_t)low, sum.y = (uint32_t)(low >> 32);
        sum.z = (uint32_t)high, sum.w = (uint32_t)(high >> 32);
    } else {
        sum.x = nvsd_fold_divide_word(dtype, sum.x, divisor);
        sum.y = nvsd_fold_divide_word(dtype, sum.y, divisor);
        sum.z = nvsd_fold_divide_word(dtype, sum.z, divisor);
        sum.w = nvsd_fold_divide_word(dtype, sum.w, divisor);
    }
    return sum;
}

/* A word of two halves of which NaNs are made quiet, as widening and rounding would. */
NVSD_FN uint32_t nvsd_fold_quiet(bool bfloat, uint32_t word)
{
    uint32_t infinity = bfloat ? 0x7f80 : 0x7c00, quiet = bfloat ? 0x40 : 0x200;
    if ((word & 0x7fff) > infinity)
        word |= quiet;
    if ((word >> 16 & 0x7fff) > infinity)
        word |= quiet << 16;
    return word;
}

/* A vector of halves from its float lanes, divided unless by 1. */
NVSD_FN struct nvsd_vec4 nvsd_fold_narrow(bool bfloat, uint32_t divisor,
                                          const struct nvsd_fold_acc &acc)
{
    uint32_t words[4];
    NVSD_UNROLL
    for (unsigned k = 0; k < 4; k++) {
        float low = nvsd_float(acc.w[2 * k]), high = nvsd_float(acc.w[2 * k + 1]);
        if (divisor != 1) {
            low = nvsd_div(low, (float)divisor);
            high = nvsd_div(high, (float)divisor);
        }
        words[k] = bfloat ? nvsd_bfloat_round2(low, high) : nvsd_half_round2(low, high);
    }
    struct nvsd_vec4 result = {words[0], words[1], words[2], words[3]};
    return result;
}

/* divisor: for avg, the number of inputs. */
template <unsigned U>
NVSD_FN void nvsd_fold_end(unsigned code, int divisor, const struct nvsd_fold_acc (&acc)[U],
                           struct nvsd_vec4 (&result)[U])
{
    bool bfloat = nvsd_fold_is_bfloat(code), average = nvsd_fold_op(code) == NVSD_AVG;
    NVSD_UNROLL
    for (unsigned u = 0; u < U; u++) {
        if (nvsd_fold_is_wide(code)) {
            result[u] = nvsd_fold_narrow(bfloat, average ? (uint32_t)divisor : 1, acc[u]);
            continue;
        }
        struct nvsd_vec4 vec = {acc[u].w[0], acc[u].w[1], acc[u].w[2], acc[u].w[3]};
        if (average)
            vec = nvsd_fold_divide(code, (uint32_t)divisor, vec);
        else if (nvsd_fold_is_half(code)) {
            vec.x = nvsd_fold_quiet(bfloat, vec.x), vec.y = nvsd_fold_quiet(bfloat, vec.y);
            vec.z = nvsd_fold_quiet(bfloat, vec.z), vec.w = nvsd_fold_quiet(bfloat, vec.w);
        }
        result[u] = vec;
    }
}

#undef NVSD_CASE
#undef NVSD_CASE_INTEGERS

#endif /* __cplusplus */

#endif
