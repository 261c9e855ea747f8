/*
 * heap_errors.c - what the heap says to wrong calls, with NVS_ON_ERROR=return: the status, and a
 * sentence that names what is wrong. After each of them the heap works on.
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>

/* One error of this status was recorded, and the sentence has this word in it. */
static void expect(int status, const char *word, int line)
{
    int have = nvshmemx_error_check();
    CHECK(have == status, "line %d: %s, expected %s", line, nvs_strerror(have),
          nvs_strerror(status));
    CHECK(strstr(nvs_last_error(), word), "line %d: '%s' does not mention '%s'", line,
          nvs_last_error(), word);
    CHECK(nvshmemx_error_check() == 0, "line %d: a second error", line);
}
#define EXPECT(status, word) expect(status, word, __LINE__)

/* The heap has NVS_HEAP_SIZE=8m: it is used up, says so, and serves again after a free. */
static void test_exhaustion(void)
{
    char *all[20] = {0}, *too_much;
    int count = 0;
    while (count < 20 && (all[count] = shmem_malloc(1 << 20)))
        count++;
    CHECK(count >= 6 && count <= 8, "%d objects of 1 MiB in a heap of 8 MiB", count);
    EXPECT(NVS_ERR_MEMORY, "NVS_HEAP_SIZE");
    for (int i = 0; i < count; i++)
        shmem_free(all[i]);
    char *half = shmem_malloc(4 << 20);
    CHECK(half, "4 MiB of 8 do not fit after all was freed");
    too_much = shmem_realloc(half, 9 << 20);
    CHECK(!too_much, "9 MiB in a heap of 8 MiB");
    EXPECT(NVS_ERR_MEMORY, "shmem_realloc");
    half[0] = 1; /* still allocated */
    shmem_free(half);
    CHECK(!shmem_calloc(SIZE_MAX / 2, 4), "a product that overflows");
    EXPECT(NVS_ERR_INVALID, "shmem_calloc");
    CHECK(!nvshmem_malloc(SIZE_MAX - 100), "SIZE_MAX - 100 bytes");
    EXPECT(NVS_ERR_MEMORY, "nvshmem_malloc");
    CHECK(!shmem_align(24, 100), "alignment 24");
    EXPECT(NVS_ERR_INVALID, "24");
}

static void test_free(void)
{
    int here = 0;
    char *object = shmem_malloc(1000), *other = shmem_malloc(1000);
    nvshmem_free(object);
    nvshmem_free(object);
    EXPECT(NVS_ERR_INVALID, "freed");
    nvshmem_free(&here);
    EXPECT(NVS_ERR_INVALID, "not in the symmetric heap");
    nvshmem_free(other + 64);
    EXPECT(NVS_ERR_INVALID, "inside");
    CHECK(!shmem_realloc(&here, 100), "realloc of the stack");
    EXPECT(NVS_ERR_INVALID, "not in the symmetric heap");
    CHECK(!shmem_realloc(other + 8, 100), "realloc of the inside");
    EXPECT(NVS_ERR_INVALID, "inside");
    shmem_free(other);
    CHECK(nvshmemx_error_check() == 0, "shmem_free of a good pointer");
    shmem_free(other);
    EXPECT(NVS_ERR_INVALID, "freed");
    object = shmem_malloc(1000);
    CHECK(object, "the heap is broken");
    shmem_free(object);
}

/* PEs ask for different things: all of them learn who asks for what, none gets memory. */
static void test_mismatch(void)
{
    char text[64];
    int last = spmd_npes - 1;
    if (spmd_npes == 1)
        return;
    CHECK(!shmem_malloc(spmd_me == last ? 2222 : 1111), "malloc of different sizes");
    snprintf(text, sizeof text, "PE %d", spmd_me == last ? 0 : last);
    EXPECT(NVS_ERR_MISMATCH, text);
    CHECK(strstr(nvs_last_error(), "2222") && strstr(nvs_last_error(), "1111"), "'%s'",
          nvs_last_error());
    CHECK(!shmem_align(spmd_me == last ? 128 : 256, 1000), "different alignments");
    EXPECT(NVS_ERR_MISMATCH, "128");
    void *ptr = spmd_me == 0 ? shmem_malloc(320) : shmem_calloc(10, 32);
    CHECK(!ptr, "malloc and calloc");
    EXPECT(NVS_ERR_MISMATCH, "function");
    char *a = shmem_malloc(100), *b = shmem_malloc(100);
    CHECK(!shmem_realloc(spmd_me == last ? a : b, 200), "realloc of different objects");
    EXPECT(NVS_ERR_MISMATCH, "object");
    shmem_free(a);
    shmem_free(b);
    a = shmem_malloc(100);
    CHECK(a, "malloc after a mismatch");
    shmem_free(a);
    CHECK(nvshmemx_error_check() == 0, "an error without a cause");
}

/* Puts and atomics to where nothing is. */
static void test_access(void)
{
    int here = 0;
    int *object = shmem_malloc(sizeof *object * 4);
    shmem_int_p(object, 1, spmd_npes);
    EXPECT(NVS_ERR_INVALID, "does not exist");
    shmem_int_p(object, 1, -1);
    EXPECT(NVS_ERR_INVALID, "-1");
    shmem_int_p(&here, 1, 0);
    EXPECT(NVS_ERR_SYMMETRIC, "shmem_int_p");
    (void)shmem_int_g(&here, 0);
    EXPECT(NVS_ERR_SYMMETRIC, "not symmetric");
    shmem_int_put(object, &here, (size_t)64 << 20, 0);
    EXPECT(NVS_ERR_INVALID, "past the end");
    shmem_int_put(object, &here, SIZE_MAX / 2, 0);
    EXPECT(NVS_ERR_INVALID, "past the end");
    shmem_int_iput(object, &here, 0, 1, 2, 0);
    EXPECT(NVS_ERR_INVALID, "stride");
    (void)shmem_long_atomic_fetch_add((long *)((char *)object + 2), 1, 0);
    EXPECT(NVS_ERR_INVALID, "aligned");
    nvshmemx_signal_op((uint64_t *)object, 1, 77, 0);
    EXPECT(NVS_ERR_INVALID, "77");
    shmem_free(object);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    test_exhaustion();
    test_free();
    test_mismatch();
    test_access();
    return spmd_end();
}
