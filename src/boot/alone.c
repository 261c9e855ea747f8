/*
 * alone.c - started by nobody: this process is a job of one PE and makes its own arena.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "boot/boot.h"

static bool here(void)
{
    return true;
}

/* What to do about it. */
static const char *remedy(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
        return " (no file descriptor is left: see 'ulimit -n')";
    case EFBIG:
        return " (a file may not be so large: see 'ulimit -f'; nvs needs the address space of a "
               "heap)";
    case ENOMEM:
        return " (see 'ulimit -v')";
    case ENOSYS:
    case EPERM:
    case EACCES:
        return " (is memfd_create forbidden here, by a sandbox or by vm.memfd_noexec?)";
    default:
        return "";
    }
}

static int join(struct nvsi_join *join)
{
    struct nvsi_job *job;
    int fd, error = nvsi_job_create(1, NVSI_LOSS_END, 0, &fd, &job);
    if (error)
        return nvsi_error(NVS_ERR_SYSTEM, "init: cannot make the job's memory: %s%s",
                          strerror(-error), remedy(-error));
    munmap(job, sizeof *job);
    *join = (struct nvsi_join){.pe = 0, .npes = 1, .arena_fd = fd};
    return 0;
}

const struct nvsi_boot nvsi_boot_alone = {.name = "alone", .here = here, .join = join};
