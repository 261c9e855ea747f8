/*
 * stream_rma.c - puts, gets, signals and waits on streams of a GPU, between each PE and its
 * right-hand neighbour, directly and replayed as a graph. Internal functions, as coll_stream.c.
 *
 * Every transfer lands between marks, at a random place and with a random size, and is announced by
 * a signal for which the receiver's stream waits: so what is read behind the wait must be there.
 * Usage: stream_rma [seed].
 */
#include "graph_calls.h"

enum { BYTES = 96 << 10, WORDS = 700, ROUNDS = 40 };

static struct {
    char *data;      /* symmetric: here the left-hand neighbour writes */
    uint64_t *flags; /* symmetric: words to wait for */
    CUdeviceptr local, landed;
    char *image, *want;
    CUstream stream;
    int left, right;
    uint64_t signals; /* what the flag counts */
} here;

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
    here.data = nvshmem_malloc(BYTES);
    here.flags = nvshmem_malloc(WORDS * sizeof(uint64_t));
    here.image = malloc(BYTES);
    here.want = malloc(BYTES);
    NEED(here.data && here.flags && here.image && here.want && nvsi_gpu.up);
    NEED(!cu.cuMemAlloc(&here.local, BYTES) && !cu.cuMemAlloc(&here.landed, BYTES));
    NEED(!cu.cuStreamCreateWithPriority(&here.stream, CU_STREAM_NON_BLOCKING, 0));
    memset(here.image, 0, BYTES);
    to_device(here.flags, here.image, WORDS * sizeof(uint64_t));
    here.left = (nvsi.me + nvsi.npes - 1) % nvsi.npes;
    here.right = (nvsi.me + 1) % nvsi.npes;
}

static void go(const struct nvsi_stream_op *op)
{
    NEED(nvsi_on_stream(op, here.stream) == 0);
}

static void settle(void)
{
    NEED(nvsi_gpu_synchronize("test", here.stream) == 0);
    NEED(nvsi_sync("test", nvsi_team_get(0)) == 0);
}

/* Byte i of what PE pe sends in a round. */
static void message(int pe, uint64_t round, char *at, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        at[i] = (char)mix(seed + (uint64_t)pe * 1000003 + round * 1009 + i / 8) ^ (char)i;
}

static void marks(void)
{
    memset(here.image, 0xa5, BYTES);
    to_device(here.data, here.image, BYTES);
    NEED(!cu.cuMemcpyHtoD(here.landed, here.image, BYTES));
    NEED(!cu.cuStreamSynchronize(CU_STREAM_LEGACY)); /* it may return before it is done */
    settle();
}

/* want: all of a range, marks where nothing was sent. */
static void compare(const void *device, const char *what, uint64_t round)
{
    to_host(here.image, device, BYTES);
    if (memcmp(here.image, here.want, BYTES) != 0 && failures++ < 10) {
        size_t i = 0;
        while (here.image[i] == here.want[i])
            i++;
        fprintf(stderr, "PE %d: %s, round %llu of seed %llu: byte %zu is %02x instead of %02x\n",
                nvsi.me, what, (unsigned long long)round, (unsigned long long)seed, i,
                here.image[i] & 255, here.want[i] & 255);
    }
}

static void wait_for(uint64_t *flag, uint64_t value)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_WAIT,
                                .fn = "wait",
                                .dst = flag,
                                .nelems = 1,
                                .elem_bytes = 8,
                                .word = NVSI_WU64,
                                .cmp = 5, /* at least */
                                .value = value};
    go(&op);
}

/* ---- put with signal, put and signal, get ------------------------------------------------------
 */

/* Otherwise what is sent goes by copies, and a signal cannot add. */
static bool in_reach(void)
{
    return nvsi_gpu.reach[here.right] == NVSI_GPU_DIRECT;
}

struct transfer {
    size_t dst, src, nbytes;
    bool host, add, apart;
};

static struct transfer random_transfer(uint64_t *state)
{
    static const size_t limits[] = {9, 200, 5000, 17000, 60000};
    struct transfer t = {.nbytes = random_of(state, limits[random_of(state, 5)]) + 1};
    t.dst = random_of(state, BYTES - t.nbytes);
    t.src = random_of(state, BYTES - t.nbytes);
    if (random_of(state, 2))
        t.dst &= ~(size_t)15, t.src &= ~(size_t)15;
    t.host = random_of(state, 4) == 0;
    t.add = random_of(state, 2) && in_reach();
    t.apart = random_of(state, 3) == 0;
    return t;
}

