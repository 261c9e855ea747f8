/*
 * device_rma.c - host calls on memory of the GPU: copies between all kinds of memory, strided ones,
 * atomics that several PEs hammer, signals, waits, and blocking collectives.
 */
#include "device.h"

enum { MOST = 70000, ROUNDS = 60, HAMMER = 40 };

/* Symmetric memory of both kinds, and the kinds of a local buffer. */
static char *device_heap, *host_heap, *ordinary;
static uint64_t own_device; /* of cuMemAlloc: memory of this PE alone */
static char *of_device_local, *of_host_local;
enum { LOCALS = 4 };

static char *local_buffer(int kind)
{
    char *const buffers[LOCALS] = {ordinary, (char *)(uintptr_t)own_device, of_device_local,
                                   of_host_local};
    return buffers[kind];
}

static bool is_device(const char *ptr)
{
    return ptr == device_heap || ptr == (char *)(uintptr_t)own_device || ptr == of_device_local;
}

static void store(char *ptr, const char *bytes, size_t nbytes)
{
    if (is_device(ptr))
        device_write(ptr, bytes, nbytes);
    else
        memcpy(ptr, bytes, nbytes);
}

static void load(char *bytes, const char *ptr, size_t nbytes)
{
    if (is_device(ptr))
        device_read(bytes, ptr, nbytes);
    else
        memcpy(bytes, ptr, nbytes);
}

static void pattern(char *bytes, size_t nbytes, int key)
{
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (char)(rng_mix((uint64_t)key + i / 8) >> i % 8 * 8);
}

/* ---- put and get ------------------------------------------------------------------------------
 */

static void copies(bool nbi)
{
    static char bytes[MOST], want[MOST];
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    struct rng rng = rng_of(10, nbi);
    for (int round = 0; round < ROUNDS; round++) {
        size_t nbytes = 1 + rng_below(&rng, round % 3 ? 200 : MOST);
        char *sym = round % 2 ? device_heap : host_heap, *local = local_buffer(round / 2 % LOCALS);
        pattern(bytes, nbytes, spmd_me * 1000 + round);
        store(local, bytes, nbytes);
        if (nbi)
            nvshmem_putmem_nbi(sym, local, nbytes, to);
        else
            nvshmem_putmem(sym, local, nbytes, to);
        nvshmem_barrier_all();
        load(bytes, sym, nbytes);
        pattern(want, nbytes, from * 1000 + round);
        CHECK(!memcmp(bytes, want, nbytes), "put %d of %zu bytes, local %d, nbi %d", round, nbytes,
              round / 2 % LOCALS, nbi);
        nvshmem_barrier_all();
        if (nbi)
            nvshmem_getmem_nbi(local, sym, nbytes, to);
        else
            nvshmem_getmem(local, sym, nbytes, to);
        nvshmem_quiet();
        load(bytes, local, nbytes);
        pattern(want, nbytes, spmd_me * 1000 + round);
        CHECK(!memcmp(bytes, want, nbytes), "get %d of %zu bytes, local %d, nbi %d", round, nbytes,
              round / 2 % LOCALS, nbi);
        nvshmem_barrier_all();
    }
}

static void elements(void)
{
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    double *d = (double *)(void *)device_heap;
    nvshmem_double_p(d, spmd_me + 0.5, to);
    nvshmem_short_p((short *)(void *)(device_heap + 64), (short)(spmd_me * 3), to);
    nvshmem_barrier_all();
    CHECK(nvshmem_double_g(d, spmd_me) == from + 0.5, "%g", nvshmem_double_g(d, spmd_me));
    CHECK(nvshmem_short_g((short *)(void *)(device_heap + 64), to) == spmd_me * 3, "%d",
          nvshmem_short_g((short *)(void *)(device_heap + 64), to));
    nvshmem_barrier_all();
}

/* ---- strided -----------------------------------------------------------------------------------
 */

