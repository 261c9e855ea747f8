/*
 * device_far.c - GPUs that do not reach each other's memory (NVS_GPU_P2P=no, or the driver says
 * so): copies work all the same, what needs loads and stores is refused in words.
 */
#include "device.h"

enum { N = 50000 };

static int *ptr, *host;
static uint64_t *word;

static void copies(int to, int from)
{
    static int values[N], have[N];
    for (int i = 0; i < N; i++)
        values[i] = spmd_me * N + i;
    nvshmem_int_put(ptr, values, N, to);
    nvshmem_barrier_all();
    nvshmem_int_get(have, ptr, N, spmd_me);
    int bad = 0;
    for (int i = 0; i < N; i++)
        bad += have[i] != from * N + i;
    CHECK(!bad, "%d elements are wrong", bad);
    nvshmem_barrier_all();
    nvshmem_int_put(host, ptr, N, to); /* from the GPU's memory to the host's */
    nvshmem_barrier_all();
    int before = (from + spmd_npes - 1) % spmd_npes;
    bad = 0;
    for (int i = 0; i < N; i++)
        bad += host[i] != before * N + i;
    CHECK(!bad, "%d elements in the host heap are wrong", bad);
    nvshmem_barrier_all();
    nvshmem_int_iput(ptr, values, 2, 3, 40, to);
    nvshmem_barrier_all();
    nvshmem_int_iget(have, ptr, 1, 2, 40, spmd_me);
    for (int i = 0; i < 40; i++)
        CHECK(have[i] == from * N + 3 * i, "strided: %d is %d", i, have[i]);
    nvshmem_barrier_all();
}

static void words(int to, int from)
{
    static const uint64_t zero;
    device_write(word, &zero, sizeof zero);
    nvshmem_barrier_all();
    nvshmem_uint64_atomic_set(word, 40 + (uint64_t)spmd_me, to);
    nvshmem_uint64_wait_until(word, NVSHMEM_CMP_EQ, 40 + (uint64_t)from);
    CHECK(nvshmem_uint64_atomic_fetch(word, to) == 40 + (uint64_t)spmd_me, "fetch");
    nvshmem_barrier_all();
    nvshmem_putmem_signal(ptr, host, 100, word, 99, NVSHMEM_SIGNAL_SET, to);
    CHECK(nvshmem_signal_wait_until(word, NVSHMEM_CMP_EQ, 99) == 99, "signal");
    nvshmem_barrier_all();
}

static void refusals(int to)
{
    while (nvshmemx_error_check())
        ;
    CHECK(!nvshmem_ptr(ptr, to), "PE %d is in reach", to);
    CHECK(nvshmem_ptr(ptr, spmd_me) == ptr, "this PE is not");
    nvshmem_uint64_atomic_inc(word, to);
    CHECK(nvshmemx_error_check() == NVS_ERR_UNSUPPORTED &&
              strstr(nvs_last_error(), "does not reach the memory of the GPU"),
          "%s", nvs_last_error());
    CHECK(nvshmem_uint64_atomic_fetch_add(word, 1, spmd_me) == 99, "this PE's own word");
}

int main(int argc, char **argv)
{
    device_begin(argc, argv);
    ptr = nvshmem_malloc(N * sizeof *ptr);
    word = nvshmem_malloc(sizeof *word);
    host = shmem_malloc(N * sizeof *host);
    if (!ptr || !word || !host) {
        fprintf(stderr, "%s\n", nvs_last_error());
        nvshmem_global_exit(1);
    }
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    copies(to, from);
    words(to, from);
    refusals(to);
    return device_end();
}
