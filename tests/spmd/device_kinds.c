/*
 * device_kinds.c - collectives of nvs.h for which the PEs pass memory of different kinds.
 *
 *   blocking   PE 0 passes symmetric memory of the GPU, the others their own of cudaMalloc: right
 *   far        the same on a stream, of GPUs that do not reach each other: right
 *   host       PE 0 passes memory of the GPU, the others of the host: an error on all
 *   stream     PE 0 passes symmetric memory on a stream, the others their own: an error on all
 *   src        on a stream only src is their own on the others: an error on all
 */
#include "device.h"

#include <unistd.h>

enum { N = 300000 };

static int *symmetric, *own, *image, *over;

static void *own_memory(size_t nbytes)
{
    uint64_t ptr = 0;
    CHECK(driver.alloc(&ptr, nbytes) == 0, "no memory");
    return (void *)(uintptr_t)ptr;
}

static void bring(int *dst)
{
    for (int i = 0; i < N; i++)
        image[i] = spmd_me * 1000 + i;
    device_write(dst, image, N * sizeof *image);
}

static void expect_sum(const int *src)
{
    int bad = 0, total = spmd_npes * (spmd_npes - 1) / 2 * 1000;
    device_read(image, src, N * sizeof *image);
    for (int i = 0; i < N; i++)
        bad += image[i] != total + spmd_npes * i;
    CHECK(!bad, "%d of %d are wrong, the first is %d", bad, N, image[0]);
}

/* Every kind of memory in turn at PE 0. */
static void right(void *stream)
{
    for (int round = 0; round < 4; round++) {
        int *src = spmd_me == round % spmd_npes ? symmetric : own, *dst = src + N;
        struct nvs_call call = {.size = sizeof call, .stream = stream};
        bring(src);
        int status = nvs_all_reduce(NVS_TEAM_WORLD, dst, src, N, NVS_INT32, NVS_SUM, &call);
        CHECK(status == 0, "all_reduce: %d: %s", status, nvs_last_error());
        expect_sum(dst);
        status = nvs_all_gather(NVS_TEAM_WORLD, dst, src, N / (size_t)spmd_npes, NVS_INT32, &call);
        CHECK(status == 0, "all_gather: %d: %s", status, nvs_last_error());
        device_read(image, dst + N / spmd_npes * (spmd_npes - 1), sizeof *image);
        CHECK(image[0] == (spmd_npes - 1) * 1000, "all_gather: %d", image[0]);
    }
}

static void wrong(int status, const char *words)
{
    CHECK(status == NVS_ERR_MISMATCH && strstr(nvs_last_error(), words), "%d: \"%s\" lacks \"%s\"",
          status, nvs_last_error(), words);
}

static void host_and_gpu(void)
{
    int *mine = spmd_me ? image : symmetric;
    wrong(nvs_all_reduce(NVS_TEAM_WORLD, mine, mine, N, NVS_INT32, NVS_SUM, NULL),
          "calls a collective on memory of the GPU");
}

/* By the call that comes second, or by one of those behind the call that comes first. */
static void found(int *dst, const int *src)
{
    int status = 0;
    for (int tries = 0; !status && tries < 100; tries++) {
        status = nvs_all_reduce(NVS_TEAM_WORLD, dst, src, tries ? 1 : N, NVS_INT32, NVS_SUM,
                                NVS_CALL(.stream = NVS_STREAM_DEFAULT));
        usleep(tries ? 100000 : 0);
    }
    wrong(status, "passes the same symmetric memory of the GPU as the others, and PE");
    for (int pe = 0; pe < spmd_npes; pe++) /* nobody leaves before all have heard of it */
        shmem_int_p(&over[spmd_me], 1, pe);
    for (int pe = 0; pe < spmd_npes; pe++)
        shmem_int_wait_until(&over[pe], SHMEM_CMP_EQ, 1);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "blocking";
    device_begin(argc, argv);
    symmetric = nvs_malloc_device(2 * N * sizeof *symmetric);
    own = own_memory(2 * N * sizeof *own);
    image = calloc(N, sizeof *image);
    over = shmem_calloc((size_t)spmd_npes, sizeof *over);
    CHECK(symmetric && own && image, "%s", nvs_last_error());
    if (!strcmp(mode, "blocking"))
        right(NULL);
    else if (!strcmp(mode, "far"))
        right(NVS_STREAM_DEFAULT);
    else if (!strcmp(mode, "host"))
        host_and_gpu();
    else if (!strcmp(mode, "stream"))
        found(spmd_me ? own : symmetric, spmd_me ? own : symmetric);
    else
        found(symmetric, spmd_me ? own : symmetric);
    return device_end();
}
