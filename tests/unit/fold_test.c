/*
 * fold_test.c - every type, operator and instruction set against a naive scalar fold.
 *
 * Outputs must match bit for bit, except for which NaN a NaN is. Counts, numbers of sources and
 * outputs, which outputs are in place, and addresses (element-aligned, between guard bytes) are
 * random. Usage: fold_test [seed]; the seed is printed, so that a failure can be run again.
 */
#include "../../src/coll/fold.h"
#include "../../src/coll/half.h"
#include "fold_reference.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SRC = 9, MAX_DST = 9, GUARD_BYTES = 128, GUARD = 0xa5, LARGE = 20000 };

static uint64_t random_state;
static int failures;

static uint64_t random_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t random_below(size_t limit)
{
    return (size_t)(random_next() % limit);
}

/* ---- conversions ---- */

static void fail_conversion(const char *what, uint32_t input, uint32_t got, uint32_t expected)
{
    failures++;
    fprintf(stderr, "FAIL %s of %#x: got %#x, expected %#x\n", what, input, got, expected);
}

static void check_round(float value, int is_bfloat)
{
    uint16_t got = is_bfloat ? nvsi_float_to_bfloat(value) : nvsi_float_to_half(value);
    uint16_t expected = reference_round(value, is_bfloat);
    if (isnan(value) ? !half_is_nan(got, is_bfloat) || (got ^ expected) & 0x8000 : got != expected)
        fail_conversion(is_bfloat ? "round to bfloat16" : "round to float16",
                        nvsi_float_to_bits(value), got, expected);
}

/* All 65536 values out and back, and around each the floats where rounding changes its mind. */
static void test_conversions(int is_bfloat)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float wide =
            is_bfloat ? nvsi_bfloat_to_float((uint16_t)bits) : nvsi_half_to_float((uint16_t)bits);
        double expected = reference_widen((uint16_t)bits, is_bfloat);
        if (isnan(expected) ? !isnan(wide)
                            : wide != expected || !signbit(wide) != !signbit(expected))
            fail_conversion("widening", bits, nvsi_float_to_bits(wide),
                            nvsi_float_to_bits((float)expected));
        check_round(wide, is_bfloat);
        uint16_t back = is_bfloat ? nvsi_float_to_bfloat(wide) : nvsi_float_to_half(wide);
        uint32_t quiet = half_is_nan((uint16_t)bits, is_bfloat) ? (is_bfloat ? 0x40 : 0x200) : 0;
        if (back != (bits | quiet))
            fail_conversion("way back", bits, back, bits | quiet);

        uint32_t half_step = is_bfloat ? 0x8000 : 0x1000;
        for (int nudge = -1; nudge <= 1; nudge++)
            check_round(
                nvsi_float_from_bits(nvsi_float_to_bits(wide) + half_step + (uint32_t)nudge),
                is_bfloat);
        check_round((float)(reference_widen((uint16_t)bits, is_bfloat) * 0.75), is_bfloat);
    }
    for (int k = 0; k < 300000; k++) /* includes the binary16 denormals and underflow */
        check_round(nvsi_float_from_bits((uint32_t)random_next()), is_bfloat);
    for (int k = 0; k < 100000; k++)
        check_round((float)ldexp((double)(random_next() >> 40), -50 + (int)random_below(12)),
                    is_bfloat);
}

/* ---- buffers ---- */

struct buffer {
    char *base, *data; /* data lies in base, between guards, at a random element-aligned address */
    size_t nbytes;
};

static size_t dtype_alignment(int dtype)
{
    size_t size = nvsi_dtype_size(dtype);
    return dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD ? size / 2 : size;
}

static void buffer_open(struct buffer *buffer, size_t nbytes, int dtype)
{
    size_t alignment = dtype_alignment(dtype), slack = 128;
    size_t size = nbytes + 2 * GUARD_BYTES + slack;
    buffer->base = aligned_alloc(128, (size + 127) / 128 * 128);
    if (!buffer->base)
        abort();
    buffer->data = buffer->base + GUARD_BYTES + random_below(slack / alignment) * alignment;
    buffer->nbytes = nbytes;
    memset(buffer->data - GUARD_BYTES, GUARD, nbytes + 2 * GUARD_BYTES);
}

