/*
 * half_test.c - float16 and bfloat16 to float and back, against a naive reference. Usage: half
 * [seed].
 */
#include "../../src/coll/half.h"
#include "fold_buffers.h"
#include "fold_reference.h"

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

int main(int argc, char **argv)
{
    random_begin(argc, argv);
    test_conversions(0);
    test_conversions(1);
    printf(failures ? "%d failures\n" : "ok\n", failures);
    return failures != 0;
}
