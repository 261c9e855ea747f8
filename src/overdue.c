/*
 * overdue.c - what a wait says when it lasts too long: where this PE is, whom it waits for, and
 * where that one was last seen.
 *
 * Long waits are legal (a PE may write a checkpoint for ten minutes), so the wait goes on; only
 * NVS_TIMEOUT makes it an error.
 */
#include <stdio.h>
#include <time.h>

#include "wait.h"

/* Looks are about a millisecond apart. After a gap like this the process was stopped, perhaps all
 * of the job with it, and that time does not count. */
enum { PAUSE_MS = 2000 };

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* "PE 3 is missing: it is in put ..."; a wait for a word may be ended by anyone. */
static void describe_missing(int pe, char *text, size_t size)
{
    static const char *const states[] = {"has not started", "has not initialised", "", "has left",
                                         "is dead"};
    if (pe < 0) {
        snprintf(text, size, "no PE has stored the awaited value");
        return;
    }
    const struct nvsi_pe_slot *slot = nvsi.peers[pe].slot;
    uint32_t state = atomic_load(&slot->state);
    char where[256];
    nvsi_flight_describe(&slot->flight, where, sizeof where);
    if (state == NVSI_PE_RUNNING)
        snprintf(text, size, "PE %d is missing (pid %d, last seen %s)", pe,
                 (int)atomic_load(&slot->pid), where);
    else
        snprintf(text, size, "PE %d is missing: it %s", pe,
                 state <= NVSI_PE_DEAD ? states[state] : "is in an unknown state");
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

int nvsi_overdue(struct nvsi_wait *wait, int pe)
{
    int64_t now = now_ms(), timeout = nvsi.config.timeout_ms, warn = nvsi.config.warn_after_ms;
    if (!wait->since_ms) {
        wait->since_ms = now;
        wait->warn_ms = warn;
    } else if (now - wait->seen_ms > PAUSE_MS) {
        wait->since_ms += now - wait->seen_ms;
    }
    wait->seen_ms = now;
    int64_t waited = now - wait->since_ms;
    bool end = timeout && waited >= timeout, never = gone(wait, pe);
    if (!end && !never && (!warn || waited < wait->warn_ms))
        return 0;
    wait->warn_ms *= 2;
    char where[256], missing[384];
    nvsi_flight_describe(nvsi.flight, where, sizeof where);
    if (never)
        return nvsi_error(NVS_ERR_MISMATCH, "PE %d waits %s for PE %d, which has called finalize",
                          nvsi.me, where, pe);
    describe_missing(pe, missing, sizeof missing);
    if (end)
        return nvsi_error(NVS_ERR_TIMEOUT, "waited %lld ms, the limit of NVS_TIMEOUT, %s: %s",
                          (long long)waited, where, missing);
    nvsi_log(NVSI_LOG_WARN, "has waited %lld s %s: %s", (long long)(waited / 1000), where, missing);
    return 0;
}
