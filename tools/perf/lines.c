/*
 * lines.c - the lines measured so far, and what they come to.
 */
#include "perf.h"

#include <stdlib.h>

void lines_add(struct lines *lines, const struct line *line)
{
    if (lines->count == lines->room) {
        size_t room = lines->room ? 2 * lines->room : 64;
        struct line *grown = realloc(lines->line, room * sizeof(*grown));
        if (!grown) {
            fprintf(stderr, "nvs-perf: PE %d: no memory for %zu lines\n", shmem_my_pe(), room);
            shmem_global_exit(2);
        }
        lines->line = grown;
        lines->room = room;
    }
    lines->line[lines->count++] = *line;
}

double lines_bandwidth(const struct lines *lines)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        sum += line->out.bus + (line->in.there ? line->in.bus : 0);
        count += line->in.there ? 2 : 1;
    }
    return count ? sum / (double)count : 0;
}

static long long counted(const struct figures *figures)
{
    return figures->there && figures->wrong > 0 ? figures->wrong : 0;
}

long long lines_wrong(const struct lines *lines)
{
    long long wrong = 0;
    for (size_t i = 0; i < lines->count; i++)
        wrong += counted(&lines->line[i].out) + counted(&lines->line[i].in);
    return wrong;
}
