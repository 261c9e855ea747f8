/*
 * threads.cpp - C++ programs and the stand-in: CUDA's overloads, and streams of threads, compiled
 * as by nvcc --default-stream per-thread. Links nvs, too: its names follow that option as well.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "check.h"

#include <atomic>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <thread>
#include <vector>

static std::atomic<int> inside{0}, most{0};

/* Runs as long as it needs to meet another one, or half a second. */
static void meet(void *)
{
    int now = ++inside;
    for (int i = 0; i < 500 && most < 2; i++) {
        if (now > most)
            most = now;
        now = inside;
        usleep(1000);
    }
    --inside;
}

/* Streams 0 of two threads do not wait for each other. */
static void own_streams()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([] {
            OK(cudaLaunchHostFunc(nullptr, meet, nullptr));
            OK(cudaStreamSynchronize(0));
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(most == 2);
}

/* What a thread has put into its stream happens even if the thread has ended. */
static void outlived()
{
    static std::atomic<int> count{0};
    std::thread([] {
        for (int i = 0; i < 100; i++)
            OK(cudaLaunchHostFunc(
                0, [](void *) { count++; }, nullptr));
    }).join();
    for (int i = 0; i < 5000 && count < 100; i++)
        usleep(1000);
    CHECK(count == 100);
}

static void block(void *arg)
{
    while (!*static_cast<std::atomic<bool> *>(arg))
        usleep(100);
}

/* An operation of nvs on stream 0 is one on this thread's stream, which does not wait for the
 * stream of another thread that is blocked. */
static void nvs_follows()
{
    std::atomic<bool> release{false}, blocked{false};
    int *word = static_cast<int *>(nvshmem_calloc(1, sizeof(int)));
    std::thread other([&] {
        OK(cudaLaunchHostFunc(0, block, &release));
        blocked = true;
        while (!release)
            usleep(100);
    });
    while (!blocked)
        usleep(100);
    nvshmemx_int_p_on_stream(word, 3, 0, 0);
    nvshmemx_quiet_on_stream(0);
    CHECK(nvshmemx_int_g_on_stream(word, 0, 0) == 3);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    release = true;
    other.join();
    nvshmem_free(word);
}

static void overloads()
{
    float *device = nullptr, *managed = nullptr, host[4] = {1, 2, 3, 4}, back[4] = {};
    cudaEvent_t event;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMallocManaged(&managed, sizeof host));
    OK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(back, device, sizeof host, cudaMemcpyDeviceToHost));
    OK(cudaEventCreate(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event));
    OK(cudaStreamWaitEvent(0, event));
    OK(cudaStreamSynchronize(0));
    CHECK(back[3] == 4);
    OK(cudaMemset(device, 0, sizeof host));
    OK(cudaMemcpy(back, device, sizeof host, cudaMemcpyDefault));
    CHECK(back[3] == 0);
    OK(cudaEventDestroy(event));
    OK(cudaFree(device));
    OK(cudaFree(managed));
}

int main()
{
    nvshmem_init();
    overloads();
    own_streams();
    outlived();
    nvs_follows();
    nvshmem_finalize();
    return failures != 0;
}
