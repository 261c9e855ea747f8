/*
 * device_fold_test.cpp - the arithmetic of kernels (nvshmem/device/fold.h), compiled for the host,
 * against the host's folds: every type and operator, one and four vectors at a time, bit for bit
 * but for which NaN a NaN is.
 *
 * The inputs are random bits, of which many are turned into what is special: zeros of both signs,
 * denormals, infinities, NaNs, the ends of the integers' ranges. Usage: device_fold_test [seed].
 */
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "check.h"
#include "nvshmem/device/fold.h"

extern "C" {
#include "coll/fold.h"
}

enum { VECTORS = 4, BYTES = 16 * VECTORS, MAX_SRC = 9, ROUNDS = 400 };

static uint64_t state;

static uint64_t random_bits()
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

/* One element at `at`. */
static void fill_element(unsigned char *at, int dtype)
{
    static const uint16_t halves[8] = {0, 0x8000, 1, 0x7c00, 0xfc00, 0x7c01, 0x7e12, 0x03ff};
    static const uint16_t bfloats[8] = {0, 0x8000, 1, 0x7f80, 0xff80, 0x7f81, 0x7fd3, 0x007f};
    static const uint32_t floats[8] = {0,          0x80000000, 1,          0x7f800000,
                                       0xff800000, 0x7fc12345, 0x007fffff, 0x3f800000};
    size_t size = nvsi_dtype_size(dtype), part = size;
    uint64_t bits = random_bits();
    uint64_t one = bits;
    memcpy(at, &bits, size < 8 ? size : 8);
    if (dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD)
        part = size / 2;
    for (size_t k = 0; k < size; k += part) {
        bits = random_bits();
        memcpy(at + k, &bits, part);
        if (random_bits() % 4 != 0)
            continue;
        if (dtype == NVSI_FLOAT16)
            memcpy(at, &halves[one % 8], 2);
        else if (dtype == NVSI_BFLOAT16)
            memcpy(at, &bfloats[one % 8], 2);
        else if (part == 4 && (dtype == NVSI_FLOAT32 || dtype == NVSI_COMPLEXF))
            memcpy(at + k, &floats[one % 8], 4);
        else if (dtype == NVSI_FLOAT64 || dtype == NVSI_COMPLEXD) {
            uint64_t wide = (uint64_t)floats[one % 8] << 32;
            memcpy(at + k, &wide, 8);
        } else {
            memset(at, one % 2 ? 0xff : 0, size);
            at[size - 1] ^= one % 3 ? 0 : 0x80;
        }
    }
    /* floats that are near each other, so that sums round in interesting places */
    if (random_bits() % 2 && (dtype == NVSI_FLOAT16 || dtype == NVSI_BFLOAT16))
        at[1] = (unsigned char)((at[1] & 0x80) | (dtype == NVSI_FLOAT16 ? 0x3c : 0x3f));
}

static bool is_nan(const unsigned char *at, int dtype, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    switch (dtype) {
    case NVSI_FLOAT16:
        return (bits & 0x7fff) > 0x7c00;
    case NVSI_BFLOAT16:
        return (bits & 0x7fff) > 0x7f80;
    case NVSI_FLOAT32:
    case NVSI_COMPLEXF:
        return (bits & 0x7fffffff) > 0x7f800000;
    case NVSI_FLOAT64:
    case NVSI_COMPLEXD:
        return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
        return false;
    }
}

static bool same(const unsigned char *a, const unsigned char *b, int dtype, int op)
{
    size_t size = nvsi_dtype_size(dtype);
    if (dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD)
        size /= 2;
    for (size_t k = 0; k < BYTES; k += size) {
        bool picks = op == NVSI_MIN || op == NVSI_MAX;
        if (!picks && is_nan(a + k, dtype, size) && is_nan(b + k, dtype, size))
            continue;
        if (memcmp(a + k, b + k, size) != 0)
            return false;
    }
    return true;
}

template <unsigned U>
static void fold_on_device(unsigned code, int divisor, unsigned char (&src)[MAX_SRC][BYTES],
                           int nsrc, unsigned char *dst, size_t at)
{
    nvsd_fold_acc acc[U];
    nvsd_vec4 vecs[U];
    memcpy(vecs, src[0] + at, sizeof vecs);
    nvsd_fold_begin<U>(code, acc, vecs);
    for (int s = 1; s < nsrc; s++) {
        memcpy(vecs, src[s] + at, sizeof vecs);
        nvsd_fold_next<U>(code, acc, vecs);
    }
    nvsd_fold_end<U>(code, divisor, acc, vecs);
    memcpy(dst + at, vecs, sizeof vecs);
}

static void compare(int dtype, int op, uint64_t seed)
{
    unsigned char src[MAX_SRC][BYTES];
    alignas(16) unsigned char want[BYTES], four[BYTES], one[BYTES];
    const void *srcs[MAX_SRC];
    void *dst = want;
    int nsrc = 1 + (int)(random_bits() % MAX_SRC);
    int divisor = 1 + (int)(random_bits() % (random_bits() % 2 ? 9 : 1000));
    for (int s = 0; s < nsrc; s++) {
        srcs[s] = src[s];
        for (size_t k = 0; k < BYTES; k += nvsi_dtype_size(dtype))
            fill_element(src[s] + k, dtype);
    }
    struct nvsi_fold fold = {};
    fold.dst = &dst;
    fold.src = srcs;
    fold.ndst = 1;
    fold.nsrc = nsrc;
    fold.nelems = BYTES / nvsi_dtype_size(dtype);
    fold.dtype = dtype;
    fold.op = op;
    fold.divisor = divisor;
    nvsi_fold(&fold);
    fold_on_device<VECTORS>(NVSD_FOLD(dtype, op), divisor, src, nsrc, four, 0);
    for (size_t at = 0; at < BYTES; at += 16)
        fold_on_device<1>(NVSD_FOLD(dtype, op), divisor, src, nsrc, one, at);
    CHECK(same(four, want, dtype, op), "%s %s of %d, four vectors (seed %llu)",
          nvsi_dtype_name(dtype), nvsi_op_name(op), nsrc, (unsigned long long)seed);
    CHECK(same(one, want, dtype, op), "%s %s of %d, one vector (seed %llu)", nvsi_dtype_name(dtype),
          nvsi_op_name(op), nsrc, (unsigned long long)seed);
}

/* All halves there and back, and floats between and at the middle of neighbouring halves. */
static void all_halves()
{
    for (uint32_t half = 0; half < 0x10000; half++) {
        uint32_t back = nvsd_half_round2(nvsd_half_widen(half), 0) & 0xffff;
        uint32_t quiet = (half & 0x7fff) > 0x7c00 ? half | 0x200 : half;
        CHECK(back == quiet, "half %04x comes back as %04x", half, back);
        uint32_t upper = half << 16, nan = (half & 0x7fff) > 0x7f80 ? 0x40 : 0;
        CHECK(nvsd_bfloat_round2(nvsd_float(upper), 0) == (half | nan), "bfloat %04x", half);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 0) : (uint64_t)time(nullptr) | 1;
    state = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    nvsi_fold_setup();
    all_halves();
    for (int dtype = 0; dtype < NVSI_NUM_DTYPES; dtype++)
        for (int op = 0; op < NVSI_NUM_OPS; op++)
            for (int round = 0; round < ROUNDS; round++)
                if (nvsi_op_defined(dtype, op) && dtype != NVSI_LONGDOUBLE)
                    compare(dtype, op, seed);
    return check_result();
}
