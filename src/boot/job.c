/*
 * job.c - makes an arena.
 *
 * The arena is one unnamed, sparse memory file: its size is address space, not memory, so it is as
 * large as the layout in job.h asks for. The one thing that can forbid this is RLIMIT_FSIZE, which
 * would answer with SIGXFSZ; it is therefore looked at first, and the heaps are made smaller.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "boot/job.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define GIB (UINT64_C(1) << 30)
/* A window smaller than this would have no room for a heap behind the static data. */
#define WINDOW_BYTES_MIN (NVSI_STATIC_BYTES + GIB)

/* The largest window up to NVSI_WINDOW_BYTES, a multiple of 1 GiB, with which the file fits under
 * RLIMIT_FSIZE; 0 if that is less than a PE can live in. */
static uint64_t window_bytes_allowed(uint32_t npes, uint64_t control_bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return NVSI_WINDOW_BYTES;
    uint64_t control = (control_bytes + GIB - 1) & ~(GIB - 1);
    if (limit.rlim_cur <= control)
        return 0;
    uint64_t window = (limit.rlim_cur - control) / npes & ~(GIB - 1);
    if (window >= NVSI_WINDOW_BYTES)
        return NVSI_WINDOW_BYTES;
    return window >= WINDOW_BYTES_MIN ? window : 0;
}

/* Kernels from 6.3 on want to be told that the file is not to be executed, and may refuse the call
 * otherwise (vm.memfd_noexec); older ones do not know the flag. */
static int memfd_open(void)
{
    int fd = memfd_create("nvs-job", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("nvs-job", MFD_CLOEXEC);
    return fd;
}

/* CPUs that this process, and so the whole job, may run on. */
static uint32_t cpus_allowed(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    return online > 0 ? (uint32_t)online : 1;
}

static void header_fill(struct nvsi_job *job, const struct nvsi_job *header)
{
    job->version = header->version;
    job->npes = header->npes;
    job->on_loss = header->on_loss;
    job->launched = header->launched;
    job->control_bytes = header->control_bytes;
    job->window_bytes = header->window_bytes;
    job->ncpus = header->ncpus;
    for (uint32_t pe = 0; pe < header->npes; pe++) {
        struct nvsi_flight *flight = &job->pes[pe].flight;
        flight->team = flight->peer = flight->dtype = flight->redop = -1;
    }
    job->magic = header->magic;
}

int nvsi_job_create(uint32_t npes, enum nvsi_on_loss on_loss, int launched, int *fd,
                    struct nvsi_job **job)
{
    if (npes < 1 || npes > NVSI_MAX_PES)
        return -EINVAL;
    struct nvsi_job header = {.magic = NVSI_JOB_MAGIC,
                              .version = NVSI_JOB_VERSION,
                              .npes = npes,
                              .on_loss = on_loss,
                              .launched = launched != 0,
                              .ncpus = cpus_allowed(),
                              .control_bytes = nvsi_job_control_bytes(npes)};
    header.window_bytes = window_bytes_allowed(npes, header.control_bytes);
    if (!header.window_bytes)
        return -EFBIG;

    int status;
    int arena_fd = memfd_open();
    if (arena_fd < 0)
        return -errno;
    if (ftruncate(arena_fd, (off_t)nvsi_job_window(&header, npes))) {
        status = -errno;
        goto fail;
    }
    struct nvsi_job *map =
        mmap(NULL, nvsi_job_channels(npes), PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
    if (map == MAP_FAILED) {
        status = -errno;
        goto fail;
    }
    header_fill(map, &header);
    *fd = arena_fd;
    *job = map;
    return 0;

fail:
    close(arena_fd);
    return status;
}
