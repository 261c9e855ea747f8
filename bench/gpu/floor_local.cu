/*
 * floor_local.cu - one GPU by itself: what a call costs, and plain loads, stores and atomics of a
 * kernel to memory of its own GPU, which is what the device API does when a PE is its own target.
 */
#include "harness.cuh"

#include <chrono>

static __global__ void empty_kernel() {}

/* A put has a source, which is loaded: from the second cache, since the fence empties the first
 * one. Each store is followed by the fence of a quiet. */
static __global__ void put_words(volatile uint64_t *word, const uint64_t *src, int n)
{
    for (int i = 0; i < n; i++) {
        *word = *src;
        __threadfence_system();
    }
}

/* One fence at the end. */
static __global__ void p_words(volatile uint64_t *word, int n)
{
    for (int i = 0; i < n; i++)
        *word = i;
    __threadfence_system();
}

/* Each load waits for the one before: its address depends on what came back. */
static __global__ void g_words(volatile uint64_t *word, int n, unsigned long long *last)
{
    uint64_t got = 0;
    for (int i = 0; i < n; i++)
        got = word[got >> 63];
    *last = got;
}

static __global__ void fetch_adds(unsigned long long *word, int n, unsigned long long *last)
{
    unsigned long long old = 0;
    for (int i = 0; i < n; i++)
        old = atomicAdd_system(word, 1 + (old >> 63));
    *last = old;
}

static __global__ void adds(unsigned long long *word, int n)
{
    for (int i = 0; i < n; i++)
        atomicAdd_system(word, 1ull);
    __threadfence_system();
}

/* The data, then a signal with release. */
static __global__ void put_signal_words(volatile uint64_t *word, const uint64_t *src,
                                        uint32_t *signal, int n)
{
    for (int i = 0; i < n; i++) {
        *word = *src;
        store_release(signal, i);
    }
    __threadfence_system();
}

/* Two blocks play ping-pong: a store, and at the other end a poll that ends with an acquire. */
static __global__ void signal_blocks(uint32_t *words, int n)
{
    uint32_t *mine = words + 32 * blockIdx.x, *other = words + 32 * (1 - blockIdx.x);
    for (uint32_t i = 1, rounds = 0; i <= (uint32_t)n; i++) {
        if (blockIdx.x == 0)
            store_relaxed(other, i);
        while (load_relaxed(mine) != i)
            waited(&rounds);
        load_acquire(mine);
        if (blockIdx.x == 1)
            store_relaxed(other, i);
        rounds = 0;
    }
    mine[0] = 0; /* for the next launch */
}

static __global__ void get_blocks(uint4 *dst, const volatile ulonglong2 *src, size_t n16, int n)
{
    for (int i = 0; i < n; i++) {
#pragma unroll 4
        for (size_t k = threadIdx.x; k < n16; k += blockDim.x) {
            ulonglong2 word = {src[k].x, src[k].y};
            dst[k] = *(uint4 *)&word;
        }
        __syncthreads();
    }
}

/* One block copies, with eight loads in flight for each thread where there are so many, then
 * completes. */
static __global__ void put_blocks(uint4 *dst, const uint4 *src, size_t n16, int n)
{
    const size_t step = blockDim.x, rows = 8;
    for (int i = 0; i < n; i++) {
        size_t k = threadIdx.x;
        for (; k + (rows - 1) * step < n16; k += rows * step) {
            uint4 words[rows];
#pragma unroll
            for (size_t row = 0; row < rows; row++)
                words[row] = src[k + row * step];
#pragma unroll
            for (size_t row = 0; row < rows; row++)
                dst[k + row * step] = words[row];
        }
#pragma unroll 4
        for (; k < n16; k += step)
            dst[k] = src[k];
        __syncthreads();
        if (threadIdx.x == 0)
            __threadfence_system();
        __syncthreads();
    }
}

/* ---- in a kernel ----------------------------------------------------------------------------- */

template <class Launch> static Timing in_kernel(Pair &pair, int n, Launch launch, int each = 1)
{
    return time_queued(pair, 1, n * each, [&](int i) { launch(pair.pe[i], n); });
}

static void signals(Pair &pair)
{
    const int n = 10000;
    result("put_signal_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               put_signal_words<<<1, 1, 0, pe.stream>>>((uint64_t *)pe.out, (uint64_t *)pe.in,
                                                        pe.flags, count);
           }));
    result("signal_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               p_words<<<1, 1, 0, pe.stream>>>((uint64_t *)pe.out, count);
           }));
    pair.reset();
    result("signal_blocks_self", 8,
           in_kernel(
               pair, n,
               [](Pe &pe, int count) { signal_blocks<<<2, 1, 0, pe.stream>>>(pe.flags, count); },
               2));
    pair.reset();
}

