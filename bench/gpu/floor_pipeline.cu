/*
 * floor_pipeline.cu - the all-reduce of two GPUs by copy engines: each PE sends all its elements to
 * the other in chunks, and adds a chunk while the next ones are on their way.
 *
 * One graph holds the work of both GPUs, and its edges are all the order there is: a sum waits for
 * its chunk, and the next call's copy of a chunk waits until the place in scratch has been read.
 * A short cut: processes have no such edges between them.
 */
#include "harness.cuh"

static __global__ void __launch_bounds__(512)
    add_kernel(float4 *out, const float4 *a, const float4 *b, size_t n4)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + stride < n4; i += 2 * stride) {
        float4 x = a[i], y = b[i], p = a[i + stride], q = b[i + stride];
        out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
        out[i + stride] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    }
    if (i < n4) {
        float4 x = a[i], y = b[i];
        out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}

/* Events order the streams of both GPUs while they are captured into one graph. */
struct Events {
    std::vector<cudaEvent_t> all;
    size_t used = 0;

    cudaEvent_t record(cudaStream_t stream)
    {
        if (used == all.size()) {
            all.emplace_back();
            MUST(cudaEventCreateWithFlags(&all.back(), cudaEventDisableTiming));
        }
        MUST(cudaEventRecord(all[used], stream));
        return all[used++];
    }
    ~Events()
    {
        for (cudaEvent_t event : all)
            cudaEventDestroy(event);
    }
};

static void follow(cudaStream_t stream, cudaEvent_t event)
{
    if (event)
        MUST(cudaStreamWaitEvent(stream, event, 0));
}

struct Chunk {
    cudaEvent_t arrived[2], added[2]; /* at PE 0, PE 1 */
};

static void send(Pair &pair, Events &events, Chunk &chunk, size_t at, size_t nbytes)
{
    for (int i = 0; i < 2; i++) {
        pair.use(i);
        follow(pair.pe[i].copies, chunk.added[1 - i]);
        MUST(cudaMemcpyAsync(pair.pe[1 - i].scratch + at, pair.pe[i].in + at, nbytes,
                             cudaMemcpyDeviceToDevice, pair.pe[i].copies));
        chunk.arrived[1 - i] = events.record(pair.pe[i].copies);
    }
}

static void add(Pair &pair, Events &events, Chunk &chunk, size_t at, size_t nbytes)
{
    for (int i = 0; i < 2; i++) {
        const Pe &pe = pair.pe[i];
        pair.use(i);
        follow(pe.stream, chunk.arrived[i]);
        add_kernel<<<64, 512, 0, pe.stream>>>((float4 *)(pe.out + at), (float4 *)(pe.in + at),
                                              (float4 *)(pe.scratch + at), nbytes / 16);
        MUST(cudaGetLastError());
        chunk.added[i] = events.record(pe.stream);
    }
}

static cudaGraphExec_t capture(Pair &pair, size_t nbytes, size_t chunk_bytes, int calls)
{
    Events events;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<Chunk> chunks(nbytes / chunk_bytes);
    pair.use(0);
    MUST(cudaStreamBeginCapture(pair.pe[0].stream, cudaStreamCaptureModeThreadLocal));
    cudaEvent_t start = events.record(pair.pe[0].stream);
    for (cudaStream_t stream : {pair.pe[0].copies, pair.pe[1].copies, pair.pe[1].stream})
        follow(stream, start);
    for (int call = 0; call < calls; call++) {
        for (size_t c = 0; c < chunks.size(); c++)
            send(pair, events, chunks[c], c * chunk_bytes, chunk_bytes);
        for (size_t c = 0; c < chunks.size(); c++)
            add(pair, events, chunks[c], c * chunk_bytes, chunk_bytes);
    }
    for (int i = 0; i < 2; i++) {
        pair.use(i);
        follow(pair.pe[0].stream, events.record(pair.pe[i].copies));
    }
    follow(pair.pe[0].stream, events.record(pair.pe[1].stream));
    pair.use(0);
    MUST(cudaStreamEndCapture(pair.pe[0].stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    return exec;
}

static void check(Pair &pair, size_t nbytes, size_t chunk_bytes)
{
    cudaGraphExec_t once = capture(pair, nbytes, chunk_bytes, 1);
    for (uint32_t round = 1; round <= 2; round++) {
        for (int i = 0; i < 2; i++)
            fill(pair, i, nbytes, round);
        pair.wait();
        pair.use(0);
        MUST(cudaGraphLaunch(once, pair.pe[0].stream));
        pair.wait();
        for (int i = 0; i < 2; i++)
            expect(pair, i, "all-reduce by copy engines", 0, nbytes, round, {2, 0});
    }
    MUST(cudaGraphExecDestroy(once));
}

void floor_pipeline(Pair &pair)
{
    const struct {
        size_t nbytes, chunks[3];
    } cases[] = {{4 * MIB, {MIB, 2 * MIB, 4 * MIB}},
                 {16 * MIB, {2 * MIB, 4 * MIB, 8 * MIB}},
                 {64 * MIB, {4 * MIB, 8 * MIB, 16 * MIB}},
                 {256 * MIB, {8 * MIB, 16 * MIB, 32 * MIB}},
                 {GIB, {16 * MIB, 32 * MIB, 64 * MIB}}};
    for (auto &one : cases) {
        Fastest fastest;
        for (size_t chunk : one.chunks) {
            int calls = one.nbytes >= 256 * MIB ? 4 : 10;
            check(pair, one.nbytes, chunk);
            cudaGraphExec_t exec = capture(pair, one.nbytes, chunk, calls);
            auto launch = [&](int) { MUST(cudaGraphLaunch(exec, pair.pe[0].stream)); };
            fastest.offer(std::to_string(chunk / MIB) + " MiB chunks",
                          time_queued(pair, 1, calls, launch));
            MUST(cudaGraphExecDestroy(exec));
        }
        fastest.print("all_reduce_pipeline", one.nbytes);
    }
}
