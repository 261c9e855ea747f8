/*
 * generics_coll.c - the type-generic collectives and syncs, with every type.
 */
#include "generics.h"

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

#define RUN_COLL(type, name) coll_##name();
#define RUN_COLL_BITWISE(type, name) coll_bitwise_##name();
#define RUN_COLL_COMPLEX(type, name) coll_complex_##name();

int main(void)
{
    begin();
    FOR_RMA(RUN_COLL)
    FOR_BITWISE_REDUCE(RUN_COLL_BITWISE)
    FOR_COMPLEX(RUN_COLL_COMPLEX)
    sync_names();
    return end();
}
