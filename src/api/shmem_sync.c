/*
 * shmem_sync.c - order, barriers, waiting for signals and locks of OpenSHMEM.
 */
#define NVS_NO_GENERICS /* shmem_sync and shmem_wait are functions here */
#include "api/skin_job.h"
#include "api/skin_wait.h"
#include "pshmem.h"

/* ---- order ----------------------------------------------------------------------------------- */

void pshmem_fence(void)
{
    nvsi_check(nvsi_fence(NULL, "shmem_fence"));
}
NVSI_PROFILED(shmem_fence);

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
    const char *fn = "shmem_ctx_fence";
    int status = ctx == SHMEM_CTX_INVALID ? 0 : nvsi_check_ctx(fn, ctx);
    if (ctx != SHMEM_CTX_INVALID)
        nvsi_check(status ? status : nvsi_fence(ctx, fn));
}
NVSI_PROFILED(shmem_ctx_fence);

void pshmem_quiet(void)
{
    nvsi_check(nvsi_quiet(NULL, "shmem_quiet"));
}
NVSI_PROFILED(shmem_quiet);

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
    const char *fn = "shmem_ctx_quiet";
    int status = ctx == SHMEM_CTX_INVALID ? 0 : nvsi_check_ctx(fn, ctx);
    if (ctx != SHMEM_CTX_INVALID)
        nvsi_check(status ? status : nvsi_quiet(ctx, fn));
}
NVSI_PROFILED(shmem_ctx_quiet);

/* ---- barriers -------------------------------------------------------------------------------- */

void pshmem_barrier_all(void)
{
    nvsi_check(nvsi_skin_team_barrier("shmem_barrier_all", SHMEM_TEAM_WORLD));
}
NVSI_PROFILED(shmem_barrier_all);

void pshmem_sync_all(void)
{
    nvsi_check(nvsi_skin_team_sync("shmem_sync_all", SHMEM_TEAM_WORLD));
}
NVSI_PROFILED(shmem_sync_all);

void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    const char *fn = "shmem_barrier";
    struct nvsi_team *team = nvsi_skin_active_set(fn, PE_start, logPE_stride, PE_size, pSync);
    if (team)
        nvsi_check(nvsi_barrier(fn, team));
}
NVSI_PROFILED(shmem_barrier);

void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    const char *fn = "shmem_sync";
    struct nvsi_team *team = nvsi_skin_active_set(fn, PE_start, logPE_stride, PE_size, pSync);
    if (team)
        nvsi_check(nvsi_sync(fn, team));
}
NVSI_PROFILED(shmem_sync);

/* ---- signals and waits ----------------------------------------------------------------------- */

uint64_t pshmem_signal_fetch(const volatile uint64_t *sig_addr)
{
    return nvsi_skin_signal_fetch("shmem_signal_fetch", sig_addr);
}
NVSI_PROFILED(shmem_signal_fetch);

uint64_t pshmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return nvsi_skin_signal_wait("shmem_signal_wait_until", sig_addr, cmp, cmp_value);
}
NVSI_PROFILED(shmem_signal_wait_until);

void pshmem_wait(volatile long *ivar, long cmp_value)
{
    nvsi_skin_wait_until("shmem_wait", ivar, NVSI_W64, SHMEM_CMP_NE, (uint64_t)cmp_value);
}
NVSI_PROFILED(shmem_wait);

void pshmem_wait_until(volatile long *ivar, int cmp, long cmp_value)
{
    nvsi_skin_wait_until("shmem_wait_until", ivar, NVSI_W64, cmp, (uint64_t)cmp_value);
}
NVSI_PROFILED(shmem_wait_until);

/* ---- locks ----------------------------------------------------------------------------------- */

void pshmem_set_lock(long *lock)
{
    if (nvsi_skin_words_ok("shmem_set_lock", "lock", lock, 1, sizeof *lock))
        nvsi_check(nvsi_lock_set("shmem_set_lock", lock));
}
NVSI_PROFILED(shmem_set_lock);

void pshmem_clear_lock(long *lock)
{
    if (nvsi_skin_words_ok("shmem_clear_lock", "lock", lock, 1, sizeof *lock))
        nvsi_check(nvsi_lock_clear("shmem_clear_lock", lock));
}
NVSI_PROFILED(shmem_clear_lock);

int pshmem_test_lock(long *lock)
{
    int busy = 1;
    if (nvsi_skin_words_ok("shmem_test_lock", "lock", lock, 1, sizeof *lock))
        nvsi_check(nvsi_lock_test("shmem_test_lock", lock, &busy));
    return busy;
}
NVSI_PROFILED(shmem_test_lock);

/* ---- deprecated: caches are coherent --------------------------------------------------------- */

void pshmem_set_cache_inv(void) {}
NVSI_PROFILED(shmem_set_cache_inv);

void pshmem_clear_cache_inv(void) {}
NVSI_PROFILED(shmem_clear_cache_inv);

void pshmem_set_cache_line_inv(void *dest)
{
    (void)dest;
}
NVSI_PROFILED(shmem_set_cache_line_inv);

void pshmem_clear_cache_line_inv(void *dest)
{
    (void)dest;
}
NVSI_PROFILED(shmem_clear_cache_line_inv);

void pshmem_udcflush(void) {}
NVSI_PROFILED(shmem_udcflush);

void pshmem_udcflush_line(void *dest)
{
    (void)dest;
}
NVSI_PROFILED(shmem_udcflush_line);
