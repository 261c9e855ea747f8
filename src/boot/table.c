/*
 * table.c - what all PEs of a job are doing at this moment, and who is missing where.
 *
 * Made from what lies in the arena (states, flight records, members of teams) and from the kernel's
 * word whether a process is stopped, so that any PE and nvsrun can make it at any time without the
 * help of those who hang. Nothing is locked: a record that its PE is just writing may show parts of
 * two operations.
 *
 * Who is missing: in a collective, the members of its team whose records have not got as far, and
 * whom the waiting PEs say they wait for (flight.peer, set by overdue.c once a wait has slept).
 * Members of a broadcast wait for its root only, so there the second alone counts.
 */
#include "boot/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many PEs have a line each; those of a wider job share lines. */
enum { SINGLE_LINES = 8, LINE_BYTES = 640 };

struct nvsi_table {
    const struct nvsi_job *job;
    int npes;
    struct nvsi_pe_view views[];
};

/* ---- looking -------------------------------------------------------------------------------- */

/* Whether the kernel says T (stopped) or t (by a debugger). */
static bool is_stopped(int pid)
{
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* the name before it may hold anything */
    return name_end && (strncmp(name_end, ") T", 3) == 0 || strncmp(name_end, ") t", 3) == 0);
}

struct nvsi_table *nvsi_table_take(const struct nvsi_job *job,
                                   void (*amend)(void *arg, int pe, struct nvsi_pe_view *view),
                                   void *arg)
{
    struct nvsi_table *table = malloc(sizeof *table + job->npes * sizeof *table->views);
    if (!table)
        return NULL;
    table->job = job;
    table->npes = (int)job->npes;
    for (int pe = 0; pe < table->npes; pe++) {
        const struct nvsi_pe_slot *slot = &job->pes[pe];
        struct nvsi_pe_view *view = &table->views[pe];
        *view = (struct nvsi_pe_view){.state = atomic_load(&slot->state),
                                      .pid = atomic_load(&slot->pid)};
        nvsi_flight_read(&view->flight, &slot->flight);
        if (amend)
            amend(arg, pe, view);
        view->stopped = !view->word && view->state != NVSI_PE_DEAD && is_stopped(view->pid);
    }
    return table;
}

void nvsi_table_release(struct nvsi_table *table)
{
    free(table);
}

/* ---- PEs ------------------------------------------------------------------------------------ */

static const char *state_word(const struct nvsi_pe_view *view)
{
    static const char *const words[] = {"without nvs", "before init", "running", "finalized",
                                        "dead, last seen"};
    if (view->word)
        return view->word;
    if (view->stopped)
        return "stopped";
    return view->state <= NVSI_PE_DEAD ? words[view->state] : "in an unknown state";
}

/* Whether it has a flight record that says something. */
static bool in_job(const struct nvsi_pe_view *view)
{
    return view->state == NVSI_PE_RUNNING || view->state == NVSI_PE_DEAD;
}

static void view_describe(const struct nvsi_table *table, const struct nvsi_pe_view *view,
                          struct nvsi_text *text)
{
    char doing[LINE_BYTES];
    nvsi_text_add(text, "%s", state_word(view));
    if (!in_job(view))
        return;
    const struct nvsi_flight *flight = &view->flight;
    nvsi_flight_describe(table->job, flight, doing, sizeof doing);
    nvsi_text_add(text, " %s", doing);
    if (view->state == NVSI_PE_RUNNING && flight->busy && flight->team >= 0 && flight->peer >= 0)
        nvsi_text_add(text, ", waits for PE %d", flight->peer);
}

/* Whether the lines of both would read the same. */
static bool alike(const struct nvsi_pe_view *a, const struct nvsi_pe_view *b)
{
    const struct nvsi_flight *x = &a->flight, *y = &b->flight;
    if (a->state != b->state || a->stopped != b->stopped || state_word(a) != state_word(b))
        return false;
    if (!in_job(a))
        return true;
    if (x->op != y->op || x->busy != y->busy)
        return false;
    return !x->busy || (x->team == y->team && x->peer == y->peer && x->dtype == y->dtype &&
                        x->seq == y->seq && x->nelems == y->nelems && x->nbytes == y->nbytes);
}

struct lines {
    void (*give)(void *arg, const char *text);
    void *arg;
};

/* The line of PE pe and of all behind it that are like it; counts them as done. */
static void line_of(const struct nvsi_table *table, int pe, struct nvsi_pe_set *done,
                    const struct lines *lines)
{
    char line[LINE_BYTES];
    struct nvsi_text text = {line, sizeof line};
    struct nvsi_pe_set group = {{0}};
    for (int other = pe; other < table->npes; other++)
        if (other == pe || (table->npes > SINGLE_LINES && !nvsi_pe_set_has(done, other) &&
                            alike(&table->views[pe], &table->views[other]))) {
            nvsi_pe_set_add(&group, other);
            nvsi_pe_set_add(done, other);
        }
    nvsi_pe_set_describe(&group, &text);
    int count = nvsi_pe_set_count(&group);
    if (count > 1)
        nvsi_text_add(&text, " (%d): ", count);
    else
        nvsi_text_add(&text, " (pid %d): ", table->views[pe].pid);
    view_describe(table, &table->views[pe], &text);
    lines->give(lines->arg, line);
}

