/*
 * main.c - the life of a job.
 *
 * The order matters. The guardian comes first, because from then on nvsrun may be killed at any
 * time; it must not inherit the arena or any pipe. Signals are blocked before the first child, so
 * that none is lost between the start of the PEs and the loop.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A caller may have closed 0, 1 or 2; a pipe or the arena must not end up there. */
static void standard_fds_open(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static void open_all(struct run *run)
{
    run->self = getpid();
    run->kill_at = run->deadline = UINT64_MAX;
    if (run->options.timeout_ns)
        run->deadline = now_ns() + run->options.timeout_ns;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1))
        say("orphans of PEs will not be seen: PR_SET_CHILD_SUBREAPER: %s", strerror(errno));
    limits_raise(run);
    signals_open(run);
    guardian_start(run);
    arena_create(run);
    run->pes = calloc((size_t)run->options.npes, sizeof(*run->pes));
    if (!run->pes)
        die("no memory for the list of %d PEs", run->options.npes);
    for (int pe = 0; pe < run->options.npes; pe++)
        run->pes[pe].proxy_fd = -1;
    if (run->options.tag_output)
        tag_open(run);
}

/* What is left to do with the output once no process of the job is left. */
static void output_finish(struct run *run)
{
    if (!sinks_active() || run->interrupted)
        return;
    tag_drain(run);
    sinks_flush(run);
}

int main(int argc, char **argv)
{
    static struct run run;
    standard_fds_open();
    options_parse(&run.options, argc, argv);
    program_find(&run.options);
    open_all(&run);
    spawn_all(&run);
    watch(&run);
    sweep(&run);
    output_finish(&run);
    if (run.options.verbose)
        say("the job ends with status %d", run.status);
    return run.status;
}
