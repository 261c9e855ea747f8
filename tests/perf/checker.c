/*
 * checker.c - the checks of nvs-perf must see what is wrong.
 *
 * Data: for every type and operator a reduction is made here, in the simplest way; it must pass,
 * and every flipped bit must be found (with rounding: every bit that is worth more than rounding).
 * Copies: for every operation, in place and not, the memory of one PE after it is made here; it
 * must pass, and every single byte of it that changes, wherever it lies, must be found. One
 * process, no library initialised.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/perf/perf.h"
#include "../unit/check.h"

enum { COUNT = 300 }; /* more than a chunk of data.c */

/* ---- data
 * ---------------------------------------------------------------------------------------- */

/* To nearest even, by way of the bits of a float, for half types; overflow does not happen here. */
static double rounded(const struct dtype *type, double value)
{
    int exponent;
    if (type->size >= 4 || value == 0)
        return type->size == 4 ? (float)value : value;
    value = (float)value;
    frexp(value, &exponent);
    double unit = fmax(ldexp(1, exponent - type->digits), type->tiny * 2);
    return rint(value / unit) * unit;
}

static double summed(const struct dtype *type, double value)
{
    return type->sum_digits == 24 ? (float)value : value;
}

static double real_fold(int redop, double a, double b)
{
    switch (redop) {
    case NVS_PROD:
        return a * b;
    case NVS_MAX:
        return fmax(a, b);
    case NVS_MIN:
        return fmin(a, b);
    default:
        return a + b;
    }
}

static uint64_t bits_fold(const struct dtype *type, int redop, uint64_t a, uint64_t b)
{
    bool b_less = type->kind == KIND_SIGNED ? (int64_t)b < (int64_t)a : b < a;
    switch (redop) {
    case NVS_PROD:
        return a * b;
    case NVS_MAX:
        return b_less ? a : b;
    case NVS_MIN:
        return b_less ? b : a;
    default:
        return a + b;
    }
}

/* The values that all PEs send, folded in their order, as an honest library would. */
static void fold_honestly(const struct data *data, size_t index, size_t count, void *elems)
{
    const struct dtype *type = data->type;
    union value sum[COUNT], next[COUNT];
    char sent[COUNT * 8];
    for (int pe = 0; pe < data->npes; pe++) {
        data_fill(data, pe, index, count, sent);
        type->decode(sent, count, next);
        for (size_t i = 0; i < count; i++) {
            if (pe == 0)
                sum[i] = next[i];
            else if (type->kind == KIND_FLOAT)
                sum[i].f = summed(type, real_fold(data->redop, sum[i].f, next[i].f));
            else
                sum[i].u = bits_fold(type, data->redop, sum[i].u, next[i].u);
        }
    }
    type->encode(sum, count, sent); /* integers wrap in their own type */
    if (type->kind != KIND_FLOAT)
        type->decode(sent, count, sum);
    for (size_t i = 0; i < count; i++) {
        if (type->kind == KIND_FLOAT)
            sum[i].f = rounded(type, data->redop == NVS_AVG ? summed(type, sum[i].f / data->npes)
                                                            : sum[i].f);
        else if (data->redop == NVS_AVG && type->kind == KIND_SIGNED)
            sum[i].i /= data->npes;
        else if (data->redop == NVS_AVG)
            sum[i].u /= (uint64_t)data->npes;
    }
    type->encode(sum, count, elems);
}

/* Bits of an element whose flip must be seen: all, but with rounding none that rounding may have
 * set, and the sign only where the value is not zero. */
static bool matters(const struct data *data, const char *elem, size_t bit)
{
    union value value;
    data->type->decode(elem, 1, &value);
    if (data->type->kind == KIND_FLOAT && bit == data->type->size * 8 - 1)
        return value.f != 0;
    /* Sums of up to 64 terms may cancel to a tenth of a term: some ten bits are in doubt. */
    bool may_round = data->rounding && data->redop != NVS_MAX && data->redop != NVS_MIN;
    return !may_round || (data->type->size >= 4 && bit >= 14 && fabs(value.f) > 0.5);
}

