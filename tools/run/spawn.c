/*
 * spawn.c - starts the PEs.
 *
 * A child does between fork and exec what makes it a PE: its process group, its death with nvsrun,
 * CPUs, input and output, the arena, its number. If the program then cannot be executed, the child
 * says why through a pipe that a successful exec closes; all children share it, so that nvsrun
 * never waits for one of them.
 */
#include "run.h"

#include "boot/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- in the child --------------------------------------------------------------------------- */

static void number_set(const char *name, long number)
{
    char text[24];
    snprintf(text, sizeof(text), "%ld", number);
    setenv(name, text, 1);
}

static void environment_set(const struct run *run, int pe)
{
    number_set(NVSI_ENV_FD, run->arena_fd);
    number_set(NVSI_ENV_LAUNCHER, run->self);
    number_set(NVSI_ENV_PE, pe);
    number_set(NVSI_ENV_NPES, run->options.npes);
}

/* fds[i] becomes descriptor i. All fds[i] that differ from i are above 2 and close at exec. */
static void standard_fds_set(const int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (fds[i] != i)
            dup2(fds[i], i);
}

_Noreturn static void program_start(const struct run *run, int pe)
{
    struct exec_failure failure = {.pe = pe, .error = program_execute(&run->options)};
    /* If this cannot be written, the exit status still tells. */
    ssize_t put = write(run->exec_write_fd, &failure, sizeof(failure));
    (void)put;
    _exit(STATUS_CANNOT_EXECUTE);
}

_Noreturn static void child_become(const struct run *run, int pe, const int fds[3])
{
    NVSI_CRASH_POINT(child_begins);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != run->self) /* nvsrun was killed before it could take this process along */
        _exit(STATUS_NVSRUN);
    guardian_tell(run, getpid());
    NVSI_CRASH_POINT(child_told);
    bind_apply(&run->options, pe);
    standard_fds_set(fds);
    fcntl(run->arena_fd, F_SETFD, 0);
    environment_set(run, pe);
    setrlimit(RLIMIT_NOFILE, &run->inherited.nofile);
    setrlimit(RLIMIT_FSIZE, &run->inherited.fsize);
    NVSI_CRASH_POINT(child_ready);
    signals_reset(run);
    program_start(run, pe);
}

/* ---- in nvsrun ------------------------------------------------------------------------------ */

static void spawn_failed(struct run *run, int pe, const char *doing, int error)
{
    const char *remedy = "";
    if (error == EAGAIN)
        remedy = "; the limit of processes (ulimit -u, or that of the container) is reached: start "
                 "fewer PEs";
    if (error == EMFILE || error == ENFILE)
        remedy = "; raise the limit of open files (ulimit -n)";
    if (error == ENOMEM)
        remedy = "; there is no memory left: start fewer PEs";
    say("cannot start PE %d: %s: %s (errno %d)%s", pe, doing, strerror(error), error, remedy);
    status_set(run, STATUS_NVSRUN);
    ending_begin(run, SIGTERM, GRACE_NS);
}

static bool spawn_one(struct run *run, int pe, const int fds[3])
{
    pid_t child = fork();
    if (child < 0) {
        spawn_failed(run, pe, "fork", errno);
        return false;
    }
    if (child == 0)
        child_become(run, pe, fds);
    setpgid(child, child); /* the child does so, too: whoever is first */
    NVSI_CRASH_POINT(run_forked);
    run->pes[pe].child = child;
    run->nstarted++;
    if (run->options.verbose) {
        char cpus[64];
        bind_describe(&run->options, pe, cpus, sizeof(cpus));
        say("PE %d is process %d, %s", pe, (int)child, cpus);
    }
    return true;
}

static bool spawn_with_pipes(struct run *run, int pe, int input)
{
    int fds[3] = {input, STDOUT_FILENO, STDERR_FILENO};
    bool tagged = run->options.tag_output;
    if (tagged && tag_pipes(run, pe, fds + 1)) {
        spawn_failed(run, pe, "pipe", errno);
        return false;
    }
    bool started = spawn_one(run, pe, fds);
    if (tagged) {
        close(fds[1]);
        close(fds[2]);
    }
    return started;
}

static void exec_pipe_open(struct run *run)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
        die("cannot make a pipe: %s (errno %d); raise the limit of open files (ulimit -n)",
            strerror(errno), errno);
    run->exec_fd = fds[0];
    run->exec_write_fd = fds[1];
}

void spawn_all(struct run *run)
{
    exec_pipe_open(run);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int input = nothing < 0 ? -1 : feed_open();
    if (input < 0)
        die("cannot prepare the input of the PEs: %s (errno %d; see 'ulimit -n')", strerror(errno),
            errno);
    for (int pe = 0; pe < run->options.npes; pe++)
        if (!spawn_with_pipes(run, pe, pe == 0 ? input : nothing))
            break;
    feed_started(input);
    close(nothing);
    close(run->exec_write_fd);
}

static void exec_failure_report(struct run *run, const struct exec_failure *failure)
{
    char why[384];
    program_explain(run->options.path, failure->error, why, sizeof(why));
    say("cannot start %s: %s%s", run->options.argv[0], strerror(failure->error), why);
    status_set(run, STATUS_CANNOT_EXECUTE);
    ending_begin(run, SIGTERM, GRACE_NS);
}

void spawn_failures_read(struct run *run)
{
    struct exec_failure failure;
    while (read(run->exec_fd, &failure, sizeof(failure)) == (ssize_t)sizeof(failure)) {
        if (!run->exec_settled)
            exec_failure_report(run, &failure);
        run->exec_settled = true;
    }
}
