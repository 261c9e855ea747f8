/*
 * pes.c - what PEs tell each other. Sums and maxima are taken here, from values that were gathered:
 * the result of a broken reduction must not be hidden by that same reduction.
 */
#include "perf.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void failed(int status)
{
    if (status != NVS_ERR_PE_LOST) /* the launcher says that, and about whom */
        fprintf(stderr, "nvs-perf: PE %d: %s\n", shmem_my_pe(), nvs_last_error());
    shmem_global_exit(2);
}

/* `bytes` of every PE, in order. */
static void *gather(const void *mine, size_t bytes)
{
    void *all = calloc((size_t)shmem_n_pes(), bytes);
    if (!all) {
        fprintf(stderr, "nvs-perf: PE %d: no memory for %zu bytes of each PE\n", shmem_my_pe(),
                bytes);
        shmem_global_exit(2);
    }
    must(nvs_all_gather(NVS_TEAM_WORLD, all, mine, bytes, NVS_UINT8, NULL));
    return all;
}

double max_of_all(double value)
{
    double *all = gather(&value, sizeof(value));
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        value = all[pe] > value ? all[pe] : value;
    free(all);
    return value;
}

long long sum_of_all(long long value)
{
    long long *all = gather(&value, sizeof(value)), sum = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        sum += all[pe];
    free(all);
    return sum;
}

struct pe_info *pes_gather(void)
{
    struct pe_info mine = {.pid = (long)getpid(), .cpu = sched_getcpu(), .cpus = 0};
    cpu_set_t allowed;
    gethostname(mine.host, sizeof(mine.host) - 1);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        mine.cpus = CPU_COUNT(&allowed);
    return gather(&mine, sizeof(mine));
}
