/*
 * stream_test.c - the stand-in's streams: order inside of one and between several, what the legacy
 * stream waits for, events, words, host functions; captures, their rules and replays.
 */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake_test.h"

static _Atomic int gate, trace[16], ntrace;

/* Host functions: one that waits until it is let through, one that notes that it ran. */
static void wait_at_gate(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
}
static void note(void *arg)
{
    atomic_store(&trace[atomic_fetch_add(&ntrace, 1)], (int)(intptr_t)arg);
}
static void note_on(CUstream stream, int number)
{
    OK(cuLaunchHostFunc(stream, note, (void *)(intptr_t)number));
}
static void close_gate(CUstream stream)
{
    atomic_store(&gate, 0);
    atomic_store(&ntrace, 0);
    OK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
}
/* A little later nothing has happened, unless it was free to happen. */
static void expect_still(int count)
{
    usleep(20000);
    CHECK(atomic_load(&ntrace) == count, "%d notes, not %d", atomic_load(&ntrace), count);
}

static void test_order(void)
{
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    close_gate(stream);
    for (int i = 0; i < 5; i++)
        note_on(stream, i);
    expect_still(0);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(stream));
    OK(cuStreamQuery(stream));
    for (int i = 0; i < 5; i++)
        CHECK(trace[i] == i, "note %d is %d", i, trace[i]);
    OK(cuStreamDestroy(stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

/* The legacy stream and blocking streams wait for each other; a non-blocking one does not. */
static void test_legacy(void)
{
    CUstream blocking = new_stream(0), free_one = new_stream(CU_STREAM_NON_BLOCKING);
    close_gate(blocking);
    note_on(NULL, 1);
    note_on(blocking, 2);
    note_on(CU_STREAM_PER_THREAD, 3);
    expect_still(0);
    note_on(free_one, 4);
    OK(cuStreamSynchronize(free_one));
    CHECK(trace[0] == 4, "%d", trace[0]);
    atomic_store(&gate, 1);
    OK(cuCtxSynchronize());
    CHECK(trace[1] == 1, "what came after the legacy stream's work ran before it");
    close_gate(CU_STREAM_LEGACY);
    note_on(blocking, 5);
    expect_still(0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(blocking));
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(free_one));
}

static void test_events(void)
{
    CUstream one = new_stream(CU_STREAM_NON_BLOCKING), two = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event, later;
    float ms = -1;
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&later, 0));
    OK(cuEventQuery(event));
    close_gate(one);
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
    note_on(two, 1);
    OK(cuEventRecord(later, two));
    expect_still(0);
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuEventSynchronize(later));
    OK(cuEventQuery(event));
    OK(cuEventElapsedTime(&ms, event, later));
    CHECK(ms >= 0 && ntrace == 1, "%f ms, %d notes", (double)ms, ntrace);
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(later));
    OK(cuStreamDestroy(one));
    OK(cuStreamDestroy(two));
}

static void test_words(void)
{
    CUstream one = new_stream(CU_STREAM_NON_BLOCKING), two = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = new_memory(64);
    OK(cuMemsetD8Async(word, 0xff, 64, one)); /* -1 */
    OK(cuStreamSynchronize(one));
    atomic_store(&ntrace, 0);
    OK(cuStreamWaitValue64(one, word, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWaitValue32(one, word + 8, 5, CU_STREAM_WAIT_VALUE_EQ));
    note_on(one, 1);
    expect_still(0);
    OK(cuStreamWriteValue64(two, word, 4, 0));
    expect_still(0);
    OK(cuStreamWriteValue32(two, word + 8, 5, 0));
    OK(cuStreamSynchronize(one));
    CHECK(ntrace == 1, "%d", ntrace);
    FAILS(cuStreamWaitValue64(one, word + 4, 3, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(word));
    OK(cuStreamDestroy(one));
    OK(cuStreamDestroy(two));
}

static _Atomic int result_inside;

static void call_cuda(void *arg)
{
    CUdeviceptr ptr;
    (void)arg;
    atomic_store(&result_inside, cuMemAlloc(&ptr, 10));
}

static void test_host_functions(void)
{
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuLaunchHostFunc(stream, call_cuda, NULL));
    OK(cuStreamSynchronize(stream));
    CHECK(result_inside == CUDA_ERROR_NOT_PERMITTED, "%d", result_inside);
    OK(cuStreamDestroy(stream));
}

/* Ordinary memory is read before the call returns, pinned memory when the stream gets there. */
static void test_copies(void)
{
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr device = new_memory(64);
    int ordinary = 1, *pinned, seen[2];
    OK(cuMemHostAlloc((void **)&pinned, 64, 0));
    *pinned = 1;
    close_gate(stream);
    OK(cuMemcpyHtoDAsync(device, &ordinary, 4, stream));
    OK(cuMemcpyHtoDAsync(device + 4, pinned, 4, stream));
    ordinary = *pinned = 2;
    atomic_store(&gate, 1);
    OK(cuMemcpyDtoHAsync(seen, device, 8, stream)); /* to ordinary memory: waits */
    CHECK(seen[0] == 1 && seen[1] == 2, "%d %d", seen[0], seen[1]);
    OK(cuMemsetD32Async(device, 9, 2, stream));
    OK(cuMemcpyDtoHAsync(seen, device, 8, stream));
    CHECK(seen[0] == 9 && seen[1] == 9, "%d %d", seen[0], seen[1]);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(device));
    OK(cuStreamDestroy(stream));
}

