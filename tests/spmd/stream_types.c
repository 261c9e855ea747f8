/*
 * stream_types.c - every typed operation on a stream gives what its relative without a stream
 * gives, for all types.
 */
#include "stream.h"
#include "types.h"

enum { N = 24 };

static cudaStream_t stream;
static char *heap;   /* symmetric: four areas of AREA bytes */
static char *result; /* ordinary */
enum { AREA = 64 * N * 16 };

static char *area(int i)
{
    return heap + i * AREA;
}

/* Bytes that are small numbers in every type: nothing overflows, no NaN. */
static void fill(char *bytes, size_t nelems, size_t size, int salt)
{
    memset(bytes, 0, nelems * size);
    for (size_t i = 0; i < nelems; i++)
        bytes[i * size + (size > 2 ? size - 2 : 0)] = (char)((i * 7 + (size_t)salt * 3) % 31 + 1);
}

static void clear(void)
{
    nvshmem_barrier_all();
    memset(area(1), 0, 3 * AREA);
    memset(result, 0, AREA);
    fill(area(0), AREA / 8, 8, spmd_me);
    nvshmem_barrier_all();
}

static void same(const char *what, const void *have, const void *want, size_t nbytes)
{
    CHECK(memcmp(have, want, nbytes) == 0, "%s differs from its relative without a stream", what);
}

/* ---- one-sided ------------------------------------------------------------------------------- */

