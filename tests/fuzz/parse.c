/*
 * parse.c - numbers, sizes, times, words: whatever the text, a reader gives a value in range or
 * leaves the result alone, and what it accepts means what it seems to.
 */
#include "util/parse.h"
#include "fuzz.h"

static void check_size(const char *text)
{
    uint64_t nbytes = 12345;
    if (nvsi_parse_size(text, &nbytes)) {
        PROMISE(nbytes == 12345, "a refused size changes the result: '%s'", text);
        return;
    }
    PROMISE((text[0] >= '0' && text[0] <= '9') || text[0] == '.', "'%s' is no size", text);
    /* Twice the number of bytes has to be read as just that. */
    char again[32];
    uint64_t same;
    snprintf(again, sizeof again, "%llu", (unsigned long long)nbytes);
    PROMISE(nvsi_parse_size(again, &same) == 0 && same == nbytes, "'%s' is %s bytes", text, again);
    /* Rough, independent arithmetic: strtod is exact enough to see a wrong unit. */
    char *end;
    double value = strtod(text, &end);
    static const char units[] = "kmgt";
    const char *unit = end + (*end == ' ');
    const char *at = *unit ? strchr(units, *unit | 0x20) : NULL;
    for (long i = at ? at - units + 1 : 0; i > 0; i--)
        value *= 1024;
    double error = value > (double)nbytes ? value - (double)nbytes : (double)nbytes - value;
    PROMISE(error <= 1 + value * 1e-12, "'%s' is %llu bytes, expected %f", text,
            (unsigned long long)nbytes, value);
}

static void check_seconds(const char *text)
{
    int64_t ms = -7;
    if (nvsi_parse_seconds(text, &ms))
        PROMISE(ms == -7, "a refused time changes the result: '%s'", text);
    else
        PROMISE(ms >= 0, "'%s' is %lld ms", text, (long long)ms);
}

static void check_int(const char *text, long min, long max)
{
    long value = 77;
    if (nvsi_parse_int(text, min, max, &value)) {
        PROMISE(value == 77, "a refused number changes the result: '%s'", text);
        return;
    }
    PROMISE(value >= min && value <= max, "'%s' is %ld, allowed are %ld to %ld", text, value, min,
            max);
    PROMISE(strtol(text, NULL, 10) == value, "'%s' is %ld", text, value);
}

static void check_words(const char *text, const char *choices, const char *other)
{
    static const char *const words[] = {"all_reduce", "all_gather", "barrier", "put", "", "x"};
    enum { NUM_WORDS = sizeof words / sizeof *words };
    const char *both[] = {other, choices, text};
    int index = -1;
    bool yes = true;
    if (nvsi_parse_choice(text, choices, &index) == 0) {
        int bars = 0;
        for (const char *c = choices; *c; c++)
            bars += *c == '|';
        PROMISE(index >= 0 && index <= bars, "choice %d of '%s'", index, choices);
    }
    if (nvsi_parse_bool(text, &yes))
        PROMISE(yes, "a refused bool changes the result: '%s'", text);
    const char *closest = nvsi_closest(text, words, NUM_WORDS);
    bool listed = !closest;
    for (int i = 0; i < NUM_WORDS; i++)
        listed |= closest == words[i];
    PROMISE(listed, "closest to '%s' is no word of the list", text);
    closest = nvsi_closest(text, both, 3);
    PROMISE(strlen(text) > 63 || (closest && strlen(closest) == strlen(text)),
            "a word is closest to itself: '%s', not '%s'", text, closest ? closest : "nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = {data, size};
    char *text = read_text(&reader), *choices = read_text(&reader), *other = read_text(&reader);
    int64_t a, b;
    read_bytes(&reader, &a, sizeof a);
    read_bytes(&reader, &b, sizeof b);
    check_size(text);
    check_seconds(text);
    check_int(text, a < b ? (long)a : (long)b, a < b ? (long)b : (long)a);
    check_int(text, INT64_MIN, INT64_MAX);
    check_words(text, choices, other);
    free(text);
    free(choices);
    free(other);
    return 0;
}
