/*
 * gputest.h - one harness for tests of device code: on a GPU, and on the stand-in of
 * tests/fakecuda.
 *
 * A test is a .cu file that nvcc compiles and so does the host compiler (-DNVS_EMULATE_DEVICE). It
 * defines kernels with GT_KERNEL, whose argument is one structure, launches them with GT_LAUNCH,
 * and uses what is below instead of a CUDA runtime. `return gt_main(...)`-like boilerplate is not
 * needed:
 *
 *     struct args { int *out; };
 *     GT_KERNEL(fill, struct args, args) { args.out[threadIdx.x] = 1; }
 *     int main(void)
 *     {
 *         gt_need_gpu(); // exits with 77 without one
 *         gt_select(0);
 *         struct args args = {(int *)gt_malloc(128)};
 *         GT_LAUNCH(fill, 1, 32, NULL, args);
 *         gt_sync_all();
 *         ...
 *         return gt_result();
 *     }
 *
 * What fails in CUDA itself ends the test with exit 1. GT_CHECK counts what is wrong and goes on.
 */
#ifndef GPUTEST_H
#define GPUTEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(NVS_EMULATE_DEVICE)
#include "emu.h"
#include "fakecuda.h"
#define GT_OK(call) gt_ok((int)(call), #call)
typedef CUstream gt_stream;
typedef CUgraphExec gt_graph;
#else
#include <cuda_runtime.h>
#define GT_OK(call) gt_ok((int)(call), #call)
typedef cudaStream_t gt_stream;
typedef cudaGraphExec_t gt_graph;
#endif

static int gt_failures;

/* Counts, prints the first few, and goes on. */
#define GT_CHECK(condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition) && gt_failures++ < 20) {                                                  \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
        }                                                                                          \
    } while (0)

static inline int gt_result(void)
{
    if (gt_failures)
        fprintf(stderr, "%d checks failed\n", gt_failures);
    return gt_failures != 0;
}

#if defined(NVS_EMULATE_DEVICE)

