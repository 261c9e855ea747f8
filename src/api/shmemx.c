/*
 * shmemx.c - the extensions of shmemx.h that have no type in their name.
 */
#include <time.h>
#include <unistd.h>

#include "api/skin.h"
#define NVS_NO_GENERICS /* the functions below, not the macros of their names */
#include "shmemx.h"

double shmemx_wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

char *shmemx_nodename(void)
{
    static char name[256];
    /* Its result is the same each time, so that threads may meet here. */
    if (gethostname(name, sizeof name - 1))
        return "";
    return name;
}

void shmemx_register_gettid(uint64_t (*gettid)(void))
{
    nvsi_ctx_thread_from(gettid);
}

void shmemx_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)
{
    nvsi_check(nvsi_signal(NULL, "shmemx_signal_set", sig_addr, signal, NVSI_SIGNAL_SET, pe));
}

void shmemx_signal_add(uint64_t *sig_addr, uint64_t signal, int pe)
{
    nvsi_check(nvsi_signal(NULL, "shmemx_signal_add", sig_addr, signal, NVSI_SIGNAL_ADD, pe));
}

void shmemx_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    const char *fn = "shmemx_ctx_signal_set";
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_signal(ctx, fn, sig_addr, signal, NVSI_SIGNAL_SET, pe));
}

void shmemx_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    const char *fn = "shmemx_ctx_signal_add";
    if (nvsi_skin_ctx(ctx, fn))
        nvsi_check(nvsi_signal(ctx, fn, sig_addr, signal, NVSI_SIGNAL_ADD, pe));
}
