/*
 * guardian.c - nothing stays behind, also when nvsrun is killed by SIGKILL.
 *
 * The guardian is a process of its own session that reads from a pipe whose other end only nvsrun
 * holds. Through it, it learns the process groups of the PEs; end of file means that nvsrun is
 * gone, and it kills the groups. PR_SET_PDEATHSIG in the children (spawn.c) is not enough: it does
 * not reach what a shell or a PE has started.
 *
 * Every child reports its own group, before it runs foreign code: nvsrun could be killed between
 * fork and a report of its own. Until then the child holds the pipe open, so that end of file comes
 * after its report. A group's number is not given to others meanwhile, see run.h.
 */
#include "run.h"

#include "boot/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t groups[NVSI_MAX_PES];

/* All descriptors but one: a pipe that the guardian kept open would look to its reader as if the
 * job went on. */
static void close_all_but(int keep)
{
    long limit = sysconf(_SC_OPEN_MAX);
    if (limit < 0 || limit > 65536)
        limit = 65536;
#ifdef SYS_close_range
    if ((keep == 0 || !syscall(SYS_close_range, 0U, (unsigned)keep - 1, 0U)) &&
        !syscall(SYS_close_range, (unsigned)keep + 1, ~0U, 0U))
        return;
#endif
    for (int fd = 0; fd < limit; fd++)
        if (fd != keep)
            close(fd);
}

/* Collects groups until nvsrun dismisses the guardian (by a 0) or vanishes. */
static int groups_read(int fd, bool *dismissed)
{
    int ngroups = 0;
    for (;;) {
        pid_t group;
        ssize_t got = read(fd, &group, sizeof(group));
        if (got < 0 && errno == EINTR)
            continue;
        *dismissed = got == (ssize_t)sizeof(group) && group == 0;
        if (got != (ssize_t)sizeof(group) || *dismissed)
            return ngroups;
        if (ngroups < NVSI_MAX_PES)
            groups[ngroups++] = group;
    }
}

_Noreturn static void guardian_live(int fd)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "nvsrun-guardian");
    close_all_but(fd);
    if (chdir("/"))
        _exit(1);

    bool dismissed;
    int ngroups = groups_read(fd, &dismissed);
    for (int i = 0; !dismissed && i < ngroups; i++)
        kill(-groups[i], SIGKILL);
    _exit(0);
}

void guardian_start(struct run *run)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        die("cannot make a pipe: %s (errno %d); raise the limit of open files (ulimit -n)",
            strerror(errno), errno);
    run->guardian = fork();
    if (run->guardian < 0)
        die("cannot start a process: %s (errno %d); the limit of processes (ulimit -u, or that of "
            "the container) is reached",
            strerror(errno), errno);
    if (run->guardian == 0)
        guardian_live(fds[0]);
    close(fds[0]);
    run->guardian_fd = fds[1];
    NVSI_CRASH_POINT(run_guarded);
}

void guardian_tell(const struct run *run, pid_t group)
{
    /* If the guardian has been killed the job goes on without. SIGPIPE is ignored here. */
    ssize_t put;
    do
        put = write(run->guardian_fd, &group, sizeof(group));
    while (put < 0 && errno == EINTR);
}

void guardian_dismiss(struct run *run)
{
    guardian_tell(run, 0);
    close(run->guardian_fd);
    run->guardian_fd = -1;
    while (waitpid(run->guardian, NULL, 0) < 0 && errno == EINTR)
        ;
}