/* ---- who is missing ------------------------------------------------------------------------- */

static bool in_collective(const struct nvsi_pe_view *view)
{
    return in_job(view) && view->flight.busy && view->flight.team >= 0 &&
           view->flight.team < NVSI_MAX_TEAMS;
}

static bool same_collective(const struct nvsi_pe_view *a, const struct nvsi_pe_view *b)
{
    return in_collective(a) && in_collective(b) && a->flight.team == b->flight.team &&
           a->flight.seq == b->flight.seq;
}

/* Whether a PE has come to the collective of `flight`, or is behind it. */
static bool has_come(const struct nvsi_pe_view *view, const struct nvsi_flight *flight)
{
    return view->state == NVSI_PE_RUNNING && view->flight.team == flight->team &&
           view->flight.seq >= flight->seq;
}

struct stuck {
    struct nvsi_pe_set waiting, missing;
    bool long_ago; /* somebody has waited long enough to say for whom */
};

static void stuck_find(const struct nvsi_table *table, int pe, struct stuck *stuck)
{
    const struct nvsi_flight *flight = &table->views[pe].flight;
    const struct nvsi_team_slot *team = &table->job->teams[flight->team];
    memset(stuck, 0, sizeof *stuck);
    for (int other = 0; other < table->npes; other++) {
        const struct nvsi_pe_view *view = &table->views[other];
        uint64_t members = atomic_load_explicit(&team->members[other / 64], memory_order_relaxed);
        if (view->state == NVSI_PE_RUNNING && same_collective(&table->views[pe], view)) {
            nvsi_pe_set_add(&stuck->waiting, other);
            if (view->flight.peer >= 0 && view->flight.peer < table->npes) {
                stuck->long_ago = true;
                nvsi_pe_set_add(&stuck->missing, view->flight.peer);
            }
        } else if (flight->op != NVSI_AT_BROADCAST && members >> (other % 64) & 1 &&
                   !has_come(view, flight)) {
            nvsi_pe_set_add(&stuck->missing, other);
        }
    }
    /* Whoever is awaited is not among the waiting: it has come, but does not go on. */
    for (size_t i = 0; i < sizeof stuck->waiting.bits / sizeof *stuck->waiting.bits; i++)
        stuck->waiting.bits[i] &= ~stuck->missing.bits[i];
}

/* "PE 1 is missing in barrier #3 of the world team". */
static void missing_describe(const struct nvsi_table *table, int pe, const struct stuck *stuck,
                             struct nvsi_text *text)
{
    const struct nvsi_flight *flight = &table->views[pe].flight;
    bool all_here = true;
    for (int other = 0; other < table->npes; other++)
        if (nvsi_pe_set_has(&stuck->missing, other))
            all_here &= has_come(&table->views[other], flight);
    int count = nvsi_pe_set_count(&stuck->missing);
    bool one = count <= 1;
    if (count)
        nvsi_pe_set_describe(&stuck->missing, text);
    else
        nvsi_text_add(text, "somebody"); /* members of a joined team do not know each other yet */
    all_here &= count > 0;
    if (all_here)
        nvsi_text_add(text, one ? " has not done its part of " : " have not done their part of ");
    else
        nvsi_text_add(text, one ? " is missing in " : " are missing in ");
    nvsi_flight_call(table->job, flight, text);
}

bool nvsi_table_missing(const struct nvsi_table *table, int pe, char *text, size_t size)
{
    struct nvsi_text out = {text, size};
    struct stuck stuck;
    *text = 0;
    if (!in_collective(&table->views[pe]))
        return false;
    stuck_find(table, pe, &stuck);
    missing_describe(table, pe, &stuck, &out);
    return true;
}

/* The sentence about the collective that PE pe is in, if it is the first of those who are. */
static void missing_line(const struct nvsi_table *table, int pe, const struct lines *lines)
{
    char line[LINE_BYTES];
    struct nvsi_text text = {line, sizeof line};
    struct stuck stuck;
    if (!in_collective(&table->views[pe]))
        return;
    for (int before = 0; before < pe; before++)
        if (same_collective(&table->views[before], &table->views[pe]))
            return;
    stuck_find(table, pe, &stuck);
    if (!stuck.long_ago || !nvsi_pe_set_count(&stuck.missing))
        return;
    missing_describe(table, pe, &stuck, &text);
    int waiting = nvsi_pe_set_count(&stuck.waiting);
    if (waiting) {
        nvsi_text_add(&text, "; ");
        nvsi_pe_set_describe(&stuck.waiting, &text);
        nvsi_text_add(&text, waiting == 1 ? " waits" : " wait");
    }
    lines->give(lines->arg, line);
}

void nvsi_table_lines(const struct nvsi_table *table, void (*line)(void *arg, const char *text),
                      void *arg)
{
    struct lines lines = {line, arg};
    struct nvsi_pe_set done = {{0}};
    for (int pe = 0; pe < table->npes; pe++)
        if (!nvsi_pe_set_has(&done, pe))
            line_of(table, pe, &done, &lines);
    for (int pe = 0; pe < table->npes; pe++)
        missing_line(table, pe, &lines);
}