static void strided(void)
{
    static int bytes[MOST / 4], want[MOST / 4];
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    struct rng rng = rng_of(11, 0);
    for (int round = 0; round < 2 * LOCALS * 3; round++) {
        char *sym = round % 2 ? device_heap : host_heap, *local = local_buffer(round / 2 % LOCALS);
        ptrdiff_t dst = 1 + (ptrdiff_t)rng_below(&rng, 4), src = 1 + (ptrdiff_t)rng_below(&rng, 4);
        size_t nelems = 1 + rng_below(&rng, MOST / 16 - 1);
        pattern((char *)bytes, sizeof bytes, spmd_me + 77);
        store(local, (char *)bytes, sizeof bytes);
        memset(bytes, 0, sizeof bytes);
        store(sym, (char *)bytes, sizeof bytes);
        nvshmem_barrier_all();
        nvshmem_int_iput((int *)(void *)sym, (int *)(void *)local, dst, src, nelems, to);
        nvshmem_barrier_all();
        load((char *)bytes, sym, sizeof bytes);
        pattern((char *)want, sizeof want, from + 77);
        size_t bad = 0;
        for (size_t i = 0; i < MOST / 4; i++) {
            bool hit = i % (size_t)dst == 0 && i / (size_t)dst < nelems;
            bad += bytes[i] != (hit ? want[i / (size_t)dst * (size_t)src] : 0);
        }
        CHECK(!bad, "iput %d: %zu of %zu elements are wrong (strides %td, %td)", round, bad, nelems,
              dst, src);
        nvshmem_barrier_all();
        nvshmem_int_iget((int *)(void *)local, (int *)(void *)sym, 2, dst, nelems / 2 + 1, to);
        load((char *)bytes, local, sizeof bytes);
        pattern((char *)want, sizeof want, spmd_me + 77);
        bad = 0;
        for (size_t i = 0; i < nelems / 2 + 1 && i < nelems; i++)
            bad += bytes[2 * i] != want[i * (size_t)src];
        CHECK(!bad, "iget %d: %zu elements are wrong", round, bad);
        nvshmem_barrier_all();
    }
}

/* ---- atomics -----------------------------------------------------------------------------------
 */

static void zero(void)
{
    static const char zeros[256];
    device_write(device_heap, zeros, sizeof zeros);
    nvshmem_barrier_all();
}

static void all_atomics(void)
{
    uint64_t *word = (uint64_t *)(void *)device_heap;
    uint32_t *half = (uint32_t *)(void *)(device_heap + 64);
    int to = (spmd_me + 1) % spmd_npes;
    zero();
    nvshmem_uint64_atomic_set(word, 100, to);
    nvshmem_quiet();
    CHECK(nvshmem_uint64_atomic_fetch(word, to) == 100, "set");
    CHECK(nvshmem_uint64_atomic_fetch_add(word, 28, to) == 100, "add");
    CHECK(nvshmem_uint64_atomic_fetch_and(word, 0xf0, to) == 128, "and");
    CHECK(nvshmem_uint64_atomic_fetch_or(word, 0x0f, to) == 128, "or");
    CHECK(nvshmem_uint64_atomic_fetch_xor(word, 0xff, to) == 0x8f, "xor");
    CHECK(nvshmem_uint64_atomic_swap(word, 5, to) == 0x70, "swap");
    CHECK(nvshmem_uint64_atomic_compare_swap(word, 4, 9, to) == 5, "no swap");
    CHECK(nvshmem_uint64_atomic_compare_swap(word, 5, 9, to) == 5, "swap");
    CHECK(nvshmem_uint64_atomic_fetch_inc(word, to) == 9, "inc");
    CHECK(nvshmem_uint32_atomic_fetch_add(half, 0xffffffff, to) == 0, "32 bits");
    CHECK(nvshmem_uint32_atomic_fetch_inc(half, to) == 0xffffffff, "32 bits, wrapped");
    CHECK(nvshmem_uint32_atomic_fetch(half + 1, to) == 0, "beside 32 bits");
    nvshmem_barrier_all();
}

static void hammer(void)
{
    uint64_t *word = (uint64_t *)(void *)device_heap, sum = 0;
    zero();
    for (int i = 0; i < HAMMER; i++) {
        nvshmem_uint64_atomic_add(word, 1, 0);
        if (i % 4 == 0)
            sum += nvshmem_uint64_atomic_fetch_add(word, 3, 0) * 0 + 3;
    }
    nvshmem_barrier_all();
    uint64_t have = nvshmem_uint64_g(word, 0), want = (uint64_t)spmd_npes * (HAMMER + sum);
    CHECK(have == want, "%llu, expected %llu", (unsigned long long)have, (unsigned long long)want);
    nvshmem_barrier_all();
}

/* ---- signals and waits
 * --------------------------------------------------------------------------- */

