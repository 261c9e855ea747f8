/*
 * shmem_bench.c - an OpenSHMEM 1.5 program of two PEs that measures what floor.c bounds.
 *
 * Plain OpenSHMEM, so that any implementation can be put beside nvs.
 */
#include "bench.h"

#include <shmem.h>
#include <stdint.h>
#include <string.h>

static long flag, counter, word;
static double mean[64];

/* Time of `repeat` calls of `operation` on PE 0, or on all PEs, per call. */
static void bench(const char *metric, size_t bytes, int repeat, int everyone,
                  void (*operation)(size_t bytes))
{
    double us[BATCHES];
    int me = shmem_my_pe();
    for (int batch = -1; batch < BATCHES; batch++) {
        shmem_barrier_all();
        double start = now_us();
        for (int i = 0; (everyone || me == 0) && i < repeat; i++)
            operation(bytes);
        if (batch >= 0)
            us[batch] = (now_us() - start) / repeat;
        shmem_barrier_all();
    }
    if (me == 0)
        report(metric, bytes, us);
}

static void ping_pong(size_t bytes)
{
    static long k;
    (void)bytes;
    k++;
    if (shmem_my_pe() == 0)
        shmem_long_p(&flag, k, 1);
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, k);
    if (shmem_my_pe() == 1)
        shmem_long_p(&flag, k, 0);
}

static void fetch_add(size_t bytes)
{
    (void)bytes;
    (void)shmem_long_atomic_fetch_add(&counter, 1, 1);
}

static void put_quiet(size_t bytes)
{
    long value = 1;
    shmem_putmem(&word, &value, bytes, 1);
    shmem_quiet();
}

static void get_word(size_t bytes)
{
    long value;
    shmem_getmem(&value, &word, bytes, 1);
}

static void barrier(size_t bytes)
{
    (void)bytes;
    shmem_barrier_all();
}

static char *symmetric, *private;

static void put(size_t bytes)
{
    shmem_putmem(symmetric, private, bytes, 1);
    shmem_quiet();
}

static void get(size_t bytes)
{
    shmem_getmem(private, symmetric, bytes, 1);
}

static void bench_reduce(float *x, float *y, size_t bytes)
{
    double us[BATCHES];
    int me = shmem_my_pe(), npes = shmem_n_pes(), repeat = repetitions(bytes);
    size_t n = bytes / sizeof(float);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(me + 1);
    for (int batch = -1; batch < BATCHES; batch++) {
        double sum = 0;
        for (int i = 0; i < repeat; i++) {
            shmem_barrier_all();
            double start = now_us();
            shmem_float_sum_reduce(SHMEM_TEAM_WORLD, y, x, n);
            sum += now_us() - start;
        }
        shmem_double_p(&mean[me], sum / repeat, 0);
        shmem_barrier_all();
        for (int pe = 0; batch >= 0 && pe < npes; pe++)
            us[batch] = (pe ? us[batch] : 0) + mean[pe] / npes;
        shmem_barrier_all();
    }
    float want = (float)(npes * (npes + 1) / 2);
    if (y[0] != want || y[n - 1] != want) {
        fprintf(stderr, "shmem_bench: wrong sum of %zu bytes\n", bytes);
        shmem_global_exit(1);
    }
    if (me == 0)
        report("all_reduce", bytes, us);
}

int main(void)
{
    shmem_init();
    if (shmem_n_pes() < 2 || shmem_n_pes() > 64) {
        fprintf(stderr, "shmem_bench: needs 2 to 64 PEs\n");
        shmem_global_exit(2);
    }
    symmetric = shmem_malloc(MAX_BYTES);
    char *result = shmem_malloc(MAX_BYTES);
    private = malloc(MAX_BYTES);
    if (!symmetric || !result || !private)
        shmem_global_exit(3);
    memset(symmetric, 1, MAX_BYTES);
    memset(result, 2, MAX_BYTES);
    memset(private, 3, MAX_BYTES);
    if (shmem_n_pes() == 2)
        bench("put_ping_pong_round", 8, 5000, 1, ping_pong);
    bench("barrier", 0, shmem_n_pes() == 2 ? 5000 : 200, 1, barrier);
    bench("fetch_add", 8, 5000, 0, fetch_add);
    bench("put_quiet", 8, 5000, 0, put_quiet);
    bench("get", 8, 5000, 0, get_word);
    for (size_t bytes = 65536; bytes <= 16u << 20; bytes *= 16) {
        bench("put", bytes, repetitions(bytes), 0, put);
        bench("get", bytes, repetitions(bytes), 0, get);
    }
    for (size_t i = 0; i < NREDUCE; i++)
        bench_reduce((float *)symmetric, (float *)result, reduce_bytes[i]);
    shmem_finalize();
    return 0;
}
