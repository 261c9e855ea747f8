/*
 * overdue.c - what is said when a wait lasts too long: the table of all PEs, and who is missing.
 *
 * Long waits are legal (a PE may write a checkpoint for ten minutes), so the wait goes on; only
 * NVS_TIMEOUT makes it an error.
 *
 * One PE speaks for all. A wait is due after NVS_WARN_AFTER, then after twice that time, and so on.
 * When it is due its PE looks when the table was last printed (job->warned): if that was in the
 * second half of its own time, everything has been said. Otherwise it takes the word by one atomic
 * instruction and prints. If it dies at that moment, the next one speaks when it is due again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot/table.h"
#include "util/clock.h"
#include "wait.h"

/* Looks are about a millisecond apart. After a gap like this the process was stopped, perhaps all
 * of the job with it, and that time does not count. */
enum { PAUSE_MS = 2000 };

/* ---- the table ------------------------------------------------------------------------------ */

static void print_line(void *arg, const char *text)
{
    char line[768];
    (void)arg;
    int length = snprintf(line, sizeof line, "nvs:   %s\n", text);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nobody can be told if stderr is gone */
}

/* Where this PE waits and since when, then what all are doing. */
static void print_table(const struct nvsi_table *table, enum nvsi_log_level level,
                        const char *where, int64_t waited_ms)
{
    nvsi_log(level, "has waited %.*f s %s. What the PEs are doing:", waited_ms < 10000 ? 1 : 0,
             (double)waited_ms / 1000, where);
    nvsi_table_lines(table, print_line, NULL);
}

/* Whether this PE is the one to speak: nobody has since `since`. The word holds who spoke last and
 * when. */
static bool elected(_Atomic uint64_t *word, int64_t now, int64_t since)
{
    uint64_t last = atomic_load(word), mine = (uint64_t)now << 16 | (nvsi.me + 1u);
    return (!last || (int64_t)(last >> 16) <= since) &&
           atomic_compare_exchange_strong(word, &last, mine);
}

void nvsi_overdue_warn(const char *where, int64_t waited_ms, int64_t due_ms)
{
    int64_t now = nvsi_now_ms();
    if (nvsi.config.log < NVSI_LOG_WARN || !elected(&nvsi.job->warned, now, now - due_ms / 2))
        return;
    struct nvsi_table *table = nvsi_table_take(nvsi.job, NULL, NULL);
    if (!table)
        return;
    print_table(table, NVSI_LOG_WARN, where, waited_ms);
    nvsi_table_release(table);
}

static void warn(struct nvsi_wait *wait, int64_t now)
{
    char where[256];
    int64_t due = wait->warn_ms;
    wait->warn_ms *= 2;
    nvsi_flight_describe(nvsi.job, nvsi.flight, where, sizeof where);
    nvsi_overdue_warn(where, now - wait->since_ms, due);
}

/* ---- the end of patience -------------------------------------------------------------------- */

/* The first PE whose patience ends prints the table; the others' sentences are the same. */
static void print_last_table(const struct nvsi_table *table, const char *where, int64_t now,
                             int64_t waited_ms)
{
    bool first = elected(&nvsi.job->timed_out, now, now - waited_ms / 2);
    if (table && first)
        print_table(table, NVSI_LOG_ERROR, where, waited_ms);
}

void nvsi_overdue_over(const char *where, int64_t waited_ms)
{
    struct nvsi_table *table = nvsi_table_take(nvsi.job, NULL, NULL);
    print_last_table(table, where, nvsi_now_ms(), waited_ms);
    nvsi_table_release(table);
}

static int give_up(int64_t now, int64_t waited_ms)
{
    char where[256], missing[400] = "";
    struct nvsi_table *table = nvsi_table_take(nvsi.job, NULL, NULL);
    nvsi_flight_describe(nvsi.job, nvsi.flight, where, sizeof where);
    print_last_table(table, where, now, waited_ms);
    bool collective = table && nvsi_table_missing(table, nvsi.me, missing, sizeof missing);
    nvsi_table_release(table);
    if (collective)
        return nvsi_error(NVS_ERR_TIMEOUT, "%s; waited %lld ms, the limit of NVS_TIMEOUT", missing,
                          (long long)waited_ms);
    return nvsi_error(
        NVS_ERR_TIMEOUT, "waited %lld ms, the limit of NVS_TIMEOUT, %s%s", (long long)waited_ms,
        where, nvsi.flight->op == NVSI_AT_WAIT ? ": no PE has stored the awaited value" : "");
}

/* A PE that has finalized will not take part in anything again. That it could have done its part
 * just before is ruled out by the second look: our caller has checked its condition in between. */
static bool gone(struct nvsi_wait *wait, int pe)
{
    if (pe < 0 || nvsi.life != NVSI_INITIALISED ||
        atomic_load(&nvsi.peers[pe].slot->state) != NVSI_PE_FINALIZED)
        return false;
    bool before = wait->gone == pe + 1;
    wait->gone = pe + 1;
    return before;
}

static int wait_in_vain(int pe)
{
    char where[256];
    nvsi_flight_describe(nvsi.job, nvsi.flight, where, sizeof where);
    return nvsi_error(NVS_ERR_MISMATCH, "PE %d waits %s for PE %d, which has called finalize",
                      nvsi.me, where, pe);
}

/* Time in which this process did not run does not count. */
static int64_t time_waited(struct nvsi_wait *wait, int64_t now)
{
    if (!wait->since_ms) {
        wait->since_ms = now + wait->grace_ms;
        wait->warn_ms = nvsi.config.warn_after_ms;
    } else if (now - wait->seen_ms > PAUSE_MS) {
        wait->since_ms += now - wait->seen_ms;
    }
    wait->seen_ms = now;
    return now - wait->since_ms;
}

int nvsi_overdue(struct nvsi_wait *wait, int pe)
{
    int64_t now = nvsi_now_ms(), waited = time_waited(wait, now);
    if (pe >= 0 && pe != nvsi.me) /* in a team that is being joined, members are not known yet */
        NVSI_FLIGHT_SET(nvsi.flight, peer, pe);
    if (gone(wait, pe))
        return wait_in_vain(pe);
    if (nvsi.config.timeout_ms && waited >= nvsi.config.timeout_ms)
        return give_up(now, waited);
    if (nvsi.config.warn_after_ms && waited >= wait->warn_ms)
        warn(wait, now);
    return 0;
}
