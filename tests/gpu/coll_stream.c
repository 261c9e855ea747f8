/*
 * coll_stream.c - collectives on streams of a GPU: every type and operator, sizes in every shape,
 * teams, in place and not, aligned and not, ordinary memory, several streams at once, graphs.
 *
 * Sizes are small, and so are the limits between the shapes (environment of the test), so that a
 * stand-in for a GPU gets through all of them. Usage: coll_stream [seed [cases]].
 */
#include "coll_case.h"

#include <time.h>

enum { BYTES = 160 << 10, NUM_TEAMS = 4, NUM_STREAMS = 3 };

/* What libcuda has and nvs does not call. */
static struct {
    CUresult (*begin)(CUstream stream, int mode);
    CUresult (*end)(CUstream stream, void **graph);
    CUresult (*instantiate)(void **exec, void *graph, unsigned long long flags);
    CUresult (*launch)(void *exec, CUstream stream);
    CUresult (*destroy)(void *exec);
    CUresult (*destroy_graph)(void *graph);
} graphs;

static struct nvsi_team *teams[NUM_TEAMS]; /* NULL where this PE is no member */
static struct memory memories[NUM_STREAMS];
static CUstream streams[NUM_STREAMS];
static uint64_t next_number;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    NEED(found);
    return found;
}

static void find_graphs(void)
{
    void *library = dlopen(nvsi.config.cuda_library, RTLD_NOW);
    NEED(library);
    *(void **)&graphs.begin = symbol(library, "cuStreamBeginCapture_v2");
    *(void **)&graphs.end = symbol(library, "cuStreamEndCapture");
    *(void **)&graphs.instantiate = symbol(library, "cuGraphInstantiateWithFlags");
    *(void **)&graphs.launch = symbol(library, "cuGraphLaunch");
    *(void **)&graphs.destroy = symbol(library, "cuGraphExecDestroy");
    *(void **)&graphs.destroy_graph = symbol(library, "cuGraphDestroy");
}

/* ---- set-up ------------------------------------------------------------------------------------
 */

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

static void make_teams(void)
{
    int32_t evens = -1, list = -1, halves = -1;
    int npes = nvsi.npes, members[MAX_TEAM];
    NEED(nvsi_team_split_strided("test", 0, 0, 2, (npes + 1) / 2, 0, &evens) == 0);
    for (int i = 0; i < npes; i++) /* the last one first, then the others: no even steps */
        members[i] = i == 0 ? npes - 1 : i - 1;
    NEED(nvsi_team_create("test", 0, members, npes, 0, &list) == 0);
    NEED(nvsi_team_split_strided("test", 0, npes > 1 ? npes / 2 : 0, 1,
                                 npes - (npes > 1 ? npes / 2 : 0), 0, &halves) == 0);
    teams[0] = nvsi_team_get(0);
    teams[1] = nvsi_team_get(list);
    teams[2] = nvsi_team_get(evens);
    teams[3] = nvsi_team_get(halves);
}

static void take_memory(void)
{
    for (int i = 0; i < NUM_STREAMS; i++) {
        struct memory *memory = &memories[i];
        memory->nbytes = BYTES + 4096;
        memory->dst = nvshmem_malloc(memory->nbytes);
        memory->src = nvshmem_malloc(memory->nbytes);
        memory->image = malloc(memory->nbytes);
        NEED(memory->dst && memory->src && memory->image);
        NEED(nvsi_gpu.up && nvsi_gpu_is_device(memory->dst));
        NEED(!cu.cuMemAlloc(&memory->other_dst, memory->nbytes));
        NEED(!cu.cuMemAlloc(&memory->other_src, memory->nbytes));
        NEED(!cu.cuStreamCreateWithPriority(&streams[i], CU_STREAM_NON_BLOCKING, 0));
    }
}

/* ---- cases -------------------------------------------------------------------------------------
 */

