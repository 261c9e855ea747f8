/* A host program over nvshmem.h: the sum of 1 .. n over all PEs. Also compiled as CUDA. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe();
    int *words = (int *)nvshmem_malloc(2 * sizeof(int));
    nvshmem_int_p(&words[0], me + 1, me);
    nvshmem_barrier_all();
    nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, &words[1], &words[0], 1);
    if (me == 0)
        printf("%d PEs, sum %d\n", nvshmem_n_pes(), words[1]);
    nvshmem_free(words);
    nvshmem_finalize();
    return 0;
}
