/*
 * sweep.c - orphans. nvsrun is the subreaper of all that its PEs start: a process that loses its
 * parent becomes its child. Those that end on the way are reaped now and then; those that are left
 * when all PEs are over are killed, whatever group or session they have moved to.
 */
#include "run.h"

#include "boot/crash.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

typedef void (*child_fn)(struct run *run, pid_t pid);

/* Calls fn for every child of nvsrun. False: this kernel does not list them (CONFIG_PROC_CHILDREN);
 * that is rare, and only orphans that have left their group are out of sight then. */
static bool children_visit(struct run *run, child_fn fn)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    if (!file)
        return false;
    int pid;
    while (fscanf(file, "%d", &pid) == 1)
        fn(run, (pid_t)pid);
    fclose(file);
    return true;
}

static bool is_pe(const struct run *run, pid_t pid)
{
    for (int pe = 0; pe < run->nstarted; pe++)
        if (run->pes[pe].child == pid)
            return true;
    return false;
}

static void orphan_reap(struct run *run, pid_t pid)
{
    if (pid != run->guardian && !is_pe(run, pid))
        waitpid(pid, NULL, WNOHANG);
}

void sweep_orphans(struct run *run)
{
    children_visit(run, orphan_reap);
}

static void child_kill(struct run *run, pid_t pid)
{
    (void)run;
    kill(pid, SIGKILL);
}

void sweep(struct run *run)
{
    signals_send(run, SIGKILL);
    NVSI_CRASH_POINT(run_sweeping);
    guardian_dismiss(run);
    uint64_t give_up_at = now_ns() + GRACE_NS;
    /* Each round kills what the one before has orphaned. */
    for (;;) {
        pid_t reaped;
        do
            reaped = waitpid(-1, NULL, WNOHANG);
        while (reaped > 0);
        if (reaped < 0 && errno == ECHILD)
            return;
        if (children_visit(run, child_kill))
            waitpid(-1, NULL, 0);
        else if (now_ns() < give_up_at)
            poll(NULL, 0, 1);
        else
            return;
    }
}
