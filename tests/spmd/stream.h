/*
 * stream.h - what the tests of operations on streams share: the stand-in runtime, and its errors as
 * checks.
 */
#ifndef TESTS_SPMD_STREAM_H
#define TESTS_SPMD_STREAM_H

#include "spmd.h"

#include <cuda_runtime.h>
#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        cudaError_t cuda_error = (call);                                                           \
        CHECK(cuda_error == cudaSuccess, "%s: %s", #call, cudaGetErrorName(cuda_error));           \
    } while (0)

static inline cudaStream_t stream_new(unsigned flags)
{
    cudaStream_t stream = NULL;
    CUDA(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

static inline int right_pe(void)
{
    return (spmd_me + 1) % spmd_npes;
}

static inline int left_pe(void)
{
    return (spmd_me + spmd_npes - 1) % spmd_npes;
}

#endif
