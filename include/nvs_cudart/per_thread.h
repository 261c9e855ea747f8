/*
 * per_thread.h - part of cuda_runtime.h: stream 0 as that of the calling thread, for translation
 * units that are compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM (nvcc --default-stream
 * per-thread). The names mean functions that pass the stream on, as in CUDA's header.
 */
#ifndef NVS_CUDART_PER_THREAD_H
#define NVS_CUDART_PER_THREAD_H

#include "cuda_runtime.h"

static inline cudaStream_t nvs_cudart_stream(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

static inline cudaError_t nvs_per_thread_MallocAsync(void **ptr, size_t nbytes, cudaStream_t stream)
{
    return cudaMallocAsync(ptr, nbytes, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_FreeAsync(void *ptr, cudaStream_t stream)
{
    return cudaFreeAsync(ptr, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_Memcpy(void *dst, const void *src, size_t nbytes,
                                                enum cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(dst, src, nbytes, kind, cudaStreamPerThread);
    return error ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

static inline cudaError_t nvs_per_thread_MemcpyAsync(void *dst, const void *src, size_t nbytes,
                                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return cudaMemcpyAsync(dst, src, nbytes, kind, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_Memcpy2D(void *dst, size_t dst_pitch, const void *src,
                                                  size_t src_pitch, size_t width, size_t height,
                                                  enum cudaMemcpyKind kind)
{
    cudaError_t error =
        cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, cudaStreamPerThread);
    return error ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

static inline cudaError_t nvs_per_thread_Memcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                                       size_t src_pitch, size_t width,
                                                       size_t height, enum cudaMemcpyKind kind,
                                                       cudaStream_t stream)
{
    return cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind,
                             nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_MemcpyPeer(void *dst, int dst_device, const void *src,
                                                    int src_device, size_t nbytes)
{
    cudaError_t error =
        cudaMemcpyPeerAsync(dst, dst_device, src, src_device, nbytes, cudaStreamPerThread);
    return error ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

static inline cudaError_t nvs_per_thread_MemcpyPeerAsync(void *dst, int dst_device, const void *src,
                                                         int src_device, size_t nbytes,
                                                         cudaStream_t stream)
{
    return cudaMemcpyPeerAsync(dst, dst_device, src, src_device, nbytes, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_Memset(void *ptr, int value, size_t nbytes)
{
    cudaError_t error = cudaMemsetAsync(ptr, value, nbytes, cudaStreamPerThread);
    return error ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

static inline cudaError_t nvs_per_thread_MemsetAsync(void *ptr, int value, size_t nbytes,
                                                     cudaStream_t stream)
{
    return cudaMemsetAsync(ptr, value, nbytes, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_StreamDestroy(cudaStream_t stream)
{
    return cudaStreamDestroy(nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_StreamSynchronize(cudaStream_t stream)
{
    return cudaStreamSynchronize(nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_StreamQuery(cudaStream_t stream)
{
    return cudaStreamQuery(nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_StreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                         unsigned flags)
{
    return cudaStreamWaitEvent(nvs_cudart_stream(stream), event, flags);
}

static inline cudaError_t nvs_per_thread_StreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    return cudaStreamGetFlags(nvs_cudart_stream(stream), flags);
}

static inline cudaError_t nvs_per_thread_StreamGetPriority(cudaStream_t stream, int *priority)
{
    return cudaStreamGetPriority(nvs_cudart_stream(stream), priority);
}

static inline cudaError_t nvs_per_thread_LaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                                                        void *arg)
{
    return cudaLaunchHostFunc(nvs_cudart_stream(stream), fn, arg);
}

static inline cudaError_t nvs_per_thread_StreamAddCallback(cudaStream_t stream,
                                                           cudaStreamCallback_t callback, void *arg,
                                                           unsigned flags)
{
    return cudaStreamAddCallback(nvs_cudart_stream(stream), callback, arg, flags);
}

static inline cudaError_t nvs_per_thread_EventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecord(event, nvs_cudart_stream(stream));
}

static inline cudaError_t nvs_per_thread_EventRecordWithFlags(cudaEvent_t event,
                                                              cudaStream_t stream, unsigned flags)
{
    return cudaEventRecordWithFlags(event, nvs_cudart_stream(stream), flags);
}

static inline cudaError_t nvs_per_thread_StreamBeginCapture(cudaStream_t stream,
                                                            enum cudaStreamCaptureMode mode)
{
    return cudaStreamBeginCapture(nvs_cudart_stream(stream), mode);
}

static inline cudaError_t nvs_per_thread_StreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    return cudaStreamEndCapture(nvs_cudart_stream(stream), graph);
}

static inline cudaError_t nvs_per_thread_StreamIsCapturing(cudaStream_t stream,
                                                           enum cudaStreamCaptureStatus *status)
{
    return cudaStreamIsCapturing(nvs_cudart_stream(stream), status);
}

static inline cudaError_t nvs_per_thread_GraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return cudaGraphLaunch(exec, nvs_cudart_stream(stream));
}

#ifdef __cplusplus
/* Arguments that may be left out, as in cuda_runtime.h. */
inline cudaError_t nvs_per_thread_MemcpyAsync(void *dst, const void *src, size_t nbytes,
                                              enum cudaMemcpyKind kind)
{
    return nvs_per_thread_MemcpyAsync(dst, src, nbytes, kind, nullptr);
}
inline cudaError_t nvs_per_thread_MemsetAsync(void *ptr, int value, size_t nbytes)
{
    return nvs_per_thread_MemsetAsync(ptr, value, nbytes, nullptr);
}
inline cudaError_t nvs_per_thread_EventRecord(cudaEvent_t event)
{
    return nvs_per_thread_EventRecord(event, nullptr);
}
inline cudaError_t nvs_per_thread_StreamWaitEvent(cudaStream_t stream, cudaEvent_t event)
{
    return nvs_per_thread_StreamWaitEvent(stream, event, 0);
}
template <typename T>
inline cudaError_t nvs_per_thread_MallocAsync(T **ptr, size_t nbytes, cudaStream_t stream)
{
    return nvs_per_thread_MallocAsync(reinterpret_cast<void **>(ptr), nbytes, stream);
}
#endif

/* clang-format off */
#define cudaMallocAsync nvs_per_thread_MallocAsync
#define cudaFreeAsync nvs_per_thread_FreeAsync
#define cudaMemcpy nvs_per_thread_Memcpy
#define cudaMemcpyAsync nvs_per_thread_MemcpyAsync
#define cudaMemcpy2D nvs_per_thread_Memcpy2D
#define cudaMemcpy2DAsync nvs_per_thread_Memcpy2DAsync
#define cudaMemcpyPeer nvs_per_thread_MemcpyPeer
#define cudaMemcpyPeerAsync nvs_per_thread_MemcpyPeerAsync
#define cudaMemset nvs_per_thread_Memset
#define cudaMemsetAsync nvs_per_thread_MemsetAsync
#define cudaStreamDestroy nvs_per_thread_StreamDestroy
#define cudaStreamSynchronize nvs_per_thread_StreamSynchronize
#define cudaStreamQuery nvs_per_thread_StreamQuery
#define cudaStreamWaitEvent nvs_per_thread_StreamWaitEvent
#define cudaStreamGetFlags nvs_per_thread_StreamGetFlags
#define cudaStreamGetPriority nvs_per_thread_StreamGetPriority
#define cudaLaunchHostFunc nvs_per_thread_LaunchHostFunc
#define cudaStreamAddCallback nvs_per_thread_StreamAddCallback
#define cudaEventRecord nvs_per_thread_EventRecord
#define cudaEventRecordWithFlags nvs_per_thread_EventRecordWithFlags
#define cudaStreamBeginCapture nvs_per_thread_StreamBeginCapture
#define cudaStreamEndCapture nvs_per_thread_StreamEndCapture
#define cudaStreamIsCapturing nvs_per_thread_StreamIsCapturing
#define cudaGraphLaunch nvs_per_thread_GraphLaunch
/* clang-format on */

#endif
