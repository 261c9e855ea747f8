/*
 * runtime.c - the stand-in for the CUDA runtime does what CUDA's documentation says: devices,
 * memory, copies, streams, events, errors. No nvs is initialised.
 */
#include "check.h"

#include <nvs.h>

static void devices(void)
{
    int count = 0, device = -1, value = -1, can = -1;
    struct cudaDeviceProp prop;
    size_t left, total;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 8);
    OK(cudaSetDevice(count - 1));
    OK(cudaGetDevice(&device));
    CHECK(device == count - 1);
    GIVES(cudaErrorInvalidDevice, cudaSetDevice(count));
    GIVES(cudaErrorInvalidDevice, cudaPeekAtLastError());
    GIVES(cudaErrorInvalidDevice, cudaGetLastError());
    OK(cudaGetLastError());
    OK(cudaGetDeviceProperties(&prop, 0));
    CHECK(prop.totalGlobalMem > 0 && prop.multiProcessorCount > 0 && prop.warpSize == 32);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == prop.multiProcessorCount);
    GIVES(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left > 0 && left <= total);
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaDeviceEnablePeerAccess(0, 0));
    GIVES(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
    OK(cudaDeviceDisablePeerAccess(0));
    GIVES(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    OK(cudaDriverGetVersion(&value));
    CHECK(value >= 12000);
    OK(cudaSetDevice(0));
}

static enum cudaMemoryType type_of(const void *ptr)
{
    struct cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, ptr));
    return attributes.type;
}

static void memory(void)
{
    char *device = NULL, *host = NULL, *managed = NULL, *plain = malloc(4096);
    void *mapped;
    OK(cudaMalloc((void **)&device, 1000));
    OK(cudaMallocHost((void **)&host, 1000));
    OK(cudaMallocManaged((void **)&managed, 1000, cudaMemAttachGlobal));
    CHECK((size_t)device % 256 == 0);
    CHECK(type_of(device) == cudaMemoryTypeDevice && type_of(device + 999) == cudaMemoryTypeDevice);
    CHECK(type_of(host) == cudaMemoryTypeHost && type_of(managed) == cudaMemoryTypeManaged);
    CHECK(type_of(plain) == cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(plain, 4096, cudaHostRegisterDefault));
    CHECK(type_of(plain + 4095) == cudaMemoryTypeHost);
    GIVES(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(plain + 100, 8, 0));
    OK(cudaHostGetDevicePointer(&mapped, plain, 0));
    CHECK(mapped == plain);
    GIVES(cudaErrorInvalidValue, cudaFreeHost(plain));
    OK(cudaHostUnregister(plain));
    GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(plain));
    GIVES(cudaErrorInvalidValue, cudaFree(host));
    GIVES(cudaErrorInvalidValue, cudaFree(device + 8));
    GIVES(cudaErrorInvalidValue, cudaFreeHost(device));
    OK(cudaFree(device));
    GIVES(cudaErrorInvalidValue, cudaFree(device));
    OK(cudaFree(NULL));
    OK(cudaFreeHost(host));
    OK(cudaFree(managed));
    OK(cudaMalloc((void **)&device, 0));
    CHECK(!device);
    GIVES(cudaErrorMemoryAllocation, cudaMalloc((void **)&device, (size_t)1 << 60));
    CHECK(!device);
    free(plain);
    (void)cudaGetLastError();
}

static void copies(void)
{
    enum { N = 1 << 16 };
    char *a, *b, *host = malloc(N), *back = calloc(1, N);
    for (int i = 0; i < N; i++)
        host[i] = (char)(i * 7);
    OK(cudaMalloc((void **)&a, N));
    OK(cudaMalloc((void **)&b, N));
    OK(cudaMemcpy(a, host, N, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, N, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, b, N, cudaMemcpyDeviceToHost));
    CHECK(memcmp(host, back, N) == 0);
    OK(cudaMemset(b, 0x5a, N));
    OK(cudaMemcpy2D(b, 100, a, 64, 32, 200, cudaMemcpyDefault));
    OK(cudaMemcpy(back, b, N, cudaMemcpyDefault));
    for (int i = 0; i < 200; i++) {
        CHECK(memcmp(back + 100 * i, host + 64 * i, 32) == 0);
        CHECK(back[100 * i + 32] == 0x5a);
    }
    GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(b, 10, a, 64, 32, 2, cudaMemcpyDefault));
    OK(cudaMemcpyPeer(b, 1, a, 0, N));
    GIVES(cudaErrorInvalidDevice, cudaMemcpyPeer(b, 99, a, 0, N));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, b, 1, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, host, 1, cudaMemcpyDeviceToHost));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, host, 1, (enum cudaMemcpyKind)7));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(a + 1, host, N, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(NULL, host, N, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemset(a, 0, N + 1));
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
    OK(cudaFree(a));
    OK(cudaFree(b));
    free(host);
    free(back);
    (void)cudaGetLastError();
}

static void nap(void *arg)
{
    usleep(20000);
    ++*(int *)arg;
}

/* A variable on the stack may change as soon as an asynchronous copy from it has returned, and has
 * its value when one into it has. */
