// extensions_cxx.cpp - the overloads of shmemx.h.
#include <cstdio>

#include <shmemx.h>

static int me, npes, failures;

#define CHECK(condition, format, ...)                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: PE %d: %s: " format "\n", __FILE__, __LINE__, me,         \
                         #condition, __VA_ARGS__);                                                 \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static short target[8], origin[8];
static long sum, own;
static uint64_t word;

int main()
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    for (int i = 0; i < 8; i++)
        origin[i] = (short)(me * 10 + i);
    shmem_barrier_all();
    shmemx_ibput(target, origin, 4, 3, 2, 2, next);
    shmem_barrier_all();
    const int places[] = {0, 1, 4, 5}, from[] = {0, 1, 3, 4};
    for (int i = 0; i < 4; i++)
        CHECK(target[places[i]] == before * 10 + from[i], "[%d] is %d", i, target[places[i]]);
    short got[2] = {0, 0};
    shmemx_ibget(SHMEM_CTX_DEFAULT, got, origin, 2, 2, 2, 1, next);
    CHECK(got[1] == next * 10 + 1, "got %d", got[1]);
    own = me + 1;
    shmemx_sum_inscan(SHMEM_TEAM_WORLD, &sum, &own, 1);
    CHECK(sum == (me + 1) * (me + 2) / 2, "inscan %ld", sum);
    shmemx_sum_exscan(SHMEM_TEAM_WORLD, &sum, &own, 1);
    CHECK(sum == me * (me + 1) / 2, "exscan %ld", sum);
    shmemx_signal_set(SHMEM_CTX_DEFAULT, &word, 3, next);
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
    shmemx_signal_add(&word, 4, next);
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 7);
    shmem_barrier_all();
    shmem_finalize();
    return failures > 0;
}