static void flip_every_bit(const struct data *data, char *elems)
{
    size_t size = data->type->size;
    for (size_t i = 0; i < COUNT; i += 7)
        for (size_t bit = 0; bit < size * 8; bit++) {
            char *byte = elems + i * size + bit / 8;
            if (!matters(data, elems + i * size, bit))
                continue;
            *byte = (char)(*byte ^ 1 << bit % 8);
            CHECK(data_wrong_fold(data, 5 + i, 1, elems + i * size) == 1,
                  "%s %s %d PEs rounding %d: bit %zu of element %zu is not seen", data->type->name,
                  redop_names[data->redop], data->npes, data->rounding, bit, i);
            *byte = (char)(*byte ^ 1 << bit % 8);
        }
}

static void test_folds(void)
{
    static const int npes[] = {1, 2, 3, 4, 7, 64};
    char elems[COUNT * 8];
    for (int type = 0; type < NUM_DTYPES; type++)
        for (int redop = 0; redop < NUM_REDOPS; redop++)
            for (size_t n = 0; n < sizeof(npes) / sizeof(npes[0]); n++)
                for (int rounding = 0; rounding < 2; rounding++) {
                    struct data data = {&dtypes[type], redop, rounding, 42 + n, npes[n]};
                    fold_honestly(&data, 5, COUNT, elems);
                    size_t wrong = data_wrong_fold(&data, 5, COUNT, elems);
                    CHECK(wrong == 0, "%s %s %d PEs rounding %d: %zu wrong in a right result",
                          dtypes[type].name, redop_names[redop], npes[n], rounding, wrong);
                    flip_every_bit(&data, elems);
                }
}

/* Sums of thousands of narrow numbers must stay exact, and products finite. */
static void test_many_pes(void)
{
    enum { FEW = 30 };
    char elems[COUNT * 8];
    for (int type = 0; type < NUM_DTYPES; type++)
        for (int redop = 0; redop < NUM_REDOPS; redop++)
            for (int rounding = 0; rounding < 2; rounding++) {
                struct data data = {&dtypes[type], redop, rounding, 7, 4096};
                fold_honestly(&data, 0, FEW, elems);
                CHECK(data_wrong_fold(&data, 0, FEW, elems) == 0, "%s %s rounding %d",
                      dtypes[type].name, redop_names[redop], rounding);
            }
}

/* A result that left a PE out, or took one twice, is wrong in nearly every element. */
static void test_missing_pe(void)
{
    char right[COUNT * 8];
    for (int type = 0; type < NUM_DTYPES; type++)
        for (int rounding = 0; rounding < 2; rounding++) {
            struct data data = {&dtypes[type], NVS_SUM, rounding, 3, 4};
            struct data fewer = data;
            fewer.npes = 3;
            fold_honestly(&fewer, 0, COUNT, right);
            size_t wrong = data_wrong_fold(&data, 0, COUNT, right);
            CHECK(wrong > COUNT / 2, "%s: only %zu of %d are seen", dtypes[type].name, wrong,
                  COUNT);
        }
}

/* Rounding must happen for the bound to be worth something: exact data never rounds. */
static void test_rounding_rounds(void)
{
    char elems[COUNT * 8];
    struct data data = {dtype_find("float"), NVS_SUM, true, 9, 7};
    float sums[COUNT];
    fold_honestly(&data, 0, COUNT, sums);
    for (size_t i = 0; i < COUNT; i++)
        sums[i] *= 1.0001f;
    CHECK(data_wrong_fold(&data, 0, COUNT, sums) > COUNT * 9 / 10, "an error of 1e-4 passes");
    memset(elems, 0xff, sizeof(elems)); /* NaN */
    CHECK(data_wrong_fold(&data, 0, COUNT, elems) == COUNT, "NaN passes");
}

/* ---- copies
 * -------------------------------------------------------------------------------------- */

enum { NPES = 3, ME = 1, SMALL = 5 };

/* What the operation would have left in copy 0 of PE ME. */
static void act(const struct call *call, const struct data *data)
{
    const struct area *area = &call->areas[call->num_areas - 1];
    for (int block = 0; block < area->num_dst; block++) {
        struct origin origin = call->op->origin(call, block);
        char *dst = call->dst + (size_t)block * call->nbytes;
        if (origin.pe == FOLD_OF_ALL)
            fold_honestly(data, origin.index, call->count, dst);
        else if (origin.pe >= 0)
            data_fill(data, origin.pe, origin.index, call->count, dst);
    }
}

