/* A program over shmem.h: the sum of 1 .. n over all PEs, in a global variable of PE 0. */
#include <shmem.h>
#include <stdio.h>

static long sum;

int main(void)
{
    shmem_init();
    shmem_atomic_add(&sum, (long)shmem_my_pe() + 1, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        printf("%d PEs, sum %ld\n", shmem_n_pes(), sum);
    shmem_finalize();
    return 0;
}
