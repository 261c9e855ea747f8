/*
 * kernel.c - the calls of the kernel that nvs builds on, tried out, and what happens without them.
 * A sandbox may forbid a call that the kernel has, so its version says too little.
 */
#include "info.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static bool has_memfd(void)
{
    int fd = memfd_create("nvs-info", MFD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool has_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

/* A wait for a word that has another value already returns at once. */
static bool has_futex(void)
{
    uint32_t word = 1;
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EAGAIN;
}

static bool has_pidfd(void)
{
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0)
        close((int)fd);
    return fd >= 0;
}

static void feature_collect(struct report *report, const char *key, bool available,
                            const char *with, const char *without)
{
    fact_flag(report, key, available, available ? with : without);
}

void kernel_collect(struct report *report)
{
    struct utsname names;
    char libc[64];
    report->section = "kernel";
    if (!uname(&names))
        fact_text(report, "release", names.release, NULL);
    snprintf(libc, sizeof(libc), "glibc %s", gnu_get_libc_version());
    fact_text(report, "libc", libc, NULL);
    feature_collect(report, "memfd", has_memfd(), "the memory that PEs share",
                    "nvs cannot run: memfd_create is missing or forbidden");
    feature_collect(report, "futex", has_futex(), "waiting PEs sleep",
                    "waiting PEs cannot sleep: futex is missing or forbidden");
    feature_collect(report, "membarrier", has_membarrier(), "waiting PEs are woken at once",
                    "waiting PEs wake up every 50 microseconds to look");
    feature_collect(report, "pidfd", has_pidfd(), "nvsrun sees how a process ended",
                    "nvsrun may not see how a process ended that another one started");
}
