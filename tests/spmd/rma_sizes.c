/*
 * rma_sizes.c - puts and gets of nothing, and of sizes around the limits where the copy routine
 * changes.
 */
#include "spmd.h"

#include <nvshmem.h>

/* No elements: nothing moves, whatever the addresses. */
static void test_nothing(void)
{
    int here = 7;
    for (int pe = 0; pe < spmd_npes; pe++) {
        shmem_int_put(&here, &here, 0, pe);
        shmem_int_get(&here, &here, 0, pe);
        shmem_int_iput(&here, &here, 1, 1, 0, pe);
        nvshmem_putmem(NULL, NULL, 0, pe);
        nvshmem_getmem_nbi(NULL, NULL, 0, pe);
    }
    shmem_quiet();
    CHECK(here == 7, "%d", here);
}

/* Sizes around the limits where the copy routine changes, at odd addresses. */
static void test_large(void)
{
    static const size_t sizes[] = {4095, 4096, 65537, 1000003, 5000001};
    size_t most = 5000001 + 64;
    unsigned char *dst = shmem_malloc(most), *src = shmem_malloc(most);
    int to = (spmd_me + 1) % spmd_npes, from = (spmd_me + spmd_npes - 1) % spmd_npes;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s], at = 1 + s * 7, seen = 0;
        memset(src, (int)(spmd_me * 16 + (int)s + 1), n);
        src[n - 1] = (unsigned char)(200 + spmd_me);
        dst[at + n] = 0xee;
        shmem_barrier_all();
        shmem_putmem(dst + at, src, n, to);
        shmem_barrier_all();
        for (size_t i = 0; i < n - 1; i++)
            seen += dst[at + i] == from * 16 + (int)s + 1;
        CHECK(seen == n - 1, "%zu of %zu bytes are right", seen, n - 1);
        CHECK(dst[at + n - 1] == 200 + from, "last byte %d", dst[at + n - 1]);
        CHECK(dst[at + n] == 0xee, "byte behind the last: %d", dst[at + n]);
        shmem_barrier_all();
        memset(dst, 0, n);
        shmem_getmem(dst, src, n, to);
        CHECK(dst[0] == to * 16 + (int)s + 1, "first byte %d", dst[0]);
        CHECK(dst[n - 1] == 200 + to, "last byte %d", dst[n - 1]);
        shmem_barrier_all();
    }
    shmem_free(dst);
    shmem_free(src);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    test_nothing();
    test_large();
    return spmd_end();
}