static const enum nvsi_sop kinds[] = {NVSI_SOP_ALL_REDUCE, NVSI_SOP_REDUCE_SCATTER,
                                      NVSI_SOP_ALL_GATHER, NVSI_SOP_ALL_TO_ALL, NVSI_SOP_BROADCAST};

/* Sizes about the limits of the shapes: 0, 1, a few, odd ones, and what fits. */
static size_t random_size(uint64_t *state, size_t most)
{
    static const size_t limits[] = {2, 17, 300, 3000, 20000, BYTES};
    size_t limit = limits[random_of(state, 6)];
    return random_of(state, (limit < most ? limit : most) + 1);
}

static struct coll_case random_case(uint64_t *state, struct nvsi_team *team)
{
    struct coll_case c = {.op = kinds[random_of(state, 5)], .team = team, .number = next_number++};
    do {
        c.dtype = (int)random_of(state, NVSI_NUM_DTYPES);
        c.redop = (int)random_of(state, NVSI_NUM_OPS);
    } while (c.dtype == NVSI_LONGDOUBLE || !nvsi_op_defined(c.dtype, c.redop));
    c.nelems = random_size(state, BYTES / nvsi_dtype_size(c.dtype) / (size_t)team->npes);
    c.root = (int)random_of(state, (uint64_t)team->npes);
    c.place = (int)random_of(state, 6);
    c.place = c.place > 2 ? 0 : c.place;
    c.offset = random_of(state, 3) ? 0 : random_of(state, 16);
    c.skew = random_of(state, 4) ? 0 : random_of(state, 8);
    c.ordinary = random_of(state, 3) == 0;
    return c;
}

static void run_one(const struct coll_case *c)
{
    prepare(c, &memories[0]);
    NEED(nvsi_sync("test", c->team) == 0); /* nobody writes before all have marked */
    enqueue(c, &memories[0], streams[0]);
    NEED(nvsi_gpu_synchronize("test", streams[0]) == 0);
    check(c, &memories[0]);
    NEED(nvsi_sync("test", c->team) == 0);
}

/* Every type and operator, in the little and the middle shape. */
static void all_types(void)
{
    uint64_t state = seed + 7;
    for (int dtype = 0; dtype < NVSI_NUM_DTYPES; dtype++)
        for (int redop = 0; redop < NVSI_NUM_OPS; redop++)
            for (int large = 0; large < 2; large++) {
                if (dtype == NVSI_LONGDOUBLE || !nvsi_op_defined(dtype, redop))
                    continue;
                struct coll_case c = {.op = NVSI_SOP_ALL_REDUCE,
                                      .team = teams[0],
                                      .dtype = dtype,
                                      .redop = redop,
                                      .nelems = 1 + random_of(&state, large ? 900 : 20),
                                      .number = next_number++};
                run_one(&c);
            }
}

static void random_cases(int count)
{
    for (int t = 0; t < NUM_TEAMS; t++) {
        uint64_t state = mix(seed + (uint64_t)t);
        next_number = (uint64_t)t << 32;
        for (int i = 0; teams[t] && i < count; i++) {
            struct coll_case c = random_case(&state, teams[t]);
            run_one(&c);
        }
    }
}

/* Zero elements: a meeting, in which nothing is written. */
static void nothing(void)
{
    struct coll_case c = {.team = teams[0], .dtype = NVSI_FLOAT32, .redop = NVSI_SUM};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        c.op = kinds[k];
        c.number = next_number++;
        run_one(&c);
    }
}

/* ---- several at once ---------------------------------------------------------------------------
 */

/* Collectives of one team in three streams: they run in the order of the calls. Each stream has its
 * memory, so that it shows who comes too early. */
