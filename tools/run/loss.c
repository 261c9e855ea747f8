/*
 * loss.c - what the end of a process means for the job.
 *
 * The state in the PE's slot decides: between init and finalize any end is a loss, for the others
 * may wait for this PE; before init (or in a program that never calls nvs) an end with status 0 is
 * in order; after finalize nobody depends on it any more. Only the first loss is reported: the
 * others are its consequences.
 *
 * The loss is written into the arena before anything is killed, so that PEs in a wait can know.
 */
#include "run.h"

#include "boot/crash.h"

#include "boot/table.h"

#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a process ended, as si_code and si_status of waitid; code 0: it cannot be known. */
struct fate {
    int code, status;
};

static bool fate_clean(struct fate fate)
{
    return fate.code == CLD_EXITED && fate.status == 0;
}

/* The exit status that a shell would show. */
static int fate_status(struct fate fate)
{
    if (fate.code == CLD_KILLED || fate.code == CLD_DUMPED)
        return STATUS_SIGNAL + fate.status;
    return fate.code == CLD_EXITED ? fate.status : 1;
}

static bool child_ended(struct pe *pe)
{
    siginfo_t info = {.si_pid = 0};
    if (!pe->exited && !waitid(P_PID, (id_t)pe->child, &info, WEXITED | WNOHANG | WNOWAIT) &&
        info.si_pid) {
        pe->exited = true;
        pe->code = info.si_code;
        pe->status = info.si_status;
    }
    return pe->exited;
}

/* The fate of the process that was the PE: of the child, or of its proxy as far as that is known. A
 * shell passes the signal that killed a command on as 128 + signal. */
static struct fate pe_fate(struct pe *pe)
{
    struct fate fate = {pe->code, pe->status};
    if (!pe->proxy_ended || proxy_status(pe, &fate.code, &fate.status))
        return fate;
    if (!pe->exited || fate_clean(fate))
        return (struct fate){0, 0};
    if (fate.code == CLD_EXITED && fate.status > STATUS_SIGNAL &&
        fate.status - STATUS_SIGNAL < NSIG)
        return (struct fate){CLD_KILLED, fate.status - STATUS_SIGNAL};
    return fate;
}

/* "was killed by signal 9 (Killed) in barrier #3 of the world team". */
static void fate_describe(const struct run *run, int pe, struct fate fate, uint32_t state,
                          char *text, size_t size)
{
    char how[96], where[256] = "";
    if (fate.code == CLD_EXITED)
        snprintf(how, sizeof(how), "exited with status %d", fate.status);
    else if (fate.code)
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", fate.status,
                 signal_name(fate.status));
    else
        snprintf(how, sizeof(how), "ended");
    if (state == NVSI_PE_RUNNING)
        nvsi_flight_describe(run->job, &run->job->pes[pe].flight, where, sizeof(where));
    else if (state == NVSI_PE_CLAIMED)
        snprintf(where, sizeof(where), "before init");
    else if (state == NVSI_PE_FINALIZED)
        snprintf(where, sizeof(where), "after finalize");
    bool quiet_end = state == NVSI_PE_RUNNING && (!fate.code || fate_clean(fate));
    snprintf(text, size, "%s%s%s%s", how, quiet_end ? " without finalize" : "", *where ? " " : "",
             where);
}

