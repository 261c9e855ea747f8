/*
 * generics.c - every type-generic name of OpenSHMEM with every type, at run time: that the name
 * finds the function of the type is seen from the results. Each PE works on its right neighbour,
 * with the default context, without one, and with one made here. Runs with any number of PEs.
 */
#include <complex.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static int failures, me, npes, to;
static shmem_ctx_t ctx;
static uint64_t signal_word;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "PE %d: %s: %s\n", me, __func__, #condition);                          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define FOR_STANDARD(X)                                                                            \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(long long, longlong)                                                                         \
    X(unsigned int, uint)                                                                          \
    X(unsigned long, ulong)                                                                        \
    X(unsigned long long, ulonglong)                                                               \
    X(int32_t, int32)                                                                              \
    X(int64_t, int64)                                                                              \
    X(uint32_t, uint32)                                                                            \
    X(uint64_t, uint64)                                                                            \
    X(size_t, size)                                                                                \
    X(ptrdiff_t, ptrdiff)
#define FOR_SMALL(X)                                                                               \
    X(signed char, schar)                                                                          \
    X(unsigned char, uchar)                                                                        \
    X(int8_t, int8)                                                                                \
    X(uint8_t, uint8)                                                                              \
    X(int16_t, int16)                                                                              \
    X(uint16_t, uint16)
#define FOR_SHORT(X) X(short, short) X(unsigned short, ushort)
#define FOR_REAL(X) X(float, float) X(double, double)
#define FOR_RMA(X)                                                                                 \
    FOR_STANDARD(X)                                                                                \
    FOR_SMALL(X) FOR_SHORT(X) FOR_REAL(X) X(char, char) X(long double, longdouble)
#define FOR_BITWISE(X)                                                                             \
    X(unsigned int, uint)                                                                          \
    X(unsigned long, ulong)                                                                        \
    X(unsigned long long, ulonglong)                                                               \
    X(int32_t, int32) X(int64_t, int64) X(uint32_t, uint32) X(uint64_t, uint64)
#define FOR_BITWISE_REDUCE(X) FOR_STANDARD(X) FOR_SMALL(X) FOR_SHORT(X)
#define FOR_COMPLEX(X) X(double complex, complexd) X(float complex, complexf)

/* ---- put, get -------------------------------------------------------------------------------- */

#define RMA(type, name)                                                                            \
    static void rma_##name(void)                                                                   \
    {                                                                                              \
        type *obj = shmem_calloc(40, sizeof *obj), got[16] = {0};                                  \
        const type src[4] = {(type)(me + 1), (type)2, (type)3, (type)4}, *mine = src;              \
        shmem_put(obj, mine, 2, to);                                                               \
        shmem_put(ctx, obj + 2, mine, 2, to);                                                      \
        shmem_put_nbi(obj + 4, mine, 2, to);                                                       \
        shmem_put_nbi(ctx, obj + 6, src, 2, to);                                                   \
        shmem_p(obj + 8, (type)9, to);                                                             \
        shmem_p(SHMEM_CTX_DEFAULT, obj + 9, (type)10, to);                                         \
        shmem_iput(obj + 10, mine, 2, 1, 2, to);                                                   \
        shmem_iput(ctx, obj + 14, src, 2, 2, 2, to);                                               \
        signal_word = 0;                                                                           \
        shmem_sync_all();                                                                          \
        shmem_put_signal(obj + 20, mine, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, to);                \
        shmem_put_signal(ctx, obj + 21, mine, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, to);           \
        shmem_put_signal_nbi(obj + 22, src, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, to);             \
        shmem_put_signal_nbi(ctx, obj + 23, src, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, to);        \
        CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 4) == 4);                        \
        shmem_ctx_quiet(ctx);                                                                      \
        shmem_barrier_all();                                                                       \
        int left = (me + npes - 1) % npes;                                                         \
        for (int i = 0; i < 8; i++)                                                                \
            CHECK(obj[i] == (type)(i % 2 ? 2 : left + 1));                                         \
        CHECK(obj[8] == (type)9 && obj[9] == (type)10);                                            \
        CHECK(obj[10] == (type)(left + 1) && obj[11] == 0 && obj[12] == (type)2);                  \
        CHECK(obj[14] == (type)(left + 1) && obj[15] == 0 && obj[16] == (type)3);                  \
        for (int i = 20; i < 24; i++)                                                              \
            CHECK(obj[i] == (type)(left + 1));                                                     \
        const type *there = obj;                                                                   \
        shmem_get(got, there, 2, to);                                                              \
        shmem_get(ctx, got + 2, there, 2, to);                                                     \
        shmem_get_nbi(got + 4, there, 2, to);                                                      \
        shmem_get_nbi(ctx, got + 6, obj, 2, to);                                                   \
        shmem_iget(got + 8, there + 10, 1, 2, 2, to);                                              \
        shmem_iget(ctx, got + 10, obj + 10, 2, 2, 2, to);                                          \
        got[13] = shmem_g(there + 8, to);                                                          \
        got[14] = shmem_g(ctx, obj + 9, to);                                                       \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        for (int i = 0; i < 8; i++)                                                                \
            CHECK(got[i] == (type)(i % 2 ? 2 : me + 1));                                           \
        CHECK(got[8] == (type)(me + 1) && got[9] == (type)2);                                      \
        CHECK(got[10] == (type)(me + 1) && got[11] == 0 && got[12] == (type)2);                    \
        CHECK(got[13] == (type)9 && got[14] == (type)10);                                          \
        shmem_free(obj);                                                                           \
    }
