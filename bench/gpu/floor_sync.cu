/*
 * floor_sync.cu - what two GPUs need to agree: a barrier on a stream and in a kernel, a put with a
 * signal, a word there and back, an atomic.
 *
 * All with the order that the standards ask: a barrier is a release and an acquire, a put with
 * signal is a fence between data and signal. Only the words alone (p, signal) are relaxed, since
 * nothing depends on them. Barriers are shown with an acquire-release and with a sequentially
 * consistent fence.
 */
#include "harness.cuh"

constexpr int ROUNDS = 1000;

template <bool FULL> static __device__ void fence()
{
#if defined(__CUDA_ARCH__)
    if (FULL)
        asm volatile("fence.sc.sys;" ::: "memory");
    else
        asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

template <bool FULL>
static __device__ void barrier(uint32_t *mine, uint32_t *theirs, uint32_t number)
{
    uint32_t rounds = 0;
    fence<FULL>();
    store_relaxed(theirs, number);
    while ((int32_t)(load_relaxed(mine) - number) < 0)
        waited(&rounds);
    fence<FULL>();
}

template <bool FULL>
static __global__ void stream_barrier(uint32_t *mine, uint32_t *theirs, uint32_t *epoch)
{
    uint32_t number = *epoch + 1;
    barrier<FULL>(mine, theirs, number);
    *epoch = number;
}

/* CHECK: before it enters, each PE writes the number of the round into a word of the other, with a
 * plain store; afterwards it must find that number, or the next one. */
template <bool FULL, bool CHECK>
static __global__ void kernel_barrier(uint32_t *mine, uint32_t *theirs, volatile uint32_t *my_word,
                                      volatile uint32_t *their_word, int n,
                                      unsigned long long *wrong)
{
    for (int i = 1; i <= n; i++) {
        if (CHECK && threadIdx.x == blockDim.x - 1)
            *their_word = i;
        __syncthreads();
        if (threadIdx.x == 0)
            barrier<FULL>(mine, theirs, i);
        __syncthreads();
        if (CHECK && threadIdx.x == blockDim.x - 1 && *my_word != (uint32_t)i &&
            *my_word != (uint32_t)i + 1)
            atomicAdd(wrong, 1ull);
    }
}

struct Message {
    char *dst;              /* at the other PE */
    const char *src, *mine; /* mine: what arrives here */
    size_t nbytes;
    uint32_t *flag, *their_flag;
    unsigned long long *wrong;
};

static __device__ void await(const uint32_t *flag, uint32_t number)
{
    uint32_t rounds = 0;
    if (threadIdx.x == 0)
        while ((int32_t)(load_acquire(flag) - number) < 0)
            waited(&rounds);
    __syncthreads();
}

/* All threads store, the barrier of the block orders their stores before thread 0's release. */
static __device__ void put_signal(const Message &m, uint32_t number)
{
    if (m.nbytes == 8) {
        if (threadIdx.x == 0)
            *(uint64_t *)m.dst = *(const uint64_t *)m.src;
    } else {
        for (size_t i = threadIdx.x; i < m.nbytes / 16; i += blockDim.x)
            ((uint4 *)m.dst)[i] = ((const uint4 *)m.src)[i];
    }
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(m.their_flag, number);
}

/* Every word of a message holds the number of its round. */
static __device__ void write_message(const Message &m, uint32_t number)
{
    for (size_t i = threadIdx.x; i < m.nbytes / 4; i += blockDim.x)
        ((uint32_t *)m.src)[i] = number;
    __syncthreads();
}

static __device__ void read_message(const Message &m, uint32_t number)
{
    for (size_t i = threadIdx.x; i < m.nbytes / 4; i += blockDim.x)
        if (((const volatile uint32_t *)m.mine)[i] != number)
            atomicAdd(m.wrong, 1ull);
    __syncthreads();
}

/* PE 0 sends first; half of the time of a round is one way. */
template <bool CHECK> static __global__ void ping_pong(Message m, int me, int n)
{
    for (int i = 1; i <= n; i++) {
        for (int turn = 0; turn < 2; turn++) {
            if (turn == me) {
                if (CHECK)
                    write_message(m, 2 * i + me);
                put_signal(m, i);
            } else {
                await(m.flag, i);
                if (CHECK)
                    read_message(m, 2 * i + 1 - me);
            }
        }
    }
}

static __global__ void word_ping_pong(uint64_t *mine, uint64_t *theirs, int me, int n)
{
    uint32_t rounds = 0;
    for (uint64_t i = 1; i <= (uint64_t)n; i++) {
        if (me == 0)
            *(volatile uint64_t *)theirs = i;
        while (*(volatile uint64_t *)mine < i)
            waited(&rounds);
        rounds = 0;
        if (me == 1)
            *(volatile uint64_t *)theirs = i;
    }
}

/* Each waits for the one before: what it adds depends on what came back. */
static __global__ void fetch_add(unsigned long long *word, int n, unsigned long long *last)
{
    unsigned long long old = 0;
    for (int i = 0; i < n; i++)
        old = atomicAdd_system(word, 1 + (old >> 63));
    *last = old;
}

/* ---- host ------------------------------------------------------------------------------------ */

static void none_wrong(Pair &pair, const char *what)
{
    for (int i = 0; i < 2; i++) {
        unsigned long long wrong = 0;
        pair.use(i);
        MUST(cudaMemcpy(&wrong, pair.pe[i].wrong, sizeof(wrong), cudaMemcpyDeviceToHost));
        if (wrong)
            failed(__FILE__, __LINE__, what, "came before what it was to come after");
        MUST(cudaMemset(pair.pe[i].wrong, 0, sizeof(wrong)));
    }
}

static void clear_wrong(Pair &pair)
{
    for (int i = 0; i < 2; i++) {
        pair.use(i);
        MUST(cudaMemset(pair.pe[i].wrong, 0, sizeof(*pair.pe[i].wrong)));
    }
    pair.reset();
}

template <bool FULL> static void barriers(Pair &pair, const char *stream, const char *kernel)
{
    auto in_kernel = [&](int i, auto function) {
        Pe &me = pair.pe[i], &other = pair.pe[1 - i];
        function<<<1, 256, 0, me.stream>>>(me.flags, other.flags, me.flags + 64, other.flags + 64,
                                           ROUNDS, me.wrong);
    };
    clear_wrong(pair);
    result(stream, 0, time_graph(pair, 2, 100, [&](int i) {
               Pe &me = pair.pe[i];
               stream_barrier<FULL>
                   <<<1, 1, 0, me.stream>>>(me.flags, pair.pe[1 - i].flags, me.counters);
           }));
    clear_wrong(pair);
    time_once(pair, 2, [&](int i) { in_kernel(i, kernel_barrier<FULL, true>); });
    none_wrong(pair, "a barrier");
    std::vector<double> us;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        pair.reset();
        us.push_back(time_once(pair, 2, [&](int i) { in_kernel(i, kernel_barrier<FULL, false>); }) /
                     ROUNDS);
    }
    result(kernel, 0, timing_of(us));
}

