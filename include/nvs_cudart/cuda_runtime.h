/*
 * cuda_runtime.h - a stand-in for the CUDA runtime, for host-side programs on machines without a
 * GPU.
 *
 * Programs that use NVSHMEM from the host call some sixty functions of the CUDA runtime: devices,
 * memory, copies, streams, events and graphs. With -I<prefix>/include/nvs_cudart and -lnvs_cudart
 * such programs build unchanged and run anywhere, in CI for example. Opt-in: nothing in nvs
 * includes this file, and where CUDA is installed its own cuda_runtime.h is the one to use.
 *
 *  - Streams are real in-order queues with a worker thread each: asynchronous calls return at once,
 *    the default stream waits for blocking streams as in CUDA, --default-stream per-thread is the
 *    macro CUDA_API_PER_THREAD_DEFAULT_STREAM.
 *  - Graphs are made by capture and hold what was captured: copies, memsets, host functions and
 *    nvs's operations on streams.
 *  - "Device" memory is host memory, from which the symmetric heap is not different. All devices
 * are the same machine: there are 8, or as many as the job has PEs if that is more;
 *    NVS_CUDART_DEVICES=n says otherwise.
 *  - Kernels are out of its scope: no <<<>>>, no __global__, and cudaLaunchKernel fails.
 *
 * Names, values and meanings are CUDA's. Structures have the members that host programs read, not
 * CUDA's layout: a program is compiled with one runtime and runs with that one. docs/streams.md
 * lists all functions.
 */
#ifndef NVS_CUDART_CUDA_RUNTIME_H
#define NVS_CUDART_CUDA_RUNTIME_H

#if defined(__CUDACC__)
#error "nvs_cudart stands in for the CUDA runtime in host programs only: with nvcc leave it out"
#endif

#include <stddef.h>

#include "../nvshmem/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDART_VERSION 12000
#define CUDART_CB
#define NVS_CUDART 1 /* how a program can tell */

#ifndef __host__
#define __host__
#define __device__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#ifndef __global__
#define __global__ _Pragma("GCC error \"nvs_cudart: kernels need CUDA and nvcc\"")
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

/* NVS_CUDART_ERRORS(X): X(name, value, text) for every error there is. */
#define NVS_CUDART_ERRORS(X)                                                                       \
    X(cudaSuccess, 0, "no error")                                                                  \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                               \
    X(cudaErrorInitializationError, 3, "initialization error")                                     \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                    \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                 \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                    \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                       \
    X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")       \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                              \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")        \
    X(cudaErrorNotReady, 600, "device not ready")                                                  \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                    \
    X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                      \
    X(cudaErrorHostMemoryAlreadyRegistered, 712,                                                   \
      "part or all of the requested memory range is already mapped")                               \
    X(cudaErrorHostMemoryNotRegistered, 713,                                                       \
      "pointer does not correspond to a registered memory region")                                 \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                   \
    X(cudaErrorNotPermitted, 800, "operation not permitted")                                       \
    X(cudaErrorNotSupported, 801, "operation not supported")                                       \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")  \
    X(cudaErrorStreamCaptureInvalidated, 901,                                                      \
      "operation failed due to a previous error during capture")                                   \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not initiated in this stream")            \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                   \
    X(cudaErrorStreamCaptureIsolation, 905,                                                        \
      "dependency created on uncaptured work in another stream")                                   \
    X(cudaErrorStreamCaptureImplicit, 906,                                                         \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    X(cudaErrorCapturedEvent, 907,                                                                 \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define NVS_CUDART_ERROR(name, value, text) name = value,
    NVS_CUDART_ERRORS(NVS_CUDART_ERROR)
#undef NVS_CUDART_ERROR
};
typedef enum cudaError cudaError_t;

/* The latest error of the calling thread; the first one also forgets it. An error of work in a
 * stream is an error of the process: every call that synchronises returns it from then on, and it
 * is never forgotten. nvs_last_error() of nvs.h has its sentence. */
NVS_API cudaError_t cudaGetLastError(void);
NVS_API cudaError_t cudaPeekAtLastError(void);
NVS_API const char *cudaGetErrorName(cudaError_t error);
NVS_API const char *cudaGetErrorString(cudaError_t error);

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef void (*cudaHostFn_t)(void *arg);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *arg);

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0x00
#define cudaEventWaitDefault 0x00
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
};
typedef struct cudaPointerAttributes cudaPointerAttributes;

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};

enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrPciBusId = 33,
    cudaDevAttrPciDeviceId = 34,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrPciDomainId = 50,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrStreamPrioritiesSupported = 78,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMemoryPoolsSupported = 115
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    int major, minor;
    int multiProcessorCount;
    int integrated;
    int canMapHostMemory;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID, pciDeviceID, pciDomainID;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int managedMemory;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int cooperativeLaunch;
};

struct nvs_cudart_dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    nvs_cudart_dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
#endif
};
typedef struct nvs_cudart_dim3 dim3;

/* ---- devices --------------------------------------------------------------------------------- */

NVS_API cudaError_t cudaGetDeviceCount(int *count);
NVS_API cudaError_t cudaSetDevice(int device);
NVS_API cudaError_t cudaGetDevice(int *device);
NVS_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
NVS_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
NVS_API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
NVS_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
NVS_API cudaError_t cudaDeviceDisablePeerAccess(int peer);
NVS_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
NVS_API cudaError_t cudaDeviceSynchronize(void);
NVS_API cudaError_t cudaDeviceReset(void);
NVS_API cudaError_t cudaRuntimeGetVersion(int *version);
NVS_API cudaError_t cudaDriverGetVersion(int *version);
NVS_API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);

