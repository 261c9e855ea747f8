/*
 * nvshmem_peer.cu - the same operations through NVSHMEM, for comparison. Compiled with nvs's
 * headers and library it measures nvs; so the loops in kernels (self) are the same for both.
 *
 * usage: nvshmem_peer NPES PART...     (reduce sync move exchange self calls)
 *
 * Forks its PEs, one for each GPU. Collectives run back to back on a stream, as NVSHMEM offers
 * them. Prints RESULT metric bytes median_us best_us. Results are checked once before the clock
 * starts.
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t must_status = (call);                                                          \
        if (must_status != cudaSuccess) {                                                          \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(must_status));                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

constexpr int REPETITIONS = 7;
constexpr size_t KIB = 1 << 10, MIB = 1 << 20, CAPACITY = 256 * MIB;

static struct {
    int me, npes, other;
    char *dst, *src;
    uint64_t *words;
    unsigned long long *last;
    cudaStream_t stream;
    cudaEvent_t begin, end;
} here;

/* ---- kernels --------------------------------------------------------------------------------- */

__global__ void p_ping_pong(uint64_t *word, int me, int other, int n)
{
    for (int i = 1; i <= n; i++) {
        if (me == 0)
            nvshmem_uint64_p(word, i, other);
        while (*(volatile uint64_t *)word < (uint64_t)i)
            ;
        if (me == 1)
            nvshmem_uint64_p(word, i, other);
    }
}

__global__ void signal_ping_pong(uint64_t *word, int me, int other, int n)
{
    for (int i = 1; i <= n; i++) {
        if (me == 0)
            nvshmemx_signal_op(word, i, NVSHMEM_SIGNAL_SET, other);
        nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, i);
        if (me == 1)
            nvshmemx_signal_op(word, i, NVSHMEM_SIGNAL_SET, other);
    }
}

__global__ void put_signal_ping_pong(char *dst, const char *src, size_t nbytes, uint64_t *word,
                                     int me, int other, int n)
{
    for (int i = 1; i <= n; i++)
        for (int turn = 0; turn < 2; turn++) {
            if (turn == me) {
                nvshmemx_putmem_signal_block(dst, src, nbytes, word, i, NVSHMEM_SIGNAL_SET, other);
            } else {
                if (threadIdx.x == 0)
                    nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, i);
                __syncthreads();
            }
        }
}

__global__ void barriers(int n)
{
    for (int i = 0; i < n; i++)
        nvshmemx_barrier_all_block();
}

__global__ void puts_of_grid(char *dst, const char *src, size_t share, int pe)
{
    nvshmemx_putmem_block(dst + blockIdx.x * share, src + blockIdx.x * share, share, pe);
}

__global__ void fetch_adds(uint64_t *word, int pe, int n, unsigned long long *last)
{
    uint64_t old = 0;
    for (int i = 0; i < n; i++)
        old = nvshmem_uint64_atomic_fetch_add(word, 1 + (old >> 63), pe);
    *last = old;
}

__global__ void adds(uint64_t *word, int pe, int n)
{
    for (int i = 0; i < n; i++)
        nvshmem_uint64_atomic_add(word, 1, pe);
    nvshmem_quiet();
}

__global__ void p_words(uint64_t *word, int pe, int n)
{
    for (int i = 0; i < n; i++)
        nvshmem_uint64_p(word, i, pe);
    nvshmem_quiet();
}

__global__ void put_words(uint64_t *dst, const uint64_t *src, int pe, int n)
{
    for (int i = 0; i < n; i++) {
        nvshmem_putmem(dst, src, sizeof(*src), pe);
        nvshmem_quiet();
    }
}

__global__ void g_words(const uint64_t *word, int pe, int n, unsigned long long *last)
{
    uint64_t got = 0;
    for (int i = 0; i < n; i++)
        got = nvshmem_uint64_g(word + (got >> 63), pe);
    *last = got;
}

__global__ void put_signal_words(uint64_t *dst, const uint64_t *src, uint64_t *signal, int pe,
                                 int n)
{
    for (int i = 0; i < n; i++)
        nvshmem_putmem_signal(dst, src, sizeof(*src), signal, i, NVSHMEM_SIGNAL_SET, pe);
    nvshmem_quiet();
}

