/*
 * parse.c - strict readers for numbers, sizes, times and words; see parse.h.
 *
 * Numbers with a decimal point are computed in integers, so that "0.1t" is the same everywhere and
 * exact to the byte. The C library's strtod and strtoull are not used: they take signs, blanks,
 * hex, "inf" and the locale's decimal point.
 */
#include "parse.h"

#include <stddef.h>
#include <string.h>

struct decimal {
    uint64_t whole;
    const char *fraction; /* the digits after the point */
    size_t nfraction;
};

struct unit {
    const char *name; /* in lower case */
    uint64_t factor;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the first n letters of text are the whole of word, in whatever case. */
static bool same_word(const char *text, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (!word[i] || lower(text[i]) != lower(word[i]))
            return false;
    }
    return !word[n];
}

/* Reads the digits at *text, if there are any, and moves past them. -1 = more than 64 bits. */
static int read_digits(const char **text, uint64_t *value)
{
    *value = 0;
    for (; is_digit(**text); ++*text) {
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**text - '0'), value))
            return -1;
    }
    return 0;
}

/* "12", "1.5" or ".5"; a point wants a digit after it. */
static int read_decimal(const char **text, struct decimal *number)
{
    const char *start = *text;
    *number = (struct decimal){0};
    if (read_digits(text, &number->whole) != 0)
        return -1;
    if (**text != '.')
        return *text == start ? -1 : 0;
    number->fraction = ++*text;
    while (is_digit(**text))
        ++*text;
    number->nfraction = (size_t)(*text - number->fraction);
    return number->nfraction ? 0 : -1;
}

/* floor(number * factor), exactly. The fraction is taken from its last digit: with the digits
 * behind it already scaled and rounded down, (digit * factor + behind) / 10 rounds as the whole
 * would. */
static int scale(const struct decimal *number, uint64_t factor, uint64_t *value)
{
    uint64_t part = 0;
    for (size_t i = number->nfraction; i-- > 0;)
        part = ((uint64_t)(number->fraction[i] - '0') * factor + part) / 10;
    if (__builtin_mul_overflow(number->whole, factor, value) ||
        __builtin_add_overflow(*value, part, value))
        return -1;
    return 0;
}

/* The factor of the unit that the rest of a text names, or 0. */
static uint64_t read_unit(const char *text, const struct unit *units, size_t nunits)
{
    for (size_t i = 0; i < nunits; i++) {
        if (same_word(text, strlen(text), units[i].name))
            return units[i].factor;
    }
    return 0;
}

int nvsi_parse_size(const char *text, uint64_t *nbytes)
{
    static const struct unit units[] = {
        {"", 1},
        {"b", 1},
        {"k", UINT64_C(1) << 10},
        {"kb", UINT64_C(1) << 10},
        {"kib", UINT64_C(1) << 10},
        {"m", UINT64_C(1) << 20},
        {"mb", UINT64_C(1) << 20},
        {"mib", UINT64_C(1) << 20},
        {"g", UINT64_C(1) << 30},
        {"gb", UINT64_C(1) << 30},
        {"gib", UINT64_C(1) << 30},
        {"t", UINT64_C(1) << 40},
        {"tb", UINT64_C(1) << 40},
        {"tib", UINT64_C(1) << 40},
    };
    struct decimal number;
    if (read_decimal(&text, &number) != 0)
        return -1;
    if (text[0] == ' ' && text[1])
        text++;
    uint64_t factor = read_unit(text, units, sizeof(units) / sizeof(units[0]));
    uint64_t value;
    if (!factor || scale(&number, factor, &value) != 0)
        return -1;
    *nbytes = value;
    return 0;
}

int nvsi_parse_seconds(const char *text, int64_t *milliseconds)
{
    static const struct unit units[] = {
        {"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000},
    };
    if (same_word(text, strlen(text), "off")) {
        *milliseconds = 0;
        return 0;
    }
    struct decimal number;
    if (read_decimal(&text, &number) != 0)
        return -1;
    uint64_t factor = read_unit(text, units, sizeof(units) / sizeof(units[0]));
    uint64_t value;
    if (!factor || scale(&number, factor, &value) != 0 || value > INT64_MAX)
        return -1;
    bool is_zero = !number.whole;
    for (size_t i = 0; i < number.nfraction; i++)
        is_zero = is_zero && number.fraction[i] == '0';
    if (!value && !is_zero)
        return -1;
    *milliseconds = (int64_t)value;
    return 0;
}

int nvsi_parse_int(const char *text, long min, long max, long *value)
{
    bool negative = *text == '-';
    const char *digits = text + negative;
    const char *end = digits;
    uint64_t magnitude;
    if (read_digits(&end, &magnitude) != 0 || end == digits || *end)
        return -1;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return -1;
    /* Negated as unsigned, because the magnitude of the least integer has no positive twin. */
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return -1;
    *value = (long)number;
    return 0;
}

int nvsi_parse_choice(const char *text, const char *choices, int *index)
{
    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");
        if (same_word(choices, n, text)) {
            *index = i;
            return 0;
        }
        if (!choices[n])
            return -1;
        choices += n + 1;
    }
}

int nvsi_parse_bool(const char *text, bool *value)
{
    int index;
    if (nvsi_parse_choice(text, "0|1|no|yes|off|on|false|true", &index) != 0)
        return -1;
    *value = index % 2;
    return 0;
}
