/*
 * cuda_runtime.h - as much of CUDA's runtime and language as the programs of examples/cuda use, on
 * the stand-in driver of tests/fakecuda. For tests only.
 *
 * translate.py turns a program's launches into calls of launch() below and registers its kernels;
 * everything else of the program is compiled as it stands. A kernel takes several arguments here,
 * the stand-in's one structure: it is a tuple of them.
 */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include "emu.h"
#include "fakecuda.h"

#include <cstdio>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define CUDART_VERSION 13000

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphExec cudaGraphExec_t;
enum { cudaSuccess = 0, cudaErrorInvalidDeviceFunction = 98 };
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
struct cudaPointerAttributes {
    int device;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};

/* ---- kernels --------------------------------------------------------------------------------- */

namespace emulated
{
inline thread_local int last_error;

/* What the driver has to know of a kernel, and how its arguments become one structure. */
struct kernel {
    emu_kernel driver;
    std::vector<char> (*pack)(const void *function, void **args);
};
inline std::map<const void *, kernel> &kernels()
{
    static std::map<const void *, kernel> all;
    return all;
}

template <class... P> struct typed {
    struct packed {
        void (*function)(P...);
        std::tuple<P...> args;
    };
    static void call(const void *memory)
    {
        const packed *p = static_cast<const packed *>(memory);
        std::apply(p->function, p->args);
    }
    template <size_t... I>
    static packed gather(void (*function)(P...), void **args, std::index_sequence<I...>)
    {
        return packed{function, std::tuple<P...>(*static_cast<P *>(args[I])...)};
    }
    static std::vector<char> pack(const void *function, void **args)
    {
        auto f = reinterpret_cast<void (*)(P...)>(const_cast<void *>(function));
        packed p = gather(f, args, std::index_sequence_for<P...>());
        const char *bytes = reinterpret_cast<const char *>(&p);
        return std::vector<char>(bytes, bytes + sizeof p);
    }
};

struct registered {
    template <class... P> registered(const char *name, void (*function)(P...))
    {
        kernels()[reinterpret_cast<const void *>(function)] =
            kernel{{name, typed<P...>::call, sizeof(typename typed<P...>::packed), nullptr},
                   typed<P...>::pack};
    }
};

inline int start(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                 CUstream stream, bool cooperative)
{
    auto found = kernels().find(function);
    if (found == kernels().end())
        return last_error = cudaErrorInvalidDeviceFunction;
    std::vector<char> packed = found->second.pack(function, args);
    void *params[] = {packed.data()};
    CUfunction f = reinterpret_cast<CUfunction>(&found->second.driver);
    int error = cooperative ? cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y,
                                                        block.z, (unsigned)shared, stream, params)
                            : cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             (unsigned)shared, stream, params, nullptr);
    return error ? last_error = error : 0;
}

/* function<<<grid, block, shared, stream>>>(args...) */
struct configuration {
    dim3 grid, block;
    size_t shared;
    CUstream stream;
    configuration(dim3 g, dim3 b, size_t s = 0, CUstream on = nullptr)
        : grid(g), block(b), shared(s), stream(on)
    {
    }
};
/* The kernel alone says which types it takes; arguments are converted. */
template <class... P>
void launch(void (*function)(P...), configuration c, std::common_type_t<P>... args)
{
    void *pointers[] = {(void *)&args...};
    start(reinterpret_cast<const void *>(function), c.grid, c.block, pointers, c.shared, c.stream,
          false);
}
} /* namespace emulated */

static inline cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                                      void **args, size_t shared,
                                                      cudaStream_t stream)
{
    return emulated::start(function, grid, block, args, shared, stream, true);
}
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks,
                                                                        const void *function,
                                                                        int nthreads, size_t shared)
{
    auto found = emulated::kernels().find(function);
    if (found == emulated::kernels().end())
        return cudaErrorInvalidDeviceFunction;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(
        nblocks, reinterpret_cast<CUfunction>(&found->second.driver), nthreads, shared);
}

/* ---- devices --------------------------------------------------------------------------------- */

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    int error = cuInit(0);
    return error ? error : cuDeviceGetCount(count);
}
static inline cudaError_t cudaSetDevice(int ordinal)
{
    CUcontext context;
    int error = cuDevicePrimaryCtxRetain(&context, ordinal);
    return error ? error : cuCtxSetCurrent(context);
}
static inline cudaError_t cudaGetDevice(int *ordinal)
{
    CUdevice device;
    int error = cuCtxGetDevice(&device);
    *ordinal = (int)device;
    return error;
}
static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    return cuDeviceGetAttribute(value, attribute, device);
}
static inline cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "0000:%02x:00.0", (unsigned)device & 0xff);
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceSynchronize(void)
{
    return cuCtxSynchronize();
}
static inline cudaError_t cudaGetLastError(void)
{
    return std::exchange(emulated::last_error, 0);
}
static inline const char *cudaGetErrorString(cudaError_t error)
{
    const char *text = "unknown error";
    cuGetErrorString(error, &text);
    return text;
}

/* ---- memory ---------------------------------------------------------------------------------- */

template <class T> static inline cudaError_t cudaMalloc(T **ptr, size_t nbytes)
{
    CUdeviceptr address = 0;
    int error = cuMemAlloc(&address, nbytes);
    *ptr = reinterpret_cast<T *>(address);
    return error;
}
static inline cudaError_t cudaFree(void *ptr)
{
    return cuMemFree((CUdeviceptr)(uintptr_t)ptr);
}
static inline cudaError_t cudaMemcpy(void *dst, const void *src, size_t nbytes, cudaMemcpyKind)
{
    return cuMemcpy((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, nbytes);
}
static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t nbytes, cudaMemcpyKind,
                                          cudaStream_t stream = nullptr)
{
    return cuMemcpyAsync((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, nbytes, stream);
}
static inline cudaError_t cudaMemset(void *dst, int value, size_t nbytes)
{
    return cuMemsetD8Async((CUdeviceptr)(uintptr_t)dst, (unsigned char)value, nbytes, nullptr);
}
static inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                                   const void *ptr)
{
    return cuPointerGetAttribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 (CUdeviceptr)(uintptr_t)ptr);
}

/* ---- streams and graphs ---------------------------------------------------------------------- */

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}
static inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return cuStreamDestroy(stream);
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return cuStreamSynchronize(stream);
}
static inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    return cuStreamBeginCapture(stream, mode);
}
static inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    return cuStreamEndCapture(stream, graph);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               unsigned long long flags)
{
    return cuGraphInstantiateWithFlags(exec, graph, flags);
}
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return cuGraphLaunch(exec, stream);
}
static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return cuGraphExecDestroy(exec);
}
static inline cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return cuGraphDestroy(graph);
}

#endif
