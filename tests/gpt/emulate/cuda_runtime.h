/*
 * cuda_runtime.h - CUDA for examples/gpt/gpu without CUDA: device code by the emulator of
 * tests/fakecuda, calls of the runtime by nvs's stand-in for it, whose streams are threads.
 *
 * That stand-in has no kernels. Here a launch becomes a host function in the stream, which runs the
 * blocks one after the other. So the whole program can be tested without a GPU: every kernel, the
 * order of the two streams, and recorded steps.
 */
#ifndef GPT_EMULATE_CUDA_RUNTIME_H
#define GPT_EMULATE_CUDA_RUNTIME_H

#include <math.h>
#include <string.h>

#include <functional>
#include <type_traits>

#include "nvs_cudart/cuda_runtime.h"

/* The emulator says what these mean. */
#undef __host__
#undef __device__
#undef __global__
#undef __forceinline__
#include "emu.h"

#define __align__(nbytes) __attribute__((aligned(nbytes)))

struct uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

/* Times that are noted in a graph, which the stand-in has not: by host functions. */
#ifndef cudaEventRecordExternal
#define cudaEventRecordExternal 1
#endif
cudaError_t emulate_event_record(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t emulate_event_elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
#define cudaEventRecordWithFlags emulate_event_record
#define cudaEventElapsedTime emulate_event_elapsed

/* Symmetric memory is host memory, and kernels run on the host. */
static inline cudaError_t emulate_pointer_attributes(struct cudaPointerAttributes *attributes,
                                                     const void *ptr)
{
    attributes->type = ptr ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}
#define cudaPointerGetAttributes emulate_pointer_attributes

void emulate_launch(dim3 grid, dim3 block, cudaStream_t stream,
                    const std::function<void()> &kernel);

#endif
