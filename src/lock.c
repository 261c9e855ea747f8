/*
 * lock.c - shmem_set_lock and its siblings: a queue lock (MCS) in the symmetric `long` itself.
 *
 * PE 0 is every lock's home. The low half of its word is the tail of the queue (PE + 1, 0 = free).
 * The high half of each PE's own word is its place in the queue: TAKEN while it stands there or
 * holds the lock, WAITING while it waits, and its successor (PE + 1). So a PE spins on its own
 * memory and the lock is passed on in the order of arrival. A PE has one place, so its threads wait
 * for each other before they take it. All-zero is unlocked, as the standard wants.
 */
#include "boot/crash.h"
#include "fast.h"
#include "wait.h"

#define WAITING UINT32_C(0x80000000)
#define TAKEN UINT32_C(0x40000000)
#define SUCCESSOR UINT32_C(0x3fffffff)

/* The halves of the lock word on PE pe. Little-endian or not does not matter: the two halves only
 * have to be the same ones everywhere. */
static uint32_t *tail_of(long *lock)
{
    return (uint32_t *)lock;
}

static uint32_t *place_of(long *lock)
{
    return (uint32_t *)lock + 1;
}

/* Always with the value before it, so that it is done on return: a transport may delay others. */
static int amo(const char *fn, enum nvsi_amo_code code, uint32_t *word, uint32_t operand,
               uint32_t compare, int pe, uint32_t *old)
{
    return nvsi_amo32(NULL, fn, code, word, operand, compare, pe, old);
}

/* Waits until (own place & mask) is not 0 (`set`), or is. */
static int wait_place(const char *fn, long *lock, uint32_t mask, bool set, uint32_t *place)
{
    struct nvsi_wait wait = {0};
    int status = amo(fn, NVSI_AMO_FETCH, place_of(lock), 0, 0, nvsi.me, place);
    while (!status && !!(*place & mask) != set) {
        status = nvsi_wait_round(&wait, -1);
        if (!status)
            status = amo(fn, NVSI_AMO_FETCH, place_of(lock), 0, 0, nvsi.me, place);
    }
    nvsi_wait_end(&wait);
    return status;
}

/* Makes this PE's place, if no other thread has it, `place`; *taken says whether. */
static int take_place(const char *fn, long *lock, uint32_t place, bool *taken)
{
    uint32_t old = TAKEN;
    int status = amo(fn, NVSI_AMO_CSWAP, place_of(lock), place, 0, nvsi.me, &old);
    *taken = !status && old == 0;
    return status;
}

static int give_place(const char *fn, long *lock)
{
    uint32_t old;
    return amo(fn, NVSI_AMO_SET, place_of(lock), 0, 0, nvsi.me, &old);
}

int nvsi_lock_set(const char *fn, long *lock)
{
    uint32_t old, before;
    bool taken = false;
    int status = take_place(fn, lock, TAKEN | WAITING, &taken);
    nvsi_flight_enter(NVSI_AT_LOCK, -1, -1, 0);
    while (!status && !taken) { /* threads of a PE come one after the other */
        status = wait_place(fn, lock, ~UINT32_C(0), false, &old);
        if (!status)
            status = take_place(fn, lock, TAKEN | WAITING, &taken);
    }
    NVSI_CRASH_POINT(lock_placed);
    if (!status)
        status = amo(fn, NVSI_AMO_SWAP, tail_of(lock), (uint32_t)nvsi.me + 1, 0, 0, &before);
    NVSI_CRASH_POINT(lock_queued);
    if (!status && before == 0) {
        status = amo(fn, NVSI_AMO_AND, place_of(lock), ~WAITING, 0, nvsi.me, &old);
    } else if (!status) {
        nvsi_flight_enter(NVSI_AT_LOCK, -1, (int)before - 1, 0);
        status =
            amo(fn, NVSI_AMO_OR, place_of(lock), (uint32_t)nvsi.me + 1, 0, (int)before - 1, &old);
        NVSI_CRASH_POINT(lock_linked);
        if (!status)
            status = wait_place(fn, lock, WAITING, false, &old);
    }
    NVSI_CRASH_POINT(lock_held);
    nvsi_flight_leave();
    return status;
}

int nvsi_lock_test(const char *fn, long *lock, int *busy)
{
    uint32_t old;
    bool taken = false;
    *busy = 1;
    int status = amo(fn, NVSI_AMO_FETCH, tail_of(lock), 0, 0, 0, &old);
    if (!status && old == 0)
        status = take_place(fn, lock, TAKEN, &taken);
    if (!taken)
        return status;
    status = amo(fn, NVSI_AMO_CSWAP, tail_of(lock), (uint32_t)nvsi.me + 1, 0, 0, &old);
    *busy = status || old != 0;
    return *busy ? give_place(fn, lock) : 0;
}

int nvsi_lock_clear(const char *fn, long *lock)
{
    uint32_t old, place;
    int status = nvsi_quiet(NULL, fn);
    if (!status)
        status = amo(fn, NVSI_AMO_FETCH, place_of(lock), 0, 0, nvsi.me, &place);
    if (!status && (place & (TAKEN | WAITING)) != TAKEN)
        status = nvsi_error(NVS_ERR_INVALID, "%s: lock %p is not held by PE %d", fn, (void *)lock,
                            nvsi.me);
    if (!status)
        status = amo(fn, NVSI_AMO_CSWAP, tail_of(lock), 0, (uint32_t)nvsi.me + 1, 0, &old);
    if (status)
        return status;
    if (old == (uint32_t)nvsi.me + 1) {
        NVSI_CRASH_POINT(lock_freed);
        return give_place(fn, lock);
    }
    /* Somebody is behind us; wait until it has said who it is. */
    status = wait_place(fn, lock, SUCCESSOR, true, &place);
    if (!status)
        status = give_place(fn, lock);
    NVSI_CRASH_POINT(lock_passing);
    if (!status)
        status =
            amo(fn, NVSI_AMO_AND, place_of(lock), ~WAITING, 0, (int)(place & SUCCESSOR) - 1, &old);
    return status;
}
