/*
 * words.c - numbers, sizes and names as people write them. Nothing is taken half: "12x" is no
 * number, and "1K5" no size.
 */
#include "perf.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What K, M, G and T multiply by; with "", "B" or "iB" behind it. 0 if it is none of these. */
static double unit_of(const char *text)
{
    static const char units[] = "KMGT";
    double factor = 1;
    const char *found = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
    if (found) {
        factor = ldexp(1, 10 * (int)(found - units + 1));
        text++;
        if (*text == 'i')
            text++;
    }
    if (*text == 'B' || *text == 'b')
        text++;
    return *text ? 0 : factor;
}

bool word_size(const char *text, size_t *bytes)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    double value = strtod(text, &end);
    double factor = unit_of(end);
    if (end == text || factor == 0 || !(value * factor < 0x1p62))
        return false;
    *bytes = (size_t)(value * factor);
    return true;
}

bool word_number(const char *text, long min, long max, long *number)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)*text) || value < min || value > max)
        return false;
    *number = value;
    return true;
}

const char *word_bytes(size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static char texts[4][32];
    static unsigned next;
    char *text = texts[next++ % 4];
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, sizeof(texts[0]), value < 100 ? "%.4g %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* The letters of a name that count. */
static size_t letters(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++)
        if (*name != '_' && *name != '-')
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
    return n;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

unsigned word_distance(const char *a, const char *b)
{
    char from[64], to[64];
    size_t m = letters(a, from, sizeof(from)), n = letters(b, to, sizeof(to));
    unsigned row[64]; /* row[j]: distance of from[0..i) to to[0..j) */
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (from[i - 1] != to[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *word_hint(const char *text, const char *(*name)(size_t index))
{
    static char hint[96];
    const char *best = NULL;
    unsigned best_distance = 3; /* farther ones are no likely meaning */
    for (size_t i = 0; name(i); i++) {
        unsigned distance = word_distance(text, name(i));
        if (distance < best_distance && distance < strlen(name(i))) {
            best = name(i);
            best_distance = distance;
        }
    }
    if (!best)
        return "";
    snprintf(hint, sizeof(hint), " (did you mean %s?)", best);
    return hint;
}
