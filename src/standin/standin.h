/*
 * standin.h - what the files of the stand-in for the CUDA runtime share
 * (nvs_cudart/cuda_runtime.h).
 *
 * A library of its own, libnvs_cudart.so, that uses of libnvs what it exports: nvs.h, and the
 * queues of stream/queue.h, which are the streams.
 */
#ifndef NVSI_STANDIN_H
#define NVSI_STANDIN_H

#include <stdbool.h>
#include <stdint.h>

#include "nvs.h"
#include "nvs_cudart/cuda_runtime.h"
#include "stream/queue.h"

#define SI_HIDDEN __attribute__((visibility("hidden")))

/* ---- errors.c ---- */

/* Remembers an error for cudaGetLastError(), and returns it. */
SI_HIDDEN cudaError_t si_error(cudaError_t error);
/* The error for a status of stream/queue.h, remembered. */
SI_HIDDEN cudaError_t si_status(int status);

/* ---- device.c ---- */

SI_HIDDEN bool si_device_exists(int device);

/* ---- memory.c ---- */

struct si_block {
    char *base;
    size_t nbytes;
    enum cudaMemoryType type;
    int device;
    bool registered; /* by cudaHostRegister: not ours to free */
};
/* The block that ptr points into, or type cudaMemoryTypeUnregistered. */
SI_HIDDEN struct si_block si_block_of(const void *ptr);

#endif
