/*
 * nvshmem_setup.c - start, end, queries and memory of NVSHMEM.
 */
#include "api/skin_job.h"
#include "gpu/gpu.h"
#include "nvshmemx.h"

void nvshmem_init(void)
{
    nvsi_check(nvsi_skin_init("nvshmem_init", NVSHMEM_THREAD_SINGLE, NULL));
}

int nvshmem_init_thread(int requested, int *provided)
{
    return nvsi_skin_told(nvsi_skin_init("nvshmem_init_thread", requested, provided));
}

void nvshmem_query_thread(int *provided)
{
    nvsi_skin_query_thread("nvshmem_query_thread", provided);
}

void nvshmem_finalize(void)
{
    nvsi_check(nvsi_finalize("nvshmem_finalize"));
}

void nvshmem_global_exit(int status)
{
    nvsi_end_job(status);
}

int nvshmemx_error_check(void)
{
    return nvsi_error_take();
}

/* ---- queries --------------------------------------------------------------------------------- */

int nvshmem_my_pe(void)
{
    return nvsi_skin_my_pe("nvshmem_my_pe");
}

int nvshmem_n_pes(void)
{
    return nvsi_skin_n_pes("nvshmem_n_pes");
}

void *nvshmem_ptr(const void *dest, int pe)
{
    return nvsi_skin_ptr("nvshmem_ptr", dest, pe);
}

void nvshmem_info_get_version(int *major, int *minor)
{
    nvsi_skin_version("nvshmem_info_get_version", NVSHMEM_MAJOR_VERSION, NVSHMEM_MINOR_VERSION,
                      major, minor);
}

void nvshmem_info_get_name(char *name)
{
    nvsi_skin_name("nvshmem_info_get_name", NVSHMEM_VENDOR_STRING, name);
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    const char *fn = "nvshmemx_vendor_get_version_info";
    if (!nvsi_skin_out(fn, "patch", patch))
        return;
    nvsi_skin_version(fn, NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION, major, minor);
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *nvshmem_malloc(size_t size)
{
    return nvsi_skin_malloc("nvshmem_malloc", size, NVSI_HEAP_CHOICE);
}

void *nvshmem_calloc(size_t count, size_t size)
{
    return nvsi_skin_calloc("nvshmem_calloc", count, size, NVSI_HEAP_CHOICE);
}

void *nvshmem_align(size_t alignment, size_t size)
{
    return nvsi_skin_align("nvshmem_align", alignment, size, NVSI_HEAP_CHOICE);
}

void nvshmem_free(void *ptr)
{
    nvsi_skin_free("nvshmem_free", ptr, false);
}

/* ---- memory of the caller -------------------------------------------------------------------- */

/* Any memory can be the local side of a put or get; gpu/buffers.c says what this is good for. */
int nvshmemx_buffer_register(void *addr, size_t length)
{
    const char *fn = "nvshmemx_buffer_register";
    int status = nvsi_ready(fn);
    if (!status && (!addr || !length))
        status = nvsi_error(NVS_ERR_INVALID, "%s: address %p, length %zu: neither may be 0", fn,
                            addr, length);
    return status ? status : nvsi_buffer_register(fn, addr, length);
}

int nvshmemx_buffer_unregister(void *addr)
{
    const char *fn = "nvshmemx_buffer_unregister";
    int status = nvsi_ready(fn);
    if (!status && !addr)
        status = nvsi_error(NVS_ERR_INVALID, "%s: address is NULL", fn);
    return status ? status : nvsi_buffer_unregister(fn, addr);
}

void nvshmemx_buffer_unregister_all(void)
{
    int status = nvsi_ready("nvshmemx_buffer_unregister_all");
    nvsi_check(status);
    if (!status)
        nvsi_buffer_unregister_all("nvshmemx_buffer_unregister_all");
}

void *nvshmemx_buffer_register_symmetric(void *buf, size_t size, int flags)
{
    void *ptr;
    (void)flags; /* none is defined */
    nvsi_tell(nvsi_heap_register("nvshmemx_buffer_register_symmetric", buf, size, &ptr));
    return ptr;
}

int nvshmemx_buffer_unregister_symmetric(void *ptr, size_t size)
{
    return nvsi_tell(nvsi_heap_unregister("nvshmemx_buffer_unregister_symmetric", ptr, size));
}

void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team, (void)ptr;
    return NULL;
}
