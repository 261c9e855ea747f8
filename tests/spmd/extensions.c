/*
 * extensions.c - shmemx.h: blocks with strides, scans, signals without data, and the rest.
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmemx.h>
#include <shmemx.h>

enum { ROOM = 4096, LONG_SCAN = 20000 };

static int target[ROOM], origin[ROOM];

/* What an element of PE pe holds at first. */
static int first_value(int pe, size_t i)
{
    return pe * 100000 + (int)i;
}

static void fill(int *array, int sign)
{
    for (size_t i = 0; i < ROOM; i++)
        array[i] = sign * first_value(spmd_me, i);
}

/* All elements of `got`, which were `before`, with blocks of PE `from` in their places. */
static void check_blocks(const char *what, const int *got, int sign, int from, size_t block,
                         size_t nblocks, size_t dst_stride, size_t src_stride)
{
    static int expected[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        expected[i] = -sign * first_value(spmd_me, i);
    for (size_t b = 0; b < nblocks; b++)
        for (size_t i = 0; i < block; i++)
            expected[b * dst_stride + i] = sign * first_value(from, b * src_stride + i);
    for (size_t i = 0; i < ROOM; i++)
        CHECK(got[i] == expected[i], "%s: [%zu] is %d, not %d", what, i, got[i], expected[i]);
}

static void blocks(struct rng *rng)
{
    size_t block = 1 + rng_below(rng, 20), nblocks = rng_below(rng, 30);
    ptrdiff_t dst_stride = (ptrdiff_t)(block + rng_below(rng, 20));
    ptrdiff_t src_stride = (ptrdiff_t)(block + rng_below(rng, 20));
    int next = (spmd_me + 1) % spmd_npes, before = (spmd_me + spmd_npes - 1) % spmd_npes;
    fill(target, -1);
    fill(origin, 1);
    shmem_barrier_all();
    shmemx_ibput(target, origin, dst_stride, src_stride, block, nblocks, next);
    shmem_barrier_all();
    check_blocks("ibput", target, 1, before, block, nblocks, (size_t)dst_stride,
                 (size_t)src_stride);
    fill(target, -1);
    shmemx_ctx_ibget32(SHMEM_CTX_DEFAULT, target, origin, dst_stride, src_stride, block, nblocks,
                       next);
    check_blocks("ibget", target, 1, next, block, nblocks, (size_t)dst_stride, (size_t)src_stride);
    shmem_barrier_all();
}

static void blocks_refused(void)
{
    fill(target, -1);
    shmem_barrier_all();
    shmemx_int_ibput(target, origin, 2, 3, 3, 2, 0);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "dst_stride under the size of a block");
    shmemx_int_ibput(target, origin, 3, ROOM, 3, SIZE_MAX / 2, 0);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "a range beyond all memory");
    shmemx_int_ibput(target, origin, 3, 3, 3, (size_t)1 << 40, 0);
    CHECK(nvshmemx_error_check() < 0, "a range beyond the object");
    shmem_barrier_all();
    for (size_t i = 0; i < ROOM; i++)
        CHECK(target[i] == -first_value(spmd_me, i), "[%zu] was written: %d", i, target[i]);
}

/* Sum over `members` PEs, the k-th of which is PE k * stride. */
static long sum_before(int members, int stride, size_t i)
{
    long sum = 0;
    for (int k = 0; k < members; k++)
        sum += (long)(k * stride + 1) * (long)(i + 1);
    return sum;
}

static void scan(shmem_team_t team, int stride, size_t nelems)
{
    int me = shmem_team_my_pe(team);
    if (me < 0)
        return;
    static long src[LONG_SCAN], dst[LONG_SCAN];
    for (int inclusive = 0; inclusive < 2; inclusive++)
        for (int in_place = 0; in_place < 2; in_place++) {
            long *out = in_place ? src : dst;
            for (size_t i = 0; i < nelems; i++)
                src[i] = (long)(spmd_me + 1) * (long)(i + 1);
            int status = inclusive ? shmemx_sum_inscan(team, out, src, nelems)
                                   : shmemx_sum_exscan(team, out, src, nelems);
            CHECK(status == 0, "status %d", status);
            for (size_t i = 0; i < nelems; i++) {
                long expected = sum_before(me + inclusive, stride, i);
                CHECK(out[i] == expected, "inclusive %d in place %d: [%zu] is %ld, not %ld",
                      inclusive, in_place, i, out[i], expected);
            }
        }
}

/* The last member's scan is the reduction, to the bit. */
static void scan_of_reals(struct rng *rng)
{
    static double src[1000], scanned[1000], reduced[1000];
    for (size_t i = 0; i < 1000; i++)
        src[i] = (double)rng_below(rng, 1000000) / 7 * (spmd_me + 1);
    CHECK(shmemx_double_sum_inscan(SHMEM_TEAM_WORLD, scanned, src, 1000) == 0, "inscan");
    CHECK(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, reduced, src, 1000) == 0, "reduce");
    if (spmd_me == spmd_npes - 1)
        CHECK(memcmp(scanned, reduced, sizeof reduced) == 0, "bits of scan and reduction");
    shmem_barrier_all();
}

static void signals(void)
{
    static uint64_t word;
    word = 0;
    shmem_barrier_all();
    int next = (spmd_me + 1) % spmd_npes;
    for (int pe = 0; pe < spmd_npes; pe++)
        shmemx_signal_add(&word, (uint64_t)spmd_me + 1, pe);
    uint64_t sum = (uint64_t)spmd_npes * ((uint64_t)spmd_npes + 1) / 2;
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, sum);
    shmem_barrier_all();
    shmemx_signal_set(SHMEM_CTX_DEFAULT, &word, 7, next);
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 7);
    shmem_barrier_all();
}

static uint64_t number_of_thread = 41;

static uint64_t user_thread(void)
{
    return number_of_thread;
}

/* A private context belongs to the thread that the program says it does. */
static void threads_of_user(void)
{
    static int word;
    shmem_ctx_t ctx;
    shmemx_register_gettid(user_thread);
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0, "create");
    shmem_ctx_int_p(ctx, &word, 1, spmd_me);
    CHECK(nvshmemx_error_check() == 0, "its own thread");
    number_of_thread = 42;
    shmem_ctx_int_p(ctx, &word, 1, spmd_me);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID, "another thread");
    number_of_thread = 41;
    shmem_ctx_destroy(ctx);
    shmemx_register_gettid(NULL);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    struct rng rng = {spmd_seed};
    for (int i = 0; i < 20; i++)
        blocks(&rng);
    blocks_refused();
    CHECK(shmem_team_n_pes(SHMEMX_TEAM_NODE) == spmd_npes, "team of the node");
    scan(SHMEM_TEAM_WORLD, 1, 0);
    scan(SHMEM_TEAM_WORLD, 1, 5);
    scan(SHMEM_TEAM_WORLD, 1, LONG_SCAN);
    shmem_team_t even;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (spmd_npes + 1) / 2, NULL, 0, &even);
    scan(even, 2, 300);
    scan_of_reals(&rng);
    signals();
    threads_of_user();
    double before = shmemx_wtime();
    CHECK(shmemx_wtime() >= before, "time went back");
    CHECK(strlen(shmemx_nodename()) > 0, "no name");
    return spmd_end();
}
