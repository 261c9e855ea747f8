/*
 * coll_broken.c - a collective on a stream in which one PE does not take part ends by NVS_TIMEOUT:
 * the call that waits for the stream says so, the next one refuses, the stream itself comes to its
 * end, and finalize works. Usage: coll_broken KIND, a number of enum nvsi_sop.
 */
#include <unistd.h>

#include "coll_case.h"

enum { NELEMS = 3000, BYTES = NELEMS * 8 * MAX_TEAM };

static void select_gpu(void)
{
    int count;
    CUcontext context;
    if (!nvsi_cuda_open()) {
        printf("no GPU: %s\n", nvsi_cuda_reason());
        exit(77);
    }
    NEED(!cu.cuDeviceGetCount(&count));
    NEED(!cu.cuDevicePrimaryCtxRetain(&context, nvsi.me % count));
    NEED(!cu.cuCtxSetCurrent(context));
}

static void expect(int status, const char *what)
{
    if (status == NVS_ERR_TIMEOUT)
        return;
    failures++;
    fprintf(stderr, "PE %d: %s: status %d: %s\n", nvsi.me, what, status, nvsi_error_words());
}

static void take_part(const struct nvsi_stream_op *op, CUstream stream)
{
    NEED(nvsi_on_stream(op, stream) == 0);
    expect(nvsi_gpu_synchronize("test", stream), "waiting for the stream");
    expect(nvsi_on_stream(op, stream), "the next call");
    printf("PE %d: %s\n", nvsi.me, nvsi_error_words());
    while (cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) /* kernels and streams let go */
        usleep(10000);
}

int main(int argc, char **argv)
{
    int kind = argc > 1 ? atoi(argv[1]) : NVSI_SOP_ALL_REDUCE;
    CUstream stream;
    nvshmem_init();
    select_gpu();
    char *dst = nvshmem_malloc(BYTES), *src = nvshmem_malloc(BYTES), *zeros = calloc(1, BYTES);
    int *over = nvs_malloc(MAX_TEAM * sizeof *over); /* of the host; 0 */
    NEED(dst && src && zeros && over);
    NEED(!cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    to_device(dst, zeros, BYTES);
    free(zeros);
    struct nvsi_stream_op op = {.op = (enum nvsi_sop)kind,
                                .fn = "test",
                                .dst = dst,
                                .src = src,
                                .nelems = kind == NVSI_SOP_WAIT ? 3 : NELEMS,
                                .elem_bytes = 8,
                                .word = NVSI_W64,
                                .cmp = 1,
                                .pe = -1,
                                .team = nvsi_team_get(0),
                                .dtype = NVSI_INT64,
                                .redop = NVSI_SUM,
                                .symmetric = true};
    nvshmem_barrier_all();
    bool absent = nvsi.me == nvsi.npes - 1;
    if (absent) /* until the others have given up */
        while (!*(volatile int *)&over[0])
            usleep(10000);
    else
        take_part(&op, stream);
    for (int pe = 0; pe < nvsi.npes; pe++)
        nvshmem_int_p(&over[nvsi.me], 1, pe);
    for (int pe = 0; pe < nvsi.npes; pe++) /* not by nvs: time has been short enough */
        while (!*(volatile int *)&over[pe])
            usleep(10000);
    nvshmem_finalize();
    return failures != 0;
}
