/*
 * old_start.c - a program of the first OpenSHMEM: start_pes, deprecated names, static data, and no
 * finalize: the job ends well when main returns.
 */
#include "spmd.h"

static long total;
static int token;
static long pSync[SHMEM_BARRIER_SYNC_SIZE];

int main(void)
{
    start_pes(0);
    start_pes(0); /* does nothing */
    spmd_me = _my_pe();
    spmd_npes = _num_pes();
    CHECK(my_pe() == shmem_my_pe() && num_pes() == shmem_n_pes(), "%d of %d", my_pe(), num_pes());
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        pSync[i] = SHMEM_SYNC_VALUE;
    long *word = shmalloc(sizeof *word);
    *word = spmd_me;
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++)
        shmem_long_add(&total, *word + 1, pe);
    shmem_barrier(0, 0, spmd_npes, pSync);
    long want = (long)spmd_npes * (spmd_npes + 1) / 2;
    CHECK(total == want, "%ld, expected %ld", total, want);
    /* A token round the ring. */
    if (spmd_me == 0)
        shmem_int_p(&token, 1, 1 % spmd_npes);
    shmem_int_wait(&token, 0);
    CHECK(token == spmd_me + (spmd_me ? 0 : spmd_npes), "%d", token);
    if (spmd_me != 0)
        shmem_int_p(&token, token + 1, (spmd_me + 1) % spmd_npes);
    shmem_quiet();
    long got = -1;
    shmem_get64(&got, word, 1, (spmd_me + 1) % spmd_npes);
    CHECK(got == (spmd_me + 1) % spmd_npes, "%ld", got);
    shmem_barrier_all();
    word = shrealloc(word, 100);
    CHECK(*word == spmd_me, "%ld", *word);
    shfree(word);
    return spmd_result();
}
