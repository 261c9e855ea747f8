/*
 * floor.c - what this machine can do: two pinned processes over one shared mapping, no library.
 *
 * The metrics have the names of shmem_bench.c. Every loop is the simplest code that does the work:
 * a flag in its own cache line, a sum with one pass over the inputs. It takes short cuts that a
 * library must not (exactly two processes, one type, no checks), so it is a bound, not a rival.
 */
#include "bench.h"

#include <immintrin.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct line {
    _Alignas(128) uint64_t value;
};

static struct shared {
    struct line flag[2], arrived[2], packed[2], counter;
    double mean[2];
} * shared;

static int me;
static uint64_t rounds;

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void barrier(void)
{
    rounds++;
    store(&shared->arrived[me].value, rounds);
    while (load(&shared->arrived[!me].value) < rounds)
        _mm_pause();
}

static void bench_ping_pong(void)
{
    double us[BATCHES];
    uint64_t k = 0;
    for (int batch = -1; batch < BATCHES; batch++) {
        barrier();
        double start = now_us();
        for (int i = 0; i < 5000; i++) {
            k++;
            if (me == 0)
                store(&shared->flag[1].value, k);
            while (load(&shared->flag[me].value) < k)
                ;
            if (me == 1)
                store(&shared->flag[0].value, k);
        }
        if (batch >= 0)
            us[batch] = (now_us() - start) / 5000 / 2;
    }
    if (me == 0)
        report("put_ping_pong", 8, us);
}

static void bench_barrier(void)
{
    double us[BATCHES];
    for (int batch = -1; batch < BATCHES; batch++) {
        barrier();
        double start = now_us();
        for (int i = 0; i < 5000; i++)
            barrier();
        if (batch >= 0)
            us[batch] = (now_us() - start) / 5000;
    }
    if (me == 0)
        report("barrier", 0, us);
}

static void bench_fetch_add(void)
{
    double us[BATCHES];
    for (int batch = -1; batch < BATCHES; batch++) {
        barrier();
        double start = now_us();
        for (int i = 0; me == 0 && i < 5000; i++)
            __atomic_fetch_add(&shared->counter.value, 1, __ATOMIC_SEQ_CST);
        if (batch >= 0)
            us[batch] = (now_us() - start) / 5000;
        barrier();
    }
    if (me == 0)
        report("fetch_add", 8, us);
}

static void bench_copy(const char *metric, char *to, const char *from, size_t bytes)
{
    double us[BATCHES];
    int n = repetitions(bytes);
    for (int batch = -1; batch < BATCHES; batch++) {
        barrier();
        double start = now_us();
        for (int i = 0; me == 0 && i < n; i++) {
            memcpy(to, from, bytes);
            __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
        }
        if (batch >= 0)
            us[batch] = (now_us() - start) / n;
        barrier();
    }
    if (me == 0)
        report(metric, bytes, us);
}

/* One float: it travels in the word that carries its own sequence number. */
static void reduce_word(const float *x, float *y)
{
    static uint64_t sequence;
    uint32_t bits;
    uint64_t other;
    memcpy(&bits, x, sizeof bits);
    store(&shared->packed[me].value, ++sequence << 32 | bits);
    while ((other = load(&shared->packed[!me].value)) >> 32 < sequence)
        ;
    bits = (uint32_t)other;
    float value;
    memcpy(&value, &bits, sizeof value);
    *y = *x + value;
}

__attribute__((target("avx2"))) static void sum_streamed(const float *a, const float *b, float *y,
                                                         float *z, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        __m256 sum = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        _mm256_stream_ps(y + i, sum);
        _mm256_stream_ps(z + i, sum);
    }
    _mm_sfence();
}

__attribute__((target("avx2"))) static void sum_cached(const float *a, const float *b, float *y,
                                                       float *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = z[i] = a[i] + b[i];
}

/* Each process owns half: reads it from both inputs, stores it to both outputs. */
static void reduce_halves(float *const x[2], float *const y[2], size_t n)
{
    size_t half = n / 2, at = me ? half : 0;
    barrier();
    if (n * sizeof(float) <= 4u << 20)
        sum_cached(x[0] + at, x[1] + at, y[0] + at, y[1] + at, half);
    else
        sum_streamed(x[0] + at, x[1] + at, y[0] + at, y[1] + at, half);
    barrier();
}

static void bench_reduce(float *const x[2], float *const y[2], size_t bytes)
{
    double us[BATCHES];
    size_t n = bytes / sizeof(float);
    int repeat = repetitions(bytes);
    for (size_t i = 0; i < n; i++)
        x[me][i] = (float)(me + 1);
    for (int batch = -1; batch < BATCHES; batch++) {
        double sum = 0;
        for (int i = 0; i < repeat; i++) {
            barrier();
            double start = now_us();
            if (n == 1)
                reduce_word(x[me], y[me]);
            else
                reduce_halves(x, y, n);
            sum += now_us() - start;
        }
        shared->mean[me] = sum / repeat;
        barrier();
        if (batch >= 0)
            us[batch] = (shared->mean[0] + shared->mean[1]) / 2;
        barrier();
    }
    if (y[me][0] != 3 || y[me][n - 1] != 3) {
        fprintf(stderr, "floor: wrong sum of %zu bytes\n", bytes);
        exit(1);
    }
    if (me == 0)
        report("all_reduce", bytes, us);
}

int main(void)
{
    int kind = MAP_SHARED | MAP_ANONYMOUS;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, kind, -1, 0);
    char *memory = mmap(NULL, 4 * MAX_BYTES, PROT_READ | PROT_WRITE, kind, -1, 0);
    char *private = malloc(MAX_BYTES);
    if (shared == MAP_FAILED || memory == MAP_FAILED || !private)
        return 1;
    pid_t child = fork();
    me = child ? 0 : 1;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET((size_t)me, &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);
    float *x[2] = {(float *)memory, (float *)(memory + MAX_BYTES)};
    float *y[2] = {(float *)(memory + 2 * MAX_BYTES), (float *)(memory + 3 * MAX_BYTES)};
    memset(x[me], 1, MAX_BYTES);
    memset(y[me], 0, MAX_BYTES);
    memset(private, 1, MAX_BYTES);
    bench_ping_pong();
    bench_barrier();
    bench_fetch_add();
    for (size_t bytes = 65536; bytes <= 16u << 20; bytes *= 16) {
        bench_copy("put", (char *)x[1], private, bytes);
        bench_copy("get", private, (char *)x[1], bytes);
    }
    for (size_t i = 0; i < NREDUCE; i++)
        bench_reduce(x, y, reduce_bytes[i]);
    int status = 0;
    if (child)
        waitpid(child, &status, 0);
    return status != 0;
}
