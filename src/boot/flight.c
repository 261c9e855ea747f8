/*
 * flight.c - flight records in words: operations, teams, sets of PEs.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "boot/table.h"
#include "dtype.h"

void nvsi_text_add(struct nvsi_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    size_t taken = length > 0 ? (size_t)length : 0;
    if (taken >= text->left)
        taken = text->left ? text->left - 1 : 0;
    text->at += taken;
    text->left -= taken;
}

/* ---- sets of PEs ---------------------------------------------------------------------------- */

int nvsi_pe_set_count(const struct nvsi_pe_set *set)
{
    int count = 0;
    for (size_t i = 0; i < sizeof set->bits / sizeof *set->bits; i++)
        count += __builtin_popcountll(set->bits[i]);
    return count;
}

/* The next member from pe on, or NVSI_MAX_PES. */
static int next_member(const struct nvsi_pe_set *set, int pe)
{
    while (pe < NVSI_MAX_PES && !nvsi_pe_set_has(set, pe))
        pe++;
    return pe;
}

/* The distance of all neighbours, or 0 if that is not the same. */
static int stride_of(const struct nvsi_pe_set *set, int first, int *last)
{
    int stride = 0;
    *last = first;
    for (int pe = next_member(set, first + 1); pe < NVSI_MAX_PES; pe = next_member(set, pe + 1)) {
        if (stride && pe - *last != stride)
            return 0;
        stride = pe - *last;
        *last = pe;
    }
    return stride;
}

static void list_describe(const struct nvsi_pe_set *set, int count, struct nvsi_text *text)
{
    enum { RANGES = 12 }; /* more are not read */
    int first = next_member(set, 0), ranges = 0;
    for (; first < NVSI_MAX_PES && ranges < RANGES; ranges++) {
        int last = first;
        while (last + 1 < NVSI_MAX_PES && nvsi_pe_set_has(set, last + 1))
            last++;
        nvsi_text_add(text, "%s%d", ranges ? ", " : "", first);
        if (last > first)
            nvsi_text_add(text, "%s%d", last > first + 1 ? "-" : ", ", last);
        first = next_member(set, last + 1);
    }
    if (first < NVSI_MAX_PES)
        nvsi_text_add(text, ", ... (%d in all)", count);
}

void nvsi_pe_set_describe(const struct nvsi_pe_set *set, struct nvsi_text *text)
{
    int count = nvsi_pe_set_count(set), first = next_member(set, 0), last;
    if (!count) {
        nvsi_text_add(text, "no PE");
        return;
    }
    int stride = stride_of(set, first, &last);
    nvsi_text_add(text, count == 1 ? "PE " : "PEs ");
    if (count > 3 && stride > 1)
        nvsi_text_add(text, "%d-%d by %d", first, last, stride);
    else
        list_describe(set, count, text);
}

/* ---- teams ---------------------------------------------------------------------------------- */

void nvsi_team_name(const struct nvsi_job *job, int team_slot, struct nvsi_text *text)
{
    static const char *const predefined[] = {"the world team", "the shared team", "the node team"};
    if (team_slot < (int)(sizeof predefined / sizeof *predefined)) {
        nvsi_text_add(text, "%s", predefined[team_slot]);
        return;
    }
    if (team_slot >= NVSI_MAX_TEAMS) { /* half of a record that is being written */
        nvsi_text_add(text, "an unknown team");
        return;
    }
    if (!job) {
        nvsi_text_add(text, "team %d", team_slot);
        return;
    }
    const struct nvsi_team_slot *team = &job->teams[team_slot];
    struct nvsi_pe_set members;
    for (size_t i = 0; i < sizeof members.bits / sizeof *members.bits; i++)
        members.bits[i] = atomic_load_explicit(&team->members[i], memory_order_relaxed);
    bool active_set = atomic_load_explicit(&team->key, memory_order_relaxed) >> 63;
    if (active_set)
        nvsi_text_add(text, "the active set of ");
    else
        nvsi_text_add(text, "team %d [", team_slot);
    nvsi_pe_set_describe(&members, text);
    nvsi_text_add(text, active_set ? "" : "]");
}