static void pageable(void)
{
    int count = 0, *device, value = 5, back = 0, big[2000] = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, sizeof big));
    OK(cudaLaunchHostFunc(stream, nap, &count));
    OK(cudaMemcpyAsync(device, &value, sizeof value, cudaMemcpyHostToDevice, stream));
    CHECK(count == 0);
    value = 6;
    OK(cudaMemcpyAsync(&back, device, sizeof back, cudaMemcpyDeviceToHost, stream));
    CHECK(back == 5 && count == 1);
    OK(cudaLaunchHostFunc(stream, nap, &count));
    big[1999] = 7;
    OK(cudaMemcpyAsync(device, big, sizeof big, cudaMemcpyHostToDevice, stream));
    CHECK(count == 2);
    OK(cudaFreeAsync(device, stream));
    OK(cudaStreamDestroy(stream));
}

static void streams(void)
{
    int count = 0, least, greatest, priority = 1;
    unsigned flags = 9;
    cudaStream_t a, b;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&a, cudaStreamNonBlocking, greatest - 10));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamDefault));
    OK(cudaStreamGetPriority(a, &priority));
    OK(cudaStreamGetFlags(a, &flags));
    CHECK(priority == greatest && flags == cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(b, &flags));
    CHECK(flags == cudaStreamDefault);
    GIVES(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&b, 77));
    (void)cudaGetLastError();
    OK(cudaLaunchHostFunc(a, nap, &count));
    GIVES(cudaErrorNotReady, cudaStreamQuery(a));
    OK(cudaGetLastError()); /* not ready is no error */
    OK(cudaStreamSynchronize(NULL));
    CHECK(count == 0); /* a does not block, so the default stream did not wait for it */
    OK(cudaStreamSynchronize(a));
    CHECK(count == 1);
    OK(cudaLaunchHostFunc(b, nap, &count));
    OK(cudaStreamSynchronize(NULL));
    CHECK(count == 2);
    OK(cudaLaunchHostFunc(cudaStreamPerThread, nap, &count));
    OK(cudaStreamSynchronize(cudaStreamLegacy)); /* that of a thread is a blocking one */
    CHECK(count == 3);
    OK(cudaStreamDestroy(a));
    GIVES(cudaErrorInvalidResourceHandle, cudaStreamDestroy(a));
    GIVES(cudaErrorInvalidResourceHandle, cudaStreamDestroy(NULL));
    GIVES(cudaErrorInvalidResourceHandle, cudaLaunchHostFunc(a, nap, &count));
    OK(cudaStreamDestroy(b));
    OK(cudaDeviceReset());
    (void)cudaGetLastError();
}

static void events(void)
{
    int count = 0;
    float ms = -1;
    cudaEvent_t start, end, untimed;
    cudaStream_t a, b;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaEventQuery(start)); /* never recorded: nothing to wait for */
    OK(cudaEventSynchronize(start));
    OK(cudaStreamWaitEvent(b, start, 0));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventRecord(start, a));
    OK(cudaLaunchHostFunc(a, nap, &count));
    OK(cudaEventRecord(end, a));
    OK(cudaStreamWaitEvent(b, end, 0));
    OK(cudaLaunchHostFunc(b, nap, &count));
    GIVES(cudaErrorNotReady, cudaEventQuery(end));
    GIVES(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventSynchronize(end));
    CHECK(count == 1);
    OK(cudaEventElapsedTime(&ms, start, end));
    CHECK(ms >= 20);
    OK(cudaStreamSynchronize(b));
    CHECK(count == 2);
    OK(cudaEventRecord(untimed, a));
    OK(cudaEventSynchronize(untimed));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
    GIVES(cudaErrorNotSupported, cudaEventCreateWithFlags(&end, cudaEventInterprocess));
    /* A wait is for the record that there was, not for a later one. */
    OK(cudaEventRecord(start, a));
    OK(cudaStreamWaitEvent(b, start, 0));
    OK(cudaEventRecord(start, b));
    OK(cudaStreamWaitEvent(a, start, 0));
    OK(cudaEventDestroy(start)); /* with waits in both streams */
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(untimed));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    (void)cudaGetLastError();
}

static void add(void *arg)
{
    ++*(int *)arg;
}

static void add_called(cudaStream_t stream, cudaError_t status, void *arg)
{
    (void)stream;
    if (!status)
        ++*(int *)arg;
}

/* A graph reads its memory in every launch. */
static void graphs(void)
{
    int count = 0, *device, host = 0, back = 0;
    size_t nodes = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, sizeof *device));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, stream));
    OK(cudaLaunchHostFunc(stream, add, &count));
    OK(cudaMemcpyAsync(&back, device, sizeof back, cudaMemcpyDeviceToHost, stream));
    OK(cudaMemsetAsync(device, 0xff, sizeof *device, stream));
    OK(cudaStreamAddCallback(stream, add_called, &count, 0));
    GIVES(cudaErrorStreamCaptureUnsupported, cudaFreeAsync(device, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(nodes == 5 && count == 0);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 1; i <= 50; i++) {
        host = i;
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(back == i && count == 2 * i && *device == -1);
    }
    for (int i = 0; i < 50; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec)); /* with launches under way */
    OK(cudaStreamSynchronize(stream));
    CHECK(count == 200);
    GIVES(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
    (void)cudaGetLastError();
}

static void kernels(void)
{
    dim3 one = {1, 1, 1};
    GIVES(cudaErrorNotSupported,
          cudaLaunchKernel((const void *)&failures, one, one, NULL, 0, NULL));
    GIVES(cudaErrorNotSupported, cudaGetLastError());
    CHECK(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    CHECK(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
}

int main(void)
{
    devices();
    memory();
    copies();
    pageable();
    streams();
    events();
    graphs();
    kernels();
    return failures != 0;
}