static void several_streams(int rounds)
{
    uint64_t state = mix(seed + 99);
    for (int round = 0; round < rounds; round++) {
        struct coll_case cases[NUM_STREAMS * 4];
        for (int i = 0; i < NUM_STREAMS * 4; i++)
            cases[i] = random_case(&state, teams[i % 2]);
        for (int i = 0; i < NUM_STREAMS; i++) /* the last one in each stream is what is checked */
            prepare(&cases[NUM_STREAMS * 3 + i], &memories[i]);
        NEED(nvsi_sync("test", teams[0]) == 0);
        for (int i = 0; i < NUM_STREAMS * 4; i++) {
            struct coll_case c = cases[i];
            if (i < NUM_STREAMS * 3) { /* on other memory, of which nothing is asked */
                c.place = 0;
                c.ordinary = false;
                c.op = NVSI_SOP_ALL_REDUCE;
                c.nelems = 1 + c.nelems % 40;
                c.offset = (BYTES + 2048) / nvsi_dtype_size(c.dtype);
            }
            enqueue(&c, &memories[i % NUM_STREAMS], streams[i % NUM_STREAMS]);
        }
        for (int i = 0; i < NUM_STREAMS; i++)
            NEED(nvsi_gpu_synchronize("test", streams[i]) == 0);
        for (int i = 0; i < NUM_STREAMS; i++)
            check(&cases[NUM_STREAMS * 3 + i], &memories[i]);
        NEED(nvsi_sync("test", teams[0]) == 0);
    }
}

/* ---- PEs that come late ------------------------------------------------------------------------
 */

static void take_a_nap(void *arg)
{
    struct timespec nap = {.tv_nsec = (long)(uintptr_t)arg * 1000};
    nanosleep(&nap, NULL);
}

/* This PE's stream does nothing for a while; each PE in its own way. */
static void nap(CUstream stream, uint64_t number)
{
    uint64_t dice = mix(seed ^ (number * 64 + (uint64_t)nvsi.me));
    if (dice % 2)
        NEED(!cu.cuLaunchHostFunc(stream, take_a_nap, (void *)(uintptr_t)(dice % 4000)));
}

/* The input is there only when the stream has come to it, which others must wait for. */
static void enqueue_late(const struct coll_case *c, struct memory *memory, CUdeviceptr input)
{
    char *dst, *src;
    places(c, memory, &dst, &src);
    if (c->op != NVSI_SOP_BROADCAST || c->team->team_pe == c->root) {
        fill(c, c->team->team_pe, memory->image, src_bytes(c));
        NEED(!src_bytes(c) || !cu.cuMemcpyHtoD(input, memory->image, src_bytes(c)));
        memset(memory->image, 0x11, src_bytes(c));
        to_device(src, memory->image, src_bytes(c));
    } else {
        input = 0;
    }
    nap(streams[0], c->number);
    if (input && src_bytes(c))
        NEED(!cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)src, input, src_bytes(c), streams[0]));
    enqueue(c, memory, streams[0]);
}

static void late_inputs(int rounds)
{
    uint64_t state = mix(seed + 55);
    CUdeviceptr inputs[NUM_STREAMS];
    for (int i = 0; i < NUM_STREAMS; i++)
        NEED(!cu.cuMemAlloc(&inputs[i], BYTES));
    for (int round = 0; round < rounds; round++) {
        struct coll_case cases[NUM_STREAMS];
        for (int i = 0; i < NUM_STREAMS; i++) {
            cases[i] = random_case(&state, teams[0]);
            cases[i].place = 0;
            prepare(&cases[i], &memories[i]);
        }
        NEED(nvsi_sync("test", teams[0]) == 0);
        nap(streams[0], (uint64_t)round);
        for (int i = 0; i < NUM_STREAMS; i++)
            enqueue_late(&cases[i], &memories[i], inputs[i]);
        NEED(nvsi_gpu_synchronize("test", streams[0]) == 0);
        for (int i = 0; i < NUM_STREAMS; i++)
            check(&cases[i], &memories[i]);
        NEED(nvsi_sync("test", teams[0]) == 0);
    }
    for (int i = 0; i < NUM_STREAMS; i++)
        NEED(!cu.cuMemFree(inputs[i]));
}