/* ---- captures -------------------------------------------------------------------------------- */

static CUgraphExec end_capture(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

/* Two branches that need each other: the first waits for a word that the second one writes. */
static void test_branches(void)
{
    CUstream one = new_stream(CU_STREAM_NON_BLOCKING), two = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = new_memory(64);
    CUevent fork_event, join;
    OK(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    atomic_store(&ntrace, 0);
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD8Async(word, 0, 64, one));
    OK(cuEventRecord(fork_event, one));
    OK(cuStreamWaitEvent(two, fork_event, 0));
    OK(cuStreamWaitValue32(one, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(two, word, 1, 0));
    OK(cuEventRecord(join, two));
    FAILS(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuStreamWaitEvent(one, join, 0));
    note_on(one, 1);
    CUgraphExec exec = end_capture(one);
    CHECK(ntrace == 0, "recording is not doing");
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(exec, two)); /* after the first one */
    OK(cuGraphExecDestroy(exec)); /* what is under way goes on */
    OK(cuStreamSynchronize(one));
    OK(cuStreamSynchronize(two));
    CHECK(ntrace == 2, "%d", ntrace);
    OK(cuEventDestroy(fork_event));
    OK(cuEventDestroy(join));
    OK(cuMemFree(word));
    OK(cuStreamDestroy(one));
    OK(cuStreamDestroy(two));
}

static void expect_spoiled(CUstream stream)
{
    CUgraph graph;
    int status = 0;
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == 2, "%d", status);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == 0, "%d", status);
}

static void test_rules(void)
{
    CUstream stream = new_stream(0), other = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr ptr;
    CUevent event;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED, status;
    FAILS(cuStreamBeginCapture(NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_spoiled(stream);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuMemAlloc(&ptr, 10), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_spoiled(stream);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuMemAlloc(&ptr, 10)); /* a relaxed thread may */
    OK(cuMemcpyHtoDAsync(ptr, "x", 1, other));
    OK(cuStreamSynchronize(other));
    FAILS(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == 1, "asking is not spoiling: %d", status);
    FAILS(cuMemcpyHtoD(ptr, "x", 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT); /* but not this */
    expect_spoiled(stream);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuMemFree(ptr));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    note_on(other, 1);
    FAILS(cuStreamEndCapture(stream, NULL), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuEventRecord(event, other));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    FAILS(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    expect_spoiled(stream);
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
}

/* Every function that libnvs calls is here. */
static void test_complete(void)
{
    const struct {
        const char *name;
        const void *address;
    } functions[] = {
#define CUDA_FN(name, symbol, parameters) {symbol, (const void *)(uintptr_t)name},
#include "gpu/driver.def"
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        CHECK(functions[i].address, "%s", functions[i].name);
}

int main(void)
{
    begin();
    test_order();
    test_legacy();
    test_events();
    test_words();
    test_host_functions();
    test_copies();
    test_branches();
    test_rules();
    test_complete();
    return check_result();
}
