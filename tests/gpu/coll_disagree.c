/*
 * coll_disagree.c - PEs that put different collectives into streams: all of them get the error with
 * both sides' names, their streams come to an end, and finalize works; and programs that are right,
 * though their PEs do it in different ways, do not get it.
 * Usage: coll_disagree kind|count|type|op|root|late|graph|ahead
 */
#include <unistd.h>

#include "graph_calls.h"

enum { ROOM = 1 << 16, FAR = 700 };

static CUstream stream;
static char *dst, *src;
static bool odd; /* this PE is the one that calls something else */

static void open_all(void)
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
    dst = nvshmem_malloc(ROOM);
    src = nvshmem_malloc(ROOM);
    NEED(dst && src && nvsi_gpu.up);
    NEED(!cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    odd = nvsi.me == nvsi.npes - 1;
}

static int reduce(size_t nelems, int dtype, int redop)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_ALL_REDUCE,
                                .fn = "test",
                                .dst = dst,
                                .src = src,
                                .nelems = nelems,
                                .elem_bytes = 8,
                                .pe = -1,
                                .team = nvsi_team_get(0),
                                .dtype = dtype,
                                .redop = redop,
                                .symmetric = true};
    return nvsi_on_stream(&op, stream);
}

static int move(enum nvsi_sop sop, size_t nelems, int root)
{
    struct nvsi_stream_op op = {.op = sop,
                                .fn = "test",
                                .dst = dst,
                                .src = src,
                                .nelems = nelems,
                                .elem_bytes = 8,
                                .pe = -1,
                                .team = nvsi_team_get(0),
                                .dtype = NVSI_INT64,
                                .root = root,
                                .symmetric = true};
    return nvsi_on_stream(&op, stream);
}

/* One right call first: number 2 is the wrong one. */
static int differ(const char *what)
{
    if (strcmp(what, "late")) /* there: behind many that nobody could compare */
        NEED(reduce(4, NVSI_INT64, NVSI_SUM) == 0);
    if (!strcmp(what, "kind"))
        return odd ? move(NVSI_SOP_ALL_GATHER, 4, 0) : reduce(4, NVSI_INT64, NVSI_SUM);
    if (!strcmp(what, "count"))
        return reduce(odd ? 5 : 4, NVSI_INT64, NVSI_SUM);
    if (!strcmp(what, "type"))
        return reduce(4, odd ? NVSI_FLOAT64 : NVSI_INT64, NVSI_SUM);
    if (!strcmp(what, "op"))
        return reduce(4, NVSI_INT64, odd ? NVSI_MAX : NVSI_SUM);
    if (!strcmp(what, "root"))
        return move(NVSI_SOP_BROADCAST, 4, odd ? nvsi.me : 0);
    fprintf(stderr, "coll_disagree: what is %s?\n", what);
    exit(2);
}

static const char *words_for(const char *what, int side)
{
    static const struct {
        const char *what, *words[2];
    } table[] = {
        {"kind", {"all_reduce of 4 elements (int64, sum)", "all_gather of 4 elements (int64)"}},
        {"count", {"all_reduce of 4 elements", "all_reduce of 5 elements"}},
        {"type", {"(int64, sum)", "(float64, sum)"}},
        {"op", {"(int64, sum)", "(int64, max)"}},
        {"root", {"broadcast of 4 elements (int64, root 0)", "root "}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].what, what))
            return table[i].words[side];
    return "have called different things";
}

static void expect_words(const char *what)
{
    const char *said = nvsi_error_words();
    if (!strstr(said, "PEs disagree about ") || !strstr(said, "on streams of the world team") ||
        !strstr(said, words_for(what, 0)) || !strstr(said, words_for(what, 1))) {
        failures++;
        fprintf(stderr, "PE %d: %s: the sentence is: %s\n", nvsi.me, what, said);
    }
}

/* A PE is so far ahead that its first calls are out of the ring when the other one makes them. */
static int far_ahead(void)
{
    int status = 0;
    if (odd)
        for (int i = 0; !status && i < FAR; i++)
            status = reduce(i == 2 ? 5 : 4, NVSI_INT64, NVSI_SUM);
    NEED(status == 0 && nvsi_sync("test", nvsi_team_get(0)) == 0);
    for (int i = 0; !odd && !status && i < FAR; i++)
        status = reduce(4, NVSI_INT64, NVSI_SUM);
    return status;
}

static void disagree(const char *what)
{
    int status = strcmp(what, "late") ? differ(what) : far_ahead();
    if (!status) /* the others tell */
        status = nvsi_gpu_synchronize("test", stream);
    for (int i = 0; !status && i < 3000; i++) { /* a wait of nobody: what was wrong came later */
        usleep(10000);
        status = nvsi_gpu_reported("test");
    }
    if (status != NVS_ERR_MISMATCH && failures++ < 10)
        fprintf(stderr, "PE %d: %s: status %d: %s\n", nvsi.me, what, status, nvsi_error_words());
    expect_words(what);
    printf("PE %d: %s\n", nvsi.me, nvsi_error_words());
    while (cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) /* kernels and streams let go */
        usleep(10000);
}

/* The same collectives, on PE 0 from a graph. */
static void by_graph(void)
{
    void *exec = NULL;
    NEED(reduce(3, NVSI_INT64, NVSI_SUM) == 0);
    if (nvsi.me == 0) {
        graph_begin(stream);
        NEED(reduce(4, NVSI_INT64, NVSI_SUM) == 0);
        exec = graph_end(stream);
    }
    for (int i = 0; i < 3; i++)
        if (nvsi.me == 0)
            NEED(!graphs.launch(exec, stream));
        else
            NEED(reduce(4, NVSI_INT64, NVSI_SUM) == 0);
    NEED(reduce(5, NVSI_INT64, NVSI_MAX) == 0);
    if (exec) {
        NEED(nvsi_gpu_synchronize("test", stream) == 0);
        NEED(!graphs.destroy_exec(exec));
    }
}

static void agree(const char *what)
{
    if (!strcmp(what, "graph"))
        by_graph();
    for (int i = 0; !strcmp(what, "ahead") && i < FAR; i++) {
        NEED(move(i % 3 ? NVSI_SOP_BROADCAST : NVSI_SOP_ALL_GATHER, (size_t)i % 7, 0) == 0);
        if (odd && i % 100 == 0)
            usleep(20000);
    }
    NEED(nvsi_gpu_synchronize("test", stream) == 0);
    NEED(nvsi_sync("test", nvsi_team_get(0)) == 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "kind";
    nvshmem_init();
    open_all();
    nvshmem_barrier_all();
    if (!strcmp(what, "graph") || !strcmp(what, "ahead"))
        agree(what);
    else
        disagree(what);
    NEED(nvsi_sync("test", nvsi_team_get(0)) == 0); /* on the host the team is whole */
    nvshmem_finalize();
    return failures != 0;
}