static int buffer_guarded(const struct buffer *buffer)
{
    const unsigned char *below = (const unsigned char *)buffer->data - GUARD_BYTES;
    const unsigned char *above = (const unsigned char *)buffer->data + buffer->nbytes;
    for (int k = 0; k < GUARD_BYTES; k++)
        if (below[k] != GUARD || above[k] != GUARD)
            return 0;
    return 1;
}

static void fill_part(char *to, int dtype)
{
    static const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 6e-8f};
    int special = random_below(16) == 0;
    double value = special ? (double)specials[random_below(8)]
                           : ldexp((double)(int64_t)random_next(), -60 - (int)random_below(8));
    if (dtype == NVSI_LONGDOUBLE) {
        long double wide = value;
        memcpy(to, &wide, sizeof(wide));
    } else if (dtype == NVSI_FLOAT64 || dtype == NVSI_COMPLEXD) {
        memcpy(to, &value, sizeof(value));
    } else {
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof(narrow));
    }
}

static void fill(char *to, size_t nelems, int dtype)
{
    size_t size = nvsi_dtype_size(dtype);
    for (size_t i = 0; i < nelems; i++, to += size) {
        uint64_t bits = random_next(); /* any integer and any 16-bit float is an input */
        if (dtype == NVSI_COMPLEXF || dtype == NVSI_COMPLEXD) {
            fill_part(to, dtype);
            fill_part(to + size / 2, dtype);
        } else if (dtype == NVSI_FLOAT32 || dtype == NVSI_FLOAT64 || dtype == NVSI_LONGDOUBLE) {
            fill_part(to, dtype);
        } else {
            if (random_below(8) == 0 && (dtype == NVSI_FLOAT16 || dtype == NVSI_BFLOAT16))
                bits &= 0x83ff; /* more denormals */
            memcpy(to, &bits, size);
        }
    }
}

/* ---- one random call ---- */

struct trial {
    struct nvsi_fold fold;
    struct buffer src_buffers[MAX_SRC], dst_buffers[MAX_DST];
    const void *src[MAX_SRC];
    void *dst[MAX_DST];
    int in_place[MAX_DST]; /* the source that dst is, or -1 */
    char *expected;
};

static void trial_open(struct trial *trial, int dtype, int op, size_t nelems)
{
    size_t nbytes = nelems * nvsi_dtype_size(dtype);
    int free_src[MAX_SRC], nfree;

    trial->fold = (struct nvsi_fold){
        .dst = trial->dst,
        .src = trial->src,
        .nelems = nelems,
        .dtype = dtype,
        .op = op,
        .nsrc = 1 + (int)random_below(MAX_SRC),
        .ndst = 1 + (int)random_below(MAX_DST),
        .divisor = 1 + (int)random_below(random_below(2) ? 9 : 1000),
        .stream = (int)random_below(2),
    };
    nfree = trial->fold.nsrc;
    for (int s = 0; s < trial->fold.nsrc; s++) {
        buffer_open(&trial->src_buffers[s], nbytes, dtype);
        fill(trial->src_buffers[s].data, nelems, dtype);
        trial->src[s] = trial->src_buffers[s].data;
        free_src[s] = s;
    }
    for (int d = 0; d < trial->fold.ndst; d++) {
        trial->in_place[d] = -1;
        if (nfree > 0 && random_below(3) == 0) { /* each source is at most one output */
            int pick = (int)random_below((size_t)nfree);
            trial->in_place[d] = free_src[pick];
            free_src[pick] = free_src[--nfree];
            trial->dst[d] = trial->src_buffers[trial->in_place[d]].data;
        } else {
            buffer_open(&trial->dst_buffers[d], nbytes, dtype);
            trial->dst[d] = trial->dst_buffers[d].data;
        }
    }
    trial->expected = malloc(nbytes + 1);
    for (size_t i = 0; i < nelems; i++)
        references[dtype](trial->expected + i * nvsi_dtype_size(dtype), &trial->fold, i);
}