static void send(const struct transfer *t, const char *src)
{
    here.signals++;
    struct nvsi_stream_op op = {.op = t->apart ? NVSI_SOP_PUT : NVSI_SOP_PUT_SIGNAL,
                                .fn = "put",
                                .dst = here.data + t->dst,
                                .src = src,
                                .nelems = t->nbytes,
                                .elem_bytes = 1,
                                .pe = here.right,
                                .sig = here.flags,
                                .sig_op = t->add ? NVSI_SIGNAL_ADD : NVSI_SIGNAL_SET,
                                .value = t->add ? 1 : here.signals};
    go(&op);
    if (t->apart) {
        op.op = NVSI_SOP_SIGNAL;
        go(&op);
    }
    wait_for(here.flags, here.signals);
}

static void transfers(uint64_t *state)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct transfer t = random_transfer(state);
        char *host = malloc(t.nbytes);
        NEED(host);
        marks();
        message(nvsi.me, round, host, t.nbytes);
        char *device = (char *)(uintptr_t)here.local + t.src;
        to_device(device, host, t.nbytes);
        settle();
        send(&t, t.host ? host : device);
        /* behind the wait: what has arrived, copied by the stream; and fetched from the right */
        NEED(!cu.cuMemcpyAsync(here.landed, (CUdeviceptr)(uintptr_t)here.data, BYTES, here.stream));
        settle();
        memset(here.want, 0xa5, BYTES);
        message(here.left, round, here.want + t.dst, t.nbytes);
        compare((void *)(uintptr_t)here.landed, "put", round);
        struct nvsi_stream_op get = {.op = NVSI_SOP_GET,
                                     .fn = "get",
                                     .dst = (void *)(uintptr_t)here.landed,
                                     .src = here.data,
                                     .nelems = BYTES,
                                     .elem_bytes = 1,
                                     .pe = here.right};
        go(&get);
        settle();
        memset(here.want, 0xa5, BYTES);
        message(nvsi.me, round, here.want + t.dst, t.nbytes);
        compare((void *)(uintptr_t)here.landed, "get", round);
        free(host);
    }
}

/* ---- p, g, strided -----------------------------------------------------------------------------
 */

static void values(void)
{
    for (size_t size = 1; size <= 16; size *= 2)
        for (size_t at = 0; at < 4 * size; at += size) {
            char value[16] = {0}, mine[16] = {0}, theirs[16];
            struct nvsi_stream_op p = {.op = NVSI_SOP_PUT,
                                       .fn = "p",
                                       .dst = here.data + 64 + at,
                                       .nelems = 1,
                                       .elem_bytes = size,
                                       .pe = here.right,
                                       .immediate = true};
            struct nvsi_stream_op g = {.op = NVSI_SOP_G,
                                       .fn = "g",
                                       .dst = mine,
                                       .src = here.data + 64 + at,
                                       .nelems = 1,
                                       .elem_bytes = size,
                                       .pe = here.right};
            marks();
            message(nvsi.me, size * 100 + at, value, size);
            memcpy(p.value_bytes, value, size);
            go(&p);
            go(&g);
            settle();
            if (memcmp(mine, value, size) != 0 && failures++ < 10)
                fprintf(stderr, "PE %d: g of %zu bytes\n", nvsi.me, size);
            message(here.left, size * 100 + at, theirs, size);
            memset(here.want, 0xa5, BYTES);
            memcpy(here.want + 64 + at, theirs, size);
            compare(here.data, "p", size);
        }
}

static void strided(uint64_t *state)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t size = (size_t)1 << random_of(state, 5), nelems = random_of(state, 60) + 1;
        size_t to = random_of(state, 5) + 1, from = random_of(state, 5) + 1;
        struct nvsi_stream_op op = {.op = NVSI_SOP_IPUT,
                                    .fn = "iput",
                                    .dst = here.data + 64,
                                    .src = (void *)(uintptr_t)here.local,
                                    .nelems = nelems,
                                    .elem_bytes = size,
                                    .dst_stride = (ptrdiff_t)to,
                                    .src_stride = (ptrdiff_t)from,
                                    .pe = here.right};
        marks();
        message(nvsi.me, round, here.image, BYTES);
        NEED(!cu.cuMemcpyHtoD(here.local, here.image, BYTES));
        NEED(!cu.cuStreamSynchronize(CU_STREAM_LEGACY));
        go(&op);
        settle();
        message(here.left, round, here.image, BYTES);
        memset(here.want, 0xa5, BYTES);
        for (size_t i = 0; i < nelems; i++)
            memcpy(here.want + 64 + i * to * size, here.image + i * from * size, size);
        compare(here.data, "iput", round);
        op.op = NVSI_SOP_IGET; /* back: what we have put */
        op.dst = (void *)(uintptr_t)here.landed;
        op.src = here.data + 64;
        op.dst_stride = 1;
        op.src_stride = (ptrdiff_t)to;
        go(&op);
        settle();
        message(nvsi.me, round, here.image, BYTES);
        memset(here.want, 0xa5, BYTES);
        for (size_t i = 0; i < nelems; i++)
            memcpy(here.want + i * size, here.image + i * from * size, size);
        compare((void *)(uintptr_t)here.landed, "iget", round);
    }
}