/* ---- operations ----------------------------------------------------------------------------- */

static const char *const flight_names[NVSI_NUM_FLIGHTS] = {
    [NVSI_AT_NOTHING] = "nothing",
#define NVSI_FLIGHT(id, text) [NVSI_AT_##id] = text,
#include "boot/flight.def"
#undef NVSI_FLIGHT
};

const char *nvsi_flight_name(uint32_t op)
{
    return op < NVSI_NUM_FLIGHTS ? flight_names[op] : "an unknown operation";
}

/* A user counts the collectives of a team from 1, whatever used its place in the arena before. */
static uint64_t number_in_team(const struct nvsi_job *job, const struct nvsi_flight *flight)
{
    uint64_t before = 0;
    if (job && flight->team < NVSI_MAX_TEAMS)
        before = atomic_load_explicit(&job->teams[flight->team].seq_first, memory_order_relaxed);
    return flight->seq > before ? flight->seq - before : flight->seq;
}

static void amount_add(struct nvsi_text *text, const char **lead, uint64_t amount, const char *unit)
{
    if (!amount)
        return;
    nvsi_text_add(text, "%s%" PRIu64 " %s%s", *lead, amount, unit, amount == 1 ? "" : "s");
    *lead = ", ";
}

/* Whether the amounts in a record are what the user passed: those of the collectives that init,
 * malloc and their like consist of are not. */
static bool amounts_count(const struct nvsi_flight *flight)
{
    return flight->team < 0 || (flight->op >= NVSI_AT_SYNC && flight->op <= NVSI_AT_REDUCE_SCATTER);
}

/* The operation with its numbers, without saying whether it is going on. */
static void call_add(const struct nvsi_job *job, const struct nvsi_flight *flight, bool bytes,
                     struct nvsi_text *text)
{
    bool collective = flight->team >= 0;
    nvsi_text_add(text, "%s", nvsi_flight_name(flight->op));
    if (collective) {
        nvsi_text_add(text, " #%" PRIu64 " of ", number_in_team(job, flight));
        nvsi_team_name(job, flight->team, text);
    } else if (flight->peer >= 0) {
        nvsi_text_add(text, " %s PE %" PRId32, flight->op == NVSI_AT_LOCK ? "behind" : "with",
                      flight->peer);
    }
    const char *lead = " (";
    if (!amounts_count(flight))
        return;
    if (flight->dtype >= 0) {
        nvsi_text_add(text, "%s%s", lead, nvsi_dtype_name(flight->dtype));
        lead = ", ";
    }
    amount_add(text, &lead, flight->nelems, "element");
    if (bytes)
        amount_add(text, &lead, flight->nbytes, "byte");
    nvsi_text_add(text, *lead == ',' ? ")" : "");
}

void nvsi_flight_call(const struct nvsi_job *job, const struct nvsi_flight *flight,
                      struct nvsi_text *text)
{
    call_add(job, flight, flight->dtype < 0 && flight->nelems == 0, text);
}

void nvsi_flight_read(struct nvsi_flight *seen, const struct nvsi_flight *flight)
{
    typedef uint64_t __attribute__((may_alias)) word;
    _Static_assert(sizeof *seen % sizeof(word) == 0, "whole words");
    for (size_t i = 0; i < sizeof *seen / sizeof(word); i++)
        ((word *)seen)[i] = __atomic_load_n((const word *)flight + i, __ATOMIC_RELAXED);
}

void nvsi_flight_describe(const struct nvsi_job *job, const struct nvsi_flight *flight, char *text,
                          size_t size)
{
    struct nvsi_text out = {text, size};
    struct nvsi_flight seen;
    nvsi_flight_read(&seen, flight);
    if (seen.op == NVSI_AT_NOTHING) {
        nvsi_text_add(&out, "while computing");
    } else if (seen.busy) {
        nvsi_text_add(&out, "in ");
        call_add(job, &seen, true, &out);
    } else {
        nvsi_text_add(&out, "while computing (last: %s)", nvsi_flight_name(seen.op));
    }
}
