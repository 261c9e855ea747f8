/*
 * kernels.cuh - the ops in kernels, as a user's kernel would call them: a kernel has the loop over
 * all iterations of a series.
 *
 * What a thread, a warp and a block call differs in names only: SCOPE() makes a structure of
 * functions of the names, and the rest is one template. A file for each scope, and kernels_word.cu
 * for what only a thread does, since each takes the compiler long.
 *
 * nvs-perf loads the images that nvcc makes and hands them to nvshmemx_cumodule_init().
 */
#ifndef PERF_KERNELS_CUH
#define PERF_KERNELS_CUH

#include <nvshmem.h>
#include <nvshmemx.h>

#include "kernels.h"

using args = struct kernel_args;

/* Goes round the copies: `at` is where the next iteration finds its data. */
struct rotor {
    uint64_t at, end, stride;
    __device__ explicit rotor(const args &a)
        : at(a.first % a.copies * a.stride), end(a.copies * a.stride), stride(a.stride)
    {
    }
    __device__ void next()
    {
        at += stride;
        if (at == end)
            at = 0;
    }
};

/* In a ring signals add up: a PE may be ahead of the one that it sends to. */
struct answering {
    bool starts, ring;
    int pe, op;
};

static __device__ answering answering_of(const args &a)
{
    bool starts = a.to >= 0, ring = starts && a.from >= 0;
    return {starts, ring, starts ? a.to : a.from, ring ? NVSHMEM_SIGNAL_ADD : NVSHMEM_SIGNAL_SET};
}

#endif