#define GT_KERNEL(name, argtype, arg) EMU_KERNEL(name, argtype, arg)
#define GT_LAUNCH(kernel, blocks, threads, stream, args)                                           \
    gt_launch(#kernel, (unsigned)(blocks), (unsigned)(threads), stream, &(args))
/* A kernel that will be launched while another one waits: the driver must have loaded it before. */
#define GT_LOAD(kernel) ((void)0)

static inline void gt_ok(int result, const char *what)
{
    const char *name = "?";
    if (!result)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

static inline int gt_devices(void)
{
    int count = 0;
    return cuInit(0) || cuDeviceGetCount(&count) ? 0 : count;
}
static inline void gt_select(int ordinal)
{
    CUcontext context;
    GT_OK(cuDevicePrimaryCtxRetain(&context, ordinal));
    GT_OK(cuCtxSetCurrent(context));
}
/* Of the device that is selected. */
static inline size_t gt_free_bytes(void)
{
    size_t free_bytes, total_bytes;
    GT_OK(cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}
static inline unsigned gt_multiprocessors(void)
{
    int device, count;
    GT_OK(cuCtxGetDevice(&device));
    GT_OK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    return (unsigned)count;
}
static inline void *gt_malloc(size_t nbytes)
{
    CUdeviceptr ptr;
    GT_OK(cuMemAlloc(&ptr, nbytes));
    return (void *)(uintptr_t)ptr;
}
static inline void gt_free(void *ptr)
{
    GT_OK(cuMemFree((CUdeviceptr)(uintptr_t)ptr));
}
/* Pinned host memory. */
static inline void *gt_malloc_host(size_t nbytes)
{
    void *ptr;
    GT_OK(cuMemHostAlloc(&ptr, nbytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    return ptr;
}
static inline void gt_free_host(void *ptr)
{
    GT_OK(cuMemFreeHost(ptr));
}
/* Any direction; waits. */
static inline void gt_copy(void *dst, const void *src, size_t nbytes)
{
    GT_OK(cuMemcpy((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, nbytes));
    GT_OK(cuStreamSynchronize(CU_STREAM_LEGACY)); /* a copy of ordinary memory returns before */
}
static inline void gt_copy_async(void *dst, const void *src, size_t nbytes, gt_stream stream)
{
    GT_OK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, nbytes, stream));
}
static inline void gt_set_async(void *dst, int value, size_t nbytes, gt_stream stream)
{
    GT_OK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)dst, (unsigned char)value, nbytes, stream));
}
static inline gt_stream gt_stream_new(void)
{
    gt_stream stream;
    GT_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    return stream;
}
static inline void gt_stream_free(gt_stream stream)
{
    GT_OK(cuStreamDestroy(stream));
}
static inline void gt_sync(gt_stream stream)
{
    GT_OK(cuStreamSynchronize(stream));
}
static inline void gt_sync_all(void)
{
    GT_OK(cuCtxSynchronize());
}
/* Whether the stream has done all, without waiting. */
static inline bool gt_idle(gt_stream stream)
{
    return cuStreamQuery(stream) == CUDA_SUCCESS;
}
static inline void gt_capture(gt_stream stream)
{
    GT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}
static inline gt_graph gt_captured(gt_stream stream)
{
    CUgraph graph;
    gt_graph exec;
    GT_OK(cuStreamEndCapture(stream, &graph));
    GT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    GT_OK(cuGraphDestroy(graph));
    return exec;
}
static inline void gt_replay(gt_graph graph, gt_stream stream)
{
    GT_OK(cuGraphLaunch(graph, stream));
}
static inline void gt_graph_free(gt_graph graph)
{
    GT_OK(cuGraphExecDestroy(graph));
}
static inline void gt_launch(const char *name, unsigned blocks, unsigned threads, gt_stream stream,
                             const void *args)
{
    void *params[] = {(void *)(uintptr_t)args};
    CUfunction function = fakecuda_function(name);
    if (!function) {
        fprintf(stderr, "no kernel %s: is it defined with GT_KERNEL?\n", name);
        exit(1);
    }
    GT_OK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
}

#else /* nvcc, and its runtime */

#define GT_KERNEL(name, argtype, arg)                                                              \
    extern "C" __global__ void name(const __grid_constant__ argtype arg)
#define GT_LAUNCH(kernel, blocks, threads, stream, args)                                           \
    do {                                                                                           \
        kernel<<<(unsigned)(blocks), (unsigned)(threads), 0, stream>>>(args);                      \
        gt_ok((int)cudaGetLastError(), "launch of " #kernel);                                      \
    } while (0)
#define GT_LOAD(kernel)                                                                            \
    do {                                                                                           \
        cudaFuncAttributes attributes;                                                             \
        gt_ok((int)cudaFuncGetAttributes(&attributes, kernel), "load " #kernel);                   \
    } while (0)

static inline void gt_ok(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString((cudaError_t)result));
    exit(1);
}

static inline int gt_devices(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
static inline void gt_select(int ordinal)
{
    GT_OK(cudaSetDevice(ordinal));
    GT_OK(cudaFree(NULL)); /* the context, now */
}
static inline size_t gt_free_bytes(void)
{
    size_t free_bytes, total_bytes;
    GT_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}
static inline unsigned gt_multiprocessors(void)
{
    int device, count;
    GT_OK(cudaGetDevice(&device));
    GT_OK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return (unsigned)count;
}
static inline void *gt_malloc(size_t nbytes)
{
    void *ptr;
    GT_OK(cudaMalloc(&ptr, nbytes));
    return ptr;
}
static inline void gt_free(void *ptr)
{
    GT_OK(cudaFree(ptr));
}
static inline void *gt_malloc_host(size_t nbytes)
{
    void *ptr;
    GT_OK(cudaHostAlloc(&ptr, nbytes, cudaHostAllocPortable | cudaHostAllocMapped));
    return ptr;
}
static inline void gt_free_host(void *ptr)
{
    GT_OK(cudaFreeHost(ptr));
}
static inline void gt_copy(void *dst, const void *src, size_t nbytes)
{
    GT_OK(cudaMemcpy(dst, src, nbytes, cudaMemcpyDefault));
    GT_OK(cudaStreamSynchronize(cudaStreamLegacy)); /* a copy of ordinary memory returns before */
}
static inline void gt_copy_async(void *dst, const void *src, size_t nbytes, gt_stream stream)
{
    GT_OK(cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDefault, stream));
}
static inline void gt_set_async(void *dst, int value, size_t nbytes, gt_stream stream)
{
    GT_OK(cudaMemsetAsync(dst, value, nbytes, stream));
}
static inline gt_stream gt_stream_new(void)
{
    gt_stream stream;
    GT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
static inline void gt_stream_free(gt_stream stream)
{
    GT_OK(cudaStreamDestroy(stream));
}
static inline void gt_sync(gt_stream stream)
{
    GT_OK(cudaStreamSynchronize(stream));
}
static inline void gt_sync_all(void)
{
    GT_OK(cudaDeviceSynchronize());
}
static inline bool gt_idle(gt_stream stream)
{
    return cudaStreamQuery(stream) == cudaSuccess;
}
static inline void gt_capture(gt_stream stream)
{
    GT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
}
static inline gt_graph gt_captured(gt_stream stream)
{
    cudaGraph_t graph;
    gt_graph exec;
    GT_OK(cudaStreamEndCapture(stream, &graph));
    GT_OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    GT_OK(cudaGraphDestroy(graph));
    return exec;
}
static inline void gt_replay(gt_graph graph, gt_stream stream)
{
    GT_OK(cudaGraphLaunch(graph, stream));
}
static inline void gt_graph_free(gt_graph graph)
{
    GT_OK(cudaGraphExecDestroy(graph));
}

#endif

static inline void gt_need_gpu(void)
{
    if (gt_devices() > 0)
        return;
    fprintf(stderr, "no GPU here\n");
    exit(77);
}
/* Copies device memory to where the host may look at it. */
static inline void gt_read(void *host, const void *device, size_t nbytes)
{
    gt_copy(host, device, nbytes);
}

#endif