/* ---- replayed ----------------------------------------------------------------------------------
 */

/* A graph puts a message to the right with a signal, waits for the one from the left, in each of
 * three ways, and takes the signal back; then both may come again. */
static void put_lap(struct nvsi_stream_op *put, const int *status)
{
    struct nvsi_stream_op wait = {.op = NVSI_SOP_WAIT,
                                  .fn = "wait",
                                  .dst = here.flags,
                                  .nelems = 1,
                                  .elem_bytes = 8,
                                  .word = NVSI_WU64,
                                  .cmp = 0,
                                  .value = 1};
    go(put);
    go(&wait); /* equal: the driver has it */
    wait.cmp = 3;
    wait.value = 1;
    go(&wait); /* at most: it has not */
    wait.nelems = 3;
    wait.status = status;
    wait.cmp = 1;
    wait.value = 0;
    go(&wait); /* several words */
    NEED(!cu.cuMemcpyAsync(here.landed, (CUdeviceptr)(uintptr_t)here.data, BYTES, here.stream));
    NEED(!cu.cuMemsetD32Async((CUdeviceptr)(uintptr_t)here.flags, 0, 2, here.stream));
    struct nvsi_stream_op barrier = {
        .op = NVSI_SOP_BARRIER, .fn = "barrier", .pe = -1, .team = nvsi_team_get(0)};
    go(&barrier);
}

static void replays(void)
{
    int status[] = {0, 1, 1};
    struct nvsi_stream_op put = {.op = NVSI_SOP_PUT_SIGNAL,
                                 .fn = "put",
                                 .dst = here.data + 64,
                                 .src = (void *)(uintptr_t)here.local,
                                 .nelems = 4096,
                                 .elem_bytes = 1,
                                 .pe = here.right,
                                 .sig = here.flags,
                                 .sig_op = NVSI_SIGNAL_SET,
                                 .value = 1};
    graph_begin(here.stream);
    put_lap(&put, status);
    void *exec = graph_end(here.stream);
    memset(status, 0, sizeof status); /* it was the caller's */
    for (uint64_t round = 0; round < 8; round++) {
        marks();
        message(nvsi.me, round, here.image, 4096);
        to_device((void *)(uintptr_t)here.local, here.image, 4096);
        settle();
        for (int lap = 0; lap < 5; lap++)
            NEED(!graphs.launch(exec, here.stream));
        settle();
        memset(here.want, 0xa5, BYTES);
        message(here.left, round, here.want + 64, 4096);
        compare((void *)(uintptr_t)here.landed, "replayed", round);
    }
    NEED(!graphs.destroy_exec(exec));
}

/* ---- graphs: a value and a signal, which are read when the call is made -------------------------
 */

static void captured(void)
{
    struct nvsi_stream_op p = {.op = NVSI_SOP_PUT,
                               .fn = "p",
                               .dst = here.data + 64,
                               .nelems = 1,
                               .elem_bytes = 8,
                               .pe = here.right,
                               .immediate = true};
    struct nvsi_stream_op sig = {.op = NVSI_SOP_SIGNAL,
                                 .fn = "signal",
                                 .pe = here.right,
                                 .sig = here.flags,
                                 .sig_op = NVSI_SIGNAL_SET};
    graph_begin(here.stream);
    message(nvsi.me, 4711, p.value_bytes, 8);
    sig.value = here.signals + 1;
    go(&p);
    go(&sig);
    wait_for(here.flags, here.signals + 1);
    memset(p.value_bytes, 0x77, sizeof p.value_bytes);
    sig.value = 0;
    void *exec = graph_end(here.stream);
    for (int replay = 0; replay < 3; replay++) {
        uint64_t before = here.signals;
        marks();
        to_device(here.flags, &before, sizeof before);
        settle();
        NEED(!graphs.launch(exec, here.stream));
        settle();
        memset(here.want, 0xa5, BYTES);
        message(here.left, 4711, here.want + 64, 8);
        compare(here.data, "p in a graph", (uint64_t)replay);
    }
    here.signals++;
    NEED(!graphs.destroy_exec(exec));
}

static void no_add(void)
{
    struct nvsi_stream_op sig = {.op = NVSI_SOP_SIGNAL,
                                 .fn = "signal",
                                 .pe = here.right,
                                 .sig = here.flags,
                                 .sig_op = NVSI_SIGNAL_ADD,
                                 .value = 1};
    if (in_reach())
        return;
    NEED(nvsi_on_stream(&sig, here.stream) == NVS_ERR_UNSUPPORTED);
    NEED(strstr(nvsi_error_words(), "use NVSHMEM_SIGNAL_SET"));
}

