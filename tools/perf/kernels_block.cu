/*
 * kernels_block.cu - the ops of a block.
 */
#include "kernels_scope.cuh"

SCOPE(by_block, nvshmemx, _block, threadIdx.x, __syncthreads())

NVSD_KERNEL(perf_block, struct kernel_args, a)
{
    run<by_block>(a);
}

COLLECTIVES(by_block, perf_block)