static void trial_fail(const struct trial *trial, const char *what, int index, size_t i)
{
    const struct nvsi_fold *fold = &trial->fold;
    if (failures++ < 20)
        fprintf(stderr,
                "FAIL %s %s %s: %s %d at element %zu of %zu (nsrc %d, ndst %d, stream %d)\n",
                nvsi_fold_isa(), nvsi_dtype_name(fold->dtype), nvsi_op_name(fold->op), what, index,
                i, fold->nelems, fold->nsrc, fold->ndst, fold->stream);
}

static void trial_check(const struct trial *trial, char *const src_copies[])
{
    const struct nvsi_fold *fold = &trial->fold;
    size_t size = nvsi_dtype_size(fold->dtype);
    int written[MAX_SRC] = {0};

    for (int d = 0; d < fold->ndst; d++) {
        const char *got = trial->dst[d];
        for (size_t i = 0; i < fold->nelems; i++)
            if (!element_equal(got + i * size, trial->expected + i * size, fold->dtype, fold->op)) {
                trial_fail(trial, "wrong result in dst", d, i);
                break;
            }
        if (trial->in_place[d] >= 0)
            written[trial->in_place[d]] = 1;
        else if (!buffer_guarded(&trial->dst_buffers[d]))
            trial_fail(trial, "wrote outside of dst", d, 0);
    }
    for (int s = 0; s < fold->nsrc; s++) {
        if (!buffer_guarded(&trial->src_buffers[s]))
            trial_fail(trial, "wrote outside of src", s, 0);
        if (!written[s] && memcmp(trial->src[s], src_copies[s], fold->nelems * size) != 0)
            trial_fail(trial, "changed src", s, 0);
    }
}

static void trial_run(int dtype, int op, size_t nelems)
{
    struct trial trial;
    char *src_copies[MAX_SRC];
    size_t nbytes = nelems * nvsi_dtype_size(dtype);

    trial_open(&trial, dtype, op, nelems);
    for (int s = 0; s < trial.fold.nsrc; s++) {
        src_copies[s] = malloc(nbytes + 1);
        memcpy(src_copies[s], trial.src[s], nbytes);
    }
    nvsi_fold(&trial.fold);
    trial_check(&trial, src_copies);
    for (int s = 0; s < trial.fold.nsrc; s++) {
        free(src_copies[s]);
        free(trial.src_buffers[s].base);
    }
    for (int d = 0; d < trial.fold.ndst; d++)
        if (trial.in_place[d] < 0)
            free(trial.dst_buffers[d].base);
    free(trial.expected);
}

static void test_isa(const char *isa, int rounds)
{
    int pairs = 0;
    for (int dtype = 0; dtype < NVSI_NUM_DTYPES; dtype++)
        for (int op = 0; op < NVSI_NUM_OPS; op++) {
            if (!nvsi_op_defined(dtype, op))
                continue;
            pairs++;
            for (int round = 0; round < rounds; round++)
                trial_run(dtype, op, random_below(round % 2 ? 301 : 40));
            trial_run(dtype, op, 1000 + random_below(LARGE));
        }
    printf("%s: %d pairs of type and operator\n", isa, pairs);
}

int main(int argc, char **argv)
{
    static const char *const isas[] = {"generic", "neon", "avx2", "avx512"};
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);

    nvsi_fold_setup();
    printf("best: %s\n", nvsi_fold_isa());
    test_conversions(0);
    test_conversions(1);
    for (size_t k = 0; k < sizeof(isas) / sizeof(isas[0]); k++) {
        if (nvsi_fold_select(isas[k]) != 0)
            printf("%s: not on this machine, not tested\n", isas[k]);
        else
            test_isa(isas[k], 60);
    }
    printf(failures ? "%d failures\n" : "ok\n", failures);
    return failures != 0;
}