/* Rounds of data and a signal around the ring, of every mixture of memory. */
static void signals(void)
{
    static char bytes[3000], want[3000];
    uint64_t *device_bell = (uint64_t *)(void *)(device_heap + MOST),
             *host_bell = (uint64_t *)(void *)(host_heap + MOST);
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    const uint64_t nothing = 0;
    device_write(device_bell, &nothing, sizeof nothing);
    *host_bell = 0;
    nvshmem_barrier_all();
    for (int round = 1; round <= 16; round++) {
        char *sym = round % 2 ? device_heap : host_heap, *local = local_buffer(round / 2 % LOCALS);
        uint64_t *bell = round / 2 % 2 ? device_bell : host_bell;
        pattern(bytes, sizeof bytes, spmd_me * 100 + round);
        store(local, bytes, sizeof bytes);
        uint64_t before = nvshmem_signal_fetch(bell);
        nvshmem_barrier_all();
        nvshmem_putmem_signal(sym, local, sizeof bytes, bell, 1, NVSHMEM_SIGNAL_ADD, to);
        uint64_t seen = nvshmem_signal_wait_until(bell, NVSHMEM_CMP_GT, before);
        CHECK(seen == before + 1, "the signal is %llu", (unsigned long long)seen);
        load(bytes, sym, sizeof bytes);
        pattern(want, sizeof want, from * 100 + round);
        CHECK(!memcmp(bytes, want, sizeof want), "put_signal %d", round);
        nvshmem_barrier_all();
    }
    nvshmemx_signal_op(device_bell, 1000, NVSHMEM_SIGNAL_SET, to);
    nvshmem_uint64_wait_until(device_bell, NVSHMEM_CMP_EQ, 1000);
    CHECK(nvshmem_uint64_test(device_bell, NVSHMEM_CMP_GE, 1000), "test");
    CHECK(!nvshmem_uint64_test(device_bell, NVSHMEM_CMP_LT, 1000), "test");
    nvshmem_barrier_all();
}

static void waits_for_arrays(void)
{
    int *words = (int *)(void *)device_heap;
    int status[8] = {0, 1}, values[8] = {5, 5, 5, 6, 6, 6, 7, 7};
    int to = (spmd_me + 1) % spmd_npes;
    size_t indices[8];
    zero();
    CHECK(nvshmem_int_test_any(words, 8, NULL, NVSHMEM_CMP_NE, 0) == SIZE_MAX, "any");
    CHECK(!nvshmem_int_test_all(words, 8, NULL, NVSHMEM_CMP_NE, 0), "all");
    nvshmem_barrier_all();
    nvshmem_int_p(words + 3, 9, to);
    size_t index = nvshmem_int_wait_until_any(words, 8, status, NVSHMEM_CMP_NE, 0);
    CHECK(index == 3, "%zu", index);
    CHECK(nvshmem_int_wait_until_some(words, 8, indices, status, NVSHMEM_CMP_EQ, 9) == 1 &&
              indices[0] == 3,
          "some");
    nvshmem_barrier_all();
    nvshmem_int_put(words, values, 8, to);
    nvshmem_int_wait_until_all_vector(words, 8, status, NVSHMEM_CMP_EQ, values);
    CHECK(nvshmem_int_test_all_vector(words, 8, NULL, NVSHMEM_CMP_LE, values), "vector");
    nvshmem_barrier_all();
}

/* ---- blocking collectives
 * -------------------------------------------------------------------------- */

static void reduce_on(nvshmem_team_t team, int nelems)
{
    static int64_t values[5000], sums[5000];
    int64_t *src = (int64_t *)(void *)device_heap, *dst = src + 5000;
    int n = nvshmem_team_n_pes(team);
    for (int i = 0; i < nelems; i++)
        values[i] = (int64_t)(nvshmem_team_my_pe(team) + 1) * (i + 1);
    device_write(src, values, (size_t)nelems * sizeof *values);
    nvshmem_team_sync(team);
    CHECK(nvshmem_int64_sum_reduce(team, dst, src, (size_t)nelems) == 0, "%s", nvs_last_error());
    device_read(sums, dst, (size_t)nelems * sizeof *sums);
    int bad = 0;
    for (int i = 0; i < nelems; i++)
        bad += sums[i] != (int64_t)n * (n + 1) / 2 * (i + 1);
    CHECK(!bad, "sum of %d elements: %d are wrong", nelems, bad);
    nvshmem_team_sync(team);
}

