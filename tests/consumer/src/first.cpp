/* A user's first program over nvs.hpp: PE 0 has the sum of 1 .. n, and everybody gets it. */
#include <cstdio>
#include <nvs.hpp>

int main()
{
    nvs::init();
    int *word = static_cast<int *>(nvs::malloc(1 << 20));
    int n = nvs::n_pes(), expected = n * (n + 1) / 2;
    *word = nvs::my_pe() == 0 ? expected : -1;
    nvs::broadcast(word, sizeof(int), 0);
    bool good = *word == expected;
    if (nvs::my_pe() == n - 1 && good)
        std::printf("%d PEs, sum %d\n", n, *word);
    nvs::free(word);
    nvs::finalize();
    return good ? 0 : 1;
}