static void change_every_byte(const struct call *call, const struct data *data)
{
    for (size_t at = 0; at < call->stride; at++) {
        char *byte = call->pool->base + at;
        *byte = (char)(*byte ^ 0x40);
        size_t wrong = copy_wrong(call, 0, data);
        CHECK(wrong == 1, "%s %s in place %d: byte %zu of %zu: %zu wrong", call->op->name,
              call->type->name, call->in_place, at, call->stride, wrong);
        *byte = (char)(*byte ^ 0x40);
    }
}

static void test_copy(const struct op *op, const char *type, bool in_place, struct route route)
{
    static char memory[1 << 16] __attribute__((aligned(64)));
    struct options options = {.threads = 1};
    struct pool pool = {.base = memory, .image = memory, .bytes = sizeof(memory), .rotates = true};
    struct call call = {.op = op,
                        .options = &options,
                        .type = dtype_find(type),
                        .redop = NVS_SUM,
                        .root = 2,
                        .me = ME,
                        .npes = NPES,
                        .route = route,
                        .in_place = in_place,
                        .count = SMALL};
    call.nbytes = call.count * call.type->size;
    call_place(&call, &pool, 4);
    struct data data = {call.type, op->reduces ? NVS_SUM : REDOP_NONE, false, 11, NPES};
    for (size_t copy = 0; copy < call.copies; copy++)
        copy_fill(&call, copy, &data);
    act(&call, &data);
    CHECK(call.copies == 4, "%zu copies", call.copies);
    CHECK(copy_wrong(&call, 0, &data) == 0, "%s %s in place %d: a right result is wrong", op->name,
          type, in_place);
    CHECK(copy_wrong(&call, 1, &data) > 0 || op->origin(&call, 0).pe == NOT_WRITTEN,
          "%s %s in place %d: nothing was done, and it is right", op->name, type, in_place);
    change_every_byte(&call, &data);
}

static void test_copies(void)
{
    static const char *const types[] = {"int8", "int32", "double"};
    static const struct route routes[] = {{-1, 0}, {0, -1}, {2, 0}, {-1, -1}};
    for (size_t i = 0; op_at(i); i++)
        for (size_t type = 0; op_at(i)->origin && type < 3; type++)
            for (size_t route = 0; route < (op_at(i)->routed ? 4 : 1); route++)
                for (int in_place = 0; in_place <= op_at(i)->in_place; in_place++)
                    test_copy(op_at(i), types[type], in_place, routes[route]);
}

/* ---- words
 * --------------------------------------------------------------------------------------- */

static void test_sizes(void)
{
    static const struct {
        const char *text;
        size_t bytes;
    } right[] = {{"0", 0},         {"8", 8},         {"1K", 1024},       {"1.5k", 1536},
                 {"64KiB", 65536}, {"3MB", 3 << 20}, {"4G", 4ull << 30}, {"1T", 1ull << 40},
                 {"1025b", 1025},  {".5K", 512}};
    static const char *const wrong[] = {"",       "x",   "-1",  "1X", "1KK",      "1K5", "K",
                                        "1e9999", "nan", "inf", "0x", "9999999T", " 1",  "1 "};
    size_t bytes;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        CHECK(word_size(right[i].text, &bytes) && bytes == right[i].bytes, "%s", right[i].text);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK(!word_size(wrong[i], &bytes), "\"%s\" is taken for a size", wrong[i]);
}

static void test_hints(void)
{
    CHECK(strstr(word_hint("all_reduec", op_name), "all_reduce"), "all_reduec");
    CHECK(strstr(word_hint("flaot", dtype_name), "float"), "flaot");
    CHECK(!*word_hint("xylophone", op_name), "xylophone is like %s",
          word_hint("xylophone", op_name));
    CHECK(op_find("allreduce") == op_find("all_reduce") && op_find("ALL-REDUCE"), "allreduce");
    CHECK(dtype_find("float16") == dtype_find("half"), "float16");
}

int main(void)
{
    test_folds();
    test_many_pes();
    test_missing_pe();
    test_rounding_rounds();
    test_copies();
    test_sizes();
    test_hints();
    return check_result();
}
