/*
 * floor_exchange.cu - broadcast and all-to-all of two GPUs, pushed by a kernel and by copy engines.
 *
 * push: blocks of both PEs meet first, so that nobody's out is written before its kernel runs; then
 * each block stores its share straight into the other's out, and releases a flag for that.
 * engine: one graph holds the copies of both GPUs; its edges keep the calls apart.
 */
#include "harness.cuh"

constexpr int FLAG_STRIDE = 32;

struct Side {
    const uint4 *src, *own_src; /* what goes to the other PE; what stays */
    uint4 *dst, *own_dst;
    size_t n, own_n; /* of 16 bytes */
    uint32_t *flags, *their_flags, *epoch;
};

static __device__ void copy(uint4 *dst, const uint4 *src, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 a = src[i], b = src[i + stride], c = src[i + 2 * stride], d = src[i + 3 * stride];
        dst[i] = a;
        dst[i + stride] = b;
        dst[i + 2 * stride] = c;
        dst[i + 3 * stride] = d;
    }
    for (; i < n; i += stride)
        dst[i] = src[i];
}

static __device__ void meet(const Side &side, uint32_t number)
{
    uint32_t rounds = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        store_release(side.their_flags + blockIdx.x * FLAG_STRIDE, number);
        while ((int32_t)(load_acquire(side.flags + blockIdx.x * FLAG_STRIDE) - number) < 0)
            waited(&rounds);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(512) push_kernel(Side side)
{
    uint32_t *epoch = side.epoch + blockIdx.x * FLAG_STRIDE, now = *epoch;
    meet(side, 2 * now + 1);
    copy(side.dst, side.src, side.n);
    copy(side.own_dst, side.own_src, side.own_n); /* while the others are on their way */
    meet(side, 2 * now + 2);
    if (threadIdx.x == 0)
        *epoch = now + 1;
}

/* PE 0's elements at both. */
static Side broadcast_side(const Pair &pair, int i, size_t nbytes)
{
    const Pe &me = pair.pe[i], &other = pair.pe[1 - i];
    size_t n = i == 0 ? nbytes / 16 : 0;
    return {(uint4 *)me.in, (uint4 *)me.in, (uint4 *)other.out, (uint4 *)me.out, n, n,
            me.flags,       other.flags,    me.counters};
}

/* Half of a PE's elements goes to each. */
static Side exchange_side(const Pair &pair, int i, size_t nbytes)
{
    const Pe &me = pair.pe[i], &other = pair.pe[1 - i];
    size_t half = nbytes / 2, n = half / 16, to = i == 0 ? half : 0, own = i == 0 ? 0 : half;
    return {(uint4 *)(me.in + to),
            (uint4 *)(me.in + own),
            (uint4 *)(other.out + own),
            (uint4 *)(me.out + own),
            n,
            n,
            me.flags,
            other.flags,
            me.counters};
}

using Sides = Side (*)(const Pair &pair, int i, size_t nbytes);

static void expect_broadcast(Pair &pair, size_t nbytes, uint32_t round)
{
    for (int i = 0; i < 2; i++)
        expect(pair, i, "broadcast", 0, nbytes, round, {0, 0});
}

static void expect_exchange(Pair &pair, size_t nbytes, uint32_t round)
{
    size_t half = nbytes / 2;
    for (int i = 0; i < 2; i++)
        for (int from = 0; from < 2; from++)
            expect(pair, i, "all-to-all", from * half, half, round, {from, i * half / 4});
}

using Expected = void (*)(Pair &pair, size_t nbytes, uint32_t round);

struct Kind {
    const char *push, *engine;
    Sides sides;
    Expected expected;
};

static void push(Pair &pair, const Kind &kind, size_t nbytes)
{
    Fastest fastest;
    for (int blocks : {16, 32, 64, 128}) {
        if (nbytes / 16 < (size_t)blocks * 64)
            continue;
        pair.reset();
        auto call = [&](int i) {
            pair.use(i);
            push_kernel<<<blocks, 512, 0, pair.pe[i].stream>>>(kind.sides(pair, i, nbytes));
        };
        for (uint32_t round = 1; round <= 4; round++) {
            for (int i = 0; i < 2; i++) {
                fill(pair, i, nbytes, round);
                call(i);
            }
            pair.wait();
            kind.expected(pair, nbytes, round);
        }
        fastest.offer(std::to_string(blocks) + " blocks",
                      time_graph(pair, 2, nbytes >= 64 * MIB ? 5 : 50, call));
    }
    fastest.print(kind.push, nbytes);
}

/* ---- copy engines ---------------------------------------------------------------------------- */

static void copy_sides(Pair &pair, const Kind &kind, size_t nbytes)
{
    for (int i = 0; i < 2; i++) {
        Side side = kind.sides(pair, i, nbytes);
        pair.use(i);
        if (side.n)
            MUST(cudaMemcpyAsync(side.dst, side.src, side.n * 16, cudaMemcpyDeviceToDevice,
                                 pair.pe[i].stream));
        if (side.own_n)
            MUST(cudaMemcpyAsync(side.own_dst, side.own_src, side.own_n * 16,
                                 cudaMemcpyDeviceToDevice, pair.pe[i].copies));
    }
}

/* From the first stream to the three others, or back. */
static void join(Pair &pair, std::vector<cudaEvent_t> &events, bool back)
{
    cudaStream_t first = pair.pe[0].stream;
    cudaStream_t others[] = {pair.pe[0].copies, pair.pe[1].stream, pair.pe[1].copies};
    const int devices[] = {0, 1, 1};
    for (int k = 0; k < 3; k++) {
        cudaEvent_t event;
        pair.use(back ? devices[k] : 0);
        MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        events.push_back(event);
        MUST(cudaEventRecord(event, back ? others[k] : first));
        MUST(cudaStreamWaitEvent(back ? first : others[k], event, 0));
    }
}

static cudaGraphExec_t capture(Pair &pair, const Kind &kind, size_t nbytes, int calls)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<cudaEvent_t> events;
    pair.use(0);
    MUST(cudaStreamBeginCapture(pair.pe[0].stream, cudaStreamCaptureModeThreadLocal));
    for (int call = 0; call < calls; call++) {
        join(pair, events, false);
        copy_sides(pair, kind, nbytes);
        join(pair, events, true);
    }
    pair.use(0);
    MUST(cudaStreamEndCapture(pair.pe[0].stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    for (cudaEvent_t event : events)
        MUST(cudaEventDestroy(event));
    return exec;
}

static void engine(Pair &pair, const Kind &kind, size_t nbytes)
{
    int calls = nbytes >= 64 * MIB ? 5 : 20;
    cudaGraphExec_t once = capture(pair, kind, nbytes, 1);
    cudaGraphExec_t often = capture(pair, kind, nbytes, calls);
    for (int i = 0; i < 2; i++)
        fill(pair, i, nbytes, 7);
    pair.wait();
    pair.use(0);
    MUST(cudaGraphLaunch(once, pair.pe[0].stream));
    pair.wait();
    kind.expected(pair, nbytes, 7);
    result(kind.engine, nbytes, time_queued(pair, 1, calls, [&](int) {
               MUST(cudaGraphLaunch(often, pair.pe[0].stream));
           }));
    MUST(cudaGraphExecDestroy(once));
    MUST(cudaGraphExecDestroy(often));
}

void floor_exchange(Pair &pair)
{
    const Kind kinds[] = {{"broadcast_push", "broadcast_engine", broadcast_side, expect_broadcast},
                          {"all_to_all_push", "all_to_all_engine", exchange_side, expect_exchange}};
    for (const Kind &kind : kinds)
        for (size_t nbytes : {64 * KIB, MIB, 16 * MIB, 256 * MIB}) {
            push(pair, kind, nbytes);
            engine(pair, kind, nbytes);
        }
}