__global__ void signal_words(uint64_t *signal, int pe, int n)
{
    for (int i = 0; i < n; i++)
        nvshmemx_signal_op(signal, i, NVSHMEM_SIGNAL_SET, pe);
    nvshmem_quiet();
}

/* Two blocks play ping-pong. */
__global__ void signal_blocks(uint64_t *words, int pe, int n)
{
    uint64_t *mine = words + 16 * blockIdx.x, *other = words + 16 * (1 - blockIdx.x);
    for (int i = 1; i <= n; i++) {
        if (blockIdx.x == 0)
            nvshmemx_signal_op(other, i, NVSHMEM_SIGNAL_SET, pe);
        nvshmem_signal_wait_until(mine, NVSHMEM_CMP_GE, i);
        if (blockIdx.x == 1)
            nvshmemx_signal_op(other, i, NVSHMEM_SIGNAL_SET, pe);
    }
}

__global__ void get_blocks(char *dst, const char *src, size_t nbytes, int pe, int n)
{
    for (int i = 0; i < n; i++)
        nvshmemx_getmem_block(dst, src, nbytes, pe);
}

__global__ void put_warps(char *dst, const char *src, size_t nbytes, int pe, int n)
{
    for (int i = 0; i < n; i++) {
        nvshmemx_putmem_warp(dst, src, nbytes, pe);
        if (threadIdx.x == 0)
            nvshmem_quiet();
        __syncwarp();
    }
}

__global__ void put_blocks(char *dst, const char *src, size_t nbytes, int pe, int n)
{
    for (int i = 0; i < n; i++) {
        nvshmemx_putmem_block(dst, src, nbytes, pe);
        if (threadIdx.x == 0)
            nvshmem_quiet();
        __syncthreads();
    }
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* Time of PE 0 for what run() puts into the stream, divided by n. */
template <class Run> static void timed(const char *metric, size_t nbytes, int n, Run run)
{
    std::vector<double> us;
    for (int repetition = 0; repetition <= REPETITIONS; repetition++) {
        float ms = 0;
        MUST(cudaMemset(here.words, 0, 4096));
        MUST(cudaDeviceSynchronize());
        nvshmem_barrier_all();
        MUST(cudaEventRecord(here.begin, here.stream));
        run();
        MUST(cudaEventRecord(here.end, here.stream));
        MUST(cudaStreamSynchronize(here.stream));
        MUST(cudaEventElapsedTime(&ms, here.begin, here.end));
        if (repetition) /* the first one warms up */
            us.push_back(ms * 1e3 / n);
        nvshmem_barrier_all();
    }
    std::sort(us.begin(), us.end());
    if (here.me == 0) {
        printf("RESULT %s %zu %.5f %.5f\n", metric, nbytes, us[us.size() / 2], us[0]);
        fflush(stdout);
    }
}

/* `expected` in the first and the last word of dst, or the program ends. */
static void must_be(const char *what, size_t nbytes, float expected)
{
    float found[2];
    MUST(cudaStreamSynchronize(here.stream));
    nvshmem_barrier_all();
    MUST(cudaMemcpy(&found[0], here.dst, 4, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&found[1], here.dst + nbytes - 4, 4, cudaMemcpyDeviceToHost));
    if (found[0] != expected || found[1] != expected) {
        fprintf(stderr, "NVSHMEM: %s of %zu bytes: PE %d has %g and %g, not %g\n", what, nbytes,
                here.me, found[0], found[1], expected);
        _exit(1);
    }
}

static void fill_src(float value)
{
    std::vector<float> values(CAPACITY / 4, value);
    MUST(cudaMemcpy(here.src, values.data(), CAPACITY, cudaMemcpyHostToDevice));
    MUST(cudaMemset(here.dst, 0, CAPACITY));
    MUST(cudaDeviceSynchronize());
    nvshmem_barrier_all();
}

static int calls_of(size_t nbytes)
{
    return nbytes >= 16 * MIB ? 10 : 100;
}

/* ---- the parts ------------------------------------------------------------------------------- */

static void reduce()
{
    fill_src((float)(here.me + 1));
    for (size_t nbytes : {size_t{8}, KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB,
                          64 * MIB, 256 * MIB}) {
        auto call = [&] {
            nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, (float *)here.dst,
                                                (float *)here.src, nbytes / 4, here.stream);
        };
        int n = calls_of(nbytes);
        call();
        must_be("sum", nbytes, (float)(here.npes * (here.npes + 1) / 2));
        timed("all_reduce", nbytes, n, [&] {
            for (int i = 0; i < n; i++)
                call();
        });
    }
}

