/*
 * cxx.cpp - nvs.hpp, and the overloads of shmem.h, at run time. Runs with any number of PEs.
 */
#include <cstdio>
#include <nvs.hpp>
#include <shmem.h>
#include <vector>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "PE %d: line %d: %s\n", nvs::my_pe(), __LINE__, #condition);      \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* ---- nvs.hpp --------------------------------------------------------------------------------- */

/* What PEs write right before the call must not win over the root's value. */
static void first_program()
{
    int *word = static_cast<int *>(nvs::malloc(1 << 20));
    for (int round = 0; round < 100; round++) {
        int root = round % nvs::n_pes();
        *word = nvs::my_pe() == root ? 42 + round : -round;
        nvs::broadcast(word, sizeof(int), root);
        CHECK(*word == 42 + round);
    }
    nvs::free(word);
}

template <typename T> void collectives()
{
    int me = nvs::my_pe(), npes = nvs::n_pes(), sum = npes * (npes + 1) / 2;
    std::size_t n = static_cast<std::size_t>(npes);
    nvs::buffer<T> src(n), dst(n);
    for (T &value : src)
        value = static_cast<T>(me) + 1;
    nvs::all_reduce(dst.data(), src.data(), n, NVS_MAX);
    CHECK(dst[n - 1] == static_cast<T>(n));
    nvs::all_gather(dst.data(), src.data(), 1);
    for (std::size_t i = 0; i < n; i++)
        CHECK(dst[i] == static_cast<T>(i + 1));
    nvs::all_to_all(src.data(), dst.data(), 1);
    CHECK(src[0] == static_cast<T>(me + 1) && src[n - 1] == static_cast<T>(me + 1));
    nvs::reduce_scatter(dst.data(), src.data(), 1);
    CHECK(dst[0] == static_cast<T>(sum));
    nvs::all_reduce(src.data(), 1, NVS_MIN);
    CHECK(src[0] == static_cast<T>(1));
    std::vector<T> ordinary(5, static_cast<T>(me));
    nvs::broadcast(NVS_TEAM_WORLD, ordinary.data(), ordinary.data(), 5, npes - 1);
    CHECK(ordinary[4] == static_cast<T>(npes - 1));
}

template <typename T> void remote()
{
    int to = (nvs::my_pe() + 1) % nvs::n_pes();
    nvs::buffer<T> words(4);
    for (T &word : words)
        word = 0;
    nvs::barrier();
    nvs::put(words.data(), 7, to);
    const T pair[2] = {8, 9};
    nvs::put(words.data() + 1, pair, 2, to);
    nvs::quiet();
    T got[2];
    nvs::get(got, words.data() + 1, 2, to);
    CHECK(got[0] == 8 && got[1] == 9 && nvs::get(words.data(), to) == 7);
    CHECK(nvs::swap(words.data(), -3, to) == 7);
    CHECK(nvs::fetch(words.data(), to) == static_cast<T>(-3));
    nvs::set(words.data() + 3, 5, to);
    nvs::barrier();
    CHECK(words[0] == static_cast<T>(-3) && words[3] == 5);
    nvs::barrier();
}

template <typename T> void atomics()
{
    nvs::buffer<T> word(1);
    word[0] = 0;
    nvs::barrier();
    for (int i = 0; i < 1000; i++)
        nvs::fetch_add(word.data(), 1, 0);
    nvs::barrier();
    T total = 1000 * static_cast<T>(nvs::n_pes());
    CHECK(nvs::fetch(word.data(), 0) == total);
    nvs::barrier();
    bool won = nvs::compare_swap(word.data(), total, -1, 0) == total;
    nvs::buffer<int> winners(1);
    winners[0] = won;
    nvs::all_reduce(winners.data(), 1);
    CHECK(winners[0] == 1);
    CHECK(nvs::fetch_and(word.data(), -1, 0) == static_cast<T>(-1));
    CHECK(nvs::fetch_or(word.data(), -1, 0) == static_cast<T>(-1));
    CHECK(nvs::fetch_xor(word.data(), 0, 0) == static_cast<T>(-1));
    nvs::barrier();
}

static void objects()
{
    nvs::team world, even = world.split(0, 2, (nvs::n_pes() + 1) / 2);
    CHECK(world && world.n_pes() == nvs::n_pes());
    CHECK(bool(even) == (nvs::my_pe() % 2 == 0));
    if (even) {
        int members = 1;
        nvs::all_reduce(even, &members, &members, 1);
        CHECK(members == even.n_pes() && even.my_pe() == nvs::my_pe() / 2);
    }
    nvs::buffer<char> a(16), b(std::move(a));
    CHECK(b.data() && b.size() == 16);
    nvs::buffer<std::uint64_t> signal(1);
    signal[0] = 0;
    nvs::barrier(world);
    nvs::put_signal(b.data(), "hello", 6, signal.data(), 1, NVSHMEM_SIGNAL_SET,
                    (nvs::my_pe() + 1) % nvs::n_pes());
    CHECK(nvs::signal_wait_until(signal.data(), NVSHMEM_CMP_EQ, 1) == 1 && b[4] == 'o');
    try {
        nvs::broadcast(b.data(), 1, nvs::n_pes());
        CHECK(!"a root outside of the team was accepted");
    } catch (const nvs::error &e) {
        CHECK(e.status() == NVS_ERR_INVALID && *e.what());
    }
    nvshmem_barrier_all();
}

/* ---- shmem.h --------------------------------------------------------------------------------- */

template <typename T> void overloads()
{
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    T *words = static_cast<T *>(shmem_calloc(4, sizeof(T)));
    const T one = 1;
    shmem_put(words, &one, 1, to);
    shmem_p(SHMEM_CTX_DEFAULT, words + 1, 2, to);
    shmem_atomic_add(words + 2, 3, to);
    shmem_quiet();
    CHECK(shmem_g(words, to) == 1 && shmem_atomic_fetch_inc(words + 2, to) == 3);
    shmem_wait_until(words + 1, SHMEM_CMP_EQ, 2);
    shmem_barrier_all();
    CHECK(shmem_test(words + 2, SHMEM_CMP_GE, 4));
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, words + 3, words, 1) == 0);
    CHECK(words[3] == static_cast<T>(shmem_n_pes()));
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    shmem_free(words);
}

static void run()
{
    nvs::session job;
    first_program();
    collectives<std::int8_t>();
    collectives<unsigned>();
    collectives<long>();
    collectives<float>();
    collectives<double>();
    remote<int>();
    remote<unsigned long>();
    remote<float>();
    remote<double>();
    atomics<int>();
    atomics<unsigned long long>();
    objects();
    overloads<int>();
    overloads<unsigned long>();
    overloads<std::int64_t>();
}

int main()
{
    try {
        run();
    } catch (const nvs::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return failures != 0;
}