FOR_RMA(RMA)

/* ---- atomics --------------------------------------------------------------------------------- */

/* What all of these types have: fetch, set, swap. */
#define AMO_EXTENDED(type, name)                                                                   \
    static void amo_extended_##name(void)                                                          \
    {                                                                                              \
        type *obj = shmem_calloc(4, sizeof *obj), old = 7, old_ctx = 7;                            \
        const type *there = obj;                                                                   \
        shmem_atomic_set(obj, (type)1, to);                                                        \
        shmem_atomic_set(ctx, obj + 1, (type)2, to);                                               \
        shmem_set(obj + 2, (type)3, to);                                                           \
        CHECK(shmem_atomic_fetch(there, to) == (type)1);                                           \
        CHECK(shmem_atomic_fetch(ctx, obj + 1, to) == (type)2);                                    \
        CHECK(shmem_fetch(there + 2, to) == (type)3);                                              \
        CHECK(shmem_atomic_swap(obj, (type)4, to) == (type)1);                                     \
        CHECK(shmem_atomic_swap(ctx, obj, (type)5, to) == (type)4);                                \
        CHECK(shmem_swap(obj, (type)6, to) == (type)5);                                            \
        shmem_atomic_fetch_nbi(&old, there, to);                                                   \
        shmem_atomic_fetch_nbi(ctx, &old_ctx, obj + 1, to);                                        \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        CHECK(old == (type)6 && old_ctx == (type)2);                                               \
        shmem_atomic_swap_nbi(&old, obj + 2, (type)8, to);                                         \
        shmem_atomic_swap_nbi(ctx, &old_ctx, obj + 1, (type)9, to);                                \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        CHECK(old == (type)3 && old_ctx == (type)2);                                               \
        shmem_barrier_all();                                                                       \
        CHECK(obj[0] == (type)6 && obj[1] == (type)9 && obj[2] == (type)8);                        \
        shmem_free(obj);                                                                           \
    }
FOR_STANDARD(AMO_EXTENDED)
FOR_REAL(AMO_EXTENDED)

#define AMO_STANDARD(type, name)                                                                   \
    static void amo_standard_##name(void)                                                          \
    {                                                                                              \
        type *obj = shmem_calloc(1, sizeof *obj), old[6] = {0};                                    \
        shmem_atomic_inc(obj, to);                                                                 \
        shmem_atomic_inc(ctx, obj, to);                                                            \
        shmem_inc(obj, to);                                                                        \
        shmem_atomic_add(obj, (type)10, to);                                                       \
        shmem_atomic_add(ctx, obj, (type)10, to);                                                  \
        shmem_add(obj, (type)10, to);                                                              \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        CHECK(shmem_atomic_fetch_inc(obj, to) == (type)33);                                        \
        CHECK(shmem_atomic_fetch_inc(ctx, obj, to) == (type)34);                                   \
        CHECK(shmem_finc(obj, to) == (type)35);                                                    \
        CHECK(shmem_atomic_fetch_add(obj, (type)4, to) == (type)36);                               \
        CHECK(shmem_atomic_fetch_add(ctx, obj, (type)10, to) == (type)40);                         \
        CHECK(shmem_fadd(obj, (type)-10, to) == (type)50);                                         \
        CHECK(shmem_atomic_compare_swap(obj, (type)40, (type)-1, to) == (type)40);                 \
        CHECK(shmem_atomic_compare_swap(ctx, obj, (type)0, (type)2, to) == (type)-1);              \
        CHECK(shmem_cswap(obj, (type)-1, (type)3, to) == (type)-1);                                \
        shmem_atomic_fetch_inc_nbi(&old[0], obj, to);                                              \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_inc_nbi(ctx, &old[1], obj, to);                                         \
        shmem_ctx_quiet(ctx);                                                                      \
        shmem_atomic_fetch_add_nbi(&old[2], obj, (type)5, to);                                     \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_add_nbi(ctx, &old[3], obj, (type)5, to);                                \
        shmem_ctx_quiet(ctx);                                                                      \
        shmem_atomic_compare_swap_nbi(&old[4], obj, (type)15, (type)16, to);                       \
        shmem_quiet();                                                                             \
        shmem_atomic_compare_swap_nbi(ctx, &old[5], obj, (type)16, (type)17, to);                  \
        shmem_ctx_quiet(ctx);                                                                      \
        CHECK(old[0] == 3 && old[1] == 4 && old[2] == 5 && old[3] == 10);                          \
        CHECK(old[4] == 15 && old[5] == 16);                                                       \
        shmem_barrier_all();                                                                       \
        CHECK(*obj == (type)17);                                                                   \
        shmem_free(obj);                                                                           \
    }
