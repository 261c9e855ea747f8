/*
 * nvs_first.cpp - a user's first program, word for word: every PE gets the root's value, also when
 * it wrote something else just before the call.
 */
#include <nvs.hpp>

int main()
{
    nvs::init();
    void *buf = nvs::malloc(1 << 20);
    int *value = static_cast<int *>(buf);
    *value = nvs::my_pe() == 0 ? 42 : 7;
    nvs::broadcast(buf, sizeof(int), 0);
    bool right = *value == 42;
    nvs::free(buf);
    nvs::finalize();
    return right ? 0 : 1;
}