/* A root that could run ahead of receivers that sleep, and then somebody else who sends. */
static void bursts(int rounds)
{
    enum { BURST = 12, APART = 400 };
    uint64_t state = mix(seed + 66);
    for (int round = 0; round < rounds; round++) {
        struct coll_case cases[BURST];
        int root = (int)random_of(&state, (uint64_t)nvsi.npes);
        for (int i = 0; i < BURST; i++) {
            cases[i] = (struct coll_case){.op = NVSI_SOP_BROADCAST,
                                          .team = teams[0],
                                          .dtype = NVSI_FLOAT32,
                                          .root = i % 5 < 4 ? root : (root + i) % nvsi.npes,
                                          .nelems = random_of(&state, 200) + 1,
                                          .offset = (size_t)i * APART,
                                          .number = next_number++};
            if (i % 7 == 6) {
                cases[i].op = NVSI_SOP_ALL_REDUCE;
                cases[i].redop = NVSI_SUM;
            }
            prepare(&cases[i], &memories[0]);
        }
        NEED(nvsi_sync("test", teams[0]) == 0);
        for (int i = 0; i < BURST; i++) {
            if (nvsi.me != root)
                nap(streams[0], cases[i].number);
            enqueue(&cases[i], &memories[0], streams[0]);
        }
        NEED(nvsi_gpu_synchronize("test", streams[0]) == 0);
        for (int i = 0; i < BURST; i++)
            check(&cases[i], &memories[0]);
        NEED(nvsi_sync("test", teams[0]) == 0);
    }
}

/* ---- graphs ------------------------------------------------------------------------------------
 */

enum { IN_GRAPH = 3, REPLAYS = 4 };

/* Each case has memory of its own; the inputs change from replay to replay. */
static void one_graph(uint64_t *state)
{
    struct coll_case cases[IN_GRAPH], barrier = {.op = NVSI_SOP_BARRIER, .team = teams[0]};
    void *graph, *exec;
    for (int i = 0; i < IN_GRAPH; i++)
        cases[i] = random_case(state, teams[i % 2]);
    NEED(!graphs.begin(streams[0], 0));
    for (int i = 0; i < IN_GRAPH; i++) {
        enqueue(&cases[i], &memories[i], streams[0]);
        enqueue(&barrier, &memories[i], streams[0]);
    }
    NEED(!graphs.end(streams[0], &graph));
    NEED(!graphs.instantiate(&exec, graph, 0));
    for (int replay = 0; replay < REPLAYS; replay++) {
        for (int i = 0; i < IN_GRAPH; i++) {
            cases[i].number = next_number++;
            prepare(&cases[i], &memories[i]);
        }
        NEED(nvsi_sync("test", teams[0]) == 0);
        NEED(!graphs.launch(exec, streams[0]));
        NEED(nvsi_gpu_synchronize("test", streams[0]) == 0);
        for (int i = 0; i < IN_GRAPH; i++)
            check(&cases[i], &memories[i]);
        NEED(nvsi_sync("test", teams[0]) == 0);
        /* Between two replays the same team is used without a graph. */
        struct coll_case c = random_case(state, teams[replay % 2]);
        run_one(&c);
    }
    NEED(!graphs.destroy(exec));
    NEED(!graphs.destroy_graph(graph));
}

int main(int argc, char **argv)
{
    const char *said = getenv("NVS_TEST_SEED");
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : said ? strtoull(said, NULL, 0) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 60;
    nvshmem_init();
    NEED(nvsi.npes <= MAX_TEAM);
    select_gpu();
    take_memory();
    make_teams();
    find_graphs();
    if (nvsi.me == 0)
        printf("seed %llu (NVS_TEST_SEED)\n", (unsigned long long)seed);
    all_types();
    random_cases(count);
    next_number = UINT64_C(1) << 40;
    nothing();
    several_streams(4);
    late_inputs(12);
    bursts(8);
    uint64_t state = mix(seed + 1234);
    for (int i = 0; i < 4; i++)
        one_graph(&state);
    nvshmem_barrier_all();
    nvshmem_finalize();
    if (failures)
        fprintf(stderr, "PE: %llu failures\n", (unsigned long long)failures);
    return failures != 0;
}
