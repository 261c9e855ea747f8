/*
 * wait.c - wait_until and test, and their families over arrays, of all types of both APIs.
 *
 * Comparisons are checked against C's own on all pairs of edge values. The families run first on
 * words that do not change, against a plain loop, then while the left neighbour changes them. At
 * the end a PE that has fallen asleep is woken by everything that can wake it.
 */
#include "spmd.h"
#include "types.h"

#include <nvshmem.h>
#include <sys/resource.h>

enum { N = 7 };

static struct rng rng;

static bool holds(int cmp, bool equal, bool less)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return equal;
    case SHMEM_CMP_NE:
        return !equal;
    case SHMEM_CMP_GT:
        return !equal && !less;
    case SHMEM_CMP_LE:
        return equal || less;
    case SHMEM_CMP_LT:
        return less;
    default:
        return !less;
    }
}

/* A set of indices as bits, and back from an answer of a _some function. */
static unsigned set_of(const size_t *indices, size_t count)
{
    unsigned set = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(indices[i] < N && !(set >> indices[i] & 1), "index %zu is not new", indices[i]);
        set |= 1u << (indices[i] % 32);
    }
    return set;
}

static bool in_set(unsigned set, size_t index)
{
    return index < N && (set >> index & 1);
}

/* ---- words at rest --------------------------------------------------------------------------- */

/* All six comparisons of all pairs of edge values; a wait whose condition holds returns. */
#define COMPARISONS(api, name, type)                                                               \
    static void api##_compare_##name(void)                                                         \
    {                                                                                              \
        const int bits = 8 * (int)sizeof(type);                                                    \
        const uint64_t edges[] = {0,                                                               \
                                  1,                                                               \
                                  2,                                                               \
                                  UINT64_MAX,                                                      \
                                  UINT64_MAX - 1,                                                  \
                                  UINT64_C(1) << (bits - 1),                                       \
                                  (UINT64_C(1) << (bits - 1)) - 1,                                 \
                                  rng_next(&rng)};                                                 \
        static type word;                                                                          \
        for (int i = 0; i < 8; i++)                                                                \
            for (int k = 0; k < 8; k++)                                                            \
                for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {                         \
                    type value = (type)edges[k];                                                   \
                    word = (type)edges[i];                                                         \
                    bool want = holds(cmp, word == value, word < value);                           \
                    CHECK(!!api##_##name##_test(&word, cmp, value) == want,                        \
                          #api "_" #name "_test: %llx, comparison %d, %llx",                       \
                          (unsigned long long)word, cmp, (unsigned long long)value);               \
                    if (want)                                                                      \
                        api##_##name##_wait_until(&word, cmp, value);                              \
                }                                                                                  \
    }

