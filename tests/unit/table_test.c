/*
 * table_test.c - the table of all PEs in jobs that are made up: lists of PEs, names of teams, lines
 * that PEs share, and who is missing. That the records of real jobs are right is for
 * tests/failures.
 */
#include "boot/table.h"
#include "check.h"

#include "dtype.h"

#include <stdlib.h>
#include <string.h>

static struct nvsi_job *job;

static void new_job(uint32_t npes)
{
    free(job);
    size_t nbytes = sizeof *job + npes * sizeof *job->pes;
    job = aligned_alloc(NVSI_LINE, nbytes);
    if (!job)
        abort();
    memset(job, 0, nbytes);
    job->npes = npes;
    for (uint32_t pe = 0; pe < npes; pe++) {
        struct nvsi_flight *flight = &job->pes[pe].flight;
        job->pes[pe].state = NVSI_PE_RUNNING;
        flight->team = flight->peer = flight->dtype = flight->redop = -1;
    }
}

static void put_into(int pe, enum nvsi_flight_op op, int team, uint64_t seq, int peer)
{
    struct nvsi_flight *flight = &job->pes[pe].flight;
    flight->op = op;
    flight->busy = 1;
    flight->team = team;
    flight->seq = seq;
    flight->peer = peer;
}

static void member(int team, int pe)
{
    job->teams[team].members[pe / 64] |= UINT64_C(1) << (pe % 64);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void check_list(const char *words, int count, const int *pes)
{
    char text[200];
    struct nvsi_text out = {text, sizeof text};
    struct nvsi_pe_set set = {{0}};
    for (int i = 0; i < count; i++)
        nvsi_pe_set_add(&set, pes[i]);
    nvsi_pe_set_describe(&set, &out);
    CHECK(strcmp(text, words) == 0, "'%s', not '%s'", text, words);
    CHECK(nvsi_pe_set_count(&set) == count, "%d", nvsi_pe_set_count(&set));
}

#define LIST(words, ...)                                                                           \
    check_list(words, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

static void test_lists(void)
{
    check_list("no PE", 0, NULL);
    LIST("PE 0", 0);
    LIST("PE 4095", 4095);
    LIST("PEs 0, 1", 0, 1);
    LIST("PEs 0-2", 0, 1, 2);
    LIST("PEs 1, 3, 5", 1, 3, 5);
    LIST("PEs 1-7 by 2", 1, 3, 5, 7);
    LIST("PEs 3-17, 20", 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20);
    LIST("PEs 62-65, 4095", 62, 63, 64, 65, 4095);
    LIST("PEs 0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, ... (14 in all)", 0, 2, 5, 7, 10, 12, 15,
         17, 20, 22, 25, 27, 30, 32);
}

static void check_team(int slot, const char *words)
{
    char text[200];
    struct nvsi_text out = {text, sizeof text};
    nvsi_team_name(job, slot, &out);
    CHECK(strcmp(text, words) == 0, "'%s', not '%s'", text, words);
}

static void test_teams(void)
{
    new_job(8);
    for (int pe = 0; pe < 8; pe += 2) {
        member(7, pe);
        member(300, pe + 1);
    }
    job->teams[300].key = UINT64_C(1) << 63 | 5;
    check_team(0, "the world team");
    check_team(7, "team 7 [PEs 0-6 by 2]");
    check_team(300, "the active set of PEs 1-7 by 2");
    check_team(NVSI_MAX_TEAMS, "an unknown team");
}

static void test_flights(void)
{
    char text[200];
    new_job(2);
    struct nvsi_flight *flight = &job->pes[0].flight;
    nvsi_flight_describe(job, flight, text, sizeof text);
    CHECK(strcmp(text, "while computing") == 0, "%s", text);
    put_into(0, NVSI_AT_ALL_REDUCE, 0, 107, -1);
    flight->dtype = NVSI_FLOAT32;
    flight->nelems = 100;
    flight->nbytes = 400;
    job->teams[0].seq_first = 100;
    nvsi_flight_describe(job, flight, text, sizeof text);
    CHECK(strcmp(text, "in all_reduce #7 of the world team (float32, 100 elements, 400 bytes)") ==
              0,
          "%s", text);
    nvsi_flight_describe(job, flight, text, 20);
    CHECK(strcmp(text, "in all_reduce #7 of") == 0, "%s", text);
    put_into(0, NVSI_AT_MALLOC, 0, 101, -1); /* the amounts are those of an exchange inside of it */
    nvsi_flight_describe(job, flight, text, sizeof text);
    CHECK(strcmp(text, "in malloc #1 of the world team") == 0, "%s", text);
    put_into(0, NVSI_AT_LOCK, -1, 0, 1);
    flight->dtype = -1;
    flight->nelems = flight->nbytes = 0;
    nvsi_flight_describe(job, flight, text, sizeof text);
    CHECK(strcmp(text, "in set_lock behind PE 1") == 0, "%s", text);
    flight->busy = 0;
    nvsi_flight_describe(job, flight, text, sizeof text);
    CHECK(strcmp(text, "while computing (last: set_lock)") == 0, "%s", text);
}

/* ---- the table ------------------------------------------------------------------------------- */

static char lines[8000];

static void collect(void *arg, const char *text)
{
    (void)arg;
    size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s\n", text);
}

static void check_table(const char *words)
{
    lines[0] = 0;
    struct nvsi_table *table = nvsi_table_take(job, NULL, NULL);
    nvsi_table_lines(table, collect, NULL);
    nvsi_table_release(table);
    CHECK(strcmp(lines, words) == 0, "\n%s\nnot\n%s", lines, words);
}

static void test_missing(void)
{
    new_job(4);
    for (int pe = 0; pe < 4; pe++) {
        member(0, pe);
        put_into(pe, NVSI_AT_BARRIER, 0, 9, pe == 2 ? -1 : 2);
    }
    put_into(2, NVSI_AT_PUT, -1, 0, 3);
    job->pes[1].state = NVSI_PE_DEAD;
    check_table("PE 0 (pid 0): running in barrier #9 of the world team, waits for PE 2\n"
                "PE 1 (pid 0): dead, last seen in barrier #9 of the world team\n"
                "PE 2 (pid 0): running in put with PE 3\n"
                "PE 3 (pid 0): running in barrier #9 of the world team, waits for PE 2\n"
                "PEs 1, 2 are missing in barrier #9 of the world team; PEs 0, 3 wait\n");
    job->pes[1].state = NVSI_PE_FINALIZED;
    check_table("PE 0 (pid 0): running in barrier #9 of the world team, waits for PE 2\n"
                "PE 1 (pid 0): finalized\n"
                "PE 2 (pid 0): running in put with PE 3\n"
                "PE 3 (pid 0): running in barrier #9 of the world team, waits for PE 2\n"
                "PEs 1, 2 are missing in barrier #9 of the world team; PEs 0, 3 wait\n");
}

/* Who is ahead has been there; who waits for nobody yet is no reason to say anything. */
static void test_not_missing(void)
{
    new_job(2);
    member(0, 0);
    member(0, 1);
    put_into(0, NVSI_AT_SYNC, 0, 5, -1);
    check_table("PE 0 (pid 0): running in sync #5 of the world team\n"
                "PE 1 (pid 0): running while computing\n");
    put_into(0, NVSI_AT_SYNC, 0, 5, 1);
    put_into(1, NVSI_AT_SYNC, 0, 5, -1);
    check_table("PE 0 (pid 0): running in sync #5 of the world team, waits for PE 1\n"
                "PE 1 (pid 0): running in sync #5 of the world team\n"
                "PE 1 has not done its part of sync #5 of the world team; PE 0 waits\n");
    /* Members of a broadcast wait for its root alone. */
    new_job(3);
    for (int pe = 0; pe < 3; pe++)
        member(0, pe);
    put_into(0, NVSI_AT_BROADCAST, 0, 5, 1);
    check_table("PE 0 (pid 0): running in broadcast #5 of the world team, waits for PE 1\n"
                "PE 1 (pid 0): running while computing\n"
                "PE 2 (pid 0): running while computing\n"
                "PE 1 is missing in broadcast #5 of the world team; PE 0 waits\n");
}

static void test_wide(void)
{
    new_job(4096);
    for (int pe = 0; pe < 4096; pe++) {
        member(0, pe);
        if (pe != 77)
            put_into(pe, NVSI_AT_BARRIER, 0, 3, 77);
    }
    check_table(
        "PEs 0-76, 78-4095 (4095): running in barrier #3 of the world team, waits for PE 77\n"
        "PE 77 (pid 0): running while computing\n"
        "PE 77 is missing in barrier #3 of the world team; PEs 0-76, 78-4095 wait\n");
}

/* A killed PE may leave anything in its record. */
static void test_nonsense(void)
{
    new_job(2);
    memset(&job->pes[0].flight, 0x7f, sizeof job->pes[0].flight);
    memset(&job->pes[1].flight, 0xff, sizeof job->pes[1].flight);
    job->pes[0].flight.team = 3;
    job->pes[1].state = 12345;
    lines[0] = 0;
    struct nvsi_table *table = nvsi_table_take(job, NULL, NULL);
    nvsi_table_lines(table, collect, NULL);
    CHECK(strstr(lines, "an unknown operation"), "%s", lines);
    CHECK(strstr(lines, "PE 1 (pid 0): in an unknown state"), "%s", lines);
    char text[64];
    CHECK(!nvsi_table_missing(table, 1, text, sizeof text), "%s", text);
    nvsi_table_release(table);
}

int main(void)
{
    test_lists();
    test_teams();
    test_flights();
    test_missing();
    test_not_missing();
    test_wide();
    test_nonsense();
    free(job);
    return check_result();
}
