/*
 * signals.c - signals to nvsrun, and from it to the PEs.
 *
 * All signals that nvsrun minds are blocked and read from a descriptor, so that they are handled in
 * the loop like anything else. A signal that was ignored when nvsrun started (nohup, or a shell's
 * background job) stays ignored, here and in the PEs.
 */
#include "run.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int minded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP,
                             SIGCONT, SIGUSR1, SIGUSR2, SIGCHLD};
#define NMINDED (sizeof(minded) / sizeof(*minded))

static bool signal_ignored(int sig)
{
    struct sigaction action;
    return !sigaction(sig, NULL, &action) && action.sa_handler == SIG_IGN;
}

void signals_open(struct run *run)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < NMINDED; i++) {
        if (minded[i] ==
            SIGCHLD) /* an inherited "ignore" would reap the children behind our back */
            signal(SIGCHLD, SIG_DFL);
        if (!signal_ignored(minded[i]))
            sigaddset(&set, minded[i]);
    }
    run->inherited.sigpipe_ignored = signal_ignored(SIGPIPE);
    signal(SIGPIPE, SIG_IGN); /* the guardian, a reader or PE 0 may go at any time */
    sigprocmask(SIG_BLOCK, &set, &run->inherited.mask);
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signal_fd < 0)
        die("signalfd: %s (errno %d)", strerror(errno), errno);
}

void signals_reset(const struct run *run)
{
    if (!run->inherited.sigpipe_ignored)
        signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &run->inherited.mask, NULL);
}

void signals_send(struct run *run, int sig)
{
    for (int pe = 0; pe < run->nstarted; pe++) {
        kill(-run->pes[pe].child, sig);
        proxy_signal(&run->pes[pe], sig);
    }
}

/* The time that nvsrun spends stopped does not count. */
static void stop_all(struct run *run)
{
    uint64_t stopped = now_ns();
    signals_send(run, SIGSTOP);
    raise(SIGSTOP);
    stopped = now_ns() - stopped;
    if (run->deadline != UINT64_MAX)
        run->deadline += stopped;
    if (run->kill_at != UINT64_MAX)
        run->kill_at += stopped;
}

static void end_by(struct run *run, int sig)
{
    bool insists = sig == SIGINT || sig == SIGTERM;
    if (!run->ending) {
        status_set(run, STATUS_SIGNAL + sig);
        ending_begin(run, sig, SIGNAL_GRACE_NS);
    } else if (insists) {
        run->interrupted = true;
        ending_kill(run);
    }
}

static void signal_handle(struct run *run, int sig)
{
    switch (sig) {
    case SIGCHLD:
        run->look_at = 0;
        break;
    case SIGUSR1:
        report_table(run);
        break;
    case SIGUSR2:
    case SIGCONT:
        signals_send(run, sig);
        break;
    case SIGTSTP:
        stop_all(run);
        break;
    default:
        end_by(run, sig);
    }
}

void signals_read(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        signal_handle(run, (int)info.ssi_signo);
}