/* Every family on random words with a random status, against the set that a plain loop finds. */
#define FAMILIES_AT_REST(api, name, type)                                                          \
    static void api##_rest_##name(void)                                                            \
    {                                                                                              \
        static type words[N];                                                                      \
        type values[N], one = (type)rng_below(&rng, 3);                                            \
        int status[N], cmp = (int)rng_below(&rng, 6);                                              \
        unsigned counted = 0, equal = 0, vector = 0;                                               \
        const int *given = rng_below(&rng, 4) ? status : NULL;                                     \
        for (size_t i = 0; i < N; i++) {                                                           \
            words[i] = (type)rng_below(&rng, 3);                                                   \
            values[i] = (type)rng_below(&rng, 3);                                                  \
            status[i] = (int)(rng_below(&rng, 2) * (1 + rng_below(&rng, 9)));                      \
            counted |= (unsigned)(!given || !status[i]) << i;                                      \
            equal |= (unsigned)holds(cmp, words[i] == one, words[i] < one) << i;                   \
            vector |= (unsigned)holds(cmp, words[i] == values[i], words[i] < values[i]) << i;      \
        }                                                                                          \
        equal &= counted, vector &= counted;                                                       \
        size_t indices[N], any, some;                                                              \
        CHECK(!!api##_##name##_test_all(words, N, given, cmp, one) == (equal == counted),          \
              #api "_" #name "_test_all: %x of %x", equal, counted);                               \
        CHECK(!!api##_##name##_test_all_vector(words, N, given, cmp, values) ==                    \
                  (vector == counted),                                                             \
              #api "_" #name "_test_all_vector: %x of %x", vector, counted);                       \
        any = api##_##name##_test_any(words, N, given, cmp, one);                                  \
        CHECK(equal ? in_set(equal, any) : any == SIZE_MAX,                                        \
              #api "_" #name "_test_any: %zu, possible %x", any, equal);                           \
        any = api##_##name##_test_any_vector(words, N, given, cmp, values);                        \
        CHECK(vector ? in_set(vector, any) : any == SIZE_MAX,                                      \
              #api "_" #name "_test_any_vector: %zu, possible %x", any, vector);                   \
        some = api##_##name##_test_some(words, N, indices, given, cmp, one);                       \
        CHECK(set_of(indices, some) == equal, #api "_" #name "_test_some: %x, expected %x",        \
              set_of(indices, some), equal);                                                       \
        some = api##_##name##_test_some_vector(words, N, indices, given, cmp, values);             \
        CHECK(set_of(indices, some) == vector, #api "_" #name "_test_some_vector: %x, not %x",     \
              set_of(indices, some), vector);                                                      \
        if (equal == counted)                                                                      \
            api##_##name##_wait_until_all(words, N, given, cmp, one);                              \
        if (vector == counted)                                                                     \
            api##_##name##_wait_until_all_vector(words, N, given, cmp, values);                    \
        if (equal || !counted) {                                                                   \
            any = api##_##name##_wait_until_any(words, N, given, cmp, one);                        \
            CHECK(equal ? in_set(equal, any) : any == SIZE_MAX,                                    \
                  #api "_" #name "_wait_until_any: %zu, possible %x", any, equal);                 \
            some = api##_##name##_wait_until_some(words, N, indices, given, cmp, one);             \
            CHECK(set_of(indices, some) == equal, #api "_" #name "_wait_until_some: %x, not %x",   \
                  set_of(indices, some), equal);                                                   \
        }                                                                                          \
        if (vector || !counted) {                                                                  \
            any = api##_##name##_wait_until_any_vector(words, N, given, cmp, values);              \
            CHECK(vector ? in_set(vector, any) : any == SIZE_MAX,                                  \
                  #api "_" #name "_wait_until_any_vector: %zu, possible %x", any, vector);         \
            some = api##_##name##_wait_until_some_vector(words, N, indices, given, cmp, values);   \
            CHECK(set_of(indices, some) == vector,                                                 \
                  #api "_" #name "_wait_until_some_vector: %x, not %x", set_of(indices, some),     \
                  vector);                                                                         \
        }                                                                                          \
    }

/* No elements, or none that counts: all functions return at once. */
#define FAMILIES_EMPTY(api, name, type)                                                            \
    static void api##_empty_##name(void)                                                           \
    {                                                                                              \
        static type words[2];                                                                      \
        type values[2] = {1, 1};                                                                   \
        const int status[2] = {1, 1};                                                              \
        size_t indices[2], any, some;                                                              \
        for (size_t n = 0; n <= 2; n += 2) {                                                       \
            api##_##name##_wait_until_all(words, n, status, SHMEM_CMP_EQ, 1);                      \
            api##_##name##_wait_until_all_vector(words, n, status, SHMEM_CMP_EQ, values);          \
            any = api##_##name##_wait_until_any(words, n, status, SHMEM_CMP_EQ, 1);                \
            CHECK(any == SIZE_MAX, #api "_" #name "_wait_until_any: %zu of %zu", any, n);          \
            some = api##_##name##_wait_until_some(words, n, indices, status, SHMEM_CMP_EQ, 1);     \
            CHECK(some == 0, #api "_" #name "_wait_until_some: %zu of %zu", some, n);              \
            any = api##_##name##_wait_until_any_vector(words, n, status, SHMEM_CMP_EQ, values);    \
            CHECK(any == SIZE_MAX, #api "_" #name "_wait_until_any_vector: %zu of %zu", any, n);   \
            CHECK(api##_##name##_test_all(words, n, status, SHMEM_CMP_EQ, 1),                      \
                  #api "_" #name "_test_all of nothing, %zu", n);                                  \
            any = api##_##name##_test_any(words, n, status, SHMEM_CMP_EQ, 1);                      \
            CHECK(any == SIZE_MAX, #api "_" #name "_test_any: %zu of %zu", any, n);                \
            some = api##_##name##_test_some(words, n, indices, status, SHMEM_CMP_EQ, 1);           \
            CHECK(some == 0, #api "_" #name "_test_some: %zu of %zu", some, n);                    \
        }                                                                                          \
    }

/* ---- words that a neighbour changes ---------------------------------------------------------- */

static unsigned char *arena; /* N words of each PE, then N more */

static void permute(size_t *order, struct rng *with)
{
    for (size_t i = 0; i < N; i++) {
        size_t k = rng_below(with, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

/* Puts all N words of the right neighbour in random order, the value of word i being i + 1 + add,
 * and collects one's own by the three families. */
#define CHANGING(api, name, type)                                                                  \
    static void api##_changing_##name(void)                                                        \
    {                                                                                              \
        type *words = (type *)arena, values[N];                                                    \
        int right = (spmd_me + 1) % spmd_npes, status[N];                                          \
        size_t order[N], indices[N];                                                               \
        for (int family = 0; family < 3; family++) {                                               \
            memset(arena, 0, N * sizeof(type));                                                    \
            memset(status, 0, sizeof status);                                                      \
            permute(order, &rng);                                                                  \
            shmem_barrier_all();                                                                   \
            for (size_t i = 0; i < N; i++) {                                                       \
                values[i] = (type)(i + 1);                                                         \
                api##_##name##_p(&words[order[i]], (type)(order[i] + 1), right);                   \
            }                                                                                      \
            shmem_quiet();                                                                         \
            unsigned all = 0;                                                                      \
            if (family == 0)                                                                       \
                api##_##name##_wait_until_all_vector(words, N, NULL, SHMEM_CMP_EQ, values);        \
            while (family == 1 && all != (1u << N) - 1) {                                          \
                size_t i = api##_##name##_wait_until_any(words, N, status, SHMEM_CMP_NE, 0);       \
                CHECK(i < N && !in_set(all, i), #api "_" #name ": index %zu again or none", i);    \
                if (i >= N)                                                                        \
                    break;                                                                         \
                all |= 1u << i;                                                                    \
                status[i] = 1;                                                                     \
            }                                                                                      \
            while (family == 2 && all != (1u << N) - 1) {                                          \
                size_t n = api##_##name##_wait_until_some_vector(words, N, indices, status,        \
                                                                 SHMEM_CMP_GE, values);            \
                CHECK(n > 0, #api "_" #name "_wait_until_some_vector: %zu", n);                    \
                if (n == 0)                                                                        \
                    break;                                                                         \
                all |= set_of(indices, n);                                                         \
                for (size_t i = 0; i < n; i++)                                                     \
                    status[indices[i]] = 1;                                                        \
            }                                                                                      \
            for (size_t i = 0; i < N; i++)                                                         \
                CHECK(words[i] == values[i], #api "_" #name ": family %d, word %zu is %lld",       \
                      family, i, (long long)words[i]);                                             \
            shmem_barrier_all();                                                                   \
        }                                                                                          \
    }

#define ALL_OF(api, name, type)                                                                    \
    COMPARISONS(api, name, type)                                                                   \
    FAMILIES_AT_REST(api, name, type) FAMILIES_EMPTY(api, name, type) CHANGING(api, name, type)
#define OF_SHMEM(name, type) ALL_OF(shmem, name, type)
#define OF_NVSHMEM(name, type) ALL_OF(nvshmem, name, type)
WAIT_TYPES(OF_SHMEM)
WAIT_TYPES(OF_NVSHMEM)

static const struct {
    void (*compare)(void), (*rest)(void), (*empty)(void), (*changing)(void);
} tests[] = {
#define ENTRY(api, name)                                                                           \
    {api##_compare_##name, api##_rest_##name, api##_empty_##name, api##_changing_##name},
#define ENTRY_SHMEM(name, type) ENTRY(shmem, name)
#define ENTRY_NVSHMEM(name, type) ENTRY(nvshmem, name)
    WAIT_TYPES(ENTRY_SHMEM) WAIT_TYPES(ENTRY_NVSHMEM)};

/* ---- asleep ---------------------------------------------------------------------------------- */

static uint64_t bell;
enum { BY_PUT, BY_ATOMIC, BY_SIGNAL, BY_IPUT, BY_POINTER, BY_STATIC_PUT, BELLS };

static void ring(int way, uint64_t *heap_bell, int pe)
{
    uint64_t one = 1;
    if (way == BY_PUT)
        shmem_uint64_p(heap_bell, 1, pe);
    else if (way == BY_ATOMIC)
        shmem_uint64_atomic_inc(heap_bell, pe);
    else if (way == BY_SIGNAL)
        shmem_uint64_put_signal(heap_bell + 1, &one, 1, heap_bell, 1, SHMEM_SIGNAL_ADD, pe);
    else if (way == BY_IPUT)
        shmem_uint64_iput(heap_bell, &one, 2, 1, 1, pe);
    else if (way == BY_POINTER && shmem_ptr(heap_bell, pe))
        __atomic_store_n((uint64_t *)shmem_ptr(heap_bell, pe), 1, __ATOMIC_RELEASE);
    else if (way == BY_POINTER)
        shmem_uint64_p(heap_bell, 1, pe);
    else
        shmem_uint64_p(&bell, 1, pe);
    shmem_quiet();
}

/* Everybody but PE 0 waits; PE 0 rings after a while, one after the other. */
static void test_sleepers(uint64_t *heap_bell)
{
    for (int way = 0; way < BELLS; way++) {
        heap_bell[0] = bell = 0;
        shmem_barrier_all();
        if (spmd_me == 0) {
            spmd_sleep_ms(30);
            for (int pe = 1; pe < spmd_npes; pe++)
                ring(way, heap_bell, pe);
        } else {
            uint64_t *mine = way == BY_STATIC_PUT ? &bell : heap_bell;
            uint64_t got = shmem_signal_wait_until(mine, SHMEM_CMP_GT, 0);
            CHECK(got == 1, "way %d: %llu", way, (unsigned long long)got);
        }
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    arena = shmem_calloc(N, sizeof(uint64_t));
    uint64_t *heap_bell = shmem_calloc(4, sizeof *heap_bell);
    rng = rng_of(3, (uint64_t)spmd_me);
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
        tests[t].compare();
        for (int i = 0; i < 50; i++)
            tests[t].rest();
        tests[t].empty();
        tests[t].changing();
    }
    test_sleepers(heap_bell);
    return spmd_end();
}
