/*
 * harness.cuh - what the floor programs share: two PEs, the clock, and the checks.
 *
 * The two PEs are two streams of one process: on two GPUs with peer access, or both on one GPU,
 * where kernels of both run side by side. That is a short cut that a library cannot take; it makes
 * the floor.
 *
 * How a collective is timed. Each PE captures the same number of calls in a CUDA graph. Both
 * streams wait at a gate, a word of host memory, until all is queued, so that neither PE starts
 * ahead. Then the gate opens, and events around each graph give its time; the slower PE counts. The
 * median of REPETITIONS is printed, and the best.
 *
 * How it is checked. Before it is timed, every operation runs a few rounds with new data each, and
 * a kernel compares every element at both PEs with what it must be. A wrong element ends the
 * program. A wait that lasts too long ends its kernel by a trap, so that nothing hangs.
 */
#ifndef BENCH_GPU_HARNESS_CUH
#define BENCH_GPU_HARNESS_CUH

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t must_status = (call);                                                          \
        if (must_status != cudaSuccess)                                                            \
            failed(__FILE__, __LINE__, #call, cudaGetErrorString(must_status));                    \
    } while (0)
#define MUST_DRIVER(call)                                                                          \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS)                                                                \
            failed(__FILE__, __LINE__, #call, "the driver refuses");                               \
    } while (0)

[[noreturn]] void failed(const char *file, int line, const char *what, const char *why);

constexpr int REPETITIONS = 9;
constexpr size_t KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30;

/* ---- the PEs --------------------------------------------------------------------------------- */

struct Pe {
    int device;
    char *in, *out, *scratch; /* Pair::bytes each; scratch has three times as much */
    uint32_t *flags;          /* written by the other PE */
    uint32_t *counters;       /* this PE's own: epochs */
    unsigned long long *wrong;
    cudaStream_t stream, copies;
    cudaEvent_t begin, end;
};

constexpr size_t FLAG_BYTES = 64 * KIB;

struct Pair {
    Pe pe[2];
    bool apart;   /* on two GPUs */
    size_t bytes; /* of in and of out */
    uint32_t *gate;
    CUdeviceptr gate_at;
    uint32_t gates;

    explicit Pair(size_t capacity);
    void use(int i) const { MUST(cudaSetDevice(pe[i].device)); }
    void wait() const; /* until both are idle */
    void reset();      /* flags and counters to 0 */
    void fill_scratch(uint32_t word);
    void close_gate(); /* both streams wait from here on */
    void open_gate();
};

/* ---- device code that all share -------------------------------------------------------------- */

/* An element of PE `pe` in round `round`: a small whole number, so that a sum of two is exact. */
__host__ __device__ inline float element(uint32_t round, int pe, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + round * 40503u + (uint32_t)pe * 97u;
    return (float)((x >> 9) % 1000u) - 499.0f;
}

/* What is expected in out[i]: which PEs' elements are added, and from which index on. */
struct Expect {
    int from; /* PE, or 2: the sum of both */
    size_t first;
};

#if defined(__CUDA_ARCH__)
/* One round of waiting; a wait of some ten seconds is an error of the program. */
__device__ __forceinline__ void waited(uint32_t *rounds)
{
    if (++*rounds == 1u << 24)
        __trap();
}
__device__ __forceinline__ void store_relaxed(uint32_t *at, uint32_t value)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ __forceinline__ uint32_t load_relaxed(const uint32_t *at)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ __forceinline__ void store_release(uint32_t *at, uint32_t value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ __forceinline__ uint32_t load_acquire(const uint32_t *at)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
/* Two words of 8 bytes, each of which arrives whole. */
__device__ __forceinline__ void store_pair(void *at, uint64_t low, uint64_t high)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(low), "l"(high)
                 : "memory");
}
__device__ __forceinline__ void load_pair(const void *at, uint64_t *low, uint64_t *high)
{
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(*low), "=l"(*high)
                 : "l"(at)
                 : "memory");
}
#else /* never called on the host; nvcc's host pass wants to see them */
__device__ void waited(uint32_t *rounds);
__device__ void store_relaxed(uint32_t *at, uint32_t value);
__device__ uint32_t load_relaxed(const uint32_t *at);
__device__ void store_release(uint32_t *at, uint32_t value);
__device__ uint32_t load_acquire(const uint32_t *at);
__device__ void store_pair(void *at, uint64_t low, uint64_t high);
__device__ void load_pair(const void *at, uint64_t *low, uint64_t *high);
#endif