static void words(Pair &pair)
{
    const int n = 10000;
    result("put_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               put_words<<<1, 1, 0, pe.stream>>>((uint64_t *)pe.out, (uint64_t *)pe.in, count);
           }));
    result("p_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               p_words<<<1, 1, 0, pe.stream>>>((uint64_t *)pe.out, count);
           }));
    MUST(cudaMemset(pair.pe[0].out, 0, 64));
    pair.wait();
    result("g_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               g_words<<<1, 1, 0, pe.stream>>>((uint64_t *)pe.out, count, pe.wrong);
           }));
    result("fetch_add_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               fetch_adds<<<1, 1, 0, pe.stream>>>((unsigned long long *)pe.out, count, pe.wrong);
           }));
    result("add_thread_self", 8, in_kernel(pair, n, [](Pe &pe, int count) {
               adds<<<1, 1, 0, pe.stream>>>((unsigned long long *)pe.out, count);
           }));
    unsigned long long counted = 0;
    MUST(cudaMemcpy(&counted, pair.pe[0].out, sizeof(counted), cudaMemcpyDeviceToHost));
    if (counted != 2ull * (REPETITIONS + 1) * n)
        failed(__FILE__, __LINE__, "the atomics", "did not count");
}

static void blocks(Pair &pair)
{
    for (size_t nbytes : {KIB, 16 * KIB, 256 * KIB}) {
        const int n = 200;
        for (auto [metric, threads] :
             {std::pair{"put_warp_self", 32}, std::pair{"put_block_self", 1024}}) {
            fill(pair, 0, nbytes, 3);
            Timing timing = in_kernel(pair, n, [&, threads = threads](Pe &pe, int count) {
                put_blocks<<<1, threads, 0, pe.stream>>>((uint4 *)pe.out, (uint4 *)pe.in,
                                                         nbytes / 16, count);
            });
            expect(pair, 0, "a copy in a kernel", 0, nbytes, 3, {0, 0});
            result(metric, nbytes, timing);
        }
        fill(pair, 0, nbytes, 5);
        Timing timing = in_kernel(pair, n, [&](Pe &pe, int count) {
            get_blocks<<<1, 1024, 0, pe.stream>>>((uint4 *)pe.out, (ulonglong2 *)pe.in, nbytes / 16,
                                                  count);
        });
        expect(pair, 0, "a get in a kernel", 0, nbytes, 5, {0, 0});
        result("get_block_self", nbytes, timing);
    }
}

void floor_local(Pair &pair)
{
    pair.use(0);
    words(pair);
    signals(pair);
    blocks(pair);
}

/* ---- calls of the host ----------------------------------------------------------------------- */

/* By the host's clock. apart: each is waited for before the next one begins. */
template <class Call> static Timing host_timed(cudaStream_t stream, bool apart, Call call)
{
    const int n = 200;
    std::vector<double> us;
    for (int repetition = 0; repetition <= REPETITIONS; repetition++) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < n; i++) {
            call();
            if (apart)
                MUST(cudaStreamSynchronize(stream));
        }
        MUST(cudaStreamSynchronize(stream));
        std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (repetition) /* the first one warms up */
            us.push_back(took.count() / n);
    }
    return timing_of(us);
}

void floor_calls(Pair &pair)
{
    Pe &pe = pair.pe[0];
    CUdeviceptr flag = (CUdeviceptr)pe.flags;
    auto launch = [&] { empty_kernel<<<1, 32, 0, pe.stream>>>(); };
    auto copy = [&] {
        MUST(cudaMemcpyAsync(pe.out, pe.in, 8, cudaMemcpyDeviceToDevice, pe.stream));
    };
    auto write = [&] {
        MUST_DRIVER(cuStreamWriteValue64(pe.stream, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    };
    auto wait = [&] {
        MUST_DRIVER(cuStreamWaitValue64(pe.stream, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    };
    pair.use(0);
    result("launch", 0, host_timed(pe.stream, true, launch));
    result("launch_pipelined", 0, host_timed(pe.stream, false, launch));
    result("copy", 8, host_timed(pe.stream, true, copy));
    result("copy_pipelined", 8, host_timed(pe.stream, false, copy));
    result("write_value", 8, host_timed(pe.stream, true, write));
    result("wait_value", 8, host_timed(pe.stream, true, wait));
    result("launch_graph", 0, time_graph(pair, 1, 100, [&](int) { launch(); }));
    result("copy_graph", 8, time_graph(pair, 1, 100, [&](int) { copy(); }));
}
