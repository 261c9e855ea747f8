/*
 * proxy.c - PEs that are not children of nvsrun but of a shell or a wrapper between.
 *
 * The kernel does not report their end to nvsrun, so it holds a pidfd for each. The number in the
 * slot is believed only if the process descends from nvsrun: it may come from another PID
 * namespace, and nobody else may be hit by a signal.
 */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernels from 6.15 on tell the status of a process that somebody else has reaped. */
struct exit_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define EXIT_INFO_GET _IOWR(0xFF, 11, struct exit_info)
#define EXIT_INFO_EXIT (UINT64_C(1) << 3)
_Static_assert(sizeof(struct exit_info) == 64, "the kernel's struct pidfd_info, first version");

static int pidfd_open_raw(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0U);
#else
    errno = ENOSYS;
    (void)pid;
    return -1;
#endif
}

/* The parent of a process; 0 if that cannot be known. */
static pid_t parent_of(pid_t pid)
{
    char path[40], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* the name before it may hold anything */
    int parent;
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool descends(const struct run *run, const struct pe *pe, pid_t pid)
{
    if (getpgid(pid) == pe->child)
        return true;
    for (int depth = 0; depth < 64 && pid > 1; depth++) {
        pid = parent_of(pid);
        if (pid == run->self)
            return true;
    }
    return false;
}

static void proxy_adopt(const struct run *run, struct pe *pe, pid_t pid)
{
    if (pe->proxy_fd >= 0)
        close(pe->proxy_fd);
    pe->proxy = pid;
    pe->proxy_fd = pid > 1 ? pidfd_open_raw(pid) : -1;
    pe->proxy_ended = pe->proxy_fd < 0 && errno == ESRCH;
    pe->proxy_foreign = !pe->proxy_ended && !descends(run, pe, pid);
}

bool proxy_lives(struct run *run, int number)
{
    struct pe *pe = &run->pes[number];
    pid_t pid = atomic_load(&run->job->pes[number].pid);
    if (pid == 0 || pid == pe->child)
        return false;
    if (pid != pe->proxy)
        proxy_adopt(run, pe, pid);
    if (pe->proxy_ended || pe->proxy_foreign)
        return false;
    if (pe->proxy_fd >= 0) {
        struct pollfd polled = {.fd = pe->proxy_fd, .events = POLLIN};
        pe->proxy_ended = poll(&polled, 1, 0) > 0;
    } else {
        pe->proxy_ended = kill(pid, 0) && errno == ESRCH;
    }
    return !pe->proxy_ended;
}

void proxy_signal(struct pe *pe, int sig)
{
    if (!pe->proxy || pe->proxy_ended || pe->proxy_foreign || getpgid(pe->proxy) == pe->child)
        return; /* the signal to the group has reached it */
#ifdef SYS_pidfd_send_signal
    if (pe->proxy_fd >= 0) {
        syscall(SYS_pidfd_send_signal, pe->proxy_fd, sig, NULL, 0U);
        return;
    }
#endif
    kill(pe->proxy, sig);
}

bool proxy_status(struct pe *pe, int *code, int *status)
{
    struct exit_info info = {.mask = EXIT_INFO_EXIT};
    if (pe->proxy_fd < 0 || ioctl(pe->proxy_fd, EXIT_INFO_GET, &info) ||
        !(info.mask & EXIT_INFO_EXIT))
        return false;
    bool signaled = WIFSIGNALED(info.exit_code);
    *code = signaled ? CLD_KILLED : CLD_EXITED;
    *status = signaled ? WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code);
    return true;
}
