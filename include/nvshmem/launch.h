/*
 * nvshmem/launch.h - launching kernels that wait for kernels of other PEs.
 *
 * Such kernels need all their blocks to run at the same time, here and on the other PEs: a
 * cooperative launch says so to CUDA, and refuses a grid that is too large. PEs that share a GPU
 * get a share of it each, so that the blocks of all of them fit. With the CUDA runtime of the
 * application: these are inline functions, for units that nvcc compiles or that have included
 * cuda_runtime.h before nvshmemx.h.
 */
#ifndef NVS_NVSHMEM_LAUNCH_H
#define NVS_NVSHMEM_LAUNCH_H

#include "nvshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This PE's share of the GPU, of `multiprocessors`, for kernels that wait: at least 1. 0 or a
 * status. */
NVS_API int nvsx_device_share(int multiprocessors, int *share);

#if defined(CUDART_VERSION)

/* The largest grid (a number of blocks) that nvshmemx_collective_launch takes for this kernel. args
 * are not looked at. 0, or one of NVSHMEMX_ERROR_*. */
static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims,
                                                            void **args, size_t sharedMem,
                                                            int *gridsize)
{
    int device, total, share, blocks, nthreads = (int)(blockDims.x * blockDims.y * blockDims.z);
    (void)args;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&total, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, nthreads, sharedMem) !=
            cudaSuccess)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (nvsx_device_share(total, &share) != 0)
        return NVSHMEMX_ERROR_GPU_NOT_SELECTED;
    *gridsize = blocks * share;
    return NVSHMEMX_SUCCESS;
}

/* Collective over all PEs. gridDims of 0: the largest grid. */
static inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims,
                                             void **args, size_t sharedMem, cudaStream_t stream)
{
    int most;
    int status = nvshmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, &most);
    if (status != NVSHMEMX_SUCCESS)
        return status;
    if (gridDims.x == 0 && gridDims.y == 0 && gridDims.z == 0) {
        gridDims.x = (unsigned)most;
        gridDims.y = gridDims.z = 1;
    }
    uint64_t nblocks = (uint64_t)gridDims.x * gridDims.y * gridDims.z;
    if (nblocks == 0 || nblocks > (uint64_t)most)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (cudaLaunchCooperativeKernel(func, gridDims, blockDims, args, sharedMem, stream) !=
        cudaSuccess)
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    return NVSHMEMX_SUCCESS;
}

#endif /* CUDART_VERSION */

#ifdef __cplusplus
}
#endif

#endif
