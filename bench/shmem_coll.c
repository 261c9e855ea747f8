/*
 * shmem_coll.c - the collectives of shmem_bench: team calls from OpenSHMEM 1.5 on, active sets
 * before.
 */
#include "shmem_bench.h"

#include <shmem.h>
#include <stddef.h>
#ifdef BENCH_NVS
#include <nvs.h>
#endif

#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
/* Before 1.5 each call names its PEs and brings its work memory; calls in a row take turns. */
static long sync_words[2][SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE +
                          SHMEM_ALLTOALL_SYNC_SIZE];
static float *work;

static long *sync_next(void)
{
    static int turn;
    return sync_words[turn ^= 1];
}

void coll_open(void)
{
    for (size_t i = 0; i < sizeof sync_words[0] / sizeof(long); i++)
        sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
    work = shmem_malloc(MAX_BYTES / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof *work);
    if (!work)
        shmem_global_exit(3);
}

void coll_all_reduce(size_t bytes)
{
    shmem_float_sum_to_all((float *)y, (float *)x, (int)(bytes / 4), 0, 0, npes, work, sync_next());
}

void coll_broadcast(size_t bytes)
{
    shmem_broadcast64(y, x, bytes / 8, 0, 0, 0, npes, sync_next());
}

void coll_all_gather(size_t bytes)
{
    shmem_fcollect64(y, x, bytes / 8, 0, 0, npes, sync_next());
}

void coll_all_to_all(size_t bytes)
{
    shmem_alltoall64(y, x, bytes / 8, 0, 0, npes, sync_next());
}
#else
void coll_open(void) {}

void coll_all_reduce(size_t bytes)
{
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float *)y, (float *)x, bytes / 4);
}

void coll_broadcast(size_t bytes)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, y, x, bytes, 0);
}

void coll_all_gather(size_t bytes)
{
    shmem_fcollectmem(SHMEM_TEAM_WORLD, y, x, bytes);
}

void coll_all_to_all(size_t bytes)
{
    shmem_alltoallmem(SHMEM_TEAM_WORLD, y, x, bytes);
}
#endif

#ifdef BENCH_NVS
void coll_reduce_scatter(size_t bytes)
{
    nvs_reduce_scatter(NVS_TEAM_WORLD, y, x, bytes / 4, NVS_FLOAT32, NVS_SUM, NULL);
}

const struct sizes ordinary_sizes = {4, {1024, 65536, 1u << 20, 16u << 20}};

/* On memory that is not symmetric, as MPI programs have it. */
void coll_all_reduce_ordinary(size_t bytes)
{
    nvs_all_reduce(NVS_TEAM_WORLD, own + MAX_BYTES / 2, own, bytes / 4, NVS_FLOAT32, NVS_SUM, NULL);
}
#endif

void coll_fill(size_t bytes)
{
    bench_fill(x, y, bytes, me);
    shmem_barrier_all();
}

void coll_fill_blocks(size_t bytes)
{
    coll_fill(bytes * (size_t)npes);
}

int coll_sum_is_wrong(size_t bytes)
{
    return bench_differs(y, bytes, (float)(npes * (npes + 1) / 2));
}

int coll_gathered_is_wrong(size_t bytes)
{
    int wrong = 0;
    for (int pe = 0; pe < npes; pe++)
        wrong |= bench_differs(y + (size_t)pe * bytes, bytes, (float)(pe + 1));
    return wrong;
}

/* The root's dst is left alone before 1.5. */
int coll_copied_is_wrong(size_t bytes)
{
    return me != 0 && bench_differs(y, bytes, 1);
}
