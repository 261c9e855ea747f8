/*
 * arena.c - is this descriptor the arena of our job?
 *
 * What a process inherits may be the arena of another job or of another version, or a file that was
 * cut short. All offsets come from the header, so a wrong one would show up as SIGBUS far from its
 * cause. It is read, not mapped: a file may be shorter than its header.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/boot.h"

bool nvsi_arena_is(int fd)
{
    uint64_t magic = 0;
    return fd >= 0 && pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == NVSI_JOB_MAGIC;
}

/* Whether the header says what nvsi_job_create() would say for this number of PEs. */
static bool layout_fits(const struct nvsi_job *header)
{
    uint64_t gib = UINT64_C(1) << 30, window = header->window_bytes;
    return header->control_bytes == nvsi_job_control_bytes(header->npes) && window % gib == 0 &&
           window >= NVSI_STATIC_BYTES + gib && window <= NVSI_WINDOW_BYTES &&
           header->on_loss <= NVSI_LOSS_CONTINUE && header->launched <= 1;
}

int nvsi_arena_check(int fd, int npes)
{
    union {
        struct nvsi_job job;
        char bytes[offsetof(struct nvsi_job, failure)]; /* the words that never change */
    } header;
    struct stat file;
    ssize_t got = pread(fd, header.bytes, sizeof header.bytes, 0);
    if (got < 0 || fstat(fd, &file))
        return nvsi_error(NVS_ERR_SYSTEM, "init: cannot read the job's memory: %s",
                          strerror(errno));
    if (got < (ssize_t)sizeof header.bytes || header.job.magic != NVSI_JOB_MAGIC)
        return nvsi_error(NVS_ERR_LAUNCH, "init: descriptor %d is not the job's memory", fd);
    if (header.job.version != NVSI_JOB_VERSION || header.job.npes != (uint32_t)npes)
        return nvsi_error(NVS_ERR_LAUNCH,
                          "init: nvsrun speaks version %u for %u PEs, this library version %d "
                          "for %d PEs: use the nvsrun that was installed with libnvs",
                          header.job.version, header.job.npes, NVSI_JOB_VERSION, npes);
    if (!layout_fits(&header.job) ||
        (uint64_t)file.st_size < nvsi_job_window(&header.job, header.job.npes))
        return nvsi_error(NVS_ERR_LAUNCH,
                          "init: the job's memory (%lld bytes, %u PEs, windows of %llu bytes) is "
                          "damaged or of another build: use the nvsrun that was installed with "
                          "libnvs",
                          (long long)file.st_size, header.job.npes,
                          (unsigned long long)header.job.window_bytes);
    return 0;
}
