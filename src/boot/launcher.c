/*
 * launcher.c - started by nvsrun: number, size and arena come through the environment (job.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/boot.h"
#include "util/parse.h"

/* Not for a setuid program: whoever starts it could give it an arena of his own making. */
static bool here(void)
{
    return secure_getenv(NVSI_ENV_PE) && secure_getenv(NVSI_ENV_NPES);
}

static int number(const char *name, long min, long max, long *value)
{
    const char *text = getenv(name);
    if (text && nvsi_parse_int(text, min, max, value) == 0)
        return 0;
    return nvsi_error(NVS_ERR_LAUNCH, "init: %s is '%s': the launcher sets it to %ld to %ld", name,
                      text ? text : "", min, max);
}

/* The inherited descriptor, or, where a program in between closed it, the launcher's own. */
static int open_arena(int fd, long launcher)
{
    if (nvsi_arena_is(fd)) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", launcher, fd);
    int opened = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (nvsi_arena_is(opened))
        return opened;
    if (opened >= 0)
        close(opened);
    return -1;
}

static int join(struct nvsi_join *join)
{
    long pe = 0, npes = 0, fd = -1, launcher = 0;
    int status = number(NVSI_ENV_NPES, 1, NVSI_MAX_PES, &npes);
    if (!status)
        status = number(NVSI_ENV_PE, 0, npes - 1, &pe);
    if (!status)
        status = number(NVSI_ENV_FD, 0, 1 << 20, &fd);
    if (!status)
        status = number(NVSI_ENV_LAUNCHER, 1, 1L << 30, &launcher);
    if (status)
        return status;
    int arena = open_arena((int)fd, launcher);
    if (arena < 0)
        return nvsi_error(NVS_ERR_LAUNCH,
                          "init: descriptor %ld is not the job's memory, and /proc/%ld/fd/%ld does "
                          "not give it: was it closed between nvsrun and this program?",
                          fd, launcher, fd);
    *join = (struct nvsi_join){.pe = (int)pe, .npes = (int)npes, .arena_fd = arena};
    return 0;
}

const struct nvsi_boot nvsi_boot_launcher = {.name = "nvsrun", .here = here, .join = join};