static void gather_and_collect(void)
{
    static int values[8 * 8 * 8];
    int *src = (int *)(void *)device_heap, *dst = src + 1024, n = spmd_npes;
    for (int i = 0; i < 8; i++)
        values[i] = spmd_me * 10 + i;
    device_write(src, values, 8 * sizeof *values);
    nvshmem_barrier_all();
    CHECK(nvshmem_int_fcollect(NVSHMEM_TEAM_WORLD, dst, src, 8) == 0, "%s", nvs_last_error());
    device_read(values, dst, (size_t)n * 8 * sizeof *values);
    for (int i = 0; i < n * 8; i++)
        CHECK(values[i] == i / 8 * 10 + i % 8, "fcollect: %d is %d", i, values[i]);
    nvshmem_barrier_all();
    CHECK(shmem_int_collect(SHMEM_TEAM_WORLD, dst, src, (size_t)(spmd_me % 3)) == 0, "%s",
          nvs_last_error());
    int at = 0;
    device_read(values, dst, (size_t)n * 8 * sizeof *values);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < pe % 3; i++, at++)
            CHECK(values[at] == pe * 10 + i, "collect: %d is %d", at, values[at]);
    nvshmem_barrier_all();
}

static void alltoalls(void)
{
    static int values[512];
    int *src = (int *)(void *)device_heap, *dst = src + 1024, n = spmd_npes;
    for (int i = 0; i < n * 2 * 3; i++)
        values[i] = spmd_me * 1000 + i;
    device_write(src, values, sizeof values);
    memset(values, 0, sizeof values);
    device_write(dst, values, sizeof values);
    nvshmem_barrier_all();
    CHECK(shmem_int_alltoalls(SHMEM_TEAM_WORLD, dst, src, 2, 3, 2) == 0, "%s", nvs_last_error());
    device_read(values, dst, sizeof values);
    for (int pe = 0; pe < n; pe++)
        for (int k = 0; k < 2; k++) {
            int have = values[(pe * 2 + k) * 2], want = pe * 1000 + (spmd_me * 2 + k) * 3;
            CHECK(have == want, "alltoalls: block %d, %d is %d, expected %d", pe, k, have, want);
        }
    nvshmem_barrier_all();
}

static void collectives(void)
{
    static const int sizes[] = {1, 7, 300, 5000};
    nvshmem_team_t evens = NVSHMEM_TEAM_INVALID;
    for (int i = 0; i < 4; i++)
        reduce_on(NVSHMEM_TEAM_WORLD, sizes[i]);
    for (int turn = 0; turn < 3; turn++) { /* its place is used again */
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (spmd_npes + 1) / 2, NULL, 0, &evens);
        if (evens != NVSHMEM_TEAM_INVALID) {
            reduce_on(evens, 100);
            nvshmem_team_destroy(evens);
        }
    }
    nvshmem_barrier_all();
    gather_and_collect();
    alltoalls();
}

static void errors(void)
{
    while (nvshmemx_error_check())
        ;
    nvshmem_int_p((int *)(void *)device_heap, 1, spmd_npes);
    CHECK(nvshmemx_error_check() && strstr(nvs_last_error(), "does not exist"), "%s",
          nvs_last_error());
    nvshmem_putmem((char *)(uintptr_t)own_device, ordinary, 8, 0);
    CHECK(nvshmemx_error_check() && strstr(nvs_last_error(), "is not symmetric"), "%s",
          nvs_last_error());
    nvshmem_uint64_atomic_inc((uint64_t *)(void *)(device_heap + 4), 0);
    CHECK(nvshmemx_error_check() && strstr(nvs_last_error(), "not aligned"), "%s",
          nvs_last_error());
}

int main(int argc, char **argv)
{
    device_begin(argc, argv);
    device_heap = nvshmem_malloc(2 * MOST);
    of_device_local = nvshmem_malloc(MOST);
    host_heap = shmem_malloc(2 * MOST);
    of_host_local = shmem_malloc(MOST);
    ordinary = malloc(MOST);
    CHECK(driver.alloc(&own_device, MOST) == 0, "no device memory");
    if (!device_heap || !of_device_local || !host_heap || !of_host_local || !ordinary) {
        fprintf(stderr, "%s\n", nvs_last_error());
        nvshmem_global_exit(1);
    }
    copies(false);
    copies(true);
    elements();
    strided();
    all_atomics();
    hammer();
    signals();
    waits_for_arrays();
    collectives();
    errors();
    driver.free(own_device);
    free(ordinary);
    return device_end();
}
