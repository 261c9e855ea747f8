/*
 * generics_wait.c - the type-generic waits and tests, with every type.
 */
#include "generics.h"

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

#define RUN_WAIT(type, name) wait_##name();
#define RUN_OLD_WAIT(type, name) old_wait_##name();

int main(void)
{
    begin();
    FOR_STANDARD(RUN_WAIT)
    FOR_SHORT(RUN_WAIT)
    FOR_OLD_WAIT(RUN_OLD_WAIT)
    return end();
}
