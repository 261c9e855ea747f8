/*
 * ending.c - the way from the decision to end the job to its end: a polite signal, a grace,
 * SIGKILL.
 */
#include "run.h"

#include "boot/crash.h"

void status_set(struct run *run, int status)
{
    if (run->status_known || !status)
        return;
    run->status_known = true;
    run->status = status;
}

void ending_begin(struct run *run, int sig, uint64_t grace_ns)
{
    if (run->ending)
        return;
    run->ending = true;
    run->ending_signal = sig;
    run->kill_at = now_ns() + grace_ns;
    run->look_at = 0;
    signals_send(run, sig);
    signals_send(run, SIGCONT); /* whoever is stopped would not notice */
    NVSI_CRASH_POINT(run_ending);
}

/* Again and again: a proxy in a session of its own may have claimed its slot just now. */
void ending_kill(struct run *run)
{
    run->kill_at = now_ns() + GRACE_NS;
    signals_send(run, SIGKILL);
}

/* shmem_global_exit: an end in order, whatever its status, so nothing is said. */
static void end_word_check(struct run *run)
{
    uint64_t end = atomic_load(&run->job->end);
    if (!(end >> 63) || run->ending)
        return;
    status_set(run, (int)(end & 0xff));
    ending_begin(run, SIGTERM, GRACE_NS);
}

static void deadline_check(struct run *run, uint64_t now)
{
    if (now < run->deadline)
        return;
    run->deadline = UINT64_MAX;
    if (run->ending)
        return;
    say("the job has not ended after %g seconds (--timeout); ending it",
        (double)run->options.timeout_ns / 1e9);
    report_table(run);
    status_set(run, STATUS_TIMEOUT);
    ending_begin(run, SIGTERM, GRACE_NS);
}

void ending_check(struct run *run)
{
    uint64_t now = now_ns();
    end_word_check(run);
    deadline_check(run, now);
    if (run->ending && now >= run->kill_at)
        ending_kill(run);
}
