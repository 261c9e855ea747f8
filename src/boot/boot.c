/*
 * boot.c - finds the way this process was started, joins the job, claims the place of its PE.
 */
#include "boot/boot.h"

#include "boot/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    bool joined;
    bool used; /* another process, or this one before an exec, has had our place */
    int npes;
} boot;

static const struct nvsi_boot *way(void)
{
    return nvsi_boot_launcher.here() ? &nvsi_boot_launcher : &nvsi_boot_alone;
}

static void unmap_control(int npes)
{
    munmap(nvsi.arena, nvsi_job_control_bytes((uint32_t)npes));
    nvsi.arena = NULL;
    nvsi.job = NULL;
}

static int map_control(const struct nvsi_join *join)
{
    uint64_t bytes = nvsi_job_control_bytes((uint32_t)join->npes);
    void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, join->arena_fd, 0);
    if (arena == MAP_FAILED)
        return nvsi_error(NVS_ERR_SYSTEM,
                          "init: cannot map the control memory of a job of %d PEs, %llu bytes: %s "
                          "(see 'ulimit -v', or start fewer PEs)",
                          join->npes, (unsigned long long)bytes, strerror(errno));
    madvise(arena, bytes, MADV_DONTDUMP); /* a core dump would allocate all of it */
    nvsi.arena = arena;
    nvsi.job = arena;
    return 0;
}

/* Takes the place of this PE. It may have been left by a process that never initialised nvs (a
 * wrapper) or that has finalized it (the program before this one in a script), or be ours from
 * before an exec; it is not ours if another PE's process started us. */
static int claim(int pe)
{
    struct nvsi_pe_slot *slot = &nvsi.job->pes[pe];
    uint32_t state = NVSI_PE_FREE;
    int32_t pid = getpid();
    boot.used = atomic_load(&slot->pid) != 0;
    if (atomic_compare_exchange_strong(&slot->state, &state, NVSI_PE_CLAIMED)) {
        NVSI_CRASH_POINT(boot_claimed);
        atomic_store(&slot->pid, pid);
        return 0;
    }
    int32_t holder = atomic_load(&slot->pid);
    bool outside = state == NVSI_PE_CLAIMED || state == NVSI_PE_FINALIZED; /* nobody waits for it */
    bool vacant = outside && holder > 0 && kill(holder, 0) && errno == ESRCH;
    if (holder == pid && outside) { /* by exec */
        atomic_store(&slot->state, NVSI_PE_CLAIMED);
        return 0;
    }
    if (holder == pid && state == NVSI_PE_RUNNING) /* its team mates still wait for that one */
        return nvsi_error(NVS_ERR_LAUNCH,
                          "init: this process is PE %d already: an exec without finalize, or a "
                          "second libnvs in it",
                          pe);
    if (vacant && atomic_compare_exchange_strong(&slot->pid, &holder, pid)) {
        atomic_store(&slot->state, NVSI_PE_CLAIMED);
        return 0;
    }
    return nvsi_error(NVS_ERR_LAUNCH,
                      "init: the place of PE %d is taken by process %d. A program that a PE starts "
                      "is not part of the job: unset %s in its environment",
                      pe, (int)holder, NVSI_ENV_PE);
}

/* Where a standard descriptor is closed, the arena could be in its place, and what the program
 * prints would be written into it. */
static int avoid_standard_fds(struct nvsi_join *join)
{
    if (join->arena_fd > STDERR_FILENO)
        return 0;
    int fd = fcntl(join->arena_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0)
        return nvsi_error(NVS_ERR_SYSTEM, "init: no descriptor for the job's memory: %s",
                          strerror(errno));
    close(join->arena_fd);
    join->arena_fd = fd;
    return 0;
}

int nvsi_boot_join(int *npes)
{
    if (!boot.joined) {
        struct nvsi_join join;
        int status = way()->join(&join);
        if (status)
            return status;
        status = avoid_standard_fds(&join);
        if (!status)
            status = nvsi_arena_check(join.arena_fd, join.npes);
        if (!status)
            status = map_control(&join);
        if (!status) {
            status = claim(join.pe);
            if (status)
                unmap_control(join.npes);
        }
        if (status) {
            close(join.arena_fd);
            return status;
        }
        nvsi.me = join.pe;
        nvsi.arena_fd = join.arena_fd;
        nvsi.flight = &nvsi.job->pes[join.pe].flight;
        boot.npes = join.npes;
        boot.joined = true;
    }
    *npes = boot.npes;
    return 0;
}

__attribute__((constructor)) void nvsi_boot_early(void)
{
    int npes;
    if (!nvsi_boot_launcher.here() || nvsi_boot_join(&npes))
        return;
    nvsi_static_share(boot.used);
    nvsi_fork_watch();
}

__attribute__((destructor)) void nvsi_boot_leave(void)
{
    if (!boot.joined || nvsi.forked)
        return;
    uint32_t claimed = NVSI_PE_CLAIMED;
    atomic_compare_exchange_strong(&nvsi.job->pes[nvsi.me].state, &claimed, NVSI_PE_FREE);
}
