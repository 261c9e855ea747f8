/*
 * profiling.c - the profiling interface of OpenSHMEM: a program that defines shmem_x gets the
 * calls, also those of type-generic names, and pshmem_x does the work. Runs with any number of PEs.
 */
#include <pshmem.h>
#include <stdio.h>

static int puts_seen, barriers_seen, level_seen;

void shmem_int_put(int *dst, const int *src, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_int_put(dst, src, nelems, pe);
}

void shmem_barrier_all(void)
{
    barriers_seen++;
    pshmem_barrier_all();
}

void shmem_pcontrol(int level, ...)
{
    level_seen = level;
}

int main(void)
{
    static int word;
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), value = me + 1;
    shmem_int_put(&word, &value, 1, (me + 1) % npes);
    shmem_put(&word, &value, 1, (me + 1) % npes);
    shmem_int32_put(&word, &value, 1, (me + 1) % npes); /* not ours */
    shmem_barrier_all();
    shmem_pcontrol(2);
    int good = word == (me + npes - 1) % npes + 1;
    good &= puts_seen == 2 && barriers_seen == 1 && level_seen == 2;
    if (!good)
        fprintf(stderr, "PE %d: word %d, puts %d, barriers %d, level %d\n", me, word, puts_seen,
                barriers_seen, level_seen);
    shmem_finalize();
    return !good;
}
