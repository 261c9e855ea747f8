/*
 * device_far.c - GPUs that do not reach each other's memory (NVS_GPU_P2P=no, or the driver says
 * so): copies and collectives work all the same, what needs loads and stores is refused in words.
 * With "hidden" PE 0 does not even see the others' GPUs (CUDA_VISIBLE_DEVICES).
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

/* ---- collectives -------------------------------------------------------------------------------
 */

/* More than goes through a channel at once. */
enum { LARGE = 2000001 };

static int *from, *into, *image;

static int value(int pe, int i)
{
    return (pe + 1) * 1000003 + i * 7;
}

static void bring(int pe, int nelems)
{
    for (int i = 0; i < nelems; i++)
        image[i] = value(pe, i);
    device_write(from, image, (size_t)nelems * sizeof *image);
}

/* nelems numbers of into, number i from `of` members first, first + 1, ... */
static void expect(const char *what, int at, int nelems, int first, int of, int offset)
{
    int bad = 0;
    device_read(image, into + at, (size_t)nelems * sizeof *image);
    for (int i = 0; i < nelems; i++) {
        unsigned sum = 0;
        for (int pe = first; pe < first + of; pe++)
            sum += (unsigned)value(pe, offset + i);
        bad += image[i] != (int)sum;
    }
    CHECK(!bad, "%s: %d of %d are wrong at %d", what, bad, nelems, at);
}

static void on_team(nvshmem_team_t team, int nelems)
{
    int me = nvshmem_team_my_pe(team), npes = nvshmem_team_n_pes(team), each = nelems / npes;
    bring(me, nelems);
    CHECK(nvshmem_int_sum_reduce(team, into, from, (size_t)nelems) == 0, "%s", nvs_last_error());
    expect("reduce", 0, nelems, 0, npes, 0);
    CHECK(nvshmem_int_sum_reducescatter(team, into, from, (size_t)each) == 0, "reducescatter");
    expect("reducescatter", 0, each, 0, npes, me * each);
    CHECK(nvshmem_int_broadcast(team, into, from, (size_t)nelems, npes - 1) == 0, "broadcast");
    expect("broadcast", 0, nelems, npes - 1, 1, 0);
    CHECK(nvshmem_int_fcollect(team, into, from, (size_t)each) == 0, "fcollect");
    for (int pe = 0; pe < npes; pe++)
        expect("fcollect", pe * each, each, pe, 1, 0);
    CHECK(nvshmem_int_alltoall(team, into, from, (size_t)each) == 0, "alltoall");
    for (int pe = 0; pe < npes; pe++)
        expect("alltoall", pe * each, each, pe, 1, me * each);
    CHECK(nvshmem_barrier(team) == 0, "barrier");
    CHECK(nvshmemx_int_sum_reduce_on_stream(team, into, from, (size_t)nelems, 0) == 0, "on stream");
    nvshmemx_barrier_on_stream(team, 0);
    device_read(image, into, sizeof *image); /* through the same stream */
    expect("reduce on a stream", 0, nelems, 0, npes, 0);
}

static void collectives(void)
{
    from = nvshmem_malloc(LARGE * sizeof *from);
    into = nvshmem_malloc(LARGE * sizeof *into);
    image = malloc(LARGE * sizeof *image);
    CHECK(from && into && image, "%s", nvs_last_error());
    on_team(NVSHMEM_TEAM_WORLD, LARGE);
    for (int round = 0; round < 6; round++) {
        nvshmem_team_t team;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, spmd_npes - 2, 1, 2, NULL, 0, &team);
        if (team != NVSHMEM_TEAM_INVALID)
            on_team(team, 3001 + round);
        nvshmem_team_destroy(team);
        nvshmem_barrier_all();
        on_team(NVSHMEM_TEAM_WORLD, 100 * (round + 1));
    }
    free(image);
    nvshmem_free(from);
    nvshmem_free(into);
}

/* ---- PE 0 does not see the others' GPUs --------------------------------------------------------
 */

static int hidden(int argc, char **argv)
{
    device_open();
    nvshmem_init();
    setenv("FAKECUDA_DEVICES", nvshmem_my_pe() ? "3" : "1", 1);
    CHECK(device_select_mine(nvshmem_my_pe()) == 0, "no GPU");
    spmd_join(argc, argv);
    ptr = nvshmem_malloc(N * sizeof *ptr);
    CHECK(ptr, "%s", nvs_last_error());
    if (!ptr)
        nvshmem_global_exit(1);
    collectives();
    while (nvshmemx_error_check())
        ;
    int word = 4, have;
    nvshmem_int_put(ptr, &word, 1, (spmd_me + 1) % spmd_npes);
    have = nvshmemx_error_check();
    CHECK(have == (spmd_me ? 0 : NVS_ERR_UNSUPPORTED), "put: %d", have);
    CHECK(spmd_me || strstr(nvs_last_error(), "CUDA_VISIBLE_DEVICES hides it"), "%s",
          nvs_last_error());
    have = shmem_int_collect(SHMEM_TEAM_WORLD, ptr, ptr + 1000, (size_t)spmd_me + 1);
    CHECK(have == NVS_ERR_UNSUPPORTED, "collect: %d", have);
    CHECK(strstr(nvs_last_error(),
                 spmd_me ? "PE 0 could not do its part" : "CUDA_VISIBLE_DEVICES hides it"),
          "%s", nvs_last_error());
    return device_end();
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "hidden"))
        return hidden(argc, argv);
    device_begin(argc, argv);
    ptr = nvshmem_malloc(N * sizeof *ptr);
    word = nvshmem_malloc(sizeof *word);
    host = shmem_malloc(N * sizeof *host);
    if (!ptr || !word || !host) {
        fprintf(stderr, "%s\n", nvs_last_error());
        nvshmem_global_exit(1);
    }
    int to = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    copies(to, left);
    words(to, left);
    refusals(to);
    collectives();
    return device_end();
}
