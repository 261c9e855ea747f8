/*
 * kernels_thread.cu - the ops of a thread.
 */
#include "kernels_scope.cuh"

SCOPE(by_thread, nvshmem, , 0, (void)0)

NVSD_KERNEL(perf_thread, struct kernel_args, a)
{
    run<by_thread>(a);
}

/* A kernel of its own, so that its registers are not the others'. */
NVSD_KERNEL(perf_thread_together, struct kernel_args, a)
{
    run_collective<by_thread>(a);
}
