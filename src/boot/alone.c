/*
 * alone.c - started by nobody: this process is a job of one PE and makes its own arena.
 */
#include <string.h>
#include <sys/mman.h>

#include "boot/boot.h"

static bool here(void)
{
    return true;
}

static int join(struct nvsi_join *join)
{
    struct nvsi_job *job;
    int fd, error = nvsi_job_create(1, NVSI_LOSS_END, 0, &fd, &job);
    if (error)
        return nvsi_error(NVS_ERR_SYSTEM, "init: cannot make the job's memory: %s",
                          strerror(-error));
    munmap(job, sizeof *job);
    *join = (struct nvsi_join){.pe = 0, .npes = 1, .arena_fd = fd};
    return 0;
}

const struct nvsi_boot nvsi_boot_alone = {.name = "alone", .here = here, .join = join};
