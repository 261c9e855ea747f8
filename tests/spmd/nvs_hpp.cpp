/*
 * nvs_hpp.cpp - nvs.hpp as a user of C++17 meets it: the first program, overloads by type, RAII
 * objects, teams, puts, atomics and exceptions.
 */
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <nvs.hpp>

static unsigned long checks, failures;
static int me = -1;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition) && ++failures <= 10) {                                                    \
            std::fprintf(stderr, "%s:%d: PE %d: %s: ", __FILE__, __LINE__, me, #condition);        \
            std::fprintf(stderr, __VA_ARGS__);                                                     \
            std::fputc('\n', stderr);                                                              \
        }                                                                                          \
    } while (0)

/* A user's first program. Every PE gets the root's value, whatever it wrote just before. */
static void first_program()
{
    nvs::init();
    void *buf = nvs::malloc(1 << 20);
    int *value = static_cast<int *>(buf);
    me = nvs::my_pe();
    *value = me == 0 ? 42 : -1 - me;
    nvs::broadcast(buf, sizeof(int), 0);
    CHECK(*value == 42, "%d", *value);

    int last = nvs::n_pes() - 1;
    for (int i = 0; i < 200; i++) {
        *value = me == last ? i : 1000 + i;
        nvs::broadcast(buf, sizeof(int), last);
        CHECK(*value == i, "#%d: %d", i, *value);
    }
    std::memset(buf, me, 1 << 20);
    nvs::broadcast(buf, 1 << 20, last);
    char *bytes = static_cast<char *>(buf);
    CHECK(bytes[0] == last && bytes[(1 << 20) - 1] == last, "%d %d", bytes[0],
          bytes[(1 << 20) - 1]);
    nvs::free(buf);
    nvs::finalize();
}

template <typename T> static void reduce_type(const char *name)
{
    int npes = nvs::n_pes();
    T sum_of_pes = T(npes * (npes - 1) / 2);
    nvs::buffer<T> src(100), dst(100);
    for (T &elem : src)
        elem = T(me);
    nvs::all_reduce(dst.data(), src.data(), dst.size());
    CHECK(dst[0] == sum_of_pes && dst[99] == sum_of_pes, "%s: sum", name);
    nvs::all_reduce(dst.data(), src.data(), dst.size(), NVS_MAX);
    CHECK(dst[5] == T(npes - 1), "%s: max", name);
    nvs::all_reduce(src.data(), src.size());
    CHECK(src[42] == sum_of_pes, "%s: in place", name);
    T ordinary[3] = {T(1), T(2), T(3)};
    nvs::all_reduce(NVS_TEAM_WORLD, dst.data(), src.data(), dst.size(), NVS_MAX,
                    nvs::call().on(NVS_STREAM_DEFAULT).label("in a stream"));
    nvshmem_barrier_all(); // its turn comes behind that
    CHECK(dst[5] == sum_of_pes, "%s: in a stream", name);
    nvs::all_reduce(NVS_TEAM_WORLD, ordinary, ordinary, 3);
    CHECK(ordinary[2] == T(3 * npes), "%s: ordinary memory", name);
}

static void collectives()
{
    int npes = nvs::n_pes();
    std::size_t all = static_cast<std::size_t>(npes);
    reduce_type<signed char>("signed char");
    reduce_type<unsigned char>("unsigned char");
    reduce_type<int>("int");
    reduce_type<unsigned>("unsigned");
    reduce_type<long>("long");
    reduce_type<unsigned long long>("unsigned long long");
    reduce_type<float>("float");
    reduce_type<double>("double");

    nvs::buffer<int> one(1), many(all), back(all);
    one[0] = me * 10;
    nvs::all_gather(many.data(), one.data(), 1);
    for (int p = 0; p < npes; p++)
        CHECK(many[static_cast<std::size_t>(p)] == p * 10, "all_gather from PE %d", p);
    nvs::all_to_all(back.data(), many.data(), 1);
    CHECK(back[0] == me * 10 && back[all - 1] == me * 10, "all_to_all: %d", back[0]);
    nvs::reduce_scatter(one.data(), many.data(), 1);
    CHECK(one[0] == me * 10 * npes, "reduce_scatter: %d", one[0]);
}

