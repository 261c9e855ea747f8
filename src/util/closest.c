/*
 * closest.c - "did you mean ...?": the nearest word of a list, by the number of slips between them.
 *
 * The distance is the optimal string alignment: the fewest letters to change, add, drop or swap
 * with their neighbour. Three rows of the usual table are enough, and the words of people and of
 * our lists are short, so the rows have a fixed length; a longer word is close to nothing.
 */
#include "parse.h"

#include <stddef.h>
#include <string.h>

#define LONGEST 63

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Both words have at most LONGEST letters. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    const size_t nb = strlen(b);
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

const char *nvsi_closest(const char *word, const char *const *words, int n)
{
    const char *closest = NULL;
    const size_t length = strlen(word);
    size_t limit = length / 3;
    if (length > LONGEST)
        return NULL;
    for (int i = 0; i < n; i++) {
        if (strlen(words[i]) > LONGEST)
            continue;
        size_t slips = distance(word, words[i]);
        if (slips > limit || (closest && slips == limit))
            continue;
        closest = words[i];
        limit = slips;
    }
    return closest;
}
