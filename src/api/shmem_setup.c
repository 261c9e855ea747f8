/*
 * shmem_setup.c - start, end and queries of OpenSHMEM, with the deprecated names of these.
 */
#include <stdlib.h>

#include "api/skin_job.h"
#include "pshmem.h"

void pshmem_init(void)
{
    nvsi_check(nvsi_skin_init("shmem_init", SHMEM_THREAD_SINGLE, NULL));
}
NVSI_PROFILED(shmem_init);

int pshmem_init_thread(int requested, int *provided)
{
    return nvsi_skin_told(nvsi_skin_init("shmem_init_thread", requested, provided));
}
NVSI_PROFILED(shmem_init_thread);

void pshmem_query_thread(int *provided)
{
    nvsi_skin_query_thread("shmem_query_thread", provided);
}
NVSI_PROFILED(shmem_query_thread);

void pshmem_finalize(void)
{
    nvsi_check(nvsi_finalize("shmem_finalize"));
}
NVSI_PROFILED(shmem_finalize);

void pshmem_global_exit(int status)
{
    nvsi_end_job(status);
}
NVSI_PROFILED(shmem_global_exit);

void pshmem_pcontrol(int level, ...)
{
    (void)level;
}
NVSI_PROFILED(shmem_pcontrol);

/* ---- queries --------------------------------------------------------------------------------- */

int pshmem_my_pe(void)
{
    return nvsi_skin_my_pe("shmem_my_pe");
}
NVSI_PROFILED(shmem_my_pe);

int pshmem_n_pes(void)
{
    return nvsi_skin_n_pes("shmem_n_pes");
}
NVSI_PROFILED(shmem_n_pes);

void *pshmem_ptr(const void *dest, int pe)
{
    return nvsi_skin_ptr("shmem_ptr", dest, pe);
}
NVSI_PROFILED(shmem_ptr);

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
    const char *fn = "shmem_team_ptr";
    int world_pe = nvsi_skin_translate(fn, team, pe, NVSI_TEAM_WORLD);
    return world_pe < 0 ? NULL : nvsi_skin_ptr(fn, dest, world_pe);
}
NVSI_PROFILED(shmem_team_ptr);

int pshmem_pe_accessible(int pe)
{
    return nvsi_skin_accessible("shmem_pe_accessible", pe);
}
NVSI_PROFILED(shmem_pe_accessible);

int pshmem_addr_accessible(const void *addr, int pe)
{
    if (!nvsi_skin_accessible("shmem_addr_accessible", pe))
        return 0;
    for (int s = 0; s < NVSI_NUM_SEGS; s++)
        if ((size_t)((const char *)addr - nvsi.seg[s].base) < nvsi.seg[s].size)
            return 1;
    return 0;
}
NVSI_PROFILED(shmem_addr_accessible);

void pshmem_info_get_version(int *major, int *minor)
{
    nvsi_skin_version("shmem_info_get_version", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, major,
                      minor);
}
NVSI_PROFILED(shmem_info_get_version);

void pshmem_info_get_name(char *name)
{
    _Static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN, "the caller's array is that");
    nvsi_skin_name("shmem_info_get_name", SHMEM_VENDOR_STRING, name);
}
NVSI_PROFILED(shmem_info_get_name);

/* ---- deprecated ------------------------------------------------------------------------------ */

/* A program that fails exits in the middle of something: the others would wait for it in vain, and
 * it for them in finalize. So it just ends, and nvsrun says that it did. */
static void leave(int status, void *arg)
{
    (void)arg;
    while (status == 0 && nvsi.npes > 0 && !nvsi_finalize("exit"))
        ;
}

#ifndef __GLIBC__
static void leave_in_order(void)
{
    leave(0, NULL);
}
#define on_exit(function, arg) atexit(leave_in_order)
#endif

void start_pes(int npes)
{
    (void)npes;
    if (nvsi.npes > 0)
        return;
    int status = nvsi_skin_init("start_pes", SHMEM_THREAD_SINGLE, NULL);
    nvsi_check(status);
    if (!status)
        on_exit(leave, NULL);
}

int my_pe(void)
{
    return nvsi_skin_my_pe("my_pe");
}

int _my_pe(void)
{
    return nvsi_skin_my_pe("_my_pe");
}

int num_pes(void)
{
    return nvsi_skin_n_pes("num_pes");
}

int _num_pes(void)
{
    return nvsi_skin_n_pes("_num_pes");
}