static Message message(const Pair &pair, int i, size_t nbytes)
{
    const Pe &me = pair.pe[i], &other = pair.pe[1 - i];
    return {other.out, me.in, me.out, nbytes, me.flags, other.flags, me.wrong};
}

static void put_signals(Pair &pair, size_t nbytes)
{
    Fastest fastest;
    for (int threads : {32, 256, 1024}) {
        if ((size_t)threads * 4 > std::max<size_t>(nbytes, 128))
            continue;
        clear_wrong(pair);
        time_once(pair, 2, [&](int i) {
            ping_pong<true><<<1, threads, 0, pair.pe[i].stream>>>(message(pair, i, nbytes), i, 100);
        });
        none_wrong(pair, "a signal");
        std::vector<double> us;
        for (int repetition = 0; repetition < REPETITIONS; repetition++) {
            pair.reset();
            us.push_back(time_once(pair, 2,
                                   [&](int i) {
                                       ping_pong<false><<<1, threads, 0, pair.pe[i].stream>>>(
                                           message(pair, i, nbytes), i, ROUNDS);
                                   }) /
                         (2 * ROUNDS));
        }
        fastest.offer(std::to_string(threads) + " threads", timing_of(us));
    }
    fastest.print("put_signal_block", nbytes);
}

static void words(Pair &pair)
{
    std::vector<double> us;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        pair.reset();
        us.push_back(time_once(pair, 2,
                               [&](int i) {
                                   word_ping_pong<<<1, 1, 0, pair.pe[i].stream>>>(
                                       (uint64_t *)pair.pe[i].flags,
                                       (uint64_t *)pair.pe[1 - i].flags, i, 10 * ROUNDS);
                               }) /
                     (20 * ROUNDS));
    }
    result("p_ping_pong", 8, timing_of(us));
}

static void atomics(Pair &pair)
{
    std::vector<double> us;
    unsigned long long *word = (unsigned long long *)pair.pe[1].flags, last = 0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        pair.reset();
        us.push_back(time_once(pair, 1,
                               [&](int i) {
                                   fetch_add<<<1, 1, 0, pair.pe[i].stream>>>(word, ROUNDS,
                                                                             pair.pe[i].wrong);
                               }) /
                     ROUNDS);
    }
    pair.use(0);
    MUST(cudaMemcpy(&last, pair.pe[0].wrong, sizeof(last), cudaMemcpyDeviceToHost));
    if (last != ROUNDS - 1)
        failed(__FILE__, __LINE__, "fetch-add", "did not count");
    result("fetch_add", 8, timing_of(us));
}

void floor_sync(Pair &pair)
{
    barriers<false>(pair, "barrier_stream", "barrier_block");
    barriers<true>(pair, "barrier_stream_sc", "barrier_block_sc");
    for (size_t nbytes : {size_t{8}, KIB, 16 * KIB, 64 * KIB, 256 * KIB})
        put_signals(pair, nbytes);
    words(pair);
    atomics(pair);
}