/* ---- memory ---------------------------------------------------------------------------------- */

NVS_API cudaError_t cudaMalloc(void **ptr, size_t nbytes);
NVS_API cudaError_t cudaMallocHost(void **ptr, size_t nbytes);
NVS_API cudaError_t cudaHostAlloc(void **ptr, size_t nbytes, unsigned flags);
NVS_API cudaError_t cudaMallocManaged(void **ptr, size_t nbytes, unsigned flags);
NVS_API cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
NVS_API cudaError_t cudaMallocAsync(void **ptr, size_t nbytes, cudaStream_t stream);
NVS_API cudaError_t cudaFree(void *ptr);
NVS_API cudaError_t cudaFreeHost(void *ptr);
NVS_API cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream);
NVS_API cudaError_t cudaHostRegister(void *ptr, size_t nbytes, unsigned flags);
NVS_API cudaError_t cudaHostUnregister(void *ptr);
NVS_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
NVS_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                             const void *ptr);

/* The direction is checked where the memory is known: what cudaMalloc returned is no host memory.
 * A copy past the end of known memory is refused. As in CUDA, an asynchronous copy between the
 * device and pageable host memory (not from cudaMallocHost or the like) has read or written that
 * when it returns. */
NVS_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind);
NVS_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t nbytes,
                                    enum cudaMemcpyKind kind, cudaStream_t stream);
NVS_API cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind);
NVS_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                      size_t src_pitch, size_t width, size_t height,
                                      enum cudaMemcpyKind kind, cudaStream_t stream);
NVS_API cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device,
                                   size_t nbytes);
NVS_API cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                        size_t nbytes, cudaStream_t stream);
NVS_API cudaError_t cudaMemset(void *ptr, int value, size_t nbytes);
NVS_API cudaError_t cudaMemsetAsync(void *ptr, int value, size_t nbytes, cudaStream_t stream);

/* ---- streams and events ---------------------------------------------------------------------- */

NVS_API cudaError_t cudaStreamCreate(cudaStream_t *stream);
NVS_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
NVS_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                                 int priority);
NVS_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
NVS_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
NVS_API cudaError_t cudaStreamQuery(cudaStream_t stream);
NVS_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
NVS_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags);
NVS_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
/* The function runs on the stream's thread and must not call the runtime. */
NVS_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg);
NVS_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                          void *arg, unsigned flags);

NVS_API cudaError_t cudaEventCreate(cudaEvent_t *event);
NVS_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
NVS_API cudaError_t cudaEventDestroy(cudaEvent_t event);
NVS_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
NVS_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                             unsigned flags);
NVS_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
NVS_API cudaError_t cudaEventQuery(cudaEvent_t event);
NVS_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The mode is accepted; all captures behave as relaxed ones. */
NVS_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
NVS_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
NVS_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                          enum cudaStreamCaptureStatus *status);
NVS_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                         unsigned long long flags);
NVS_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                  unsigned long long flags);
NVS_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
NVS_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
NVS_API cudaError_t cudaGraphDestroy(cudaGraph_t graph);
/* Only the number: nodes must be NULL. */
NVS_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);

/* ---- kernels --------------------------------------------------------------------------------- */

/* cudaErrorNotSupported, and a sentence on stderr. So fails nvshmemx_collective_launch() too. */
NVS_API cudaError_t cudaLaunchKernel(const void *fn, dim3 grid, dim3 block, void **args,
                                     size_t shared_bytes, cudaStream_t stream);
NVS_API cudaError_t cudaLaunchCooperativeKernel(const void *fn, dim3 grid, dim3 block, void **args,
                                                size_t shared_bytes, cudaStream_t stream);
NVS_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks, const void *fn,
                                                                  int nthreads,
                                                                  size_t shared_bytes);

#ifdef __cplusplus
} /* extern "C" */

/* As CUDA's header has them: pointers to any type, and arguments that may be left out. */
template <typename T> inline cudaError_t cudaMalloc(T **ptr, size_t nbytes)
{
    return cudaMalloc(reinterpret_cast<void **>(ptr), nbytes);
}
template <typename T> inline cudaError_t cudaMallocHost(T **ptr, size_t nbytes)
{
    return cudaMallocHost(reinterpret_cast<void **>(ptr), nbytes);
}
template <typename T> inline cudaError_t cudaHostAlloc(T **ptr, size_t nbytes, unsigned flags)
{
    return cudaHostAlloc(reinterpret_cast<void **>(ptr), nbytes, flags);
}
template <typename T>
inline cudaError_t cudaMallocManaged(T **ptr, size_t nbytes, unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged(reinterpret_cast<void **>(ptr), nbytes, flags);
}
template <typename T>
inline cudaError_t cudaMallocAsync(T **ptr, size_t nbytes, cudaStream_t stream)
{
    return cudaMallocAsync(reinterpret_cast<void **>(ptr), nbytes, stream);
}
inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t nbytes,
                                   enum cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(dst, src, nbytes, kind, nullptr);
}
inline cudaError_t cudaMemsetAsync(void *ptr, int value, size_t nbytes)
{
    return cudaMemsetAsync(ptr, value, nbytes, nullptr);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}
inline cudaError_t cudaEventRecord(cudaEvent_t event)
{
    return cudaEventRecord(event, nullptr);
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event)
{
    return cudaStreamWaitEvent(stream, event, 0);
}
/* CUDA 11's form. */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *,
                                        char *, size_t)
{
    return cudaGraphInstantiate(exec, graph, 0);
}
#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#include "per_thread.h"
#endif

#endif
