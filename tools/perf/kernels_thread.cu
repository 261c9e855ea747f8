/*
 * kernels_thread.cu - the ops of a thread.
 */
#include "kernels_scope.cuh"

SCOPE(by_thread, nvshmem, , 0, (void)0)

NVSD_KERNEL(perf_thread, struct kernel_args, a)
{
    run<by_thread>(a);
}

COLLECTIVES(by_thread, perf_thread)