/* ---- waits -------------------------------------------------------------------------------------
 */

/* The neighbour puts what makes the words compare, after a while. Word kind, comparison, what is
 * wanted, what is put. */
static const struct {
    enum nvsi_word word;
    int cmp;
    int64_t wanted, put;
} waits[] = {
    {NVSI_W64, 0, -5, -5},    {NVSI_WU64, 1, 0, 7},  {NVSI_W32, 2, -1, 0x7fffffff},
    {NVSI_W32, 4, 0, -3},     {NVSI_WU32, 2, 5, -1}, {NVSI_W16, 3, -1, -32768},
    {NVSI_WU16, 5, 9, 65535}, {NVSI_W64, 5, 1, 1},   {NVSI_W64, 4, 0, -3},
    {NVSI_WU64, 5, 5, -1},    {NVSI_WU64, 5, 1, 9},  {NVSI_WU32, 0, 7, 7},
    {NVSI_W32, 1, 0, -1},     {NVSI_WU64, 2, 4, 5},  {NVSI_WU32, 5, 1ll << 31, -1},
};

static size_t word_bytes(enum nvsi_word word)
{
    return word <= NVSI_WU16 ? 2 : word <= NVSI_WU32 ? 4 : 8;
}

static void wait_case(size_t k, size_t nelems, bool vector, int masked, bool device)
{
    size_t size = word_bytes(waits[k].word);
    int status[WORDS];
    char words[WORDS * 8], values[WORDS * 8];
    for (size_t i = 0; i < nelems; i++) {
        status[i] = masked && i % 3 == 1;
        memcpy(values + i * size, &waits[k].wanted, size);
        if (status[i]) /* never comes */
            memset(words + i * size, 0, size);
        else
            memcpy(words + i * size, &waits[k].put, size);
    }
    memset(here.image, 0, WORDS * 8);
    to_device(here.flags, here.image, WORDS * 8);
    to_device((char *)(uintptr_t)here.local, words, nelems * size);
    CUdeviceptr more = here.landed, values_there = more + WORDS * 8;
    NEED(!cu.cuMemcpyHtoD(more, status, sizeof status));
    NEED(!cu.cuMemcpyHtoD(values_there, values, nelems * size));
    NEED(!cu.cuStreamSynchronize(CU_STREAM_LEGACY)); /* it may return before it is done */
    settle();
    struct nvsi_stream_op put = {.op = NVSI_SOP_PUT,
                                 .fn = "put",
                                 .dst = here.flags,
                                 .src = (void *)(uintptr_t)here.local,
                                 .nelems = nelems * size,
                                 .elem_bytes = 1,
                                 .pe = here.right};
    struct nvsi_stream_op wait = {.op = NVSI_SOP_WAIT,
                                  .fn = "wait",
                                  .dst = here.flags,
                                  .nelems = nelems,
                                  .elem_bytes = size,
                                  .word = waits[k].word,
                                  .cmp = waits[k].cmp,
                                  .value = (uint64_t)waits[k].wanted};
    if (masked)
        wait.status = device ? (const int *)(uintptr_t)more : status;
    if (vector)
        wait.values = device ? (const void *)(uintptr_t)values_there : values;
    go(&put);
    go(&wait);
    memset(status, 0, sizeof status); /* what was the caller's may change at once */
    memset(values, 0, sizeof values);
    settle();
    to_host(here.image, here.flags, nelems * size);
    if (memcmp(here.image, words, nelems * size) != 0 && failures++ < 10)
        fprintf(stderr, "PE %d: a wait ended early: kind %zu of %zu words\n", nvsi.me, k, nelems);
    NEED(nvsi_sync("test", nvsi_team_get(0)) == 0);
}

static void all_waits(void)
{
    for (size_t k = 0; k < sizeof waits / sizeof waits[0]; k++)
        for (int shape = 0; shape < 8; shape++)
            wait_case(k,
                      shape % 2 ? WORDS
                      : shape   ? 1 + k
                                : 1,
                      shape & 2, shape & 4, (shape + k) % 3 == 0);
    memset(here.image, 0, WORDS * 8);
    to_device(here.flags, here.image, WORDS * 8);
    here.signals = 0;
    settle();
}

int main(int argc, char **argv)
{
    const char *said = getenv("NVS_TEST_SEED");
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : said ? strtoull(said, NULL, 0) : 1;
    nvshmem_init();
    open_all();
    if (nvsi.me == 0)
        printf("seed %llu (NVS_TEST_SEED)\n", (unsigned long long)seed);
    uint64_t state = mix(seed);
    settle();
    transfers(&state);
    values();
    strided(&state);
    captured();
    no_add();
    all_waits();
    replays();
    transfers(&state);
    nvshmem_barrier_all();
    nvshmem_finalize();
    return failures != 0;
}
