/*
 * generics_amo.c - the type-generic atomics, with every type.
 */
#include "generics.h"

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

#define RUN_AMO_EXTENDED(type, name) amo_extended_##name();
#define RUN_AMO_STANDARD(type, name) amo_standard_##name();
#define RUN_AMO_BITWISE(type, name) amo_bitwise_##name();

int main(void)
{
    begin();
    FOR_STANDARD(RUN_AMO_EXTENDED)
    FOR_REAL(RUN_AMO_EXTENDED)
    FOR_STANDARD(RUN_AMO_STANDARD)
    FOR_BITWISE(RUN_AMO_BITWISE)
    return end();
}
