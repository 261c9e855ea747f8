/*
 * fakecuda.h - the stand-in for libcuda as tests see it: the driver's functions, and questions that
 * only a stand-in answers. Programs that include it link build/tests/fakecuda/libcuda.so.1.
 *
 * Variables of the environment, read by cuInit():
 *   FAKECUDA_DEVICES=n   GPUs of the machine; 1. With 0 cuInit() says that there is none
 *   FAKECUDA_SMS=n       multiprocessors of each; 2, so that grids are small
 *   FAKECUDA_MEM=bytes   device memory that each process may take, with k, m or g; 1g
 *   FAKECUDA_P2P=no      no GPU reaches another one's memory
 *   FAKECUDA_VMM=no      memory cannot be exported as a file descriptor
 *   FAKECUDA_PAGEABLE=yes  GPUs use the page tables of the host, so that kernels may touch all
 * memory FAKECUDA_FAIL=f:n:e  the nth call of function f (cuMemCreate) returns error e (2: out of
 * memory) FAKECUDA_LOOSE=yes   host threads may touch device memory; otherwise that is a
 * segmentation fault where the processor has protection keys
 */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include "gpu/cuda_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_API __attribute__((visibility("default")))

#define CUDA_FN(name, symbol, parameters) FAKE_API CUresult name parameters __asm__(symbol);
#include "gpu/driver.def"

/* What nvs itself does not call. */
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
enum { CU_STREAM_CAPTURE_MODE_GLOBAL = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };
FAKE_API CUresult cuStreamBeginCapture(CUstream stream,
                                       int mode) __asm__("cuStreamBeginCapture_v2");
FAKE_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
FAKE_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                              unsigned long long flags);
FAKE_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
FAKE_API CUresult cuGraphExecDestroy(CUgraphExec exec);
FAKE_API CUresult cuGraphDestroy(CUgraph graph);
FAKE_API CUresult cuCtxCreate(CUcontext *context, unsigned flags,
                              CUdevice device) __asm__("cuCtxCreate_v2");
FAKE_API CUresult cuCtxDestroy(CUcontext context) __asm__("cuCtxDestroy_v2");
FAKE_API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t nbytes);
FAKE_API CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t nbytes,
                                    CUstream stream) __asm__("cuMemcpyDtoHAsync_v2");
FAKE_API CUresult cuEventQuery(CUevent event);
FAKE_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy,
                                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                            unsigned shared_bytes, CUstream stream, void **params);
FAKE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks, CUfunction function,
                                                              int block_size, size_t shared_bytes);
FAKE_API CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t nbytes, unsigned flags);
FAKE_API CUresult cuEventSynchronize(CUevent event);
FAKE_API CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end);

/* Device memory that this process has made and not given back, of all devices; that it has mapped,
 * also of others. */
FAKE_API size_t fakecuda_used(void);
FAKE_API size_t fakecuda_mapped(void);
/* A kernel of this process by its name; NULL: there is none. */
FAKE_API CUfunction fakecuda_function(const char *name);
/* A module, or a library, with one variable, as if it had been loaded with it. */
FAKE_API CUmodule fakecuda_module(const char *name, void *variable, size_t nbytes);
FAKE_API CUlibrary fakecuda_library(const char *name, void *variable, size_t nbytes);
/* How often each function was called since the last such question; for tests of what is not called.
 */
FAKE_API unsigned fakecuda_calls(const char *function);

#ifdef __cplusplus
}
#endif
#endif