/* Waiting PEs look at the failure word when they wake up. */
static void sleepers_wake(struct run *run)
{
    for (int pe = 0; pe < run->options.npes; pe++) {
        _Atomic uint32_t *word = &run->job->pes[pe].sleeping;
        if (atomic_load(word))
            syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

static void loss_publish(struct run *run, int pe)
{
    run->nlosses++;
    uint64_t who = (uint64_t)pe + 1;
    if (run->options.on_loss == NVSI_LOSS_CONTINUE)
        who |= (uint64_t)run->nlosses << 32;
    atomic_store(&run->job->pes[pe].state, NVSI_PE_DEAD);
    NVSI_CRASH_POINT(run_loss_half);
    atomic_store(&run->job->failure, who);
    NVSI_CRASH_POINT(run_loss);
    sleepers_wake(run);
}

static void loss_take(struct run *run, int number, struct fate fate, uint32_t state)
{
    struct pe *pe = &run->pes[number];
    bool end = run->options.on_loss == NVSI_LOSS_END;
    char what[384];
    fate_describe(run, number, fate, state, what, sizeof(what));
    pe->lost = true;
    loss_publish(run, number);
    say("PE %d (pid %d) %s; %s", number, (int)(pe->proxy_ended ? pe->proxy : pe->child), what,
        end ? "ending the job" : "the others go on");
    status_set(run, fate_status(fate) ? fate_status(fate) : 1);
    if (end)
        ending_begin(run, SIGTERM, GRACE_NS);
}

/* Called once the PE is over, or when its proxy has ended inside of the job. */
static void judge(struct run *run, int number)
{
    struct pe *pe = &run->pes[number];
    if (pe->code == CLD_EXITED && pe->status >= STATUS_CANNOT_EXECUTE)
        spawn_failures_read(run);
    ending_check(run); /* perhaps it ended the job itself, in order */
    if (run->ending || pe->lost)
        return;
    uint32_t state = atomic_load(&run->job->pes[number].state);
    struct fate fate = state == NVSI_PE_RUNNING ? pe_fate(pe) : (struct fate){pe->code, pe->status};
    if (state == NVSI_PE_RUNNING || (state != NVSI_PE_FINALIZED && !fate_clean(fate))) {
        loss_take(run, number, fate, state);
        return;
    }
    status_set(run, fate_status(fate));
    if (!fate_clean(fate)) {
        char what[384];
        fate_describe(run, number, fate, state, what, sizeof(what));
        say("PE %d (pid %d) %s; the job goes on", number, (int)pe->child, what);
    }
}

static void pe_check(struct run *run, int number)
{
    struct pe *pe = &run->pes[number];
    bool ended = child_ended(pe);
    if (proxy_lives(run, number))
        return;
    if (ended) {
        pe->over = true;
        run->nover++;
        judge(run, number);
    } else if (pe->proxy_ended && pe->proxy == atomic_load(&run->job->pes[number].pid) &&
               atomic_load(&run->job->pes[number].state) == NVSI_PE_RUNNING) {
        judge(run, number);
    }
}

/* A PE that ended in order without ever calling nvs is missing as soon as another PE has: init
 * waits for all. So is one that has finalized and ended, when another PE starts again: all have
 * left an earlier init by then. */
static void absent_check(struct run *run)
{
    bool running = false, starting = false;
    if (run->nlosses) /* whoever is missing now has been turned away by the first loss */
        return;
    for (int pe = 0; pe < run->nstarted; pe++) {
        const struct nvsi_pe_slot *slot = &run->job->pes[pe];
        bool runs = atomic_load(&slot->state) == NVSI_PE_RUNNING;
        running |= runs;
        starting |= runs && slot->flight.busy && slot->flight.op == NVSI_AT_INIT;
    }
    for (int pe = 0; running && pe < run->nstarted && !run->ending; pe++) {
        uint32_t state = atomic_load(&run->job->pes[pe].state);
        bool absent = state <= NVSI_PE_CLAIMED || (starting && state == NVSI_PE_FINALIZED);
        if (run->pes[pe].over && !run->pes[pe].lost && absent)
            loss_take(run, pe, (struct fate){run->pes[pe].code, run->pes[pe].status},
                      state == NVSI_PE_FINALIZED ? state : NVSI_PE_CLAIMED);
    }
}

void loss_check(struct run *run)
{
    for (int pe = 0; pe < run->nstarted; pe++)
        if (!run->pes[pe].over)
            pe_check(run, pe);
    absent_check(run);
}