static void agree()
{
    cudaStream_t stream = here.stream;
    timed("barrier_stream", 0, 100, [&] {
        for (int i = 0; i < 100; i++)
            nvshmemx_barrier_all_on_stream(stream);
    });
    timed("barrier_block", 0, 1000, [&] { barriers<<<1, 256, 0, stream>>>(1000); });
    timed("p_ping_pong", 8, 20000,
          [&] { p_ping_pong<<<1, 1, 0, stream>>>(here.words, here.me, here.other, 10000); });
    timed("signal_ping_pong", 8, 20000,
          [&] { signal_ping_pong<<<1, 1, 0, stream>>>(here.words, here.me, here.other, 10000); });
    for (size_t nbytes : {size_t{8}, KIB, 16 * KIB, 64 * KIB, 256 * KIB})
        timed("put_signal_block", nbytes, 2000, [&] {
            put_signal_ping_pong<<<1, nbytes == 8 ? 32 : 1024, 0, stream>>>(
                here.dst, here.src, nbytes, here.words, here.me, here.other, 1000);
        });
    timed("fetch_add", 8, 10000, [&] {
        if (here.me == 0)
            fetch_adds<<<1, 1, 0, stream>>>(here.words, here.other, 10000, here.last);
    });
}

static void put_from_kernel(const char *metric, size_t nbytes, int blocks, bool both)
{
    size_t share = nbytes / blocks / 16 * 16;
    timed(metric, nbytes, 10, [&] {
        for (int i = 0; i < 10 && (both || here.me == 0); i++)
            puts_of_grid<<<blocks, 1024, 0, here.stream>>>(here.dst, here.src, share, here.other);
    });
}

static void move()
{
    fill_src((float)(here.me + 1));
    for (size_t nbytes : {64 * KIB, MIB, 16 * MIB, 256 * MIB})
        for (bool both : {false, true}) {
            timed(both ? "put_stream_both" : "put_stream", nbytes, 10, [&] {
                for (int i = 0; i < 10 && (both || here.me == 0); i++)
                    nvshmemx_putmem_on_stream(here.dst, here.src, nbytes, here.other, here.stream);
            });
            put_from_kernel(both ? "put_kernel_both" : "put_kernel", nbytes,
                            nbytes >= MIB ? 128 : 8, both);
        }
    if (here.me == 1)
        must_be("put", 256 * MIB, 1);
    else
        must_be("put", 256 * MIB, 2);
}

static void exchange()
{
    fill_src((float)(here.me + 1));
    for (size_t nbytes : {64 * KIB, MIB, 16 * MIB, 256 * MIB}) {
        int n = calls_of(nbytes);
        timed("all_to_all", nbytes, n, [&] {
            for (int i = 0; i < n; i++)
                nvshmemx_alltoallmem_on_stream(NVSHMEM_TEAM_WORLD, here.dst, here.src,
                                               nbytes / here.npes, here.stream);
        });
        timed("broadcast", nbytes, n, [&] {
            for (int i = 0; i < n; i++)
                nvshmemx_broadcastmem_on_stream(NVSHMEM_TEAM_WORLD, here.dst, here.src, nbytes, 0,
                                                here.stream);
        });
        must_be("broadcast", nbytes, 1);
    }
}

