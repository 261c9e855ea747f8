/*
 * launch.cpp - kernels, and times in graphs, as host functions in a stream of the stand-in runtime.
 */
#include <stdlib.h>
#include <time.h>

#include <deque>
#include <map>
#include <mutex>

#include "cuda_runtime.h"

struct launch {
    dim3 grid, block;
    std::function<void()> kernel;
};

static void thread_run(const void *arg)
{
    static_cast<const launch *>(arg)->kernel();
}

static void grid_run(void *arg)
{
    const launch *l = static_cast<const launch *>(arg);
    const struct emu_kernel kernel = {"gpt", thread_run, sizeof(launch), nullptr};
    for (unsigned z = 0; z < l->grid.z; z++)
        for (unsigned y = 0; y < l->grid.y; y++)
            for (unsigned x = 0; x < l->grid.x; x++) {
                struct emu_block block = {{x, y, z},
                                          {l->block.x, l->block.y, l->block.z},
                                          {l->grid.x, l->grid.y, l->grid.z},
                                          nullptr};
                emu_run_block(&kernel, l, &block, 0);
            }
}

/* A launch may have been recorded, and then it runs again and again: none is ever freed. */
static std::mutex launches_lock;
static std::deque<launch> *const launches = new std::deque<launch>;

void emulate_launch(dim3 grid, dim3 block, cudaStream_t stream, const std::function<void()> &kernel)
{
    std::lock_guard<std::mutex> guard(launches_lock);
    launches->push_back({grid, block, kernel});
    if (cudaLaunchHostFunc(stream, grid_run, &launches->back()) != cudaSuccess)
        abort();
}

/* The latest time of each event that was recorded in a graph. */
static std::mutex times_lock;
static std::map<cudaEvent_t, double> times;

static void time_note(void *event)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::lock_guard<std::mutex> guard(times_lock);
    times[static_cast<cudaEvent_t>(event)] = 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

cudaError_t emulate_event_record(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (flags == cudaEventRecordExternal)
        return cudaLaunchHostFunc(stream, time_note, event);
    return cudaEventRecord(event, stream);
}

#undef cudaEventElapsedTime
cudaError_t emulate_event_elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    std::lock_guard<std::mutex> guard(times_lock);
    if (!times.count(start) || !times.count(end))
        return cudaEventElapsedTime(milliseconds, start, end);
    *milliseconds = (float)(times[end] - times[start]);
    return cudaSuccess;
}
