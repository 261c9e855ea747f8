/*
 * parse_test.c - tables of good and bad input for the readers of util/parse.h.
 *
 * A refused text must leave the result alone, so results start from a value that no row expects.
 */
#include "check.h"
#include "util/parse.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define KIB UINT64_C(1024)
#define UNTOUCHED 987654321

struct good {
    const char *text;
    uint64_t value;
};

static void test_good_sizes(void)
{
    static const struct good good[] = {
        {"0", 0},
        {"64", 64},
        {"007", 7},
        {"64b", 64},
        {"64B", 64},
        {"64 B", 64},
        {"1k", KIB},
        {"1K", KIB},
        {"1kb", KIB},
        {"1kB", KIB},
        {"1KiB", KIB},
        {"1 kib", KIB},
        {"3m", 3 * KIB * KIB},
        {"512 MB", 512 * KIB * KIB},
        {"2GiB", 2 * KIB * KIB * KIB},
        {"2T", 2 * KIB * KIB * KIB * KIB},
        {"1.5G", 3 * KIB * KIB * KIB / 2},
        {"0.5m", KIB * KIB / 2},
        {".5m", KIB * KIB / 2},
        {"1.50", 1},
        {"0.999", 0},
        {"0.0009765625k", 1},
        {"0.0009765624999999999999999999999999999999k", 0},
        {"0.1t", UINT64_C(109951162777)},
        {"1.000000000000000000000000000000000000000000000000001t", KIB * KIB * KIB * KIB},
        {"0.99999999999999999999999999999999999999999999999999t", KIB * KIB * KIB * KIB - 1},
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551615.9", UINT64_MAX},
        {"16777215t", UINT64_C(16777215) << 40},
        {"16777215.99999999999999999999t", UINT64_MAX},
        {"000000000000000000000000000001g", KIB * KIB * KIB},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t value = UNTOUCHED;
        int status = nvsi_parse_size(good[i].text, &value);
        CHECK(status == 0 && value == good[i].value, "'%s': %d, %" PRIu64, good[i].text, status,
              value);
    }
}

static void test_bad_sizes(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "k",
        ".",
        "1.",
        ".k",
        "-1",
        "-0",
        "+1",
        " 1",
        "1 ",
        "1k ",
        "1  k",
        "1\tk",
        "1kk",
        "1ki",
        "1ib",
        "1p",
        "1e3",
        "0x10",
        "1,5g",
        "1.5.2",
        "1 .5",
        "inf",
        "nan",
        "auto",
        "1k\n",
        "1bb",
        "12q",
        "1_000",
        "1 k b",
        "16777216t",
        "1.5 g b",
        "\302\2401",
        "18446744073709551616",
        "18014398509481984k",
        "99999999999999999999999",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint64_t value = UNTOUCHED;
        int status = nvsi_parse_size(bad[i], &value);
        CHECK(status == -1 && value == UNTOUCHED, "'%s' was read as %" PRIu64, bad[i], value);
    }
}

static void test_seconds(void)
{
    static const struct good good[] = {
        {"60", 60000},   {"1.5", 1500},   {"1.5s", 1500},
        {"500ms", 500},  {"500MS", 500},  {"2m", 120000},
        {"0.5m", 30000}, {"1h", 3600000}, {"0", 0},
        {"0.000", 0},    {"0ms", 0},      {"off", 0},
        {"OFF", 0},      {"0.001", 1},    {"1.5ms", 1},
        {".25", 250},    {"0.0015", 1},   {"9223372036854775807ms", INT64_MAX},
    };
    static const char *const bad[] = {
        "",
        "s",
        "-1",
        "1 s",
        "1us",
        "60x",
        "1.",
        "0.0001",
        "0.5ms",
        "on",
        "never",
        "1m30",
        "9223372036854775808ms",
        "9223372036854775807",
        "5124095576030.5h",
        " off",
        "off ",
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t value = UNTOUCHED;
        int status = nvsi_parse_seconds(good[i].text, &value);
        CHECK(status == 0 && value == (int64_t)good[i].value, "'%s': %d, %" PRId64, good[i].text,
              status, value);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t value = UNTOUCHED;
        int status = nvsi_parse_seconds(bad[i], &value);
        CHECK(status == -1 && value == UNTOUCHED, "'%s' was read as %" PRId64, bad[i], value);
    }
}

