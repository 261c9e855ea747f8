/*
 * generics.c - the type-generic puts, gets and puts with signal, with every type.
 */
#include "generics.h"

static uint64_t signal_word;

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

#define RUN_RMA(type, name) rma_##name();

int main(void)
{
    begin();
    FOR_RMA(RUN_RMA)
    return end();
}
