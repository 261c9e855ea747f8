/*
 * flight.c - a job of any bytes: flight records that are being written or were overwritten, members
 * and states that make no sense. Whoever describes them must say something that fits, and nothing
 * else.
 */
#include "boot/table.h"

#include "fuzz.h"

enum { MOST_PES = 12 };

static struct nvsi_job *read_job(struct reader *reader)
{
    uint32_t npes = 1 + read_byte(reader) % MOST_PES;
    struct nvsi_job *job = calloc(1, sizeof *job + npes * sizeof *job->pes);
    if (!job)
        abort();
    job->npes = npes;
    for (uint32_t pe = 0; pe < npes; pe++) {
        struct nvsi_pe_slot *slot = &job->pes[pe];
        uint8_t what = read_byte(reader);
        slot->state = what & 1 ? (uint32_t)NVSI_PE_RUNNING : what >> 4;
        if (what & 2)
            slot->flight = job->pes[0].flight;
        else
            read_bytes(reader, &slot->flight, sizeof slot->flight);
        if (what & 4) { /* a team that might be there */
            struct nvsi_team_slot *team = &job->teams[read_byte(reader)];
            uint64_t members;
            read_bytes(reader, &members, sizeof members);
            team->members[read_byte(reader) % (sizeof team->members / sizeof *team->members)] =
                members;
            team->key = (uint64_t)read_byte(reader) << 56;
            team->seq_first = read_byte(reader);
        }
    }
    return job;
}

static void check_record(const struct nvsi_job *job, const struct nvsi_flight *flight, size_t room)
{
    char *text = malloc(room + 1), whole[4096];
    if (!text)
        abort();
    memset(text, 'x', room + 1);
    nvsi_flight_describe(job, flight, whole, sizeof whole);
    PROMISE(memchr(whole, 0, sizeof whole) && strlen(whole) > 5, "not a text");
    nvsi_flight_describe(job, flight, text, room + 1);
    PROMISE(memchr(text, 0, room + 1), "not a text in %zu bytes", room + 1);
    PROMISE(strncmp(text, whole, strlen(text)) == 0, "'%s' is not how '%s' begins", text, whole);
    PROMISE(*nvsi_flight_name(flight->op), "no name for operation %u", flight->op);
    free(text);
}

static void count_line(void *arg, const char *text)
{
    PROMISE(*text && !strchr(text, '\n'), "'%s' is no line", text);
    ++*(unsigned *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = {data, size};
    size_t room = read_byte(&reader);
    unsigned lines = 0;
    char text[256];
    struct nvsi_job *job = read_job(&reader);
    for (uint32_t pe = 0; pe < job->npes; pe++) {
        check_record(job, &job->pes[pe].flight, room);
        check_record(NULL, &job->pes[pe].flight, room);
    }
    struct nvsi_table *table = nvsi_table_take(job, NULL, NULL);
    PROMISE(table, "no memory");
    nvsi_table_lines(table, count_line, &lines);
    PROMISE(lines >= 1 && lines <= 2 * job->npes, "%u lines for %u PEs", lines, job->npes);
    for (int pe = 0; pe < (int)job->npes; pe++) {
        memset(text, 'x', sizeof text);
        bool waits = nvsi_table_missing(table, pe, text, sizeof text);
        PROMISE(memchr(text, 0, sizeof text), "not a text");
        PROMISE(waits == (*text != 0), "%d, but '%s'", (int)waits, text);
    }
    nvsi_table_release(table);
    free(job);
    return 0;
}