static void objects()
{
    int npes = nvs::n_pes();
    nvs::buffer<double> first(10), empty;
    double *data = first.data();
    nvs::buffer<double> second(std::move(first));
    CHECK(second.data() == data && second.size() == 10 && !empty.data(), "buffer moved");
    empty = std::move(second);
    CHECK(empty.data() == data && !nvs::buffer<int>(0).data(), "buffer assigned");

    nvs::team world, half = world.split(0, 2, (npes + 1) / 2);
    CHECK(bool(half) == (me % 2 == 0), "PE %d in the even team: %d", me, bool(half));
    if (half) {
        long count = 1;
        nvs::all_reduce(half, &count, &count, 1);
        CHECK(count == (npes + 1) / 2 && half.n_pes() == count && half.my_pe() == me / 2,
              "team of %ld", count);
        half.barrier();
    }
    nvs::barrier();
}

static void one_sided()
{
    int npes = nvs::n_pes(), next = (me + 1) % npes, before = (me + npes - 1) % npes;
    nvs::buffer<long> words(4);
    for (long &word : words)
        word = 0;
    nvs::barrier();
    nvs::put(&words[0], me + 1L, next);
    long pair[2] = {me + 100L, me + 200L};
    nvs::put(&words[1], pair, 1, next);
    nvs::fetch_add(&words[2], 5, 0);
    nvs::barrier();
    CHECK(words[0] == before + 1 && words[1] == before + 100, "put: %ld %ld", words[0], words[1]);
    CHECK(nvs::get(&words[2], 0) == 5L * npes, "fetch_add: %ld", nvs::get(&words[2], 0));
    CHECK(nvs::fetch(&words[2], 0) == 5L * npes, "fetch: %ld", nvs::fetch(&words[2], 0));
    nvs::barrier();
    long old = nvs::compare_swap(&words[3], 0, me + 1, 0);
    nvs::barrier();
    CHECK((old == 0) == (nvs::fetch(&words[3], 0) == me + 1), "compare_swap: %ld", old);
    nvs::barrier();
    nvs::set(&words[3], me, me);
    CHECK(nvs::swap(&words[3], 7, me) == me && words[3] == 7, "set, swap: %ld", words[3]);
}

static void exceptions()
{
    int status = 0;
    std::string sentence;
    int value = 0;
    try {
        nvs::broadcast(&value, sizeof value, -1);
    } catch (const nvs::error &error) {
        status = error.status();
        sentence = error.what();
    }
    CHECK(status == NVS_ERR_INVALID, "status %d", status);
    CHECK(sentence.find("root -1") != std::string::npos, "'%s'", sentence.c_str());
}

static void refused_outside()
{
    int status = 0;
    try {
        nvs::my_pe();
    } catch (const std::runtime_error &error) {
        status = dynamic_cast<const nvs::error &>(error).status();
    }
    CHECK(status == NVS_ERR_STATE, "status %d", status);
}

/* What outlives its session must not touch what a later one has put in its place. */
static void two_sessions()
{
    auto *first = new nvs::session;
    auto *old_buffer = new nvs::buffer<int>(1000);
    auto *old_team = new nvs::team(nvs::team().split(0, 1, nvs::n_pes()));
    delete first;
    nvs::session second;
    nvs::buffer<int> words(1000);
    nvs::team team = nvs::team().split(0, 1, nvs::n_pes());
    delete old_buffer;
    delete old_team;
    nvs::buffer<int> more(1000); /* would get the place of words, had that been freed */
    CHECK(more.data() != words.data(), "the same object twice");
    CHECK(team.n_pes() == nvs::n_pes(), "a team of %d", team.n_pes());
    team.barrier();
}

int main()
{
    refused_outside();
    {
        nvs::session job; /* the first program's init and finalize are counted within */
        first_program();
        collectives();
        objects();
        one_sided();
        exceptions();
    }
    refused_outside();
    two_sessions();
    if (failures)
        std::fprintf(stderr, "PE %d: %lu of %lu checks failed\n", me, failures, checks);
    return failures != 0;
}
