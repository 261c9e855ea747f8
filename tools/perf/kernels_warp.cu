/*
 * kernels_warp.cu - the ops of a warp.
 */
#include "kernels_scope.cuh"

SCOPE(by_warp, nvshmemx, _warp, threadIdx.x % 32, __syncwarp())

NVSD_KERNEL(perf_warp, struct kernel_args, a)
{
    run<by_warp>(a);
}

COLLECTIVES(by_warp, perf_warp)