/* A PE is its own target. */
static void self()
{
    const int n = 10000;
    int me = here.me;
    cudaStream_t stream = here.stream;
    uint64_t *word = here.words;
    timed("put_thread_self", 8, n,
          [&] { put_words<<<1, 1, 0, stream>>>(word, (uint64_t *)here.src, me, n); });
    timed("p_thread_self", 8, n, [&] { p_words<<<1, 1, 0, stream>>>(word, me, n); });
    timed("g_thread_self", 8, n, [&] { g_words<<<1, 1, 0, stream>>>(word, me, n, here.last); });
    timed("fetch_add_thread_self", 8, n,
          [&] { fetch_adds<<<1, 1, 0, stream>>>(word, me, n, here.last); });
    timed("add_thread_self", 8, n, [&] { adds<<<1, 1, 0, stream>>>(word, me, n); });
    timed("put_signal_thread_self", 8, n, [&] {
        put_signal_words<<<1, 1, 0, stream>>>(word, (uint64_t *)here.src, word + 16, me, n);
    });
    timed("signal_thread_self", 8, n, [&] { signal_words<<<1, 1, 0, stream>>>(word, me, n); });
    timed("signal_blocks_self", 8, 2 * n, [&] { signal_blocks<<<2, 1, 0, stream>>>(word, me, n); });
    for (size_t nbytes : {KIB, 16 * KIB, 256 * KIB}) {
        timed("put_warp_self", nbytes, 200,
              [&] { put_warps<<<1, 32, 0, stream>>>(here.dst, here.src, nbytes, me, 200); });
        timed("put_block_self", nbytes, 200,
              [&] { put_blocks<<<1, 1024, 0, stream>>>(here.dst, here.src, nbytes, me, 200); });
        timed("get_block_self", nbytes, 200,
              [&] { get_blocks<<<1, 1024, 0, stream>>>(here.dst, here.src, nbytes, me, 200); });
    }
}

/* Calls of the host, likewise. */
static void calls()
{
    int me = here.me;
    cudaStream_t stream = here.stream;
    timed("put_stream_self", 8, 100, [&] {
        for (int i = 0; i < 100; i++)
            nvshmemx_putmem_on_stream(here.dst, here.src, 8, me, stream);
    });
    timed("barrier_stream_self", 0, 100, [&] {
        for (int i = 0; i < 100; i++)
            nvshmemx_barrier_all_on_stream(stream);
    });
}

/* ---- start ----------------------------------------------------------------------------------- */

static void open_here(int me, int npes, int link)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    MUST(cudaSetDevice(me));
    MUST(cudaFree(0));
    if (me == 0)
        nvshmemx_get_uniqueid(&id);
    if (npes > 1 && (me == 0 ? write(link, &id, sizeof(id)) : read(link, &id, sizeof(id))) !=
                        (ssize_t)sizeof(id))
        _exit(1);
    nvshmemx_set_attr_uniqueid_args(me, npes, &id, &attributes);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes)) {
        fprintf(stderr, "NVSHMEM does not start\n");
        _exit(1);
    }
    here.me = me;
    here.npes = npes;
    here.other = npes == 1 ? 0 : 1 - me;
    here.dst = (char *)nvshmem_malloc(CAPACITY);
    here.src = (char *)nvshmem_malloc(CAPACITY);
    here.words = (uint64_t *)nvshmem_malloc(4096);
    if (!here.dst || !here.src || !here.words)
        _exit(1);
    MUST(cudaMalloc(&here.last, 8));
    MUST(cudaStreamCreate(&here.stream));
    MUST(cudaEventCreate(&here.begin));
    MUST(cudaEventCreate(&here.end));
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } parts[] = {{"reduce", reduce},     {"sync", agree}, {"move", move},
                 {"exchange", exchange}, {"self", self},  {"calls", calls}};
    int npes = argc > 1 ? atoi(argv[1]) : 0, link[2], me = 0;
    if (npes < 1 || npes > 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, link))
        return 2;
    if (npes == 2 && fork() == 0)
        me = 1;
    open_here(me, npes, link[me]);
    for (int i = 2; i < argc; i++)
        for (auto &part : parts)
            if (!strcmp(part.name, argv[i]))
                part.run();
    nvshmem_barrier_all();
    nvshmem_finalize();
    int status = 0;
    if (npes == 2 && me == 0)
        wait(&status);
    return status != 0;
}