static void test_int(void)
{
    static const struct {
        const char *text;
        long min, max;
        int status;
        long value;
    } rows[] = {
        {"0", 0, 0, 0, 0},
        {"-0", 0, 0, 0, 0},
        {"42", -1, 100, 0, 42},
        {"-1", -1, 100, 0, -1},
        {"100", -1, 100, 0, 100},
        {"0042", 0, 100, 0, 42},
        {"101", -1, 100, -1, 0},
        {"-2", -1, 100, -1, 0},
        {"9223372036854775807", LONG_MIN, LONG_MAX, 0, LONG_MAX},
        {"-9223372036854775808", LONG_MIN, LONG_MAX, 0, LONG_MIN},
        {"9223372036854775808", LONG_MIN, LONG_MAX, -1, 0},
        {"-9223372036854775809", LONG_MIN, LONG_MAX, -1, 0},
        {"18446744073709551616", LONG_MIN, LONG_MAX, -1, 0},
        {"18446744073709551617", 0, 100, -1, 0},
        {"4294967297", 0, 100, -1, 0},
        {"", 0, 100, -1, 0},
        {"-", -100, 100, -1, 0},
        {"--1", -100, 100, -1, 0},
        {"+1", 0, 100, -1, 0},
        {" 1", 0, 100, -1, 0},
        {"1 ", 0, 100, -1, 0},
        {"1.0", 0, 100, -1, 0},
        {"1k", 0, 10000, -1, 0},
        {"0x1", 0, 100, -1, 0},
        {"one", 0, 100, -1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        long value = UNTOUCHED;
        int status = nvsi_parse_int(rows[i].text, rows[i].min, rows[i].max, &value);
        long expected = rows[i].status ? UNTOUCHED : rows[i].value;
        CHECK(status == rows[i].status && value == expected, "'%s' in %ld..%ld: %d, %ld",
              rows[i].text, rows[i].min, rows[i].max, status, value);
    }
}

static void test_bool(void)
{
    static const char *const yes[] = {"1", "yes", "on", "true", "YES", "On", "True"};
    static const char *const no[] = {"0", "no", "off", "false", "NO", "Off", "False"};
    static const char *const bad[] = {"",    "2",  "y",    "n",   "yess", "ye",    "00", " 1",
                                      "on ", "-1", "1|no", "0|1", "|",    "truee", "t"};
    for (size_t i = 0; i < COUNT(yes); i++) {
        bool a = false, b = true;
        CHECK(nvsi_parse_bool(yes[i], &a) == 0 && a, "'%s' is yes", yes[i]);
        CHECK(nvsi_parse_bool(no[i], &b) == 0 && !b, "'%s' is no", no[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        bool a = true, b = false;
        CHECK(nvsi_parse_bool(bad[i], &a) == -1 && a, "'%s'", bad[i]);
        CHECK(nvsi_parse_bool(bad[i], &b) == -1 && !b, "'%s'", bad[i]);
    }
}

static void test_choice(void)
{
    int index = UNTOUCHED;
    CHECK(nvsi_parse_choice("shm", "shm|chaos", &index) == 0 && index == 0, "%d", index);
    CHECK(nvsi_parse_choice("CHAOS", "shm|chaos", &index) == 0 && index == 1, "%d", index);
    CHECK(nvsi_parse_choice("only", "only", &index) == 0 && index == 0, "%d", index);
    static const char *const bad[] = {"", "sh", "shmm", "haos", "shm|chaos", "|", "chaos "};
    for (size_t i = 0; i < COUNT(bad); i++) {
        index = UNTOUCHED;
        CHECK(nvsi_parse_choice(bad[i], "shm|chaos", &index) == -1 && index == UNTOUCHED, "'%s'",
              bad[i]);
    }
}

static void test_closest(void)
{
    static const char *const words[] = {"HEAP_SIZE", "ON_ERROR", "LOG",   "WARN_AFTER",
                                        "TIMEOUT",   "SPIN",     "STATIC"};
    static const struct {
        const char *word, *closest;
    } rows[] = {
        {"HEAP_SIZE", "HEAP_SIZE"},  /* itself */
        {"HEAPSIZE", "HEAP_SIZE"},   /* one missing */
        {"HEAP__SIZE", "HEAP_SIZE"}, /* one too many */
        {"HEAP_SIZW", "HEAP_SIZE"},  /* one wrong */
        {"HAEP_SIZE", "HEAP_SIZE"},  /* two swapped */
        {"heap_size", "HEAP_SIZE"},  /* case */
        {"ON_EROR", "ON_ERROR"},     /* one missing */
        {"TIEMOUT", "TIMEOUT"},      /* swapped: one slip */
        {"LGO", "LOG"},              /* swapped, the limit of a word of three */
        {"LOGS", "LOG"},             /* one too many */
        {"SPUN", "SPIN"},            /* one wrong */
        {"FOO", NULL},               /* two of three */
        {"COLOUR", NULL},            /* unlike all */
        {"L", NULL},                 /* too short to tell */
        {"", NULL},                  /* nothing */
        {"HEAP", NULL},              /* five missing */
        {"ATATSTIC", NULL},          /* far */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *closest = nvsi_closest(rows[i].word, words, COUNT(words));
        bool same = closest && rows[i].closest ? !strcmp(closest, rows[i].closest)
                                               : closest == rows[i].closest;
        CHECK(same, "'%s': %s", rows[i].word, closest ? closest : "nothing");
    }
    static const char *const twins[] = {"coat", "boat", "goat"};
    CHECK(nvsi_closest("moat", twins, COUNT(twins)) == twins[0], "the first of equals");
    CHECK(!nvsi_closest("LOG", NULL, 0), "no words");
    CHECK(!nvsi_closest("LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG_LOG",
                        words, COUNT(words)),
          "a word longer than any");
}

int main(void)
{
    test_good_sizes();
    test_bad_sizes();
    test_seconds();
    test_int();
    test_bool();
    test_choice();
    test_closest();
    return check_result();
}