#define RMA(name, type)                                                                            \
    static void rma_##name(void)                                                                   \
    {                                                                                              \
        int pe = right_pe();                                                                       \
        type *src = (type *)area(0), *a = (type *)area(1), *b = (type *)area(2);                   \
        clear();                                                                                   \
        nvshmemx_##name##_put_on_stream(a, src, N, pe, stream);                                    \
        nvshmemx_##name##_put_nbi_on_stream(a + N, src + N, N, pe, stream);                        \
        nvshmemx_##name##_iput_on_stream(a + 2 * N, src, 2, 1, N / 2, pe, stream);                 \
        nvshmemx_##name##_p_on_stream(a + 3 * N, src[5], pe, stream);                              \
        nvshmemx_##name##_put_signal_on_stream(a + 4 * N, src, N, (uint64_t *)area(3), 3,          \
                                               NVSHMEM_SIGNAL_ADD, pe, stream);                    \
        nvshmemx_##name##_put_signal_nbi_on_stream(a + 5 * N, src, N, (uint64_t *)area(3), 4,      \
                                                   NVSHMEM_SIGNAL_ADD, pe, stream);                \
        nvshmemx_barrier_all_on_stream(stream);                                                    \
        nvshmem_##name##_put(b, src, N, pe);                                                       \
        nvshmem_##name##_put_nbi(b + N, src + N, N, pe);                                           \
        nvshmem_##name##_iput(b + 2 * N, src, 2, 1, N / 2, pe);                                    \
        nvshmem_##name##_p(b + 3 * N, src[5], pe);                                                 \
        nvshmem_##name##_put(b + 4 * N, src, N, pe);                                               \
        nvshmem_##name##_put(b + 5 * N, src, N, pe);                                               \
        nvshmem_barrier_all();                                                                     \
        same(#name "_put", a, b, 6 * N * sizeof *a);                                               \
        CHECK(*(uint64_t *)area(3) == 7, #name ": %llu",                                           \
              (unsigned long long)*(uint64_t *)area(3));                                           \
        type *got = (type *)result, *want = got + 3 * N;                                           \
        nvshmemx_##name##_get_on_stream(got, a, N, pe, stream);                                    \
        nvshmemx_##name##_get_nbi_on_stream(got + N, a, N, pe, stream);                            \
        nvshmemx_##name##_iget_on_stream(got + 2 * N, a, 1, 2, N / 2, pe, stream);                 \
        nvshmemx_quiet_on_stream(stream);                                                          \
        type one = nvshmemx_##name##_g_on_stream(a + 3 * N, pe, stream);                           \
        nvshmem_##name##_get(want, a, N, pe);                                                      \
        nvshmem_##name##_get(want + N, a, N, pe);                                                  \
        nvshmem_##name##_iget(want + 2 * N, a, 1, 2, N / 2, pe);                                   \
        same(#name "_get", got, want, 3 * N * sizeof *got);                                        \
        type value = nvshmem_##name##_g(a + 3 * N, pe);                                            \
        same(#name "_g", &one, &value, sizeof one);                                                \
    }
NVSHMEM_RMA_TYPES(RMA)

#define SIZED(name, size)                                                                          \
    static void sized_##name(void)                                                                 \
    {                                                                                              \
        int pe = right_pe();                                                                       \
        char *src = area(0), *a = area(1), *b = area(2);                                           \
        clear();                                                                                   \
        nvshmemx_put##name##_on_stream(a, src, N, pe, stream);                                     \
        nvshmemx_put##name##_nbi_on_stream(a + N * size, src, N, pe, stream);                      \
        nvshmemx_put##name##_signal_on_stream(a + 2 * N * size, src, N, (uint64_t *)area(3), 5,    \
                                              NVSHMEM_SIGNAL_ADD, pe, stream);                     \
        nvshmemx_put##name##_signal_nbi_on_stream(a + 3 * N * size, src, N, (uint64_t *)area(3),   \
                                                  6, NVSHMEM_SIGNAL_ADD, pe, stream);              \
        nvshmemx_barrier_all_on_stream(stream);                                                    \
        for (int i = 0; i < 4; i++)                                                                \
            nvshmem_putmem(b + i * N * size, src, N * size, pe);                                   \
        nvshmem_barrier_all();                                                                     \
        same("put" #name, a, b, 4 * N * size);                                                     \
        CHECK(*(uint64_t *)area(3) == 11, #name);                                                  \
        nvshmemx_get##name##_on_stream(result, a, N, pe, stream);                                  \
        nvshmemx_get##name##_nbi_on_stream(result + N * size, a, N, pe, stream);                   \
        nvshmemx_quiet_on_stream(stream);                                                          \
        CUDA(cudaStreamSynchronize(stream));                                                       \
        nvshmem_getmem(result + 2 * N * size, a, 2 * N * size, pe);                                \
        same("get" #name, result, result + 2 * N * size, 2 * N * size);                            \
    }
#define SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)
SIZES(SIZED)
SIZED(mem, 1)

#define STRIDED(name, size)                                                                        \
    static void strided_##name(void)                                                               \
    {                                                                                              \
        int pe = right_pe();                                                                       \
        clear();                                                                                   \
        nvshmemx_iput##name##_on_stream(area(1), area(0), 3, 2, N / 3, pe, stream);                \
        nvshmemx_iget##name##_on_stream(result, area(0), 2, 3, N / 3, pe, stream);                 \
        nvshmemx_barrier_all_on_stream(stream);                                                    \
        CUDA(cudaStreamSynchronize(stream));                                                       \
        nvshmem_iput##name(area(2), area(0), 3, 2, N / 3, pe);                                     \
        nvshmem_iget##name(result + AREA / 2, area(0), 2, 3, N / 3, pe);                           \
        nvshmem_barrier_all();                                                                     \
        same("iput" #name, area(1), area(2), N *size);                                             \
        same("iget" #name, result, result + AREA / 2, N * size);                                   \
    }
SIZES(STRIDED)

/* ---- waits ----------------------------------------------------------------------------------- */

#define WAIT(name, type)                                                                           \
    static void wait_##name(void)                                                                  \
    {                                                                                              \
        type *words = (type *)area(1), wanted[3] = {3, 4, 5};                                      \
        int status[3] = {0, 0, 1};                                                                 \
        clear();                                                                                   \
        nvshmemx_##name##_wait_until_on_stream(words, NVSHMEM_CMP_GT, 2, stream);                  \
        nvshmemx_##name##_wait_until_all_on_stream(words, 3, status, NVSHMEM_CMP_NE, 0, stream);   \
        nvshmemx_##name##_wait_until_all_vector_on_stream(words, 3, status, NVSHMEM_CMP_EQ,        \
                                                          wanted, stream);                         \
        for (int i = 0; i < 2; i++)                                                                \
            nvshmem_##name##_p(words + i, wanted[i], right_pe());                                  \
        nvshmem_quiet();                                                                           \
        CUDA(cudaStreamSynchronize(stream));                                                       \
        CHECK(words[0] == 3 && words[1] == 4 && words[2] == 0, #name);                             \
    }
#define WAITED(X) X(short, short) X(ushort, unsigned short) STANDARD_AMO_TYPES(X)
WAITED(WAIT)

/* ---- collectives ----------------------------------------------------------------------------- */

#define COLL(name, type)                                                                           \
    static void coll_##name(void)                                                                  \
    {                                                                                              \
        nvshmem_team_t team = NVSHMEM_TEAM_WORLD;                                                  \
        type *src = (type *)area(0), *a = (type *)area(1), *b = (type *)area(2);                   \
        int root = spmd_npes - 1;                                                                  \
        clear();                                                                                   \
        CHECK(!nvshmemx_##name##_broadcast_on_stream(team, a, src, N, root, stream), #name);       \
        CHECK(!nvshmemx_##name##_fcollect_on_stream(team, a + N, src, 2, stream), #name);          \
        CHECK(!nvshmemx_##name##_alltoall_on_stream(team, a + 2 * N, src, 2, stream), #name);      \
        nvshmem_##name##_broadcast(team, b, src, N, root);                                         \
        nvshmem_##name##_fcollect(team, b + N, src, 2);                                            \
        nvshmem_##name##_alltoall(team, b + 2 * N, src, 2);                                        \
        CUDA(cudaStreamSynchronize(stream));                                                       \
        same(#name " collectives", a, b, 3 * N * sizeof *a);                                       \
    }
NVSHMEM_RMA_TYPES(COLL)

#define FOLD_ONE(name, type, op)                                                                   \
    {                                                                                              \
        type *src = (type *)area(0), *a = (type *)area(1), *b = (type *)area(2);                   \
        nvshmem_team_t team = NVSHMEM_TEAM_WORLD;                                                  \
        CHECK(!nvshmemx_##name##_##op##_reduce_on_stream(team, a, src, N, stream), #name #op);     \
        CHECK(!nvshmemx_##name##_##op##_reducescatter_on_stream(team, a + N, src, 2, stream),      \
              #name #op);                                                                          \
        nvshmem_##name##_##op##_reduce(team, b, src, N);                                           \
        nvshmem_##name##_##op##_reducescatter(team, b + N, src, 2);                                \
        CUDA(cudaStreamSynchronize(stream));                                                       \
        same(#name "_" #op, a, b, 2 * N * sizeof *a);                                              \
    }
#define FOLD(name, type)                                                                           \
    static void fold_##name(void)                                                                  \
    {                                                                                              \
        clear();                                                                                   \
        fill(area(0), N * 8, sizeof(type), spmd_me);                                               \
        nvshmem_barrier_all();                                                                     \
        FOLD_ONE(name, type, max)                                                                  \
        FOLD_ONE(name, type, min)                                                                  \
        FOLD_ONE(name, type, sum)                                                                  \
        FOLD_ONE(name, type, prod)                                                                 \
    }
#define BITS(name, type)                                                                           \
    static void bits_##name(void)                                                                  \
    {                                                                                              \
        clear();                                                                                   \
        FOLD_ONE(name, type, and)                                                                  \
        FOLD_ONE(name, type, or)                                                                   \
        FOLD_ONE(name, type, xor)                                                                  \
    }
#define FOLDED(X)                                                                                  \
    X(float, float)                                                                                \
    X(double, double)                                                                              \
    X(half, nvshmem_half)                                                                          \
    X(bfloat16, nvshmem_bfloat16)                                                                  \
    X(char, char)                                                                                  \
    X(schar, signed char)                                                                          \
    X(short, short)                                                                                \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(longlong, long long)                                                                         \
    BITWISE(X)
#define BITWISE(X)                                                                                 \
    X(uchar, unsigned char)                                                                        \
    X(ushort, unsigned short)                                                                      \
    X(uint, unsigned int)                                                                          \
    X(ulong, unsigned long)                                                                        \
    X(ulonglong, unsigned long long)                                                               \
    X(int8, int8_t)                                                                                \
    X(int16, int16_t)                                                                              \
    X(int32, int32_t)                                                                              \
    X(int64, int64_t)                                                                              \
    X(uint8, uint8_t)                                                                              \
    X(uint16, uint16_t)                                                                            \
    X(uint32, uint32_t)                                                                            \
    X(uint64, uint64_t)                                                                            \
    X(size, size_t)
FOLDED(FOLD)
BITWISE(BITS)

static void untyped(void)
{
    nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    clear();
    CHECK(!nvshmemx_broadcastmem_on_stream(team, area(1), area(0), 99, 0, stream), "broadcastmem");
    CHECK(!nvshmemx_fcollectmem_on_stream(team, area(1) + 100, area(0), 7, stream), "fcollectmem");
    CHECK(!nvshmemx_alltoallmem_on_stream(team, area(1) + 200, area(0), 3, stream), "alltoallmem");
    CHECK(!nvshmemx_barrier_on_stream(team, stream), "barrier");
    CHECK(!nvshmemx_team_sync_on_stream(team, stream), "team_sync");
    nvshmem_broadcastmem(team, area(2), area(0), 99, 0);
    nvshmem_fcollectmem(team, area(2) + 100, area(0), 7);
    nvshmem_alltoallmem(team, area(2) + 200, area(0), 3);
    CUDA(cudaStreamSynchronize(stream));
    same("collectives of bytes", area(1), area(2), 300);
}

#define CALL_RMA(name, type) rma_##name();
#define CALL_SIZED(name, size) sized_##name(), strided_##name();
#define CALL_WAIT(name, type) wait_##name();
#define CALL_COLL(name, type) coll_##name();
#define CALL_FOLD(name, type) fold_##name();
#define CALL_BITS(name, type) bits_##name();

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    stream = stream_new(cudaStreamNonBlocking);
    heap = nvshmem_malloc(4 * AREA);
    result = malloc(AREA);
    NVSHMEM_RMA_TYPES(CALL_RMA)
    SIZES(CALL_SIZED)
    sized_mem();
    WAITED(CALL_WAIT)
    NVSHMEM_RMA_TYPES(CALL_COLL)
    FOLDED(CALL_FOLD)
    BITWISE(CALL_BITS)
    untyped();
    free(result);
    nvshmem_free(heap);
    return spmd_end();
}