/* ---- checking -------------------------------------------------------------------------------- */

/* New elements in PE i's in, and nothing that could be right in its out; in its stream. */
void fill(Pair &pair, int i, size_t nbytes, uint32_t round);
/* nbytes of out, from `at` on. Ends the program if an element is wrong. */
void expect(Pair &pair, int i, const char *what, size_t at, size_t nbytes, uint32_t round,
            Expect expected);

/* ---- the clock ------------------------------------------------------------------------------- */

struct Timing {
    double median, best; /* microseconds of one call */
};

inline Timing timing_of(std::vector<double> us)
{
    std::sort(us.begin(), us.end());
    return {us[us.size() / 2], us[0]};
}

/* Runs what `queue(i)` puts into PE i's stream, behind the gate; microseconds of the slower PE.
 * npes: how many of the PEs take part. */
template <class Queue> double time_once(Pair &pair, int npes, Queue queue)
{
    float slowest = 0, ms = 0;
    pair.close_gate();
    for (int i = 0; i < npes; i++) {
        pair.use(i);
        MUST(cudaEventRecord(pair.pe[i].begin, pair.pe[i].stream));
        queue(i);
        MUST(cudaEventRecord(pair.pe[i].end, pair.pe[i].stream));
    }
    pair.open_gate();
    pair.wait();
    for (int i = 0; i < npes; i++) {
        MUST(cudaEventElapsedTime(&ms, pair.pe[i].begin, pair.pe[i].end));
        slowest = std::max(slowest, ms);
    }
    return slowest * 1e3;
}

template <class Queue> Timing time_queued(Pair &pair, int npes, int calls, Queue queue)
{
    std::vector<double> us;
    time_once(pair, npes, queue);
    for (int repetition = 0; repetition < REPETITIONS; repetition++)
        us.push_back(time_once(pair, npes, queue) / calls);
    return timing_of(us);
}

/* `call(i)` queues one call of PE i; `calls` of them are replayed as a graph. */
template <class Call> Timing time_graph(Pair &pair, int npes, int calls, Call call)
{
    cudaGraphExec_t exec[2] = {};
    pair.wait();
    for (int i = 0; i < npes; i++) {
        cudaGraph_t graph;
        pair.use(i);
        MUST(cudaStreamBeginCapture(pair.pe[i].stream, cudaStreamCaptureModeThreadLocal));
        for (int k = 0; k < calls; k++)
            call(i);
        MUST(cudaStreamEndCapture(pair.pe[i].stream, &graph));
        MUST(cudaGraphInstantiate(&exec[i], graph, 0));
        MUST(cudaGraphDestroy(graph));
    }
    Timing timing = time_queued(pair, npes, calls,
                                [&](int i) { MUST(cudaGraphLaunch(exec[i], pair.pe[i].stream)); });
    for (int i = 0; i < npes; i++)
        MUST(cudaGraphExecDestroy(exec[i]));
    return timing;
}

/* ---- results --------------------------------------------------------------------------------- */

inline void result(const char *metric, size_t nbytes, Timing timing)
{
    printf("RESULT %s %zu %.5f %.5f\n", metric, nbytes, timing.median, timing.best);
    fflush(stdout);
}

/* The fastest of several ways to do the same. */
struct Fastest {
    Timing timing = {1e30, 1e30};
    std::string how;

    void offer(const std::string &name, Timing found)
    {
        if (found.median < timing.median) {
            timing = found;
            how = name;
        }
    }
    void print(const char *metric, size_t nbytes) const
    {
        if (how.empty())
            return;
        result(metric, nbytes, timing);
        printf("# %s %zu: %s\n", metric, nbytes, how.c_str());
    }
};

/* ---- the parts of the floor program ---------------------------------------------------------- */

void floor_reduce(Pair &pair);   /* all-reduce by kernels */
void floor_pipeline(Pair &pair); /* all-reduce by copy engines */
void floor_sync(Pair &pair);     /* barriers, signals, words */
void floor_move(Pair &pair);     /* bandwidth */
void floor_exchange(Pair &pair); /* broadcast and all-to-all */
void floor_calls(Pair &pair);    /* what one GPU takes for a call */
void floor_local(Pair &pair);    /* loads and stores of a kernel to its own GPU */
void floor_bulk(Pair &pair);     /* ways to copy in a kernel; no row's floor */

#endif
