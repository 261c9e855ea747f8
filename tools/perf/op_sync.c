/*
 * op_sync.c - barrier and sync: no data, so the check is about what they promise. Every PE writes
 * the number of the round into a word of all others and enters, one of them late; whoever leaves
 * must see the number of every PE. A PE that is already in the next round has written that.
 */
#include "kernels.h"
#include "perf.h"

#include <time.h>

static void barrier_run(struct call *call, size_t first, size_t n)
{
    (void)call;
    (void)first;
    for (; n; n--)
        shmem_barrier_all();
}

static void sync_run(struct call *call, size_t first, size_t n)
{
    (void)call;
    (void)first;
    for (; n; n--)
        shmem_sync_all();
}

static void enter_late(void)
{
    const struct timespec while_others_wait = {.tv_nsec = 300000};
    nanosleep(&while_others_wait, NULL);
}

/* quiet: before the call, which does not complete stores itself. */
static size_t wrong_in_rounds(struct call *call, bool quiet)
{
    static uint64_t round;
    size_t wrong = 0;
    for (int i = 0; i < 8; i++) {
        round++;
        if (round % (uint64_t)call->npes == (uint64_t)call->me)
            enter_late();
        for (int pe = 0; pe < call->npes; pe++)
            shmem_uint64_p(&call->board->entered[call->me], round, pe);
        if (quiet)
            shmem_quiet();
        call_run(call, 0, 1);
        for (int pe = 0; pe < call->npes; pe++) {
            uint64_t seen = shmem_uint64_g(&call->board->entered[pe], call->me);
            wrong += seen != round && seen != round + 1;
        }
    }
    return wrong;
}

static size_t barrier_wrong(struct call *call, uint64_t round)
{
    (void)round;
    return wrong_in_rounds(call, false);
}

static size_t sync_wrong(struct call *call, uint64_t round)
{
    (void)round;
    return wrong_in_rounds(call, true);
}

const struct op ops_sync[] = {
    {.name = "barrier",
     .help = "a barrier of all PEs, which completes puts",
     .group = "synchronisation",
     .run = barrier_run,
     .enqueue = barrier_enqueue,
     .kernel = KERNEL_BARRIER,
     .wrong = barrier_wrong},
    {.name = "sync",
     .help = "a barrier that does not complete puts",
     .group = "synchronisation",
     .run = sync_run,
     .enqueue = sync_enqueue,
     .kernel = KERNEL_SYNC,
     .wrong = sync_wrong},
    {.name = NULL},
};
