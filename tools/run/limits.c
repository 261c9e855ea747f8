/*
 * limits.c - the resource limits that stand in the way of a job, and the arena.
 *
 * nvsrun raises the soft limits that it needs itself; PEs get back what the user had set
 * (spawn.c). What cannot be raised is explained.
 */
#include "run.h"

#include "boot/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Where the arena's descriptor is put: out of the way of scripts that use 3 or 10 for something. */
#define ARENA_FD_MIN 100

static struct rlimit soft_raise(int resource)
{
    struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY}, limit;
    if (getrlimit(resource, &limit))
        return before;
    before = limit;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
    return before;
}

void limits_raise(struct run *run)
{
    /* Room for pipes and pidfds of the PEs; the rest is for nvsrun and for what it inherited. */
    rlim_t needed = 64 + 4 * (rlim_t)run->options.npes;
    run->inherited.fsize = soft_raise(RLIMIT_FSIZE);
    getrlimit(RLIMIT_NOFILE, &run->inherited.nofile);
    if (run->inherited.nofile.rlim_cur >= needed)
        return;
    soft_raise(RLIMIT_NOFILE);
    if (run->options.tag_output && run->inherited.nofile.rlim_max < needed)
        die("--tag-output with %d PEs needs %ju open files, but no more than %ju are allowed: "
            "raise the hard limit (ulimit -Hn), or do without --tag-output",
            run->options.npes, (uintmax_t)needed, (uintmax_t)run->inherited.nofile.rlim_max);
}

static const char *arena_remedy(int error)
{
    switch (error) {
    case EFBIG:
        return "; the limit of file size (ulimit -f) leaves no room for the heaps: "
               "set it to unlimited";
    case EMFILE:
    case ENFILE:
        return "; raise the limit of open files (ulimit -n)";
    case ENOMEM:
        return "; memory, address space (ulimit -v) or the limit of the container is exhausted";
    case ENOSYS:
    case EPERM:
    case EACCES:
        return "; memfd_create is not available: the kernel is too old (before 3.17), or a "
               "sandbox forbids it";
    default:
        return "";
    }
}

void arena_create(struct run *run)
{
    uint32_t npes = (uint32_t)run->options.npes;
    int status = nvsi_job_create(npes, run->options.on_loss, 1, &run->arena_fd, &run->job);
    if (status)
        die("cannot make the shared memory of the job: %s (errno %d)%s", strerror(-status), -status,
            arena_remedy(-status));
    NVSI_CRASH_POINT(run_arena);
    int fd = fcntl(run->arena_fd, F_DUPFD_CLOEXEC, ARENA_FD_MIN);
    if (fd >= 0) {
        close(run->arena_fd);
        run->arena_fd = fd;
    }
    uint64_t window_gib = run->job->window_bytes >> 30;
    if (run->job->window_bytes < NVSI_WINDOW_BYTES)
        say("the limit of file size (ulimit -f) leaves each PE %" PRIu64 " GiB of address space "
            "for its heap; set it to unlimited for more",
            window_gib - (uint64_t)(NVSI_STATIC_BYTES >> 30));
    if (run->options.verbose)
        say("arena: descriptor %d, %d PEs, windows of %" PRIu64 " GiB of address space each",
            run->arena_fd, run->options.npes, window_gib);
}
