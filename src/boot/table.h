/*
 * table.h - what the PEs of a job are doing, in words: single flight records, teams, and the table
 * of all PEs with who is missing. The library and nvsrun print it with the same functions.
 *
 * Like job.h, a header that tools/ may include.
 */
#ifndef NVSI_TABLE_H
#define NVSI_TABLE_H

#include <stdbool.h>

#include "boot/job.h"

/* ---- flight.c ------------------------------------------------------------------------------- */

/* A text that is cut where it does not fit; always ends in NUL. */
struct nvsi_text {
    char *at;
    size_t left; /* with the NUL */
};
void nvsi_text_add(struct nvsi_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A copy of a record that its owner's threads may be writing: word by word, like their stores. */
void nvsi_flight_read(struct nvsi_flight *seen, const struct nvsi_flight *flight);

/* What a flight record says, as words that follow "PE 1 was killed": "in all_reduce #7 of the world
 * team (float32, 100 elements, 400 bytes)", or "while computing (last: put)". job may be NULL: then
 * the members of a team cannot be named. */
void nvsi_flight_describe(const struct nvsi_job *job, const struct nvsi_flight *flight, char *text,
                          size_t size);

/* The operation without "in", and without what follows from the rest: "all_reduce #7 of the world
 * team (float32, 100 elements)". */
void nvsi_flight_call(const struct nvsi_job *job, const struct nvsi_flight *flight,
                      struct nvsi_text *text);

/* "the world team", "team 7 [PEs 0-6 by 2]", "the active set of PEs 1-3". */
void nvsi_team_name(const struct nvsi_job *job, int team_slot, struct nvsi_text *text);

/* Some PEs of the job. */
struct nvsi_pe_set {
    uint64_t bits[NVSI_MAX_PES / 64];
};
static inline bool nvsi_pe_set_has(const struct nvsi_pe_set *set, int pe)
{
    return set->bits[pe / 64] >> (pe % 64) & 1;
}
static inline void nvsi_pe_set_add(struct nvsi_pe_set *set, int pe)
{
    set->bits[pe / 64] |= UINT64_C(1) << (pe % 64);
}
int nvsi_pe_set_count(const struct nvsi_pe_set *set);
/* "PE 3" or "PEs 0, 2-5, 9"; for very many, the first of them and how many there are. */
void nvsi_pe_set_describe(const struct nvsi_pe_set *set, struct nvsi_text *text);

/* ---- table.c -------------------------------------------------------------------------------- */

/* One PE as the table shows it. */
struct nvsi_pe_view {
    uint32_t state; /* enum nvsi_pe_state */
    int32_t pid;
    bool stopped;     /* by SIGSTOP, a terminal or a debugger */
    const char *word; /* said of it instead of its state, or NULL */
    struct nvsi_flight flight;
};

struct nvsi_table; /* a moment of the job */

/* Looks at all PEs. amend (may be NULL) can add to each what the arena does not tell. NULL: no
 * memory. */
struct nvsi_table *nvsi_table_take(const struct nvsi_job *job,
                                   void (*amend)(void *arg, int pe, struct nvsi_pe_view *view),
                                   void *arg);
void nvsi_table_release(struct nvsi_table *table);

/* Gives the lines of the table: one for each PE, or, in a wide job, for each group of PEs in the
 * same state; then one for each collective in which somebody is missing. */
void nvsi_table_lines(const struct nvsi_table *table, void (*line)(void *arg, const char *text),
                      void *arg);

/* "PE 1 is missing in all_reduce #7 of the world team (float32, 100 elements)", for the collective
 * that PE pe waits in. False, and an empty text: it waits in none. */
bool nvsi_table_missing(const struct nvsi_table *table, int pe, char *text, size_t size);

#endif
