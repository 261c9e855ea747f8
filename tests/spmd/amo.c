/*
 * amo.c - atomics: every operation of every type and API, then contention.
 *
 * First each PE works alone on a word of its own at every PE, so results are known. Then all PEs
 * hammer the same words at once: totals must be exact, and a fetching operation must give each
 * value to exactly one PE.
 */
#include "spmd.h"
#include "types.h"

#include <nvshmem.h>
#include <sched.h>

enum { MAX_PES = 8, ROUNDS = 300 };

typedef struct {
    _Alignas(16) unsigned char bytes[16];
} cell;

static cell static_cells[MAX_PES];
static cell *cells; /* the words under test: static_cells, or on the heap */
static struct rng rng;
static shmem_ctx_t ctx;

/* ---- every operation, alone ------------------------------------------------------------------ */

#define EXPECT(have, want, what)                                                                   \
    CHECK((have) == (want), "%s: %lld, expected %lld", what, (long long)(have), (long long)(want))
#define NOTHING ()
#define CTX (ctx, )
#define UNWRAP(...) __VA_ARGS__

/* Operations without a result may still be under way: quiet, then look. */
#define SETTLED(name, word, pe, want, what)                                                        \
    do {                                                                                           \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        EXPECT(shmem_##name##_g(word, pe), want, what);                                            \
    } while (0)

#define EXTENDED(id, fn, name, type, first)                                                        \
    static void id##_extended_##name(int pe)                                                       \
    {                                                                                              \
        type *word = (type *)&cells[spmd_me], a = (type)(rng_next(&rng) >> 40);                    \
        type b = (type)(a + 1);                                                                    \
        fn##name##_atomic_set(UNWRAP first word, a, pe);                                           \
        SETTLED(name, word, pe, a, #fn #name "_atomic_set");                                       \
        EXPECT(fn##name##_atomic_fetch(UNWRAP first word, pe), a, #fn #name "_atomic_fetch");      \
        EXPECT(fn##name##_atomic_swap(UNWRAP first word, b, pe), a, #fn #name "_atomic_swap");     \
        SETTLED(name, word, pe, b, #fn #name "_atomic_swap");                                      \
    }

#define STANDARD(id, fn, name, type, first)                                                        \
    static void id##_standard_##name(int pe)                                                       \
    {                                                                                              \
        type *word = (type *)&cells[spmd_me];                                                      \
        uint64_t a = rng_next(&rng), b = rng_next(&rng), c = rng_next(&rng);                       \
        fn##name##_atomic_set(UNWRAP first word, (type)a, pe);                                     \
        SETTLED(name, word, pe, (type)a, #fn #name "_atomic_set");                                 \
        EXPECT(fn##name##_atomic_compare_swap(UNWRAP first word, (type)(a + 1), (type)b, pe),      \
               (type)a, #fn #name "_atomic_compare_swap of another value");                        \
        SETTLED(name, word, pe, (type)a, #fn #name "_atomic_compare_swap of another value");       \
        EXPECT(fn##name##_atomic_compare_swap(UNWRAP first word, (type)a, (type)b, pe), (type)a,   \
               #fn #name "_atomic_compare_swap");                                                  \
        EXPECT(fn##name##_atomic_fetch_add(UNWRAP first word, (type)c, pe), (type)b,               \
               #fn #name "_atomic_fetch_add");                                                     \
        EXPECT(fn##name##_atomic_fetch_inc(UNWRAP first word, pe), (type)(b + c),                  \
               #fn #name "_atomic_fetch_inc");                                                     \
        fn##name##_atomic_add(UNWRAP first word, (type)c, pe);                                     \
        fn##name##_atomic_inc(UNWRAP first word, pe);                                              \
        SETTLED(name, word, pe, (type)(b + 2 * c + 2), #fn #name "_atomic_add, inc");              \
    }

#define BITWISE(id, fn, name, type, first)                                                         \
    static void id##_bitwise_##name(int pe)                                                        \
    {                                                                                              \
        type *word = (type *)&cells[spmd_me];                                                      \
        type a = (type)rng_next(&rng), b = (type)rng_next(&rng), c = (type)rng_next(&rng);         \
        shmem_##name##_p(word, a, pe);                                                             \
        shmem_quiet();                                                                             \
        EXPECT(fn##name##_atomic_fetch_and(UNWRAP first word, b, pe), a,                           \
               #fn #name "_atomic_fetch_and");                                                     \
        EXPECT(fn##name##_atomic_fetch_or(UNWRAP first word, c, pe), (type)(a & b),                \
               #fn #name "_atomic_fetch_or");                                                      \
        EXPECT(fn##name##_atomic_fetch_xor(UNWRAP first word, a, pe), (type)((a & b) | c),         \
               #fn #name "_atomic_fetch_xor");                                                     \
        type d = (type)(((a & b) | c) ^ a);                                                        \
        fn##name##_atomic_and(UNWRAP first word, b, pe);                                           \
        SETTLED(name, word, pe, (type)(d & b), #fn #name "_atomic_and");                           \
        fn##name##_atomic_or(UNWRAP first word, a, pe);                                            \
        SETTLED(name, word, pe, (type)((d & b) | a), #fn #name "_atomic_or");                      \
        fn##name##_atomic_xor(UNWRAP first word, c, pe);                                           \
        SETTLED(name, word, pe, (type)(((d & b) | a) ^ c), #fn #name "_atomic_xor");               \
    }

#define EXTENDED_ALL(name, type)                                                                   \
    EXTENDED(s, shmem_, name, type, NOTHING)                                                       \
    EXTENDED(c, shmem_ctx_, name, type, CTX) EXTENDED(n, nvshmem_, name, type, NOTHING)
#define STANDARD_ALL(name, type)                                                                   \
    STANDARD(s, shmem_, name, type, NOTHING)                                                       \
    STANDARD(c, shmem_ctx_, name, type, CTX) STANDARD(n, nvshmem_, name, type, NOTHING)
#define BITWISE_ALL(name, type)                                                                    \
    BITWISE(s, shmem_, name, type, NOTHING)                                                        \
    BITWISE(c, shmem_ctx_, name, type, CTX) BITWISE(n, nvshmem_, name, type, NOTHING)
EXTENDED_AMO_TYPES(EXTENDED_ALL)
STANDARD_AMO_TYPES(STANDARD_ALL)
BITWISE_AMO_TYPES(BITWISE_ALL)

/* Non-blocking fetches: the value is there after quiet. Each has a fetch word of its own. */
#define FETCH_NBI(fn, name, type, first)                                                           \
    do {                                                                                           \
        type *word = (type *)&cells[spmd_me], f[4] = {0};                                          \
        type a = (type)rng_next(&rng), b = (type)rng_next(&rng);                                   \
        shmem_##name##_p(word, a, pe);                                                             \
        shmem_quiet();                                                                             \
        fn##name##_atomic_fetch_nbi(UNWRAP first &f[0], word, pe);                                 \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        fn##name##_atomic_swap_nbi(UNWRAP first &f[1], word, b, pe);                               \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        fn##name##_atomic_fetch_add_nbi(UNWRAP first &f[2], word, a, pe);                          \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        fn##name##_atomic_compare_swap_nbi(UNWRAP first &f[3], word,                               \
                                           (type)((uint64_t)a + (uint64_t)b), a, pe);              \
        SETTLED(name, word, pe, a, #fn #name "_atomic_compare_swap_nbi");                          \
        EXPECT(f[0], a, #fn #name "_atomic_fetch_nbi");                                            \
        EXPECT(f[1], a, #fn #name "_atomic_swap_nbi");                                             \
        EXPECT(f[2], b, #fn #name "_atomic_fetch_add_nbi");                                        \
        EXPECT(f[3], (type)((uint64_t)a + (uint64_t)b), #fn #name "_atomic_compare_swap_nbi");     \
    } while (0)

#define BITWISE_NBI(fn, name, type, first)                                                         \
    do {                                                                                           \
        type *word = (type *)&cells[spmd_me], f[4] = {0};                                          \
        type a = (type)rng_next(&rng), b = (type)rng_next(&rng);                                   \
        shmem_##name##_p(word, a, pe);                                                             \
        shmem_quiet();                                                                             \
        fn##name##_atomic_fetch_and_nbi(UNWRAP first &f[0], word, b, pe);                          \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        fn##name##_atomic_fetch_or_nbi(UNWRAP first &f[1], word, a, pe);                           \
        shmem_quiet();                                                                             \
        shmem_ctx_quiet(ctx);                                                                      \
        fn##name##_atomic_fetch_xor_nbi(UNWRAP first &f[2], word, b, pe);                          \
        SETTLED(name, word, pe, (type)(a ^ b), #fn #name "_atomic_fetch_xor_nbi");                 \
        fn##name##_atomic_fetch_inc_nbi(UNWRAP first &f[3], word, pe);                             \
        SETTLED(name, word, pe, (type)((a ^ b) + 1), #fn #name "_atomic_fetch_inc_nbi");           \
        EXPECT(f[0], a, #fn #name "_atomic_fetch_and_nbi");                                        \
        EXPECT(f[1], (type)(a & b), #fn #name "_atomic_fetch_or_nbi");                             \
        EXPECT(f[2], a, #fn #name "_atomic_fetch_xor_nbi");                                        \
        EXPECT(f[3], (type)(a ^ b), #fn #name "_atomic_fetch_inc_nbi");                            \
    } while (0)

static void test_nbi(int pe)
{
    FETCH_NBI(shmem_, uint, unsigned int, NOTHING);
    FETCH_NBI(shmem_, int64, int64_t, NOTHING);
    FETCH_NBI(shmem_, size, size_t, NOTHING);
    FETCH_NBI(shmem_ctx_, int, int, CTX);
    FETCH_NBI(shmem_ctx_, ulonglong, unsigned long long, CTX);
    BITWISE_NBI(shmem_, uint32, uint32_t, NOTHING);
    BITWISE_NBI(shmem_, ulong, unsigned long, NOTHING);
    BITWISE_NBI(shmem_ctx_, uint64, uint64_t, CTX);
}

/* The deprecated names, and the type-generic ones. */
static void test_old_names(int pe)
{
    long *word = (long *)&cells[spmd_me];
    shmem_long_set(word, 5, pe);
    SETTLED(long, word, pe, 5, "shmem_long_set");
    EXPECT(shmem_long_swap(word, 7, pe), 5, "shmem_long_swap");
    EXPECT(shmem_long_cswap(word, 7, 9, pe), 7, "shmem_long_cswap");
    EXPECT(shmem_long_fadd(word, 3, pe), 9, "shmem_long_fadd");
    EXPECT(shmem_long_finc(word, pe), 12, "shmem_long_finc");
    shmem_long_add(word, -20, pe);
    shmem_long_inc(word, pe);
    SETTLED(long, word, pe, -6, "shmem_long_add, inc");
    EXPECT(shmem_long_fetch(word, pe), -6, "shmem_long_fetch");
    shmem_atomic_set(word, 100L, pe);
    SETTLED(long, word, pe, 100, "shmem_atomic_set");
    EXPECT(shmem_atomic_fetch_add(word, 11L, pe), 100, "shmem_atomic_fetch_add");
    EXPECT(shmem_atomic_compare_swap(ctx, word, 111L, 1L, pe), 111, "shmem_atomic_compare_swap");
    shmem_atomic_inc(ctx, word, pe);
    SETTLED(long, word, pe, 2, "shmem_atomic_inc");
}

static void test_alone(cell *where)
{
    cells = where;
    rng = rng_of(1, (uint64_t)spmd_me);
    for (int pe = 0; pe < spmd_npes; pe++) {
#define CALL_EXTENDED(name, type)                                                                  \
    s_extended_##name(pe), c_extended_##name(pe), n_extended_##name(pe);
#define CALL_STANDARD(name, type)                                                                  \
    s_standard_##name(pe), c_standard_##name(pe), n_standard_##name(pe);
#define CALL_BITWISE(name, type) s_bitwise_##name(pe), c_bitwise_##name(pe), n_bitwise_##name(pe);
        EXTENDED_AMO_TYPES(CALL_EXTENDED)
        STANDARD_AMO_TYPES(CALL_STANDARD)
        BITWISE_AMO_TYPES(CALL_BITWISE)
        test_nbi(pe);
        test_old_names(pe);
    }
    shmem_barrier_all();
}

/* ---- contention ------------------------------------------------------------------------------ */

struct arena {
    long total;
    unsigned int total32;
    int ticket;
    unsigned int bits;
    uint64_t wide_bits;
    long lock, guarded;
    int taken[MAX_PES * ROUNDS]; /* by ticket: how many PEs drew it */
};

static struct arena static_arena;

static void hammer(struct arena *arena)
{
    struct rng order = rng_of(2, (uint64_t)spmd_me);
    uint64_t my_bit = UINT64_C(1) << (spmd_me * 7);
    for (int i = 0; i < ROUNDS; i++) {
        size_t first = rng_below(&order, (size_t)spmd_npes);
        for (int k = 0; k < spmd_npes; k++) {
            int pe = (int)((first + (size_t)k) % (size_t)spmd_npes);
            shmem_long_atomic_add(&arena->total, i - 5, pe);
            nvshmem_uint_atomic_inc(&arena->total32, pe);
            int ticket = shmem_int_atomic_fetch_inc(&arena->ticket, pe);
            CHECK(ticket >= 0 && ticket < spmd_npes * ROUNDS, "ticket %d", ticket);
            shmem_int_atomic_inc(&arena->taken[ticket], pe);
            shmem_uint_atomic_xor(&arena->bits, 1u << spmd_me, pe);
            uint64_t before = shmem_uint64_atomic_fetch_or(&arena->wide_bits, my_bit, pe);
            CHECK(!(before & my_bit), "bit of PE %d was set: %llx", spmd_me,
                  (unsigned long long)before);
            before = shmem_uint64_atomic_fetch_and(&arena->wide_bits, ~my_bit, pe);
            CHECK(before & my_bit, "bit of PE %d was clear: %llx", spmd_me,
                  (unsigned long long)before);
        }
    }
}

/* A lock made of compare_swap guards a counter that is read and written back. */
static void count_under_lock(struct arena *arena)
{
    for (int i = 0; i < 30; i++) {
        while (shmem_long_atomic_compare_swap(&arena->lock, 0, spmd_me + 1, 0) != 0)
            sched_yield();
        shmem_long_p(&arena->guarded, shmem_long_g(&arena->guarded, 0) + 1, 0);
        shmem_quiet();
        long holder = shmem_long_atomic_swap(&arena->lock, 0, 0);
        CHECK(holder == spmd_me + 1, "the lock was held by %ld", holder);
    }
}

static void test_contention(struct arena *arena)
{
    memset(arena, 0, sizeof *arena);
    shmem_barrier_all();
    hammer(arena);
    count_under_lock(arena);
    shmem_barrier_all();
    long sum = (long)ROUNDS * (ROUNDS - 1) / 2 - 5L * ROUNDS;
    CHECK(arena->total == spmd_npes * sum, "%ld, expected %ld", arena->total, spmd_npes * sum);
    CHECK(arena->total32 == (unsigned)(spmd_npes * ROUNDS), "%u", arena->total32);
    CHECK(arena->ticket == spmd_npes * ROUNDS, "%d", arena->ticket);
    for (int i = 0; i < spmd_npes * ROUNDS; i++)
        CHECK(arena->taken[i] == 1, "ticket %d was drawn %d times", i, arena->taken[i]);
    CHECK(arena->bits == 0, "%x: every bit was flipped an even number of times", arena->bits);
    CHECK(arena->wide_bits == 0, "%llx", (unsigned long long)arena->wide_bits);
    if (spmd_me == 0)
        CHECK(arena->guarded == 30L * spmd_npes, "%ld", arena->guarded);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    CHECK(shmem_ctx_create(0, &ctx) == 0, "no context");
    cell *heap_cells = shmem_align(16, sizeof(cell) * MAX_PES);
    struct arena *heap_arena = shmem_malloc(sizeof *heap_arena);
    test_alone(heap_cells);
    test_alone(static_cells);
    test_contention(heap_arena);
    test_contention(&static_arena);
    shmem_ctx_destroy(ctx);
    return spmd_end();
}
