/*
 * kernels_block.cu - the ops of a block.
 */
#include "kernels_scope.cuh"

SCOPE(by_block, nvshmemx, _block, threadIdx.x, __syncthreads())

NVSD_KERNEL(perf_block, struct kernel_args, a)
{
    run<by_block>(a);
}

/* A kernel of its own, so that its registers are not the others'. */
NVSD_KERNEL(perf_block_together, struct kernel_args, a)
{
    run_collective<by_block>(a);
}