FOR_STANDARD(AMO_STANDARD)

#define AMO_BITWISE(type, name)                                                                    \
    static void amo_bitwise_##name(void)                                                           \
    {                                                                                              \
        type *obj = shmem_calloc(1, sizeof *obj), old[6] = {0};                                    \
        shmem_atomic_or(obj, (type)0xf0, to);                                                      \
        shmem_atomic_or(ctx, obj, (type)0x0f, to);                                                 \
        shmem_atomic_and(obj, (type)0x7e, to);                                                     \
        shmem_atomic_and(ctx, obj, (type)0xff, to);                                                \
        shmem_atomic_xor(obj, (type)0x01, to);                                                     \
        shmem_atomic_xor(ctx, obj, (type)0x80, to);                                                \
        CHECK(shmem_atomic_fetch_or(obj, (type)0x100, to) == (type)0xff);                          \
        CHECK(shmem_atomic_fetch_or(ctx, obj, (type)0x200, to) == (type)0x1ff);                    \
        CHECK(shmem_atomic_fetch_and(obj, (type)0x3f0, to) == (type)0x3ff);                        \
        CHECK(shmem_atomic_fetch_and(ctx, obj, (type)0xff, to) == (type)0x3f0);                    \
        CHECK(shmem_atomic_fetch_xor(obj, (type)0xff, to) == (type)0xf0);                          \
        CHECK(shmem_atomic_fetch_xor(ctx, obj, (type)0xf0, to) == (type)0x0f);                     \
        shmem_atomic_fetch_or_nbi(&old[0], obj, (type)0x100, to);                                  \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_or_nbi(ctx, &old[1], obj, (type)0x200, to);                             \
        shmem_ctx_quiet(ctx);                                                                      \
        shmem_atomic_fetch_and_nbi(&old[2], obj, (type)0x30f, to);                                 \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_and_nbi(ctx, &old[3], obj, (type)0x301, to);                            \
        shmem_ctx_quiet(ctx);                                                                      \
        shmem_atomic_fetch_xor_nbi(&old[4], obj, (type)1, to);                                     \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_xor_nbi(ctx, &old[5], obj, (type)2, to);                                \
        shmem_ctx_quiet(ctx);                                                                      \
        CHECK(old[0] == (type)0xff && old[1] == (type)0x1ff && old[2] == (type)0x3ff);             \
        CHECK(old[3] == (type)0x30f && old[4] == (type)0x301 && old[5] == (type)0x300);            \
        shmem_barrier_all();                                                                       \
        CHECK(*obj == (type)0x302);                                                                \
        shmem_free(obj);                                                                           \
    }
FOR_BITWISE(AMO_BITWISE)

/* ---- waits and tests ------------------------------------------------------------------------- */

