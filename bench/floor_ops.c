/*
 * floor_ops.c - the simplest code that does the work of each operation.
 *
 * A flag in its own cache line, a sum with one pass over the inputs. It takes short cuts that a
 * library must not (exactly two processes, one type, no checks), so it is a bound, not a rival.
 * The same operations run in floor.c over memory of their own and in the nvs program over symmetric
 * memory, where their batches alternate with those of the library.
 */
#include "floor_ops.h"

#include <immintrin.h>
#include <string.h>

static struct floor_memory mem;
static int me;

void floor_open(const struct floor_memory *memory, int number)
{
    mem = *memory;
    me = number;
}

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void floor_barrier(void)
{
    static uint64_t rounds;
    rounds++;
    store(&mem.words->arrived[me].value, rounds);
    while (load(&mem.words->arrived[!me].value) < rounds)
        _mm_pause();
}

double floor_largest(double value)
{
    mem.words->time[me].value = value;
    floor_barrier();
    double other = mem.words->time[!me].value;
    floor_barrier();
    return value > other ? value : other;
}

static void barrier(size_t bytes)
{
    (void)bytes;
    floor_barrier();
}

static void ping_pong(size_t bytes)
{
    static uint64_t k;
    (void)bytes;
    k++;
    if (me == 0)
        store(&mem.words->flag[1].value, k);
    while (load(&mem.words->flag[me].value) < k)
        _mm_pause();
    if (me == 1)
        store(&mem.words->flag[0].value, k);
}

static void fetch_add(size_t bytes)
{
    (void)bytes;
    __atomic_fetch_add(&mem.words->counter.value, 1, __ATOMIC_SEQ_CST);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copy(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
}

static void put(size_t bytes)
{
    copy(mem.x[1], mem.own, bytes);
}

static void get(size_t bytes)
{
    copy(mem.own, mem.x[1], bytes);
}

/* One float further than its source: what a slice of a tensor is like. */
static void put_misaligned(size_t bytes)
{
    copy(mem.x[1] + 4, mem.own, bytes);
}

static void get_misaligned(size_t bytes)
{
    copy(mem.own + 4, mem.x[1], bytes);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void fill(size_t bytes)
{
    bench_fill(mem.x[me], mem.y[me], bytes, me);
    floor_barrier();
}

static int is_wrong(size_t bytes)
{
    return bench_differs(mem.y[me], bytes, 3);
}

/* One float: it travels in the word that carries its own sequence number. */
static void reduce_word(const float *x, float *y)
{
    static uint64_t sequence;
    uint32_t bits;
    uint64_t other;
    memcpy(&bits, x, sizeof bits);
    store(&mem.words->packed[me].value, ++sequence << 32 | bits);
    while ((other = load(&mem.words->packed[!me].value)) >> 32 < (sequence & 0xffffffff))
        _mm_pause();
    bits = (uint32_t)other;
    float value;
    memcpy(&value, &bits, sizeof value);
    *y = *x + value;
}

__attribute__((target("avx512f"))) static void sum_streamed_avx512(const float *a, const float *b,
                                                                   float *y, float *z, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __m512 sum = _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i));
        _mm512_stream_ps(y + i, sum);
        _mm512_stream_ps(z + i, sum);
    }
    _mm_sfence();
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
static void all_reduce(size_t bytes)
{
    size_t n = bytes / sizeof(float), half = n / 2, at = me ? half : 0;
    float *const *x = (float *const *)mem.x, *const *y = (float *const *)mem.y;
    if (n == 1) {
        reduce_word(x[me], y[me]);
        return;
    }
    floor_barrier();
    if (bytes <= 4u << 20)
        sum_cached(x[0] + at, x[1] + at, y[0] + at, y[1] + at, half);
    else if (__builtin_cpu_supports("avx512f"))
        sum_streamed_avx512(x[0] + at, x[1] + at, y[0] + at, y[1] + at, half);
    else
        sum_streamed(x[0] + at, x[1] + at, y[0] + at, y[1] + at, half);
    floor_barrier();
}

const struct operation floor_operations[] = {
    {"small", "put_ping_pong", ON_ALL, ping_pong, .sizes = &word_sizes, .parts = 2},
    {"static", "put_ping_pong_static", ON_ALL, ping_pong, .sizes = &word_sizes, .parts = 2},
    {"small", "fetch_add", ON_ONE, fetch_add, .sizes = &word_sizes},
    {"small", "barrier", ON_ALL, barrier, .sizes = &no_bytes},
    {"copy", "put", ON_ONE, put, .sizes = &copy_sizes},
    {"copy", "get", ON_ONE, get, .sizes = &copy_sizes},
    {"copy", "put_misaligned", ON_ONE, put_misaligned, .sizes = &copy_sizes},
    {"copy", "get_misaligned", ON_ONE, get_misaligned, .sizes = &copy_sizes},
    {"reduce", "all_reduce", EACH, all_reduce, .sizes = &reduce_sizes, .prepare = fill,
     .wrong = is_wrong},
    {0},
};
