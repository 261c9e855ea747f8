/*
 * wait.h - the loop that every wait has, and the flight record that says what is waited for.
 *
 *     struct nvsi_wait wait = {0};
 *     while (!status && !condition())
 *         status = nvsi_wait_round(&wait, pe);
 *     nvsi_wait_end(&wait);
 */
#ifndef NVSI_WAIT_H
#define NVSI_WAIT_H

#include "nvs_internal.h"

void nvsi_wait_setup(void); /* once in init */

/* overdue.c: called before each sleep. Warns when the wait is longer than NVS_WARN_AFTER, then ever
 * more rarely. Returns 0, or NVS_ERR_TIMEOUT when it is longer than NVS_TIMEOUT. */
int nvsi_overdue(struct nvsi_wait *wait, int pe);
/* The same for waits that somebody else looks after: `where` reads like "in barrier #3 of the world
 * team". Warn, unless another PE has in the second half of due_ms; and the last words before a
 * timeout. */
void nvsi_overdue_warn(const char *where, int64_t waited_ms, int64_t due_ms);
void nvsi_overdue_over(const char *where, int64_t waited_ms);

/* NVS_ERR_PE_LOST, with a sentence that names the first PE that was lost; 0 if none was. */
int nvsi_lost(void);

/* The awaited thing has moved on: be quick, and patient, again. */
static inline void nvsi_wait_again(struct nvsi_wait *wait)
{
    wait->rounds = wait->spins = wait->naps = 0;
    wait->since_ms = wait->warn_ms = 0;
}

void nvsi_wait_end_slow(struct nvsi_wait *wait);

static inline void nvsi_wait_end(struct nvsi_wait *wait)
{
    if (NVSI_UNLIKELY(wait->announced))
        nvsi_wait_end_slow(wait);
}

/* A record has one writer at a time in a program with one thread. With more, a reader may find
 * parts of two operations in it, but each field is whole: relaxed stores, which are plain moves. */
#define NVSI_FLIGHT_SET(flight, field, value)                                                      \
    __atomic_store_n(&(flight)->field, (value), __ATOMIC_RELAXED)

static inline void nvsi_flight_enter(enum nvsi_flight_op op, int team_slot, int peer, size_t nbytes)
{
    struct nvsi_flight *flight = nvsi.flight;
    NVSI_FLIGHT_SET(flight, op, op);
    NVSI_FLIGHT_SET(flight, team, team_slot);
    NVSI_FLIGHT_SET(flight, peer, peer);
    NVSI_FLIGHT_SET(flight, dtype, -1);
    NVSI_FLIGHT_SET(flight, redop, -1);
    NVSI_FLIGHT_SET(flight, seq, 0);
    NVSI_FLIGHT_SET(flight, nelems, 0);
    NVSI_FLIGHT_SET(flight, nbytes, nbytes);
    NVSI_FLIGHT_SET(flight, busy, 1);
}

static inline void nvsi_flight_leave(void)
{
    NVSI_FLIGHT_SET(nvsi.flight, busy, 0);
}

#endif