#define WAIT(type, name)                                                                           \
    static void wait_##name(void)                                                                  \
    {                                                                                              \
        volatile type *flags = shmem_calloc(4, sizeof *flags);                                     \
        type *plain = (type *)flags, values[4] = {1, 2, 3, 4};                                     \
        const int status[4] = {0, 1, 0, 0};                                                        \
        size_t indices[4];                                                                         \
        CHECK(!shmem_test(flags, SHMEM_CMP_EQ, (type)1));                                          \
        CHECK(shmem_test_any(flags, 4, NULL, SHMEM_CMP_NE, (type)0) == SIZE_MAX);                  \
        shmem_sync_all();                                                                          \
        for (int i = 0; i < 4; i++)                                                                \
            shmem_p(plain + i, (type)(i + 1), to);                                                 \
        shmem_wait_until(flags, SHMEM_CMP_EQ, (type)1);                                            \
        shmem_wait_until(plain + 1, SHMEM_CMP_NE, (type)0);                                        \
        shmem_wait_until_all(flags, 4, NULL, SHMEM_CMP_GE, (type)1);                               \
        shmem_wait_until_all_vector(flags, 4, NULL, SHMEM_CMP_EQ, values);                         \
        CHECK(shmem_wait_until_any(flags, 4, status, SHMEM_CMP_EQ, (type)3) == 2);                 \
        values[0] = values[2] = values[3] = 9;                                                     \
        CHECK(shmem_wait_until_any_vector(flags, 4, NULL, SHMEM_CMP_EQ, values) == 1);             \
        CHECK(shmem_wait_until_some(flags, 4, indices, status, SHMEM_CMP_LT, (type)4) == 2);       \
        CHECK(indices[0] == 0 && indices[1] == 2);                                                 \
        values[3] = 4;                                                                             \
        CHECK(shmem_wait_until_some_vector(flags, 4, indices, NULL, SHMEM_CMP_EQ, values) == 2);   \
        CHECK(indices[0] == 1 && indices[1] == 3);                                                 \
        CHECK(shmem_test(flags, SHMEM_CMP_LE, (type)1));                                           \
        CHECK(shmem_test_all(flags, 4, NULL, SHMEM_CMP_GT, (type)0));                              \
        CHECK(!shmem_test_all(flags, 4, NULL, SHMEM_CMP_GT, (type)1));                             \
        CHECK(!shmem_test_all_vector(flags, 4, NULL, SHMEM_CMP_EQ, values));                       \
        CHECK(shmem_test_any(flags, 4, status, SHMEM_CMP_EQ, (type)2) == SIZE_MAX);                \
        CHECK(shmem_test_any_vector(flags, 4, status, SHMEM_CMP_EQ, values) == 3);                 \
        CHECK(shmem_test_some(flags, 4, indices, status, SHMEM_CMP_GE, (type)3) == 2);             \
        CHECK(indices[0] + indices[1] == 5);                                                       \
        CHECK(shmem_test_some_vector(flags, 4, indices, status, SHMEM_CMP_EQ, values) == 1);       \
        CHECK(indices[0] == 3);                                                                    \
        shmem_free(plain);                                                                         \
    }
FOR_STANDARD(WAIT)
FOR_SHORT(WAIT)

#define OLD_WAIT(type, name)                                                                       \
    static void old_wait_##name(void)                                                              \
    {                                                                                              \
        static volatile type flag;                                                                 \
        shmem_p((type *)&flag, (type)3, to);                                                       \
        shmem_wait(&flag, (type)0);                                                                \
        CHECK(flag == 3);                                                                          \
    }
#define FOR_OLD_WAIT(X) X(short, short) X(int, int) X(long, long) X(long long, longlong)
FOR_OLD_WAIT(OLD_WAIT)

/* ---- collectives ----------------------------------------------------------------------------- */

/* The value that PE pe contributes at place i; small, so that sums and products fit any type. */
static int value_of(int pe, int i)
{
    return 1 + (pe + i) % 2;
}

