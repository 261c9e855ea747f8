/*
 * nvshmem_device.c - what host code does for kernels that call NVSHMEM.
 */
#include <stdlib.h>

#include "api/skin_job.h"
#include "gpu/gpu.h"
#include "nvshmemx.h"

/* 0 if kernels can take part in this job. */
static int gpu_ready(const char *fn)
{
    int status = nvsi_ready(fn);
    if (status || nvsi_gpu.up)
        return status;
    if (nvsi_gpu_presence() == NVSI_GPU_ABSENT)
        return nvsi_error(NVS_ERR_UNSUPPORTED, "%s: there is no GPU: %s", fn, nvsi_cuda_reason());
    return nvsi_error(NVS_ERR_STATE,
                      "%s: no GPU is in use yet: call cudaSetDevice, then nvshmem_malloc", fn);
}

int nvshmemx_get_device_context(nvshmem_team_t team, nvshmemx_device_context_t *context)
{
    const char *fn = __func__;
    int status = gpu_ready(fn);
    if (status)
        return nvsi_tell(status);
    if (!context)
        return nvsi_tell(nvsi_error(NVS_ERR_INVALID, "%s: context is NULL", fn));
    if (!nvsi_team_get(team))
        return nvsi_tell(nvsi_error(NVS_ERR_INVALID, "%s: team %d: no such team here", fn, team));
    *context = (nvshmemx_device_context_t){.state = nvsi_gpu.state, .team = team};
    return 0;
}

int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array)
{
    const char *fn = __func__;
    int status = nvsi_ready(fn);
    if (status)
        return nvsi_tell(status);
    if (!out_qp_array)
        return nvsi_tell(nvsi_error(NVS_ERR_INVALID, "%s: out_qp_array is NULL", fn));
    if (num_qps < 1)
        return nvsi_tell(
            nvsi_error(NVS_ERR_INVALID, "%s: num_qps is %d, must be at least 1", fn, num_qps));
    nvshmemx_qp_handle_t *handles = malloc((size_t)num_qps * sizeof *handles);
    if (!handles)
        return nvsi_tell(nvsi_error(NVS_ERR_MEMORY, "%s: no memory for %d handles", fn, num_qps));
    for (int i = 0; i < num_qps; i++)
        handles[i] = NVSHMEMX_QP_DEFAULT;
    *out_qp_array = handles;
    return 0;
}

int nvsx_device_share(int multiprocessors, int *share)
{
    int status = gpu_ready("nvshmemx_collective_launch");
    if (status)
        return nvsi_tell(status);
    *share = multiprocessors / (nvsi_gpu.sharers > 0 ? nvsi_gpu.sharers : 1);
    if (*share < 1)
        *share = 1;
    return 0;
}