#define COLL(type, name)                                                                           \
    static void coll_##name(void)                                                                  \
    {                                                                                              \
        size_t n = (size_t)npes;                                                                   \
        type *src = shmem_calloc(4 * n, sizeof *src), *dst = shmem_calloc(4 * n, sizeof *dst);     \
        const type *mine = src;                                                                    \
        for (int i = 0; i < 4 * npes; i++)                                                         \
            src[i] = (type)value_of(me, i);                                                        \
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dst, mine, 2, npes - 1) == 0);                     \
        CHECK(dst[0] == (type)value_of(npes - 1, 0) && dst[1] == (type)value_of(npes - 1, 1));     \
        CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, dst, mine, 1) == 0);                                \
        for (int pe = 0; pe < npes; pe++)                                                          \
            CHECK(dst[pe] == (type)value_of(pe, 0));                                               \
        CHECK(shmem_collect(SHMEM_TEAM_WORLD, dst, mine, me % 2 ? 1 : 2) == 0);                    \
        CHECK(npes == 1 || dst[2] == (type)value_of(1, 0));                                        \
        CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, dst, mine, 2) == 0);                                \
        for (int pe = 0; pe < npes; pe++)                                                          \
            CHECK(dst[2 * pe + 1] == (type)value_of(pe, 2 * me + 1));                              \
        CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, dst, mine, 2, 1, 1) == 0);                         \
        for (int pe = 0; pe < npes; pe++)                                                          \
            CHECK(dst[2 * pe] == (type)value_of(pe, me));                                          \
        int sum = 0, prod = 1, both = npes > 1;                                                    \
        for (int pe = 0; pe < npes; pe++) {                                                        \
            sum += value_of(pe, 0);                                                                \
            prod *= value_of(pe, 0);                                                               \
        }                                                                                          \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dst, mine, 2) == 0 && dst[0] == (type)sum);       \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, dst, mine, 2) == 0 && dst[0] == (type)prod);     \
        CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, dst, mine, 2) == 0 &&                             \
              dst[0] == (type)(1 + both));                                                         \
        CHECK(shmem_min_reduce(SHMEM_TEAM_WORLD, dst, mine, 2) == 0 && dst[0] == (type)1);         \
        shmem_free(src);                                                                           \
        shmem_free(dst);                                                                           \
    }
FOR_RMA(COLL)

#define COLL_BITWISE(type, name)                                                                   \
    static void coll_bitwise_##name(void)                                                          \
    {                                                                                              \
        type *src = shmem_calloc(2, sizeof *src), *dst = src + 1;                                  \
        *src = (type)(me == 0 ? 0x16 : 0x12);                                                      \
        CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, dst, src, 1) == 0);                               \
        CHECK(*dst == (type)(npes > 1 ? 0x12 : 0x16));                                             \
        CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, dst, src, 1) == 0 && *dst == (type)0x16);          \
        CHECK(shmem_xor_reduce(SHMEM_TEAM_WORLD, dst, src, 1) == 0);                               \
        CHECK(*dst == (type)(npes % 2 ? 0x16 : 0x04));                                             \
        shmem_free(src);                                                                           \
    }
FOR_BITWISE_REDUCE(COLL_BITWISE)

#define COLL_COMPLEX(type, name)                                                                   \
    static void coll_complex_##name(void)                                                          \
    {                                                                                              \
        type *src = shmem_calloc(2, sizeof *src), *dst = src + 1, expected = 1;                    \
        *src = me == 0 ? 2 + 3 * I : (type)1;                                                      \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dst, src, 1) == 0);                               \
        CHECK(*dst == npes + 1 + 3 * I);                                                           \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, dst, src, 1) == 0);                              \
        expected *= 2 + 3 * I;                                                                     \
        CHECK(*dst == expected);                                                                   \
        shmem_free(src);                                                                           \
    }
FOR_COMPLEX(COLL_COMPLEX)

static void sync_names(void)
{
    static long sync[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    CHECK(shmem_sync(SHMEM_TEAM_INVALID) != 0);
    shmem_sync(0, 0, npes, sync);
}

#define RUN_RMA(type, name) rma_##name();
#define RUN_AMO_EXTENDED(type, name) amo_extended_##name();
#define RUN_AMO_STANDARD(type, name) amo_standard_##name();
#define RUN_AMO_BITWISE(type, name) amo_bitwise_##name();
#define RUN_WAIT(type, name) wait_##name();
#define RUN_OLD_WAIT(type, name) old_wait_##name();
#define RUN_COLL(type, name) coll_##name();
#define RUN_COLL_BITWISE(type, name) coll_bitwise_##name();
#define RUN_COLL_COMPLEX(type, name) coll_complex_##name();

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx))
        return 1;
    FOR_RMA(RUN_RMA)
    FOR_STANDARD(RUN_AMO_EXTENDED)
    FOR_REAL(RUN_AMO_EXTENDED)
    FOR_STANDARD(RUN_AMO_STANDARD)
    FOR_BITWISE(RUN_AMO_BITWISE)
    FOR_STANDARD(RUN_WAIT)
    FOR_SHORT(RUN_WAIT)
    FOR_OLD_WAIT(RUN_OLD_WAIT)
    FOR_RMA(RUN_COLL)
    FOR_BITWISE_REDUCE(RUN_COLL_BITWISE)
    FOR_COMPLEX(RUN_COLL_COMPLEX)
    sync_names();
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    return failures != 0;
}
