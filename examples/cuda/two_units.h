/*
 * two_units.h - what two_units.cu and two_units_gather.cu share.
 */
#ifndef TWO_UNITS_H
#define TWO_UNITS_H

#include <nvshmem.h>

#include <cstdio>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
            nvshmem_global_exit(1);                                                                \
        }                                                                                          \
    } while (0)

#if defined(__CUDACC_RDC__)
static const char relocatable[] = ", built with -rdc=true";
#else
static const char relocatable[] = "";
#endif

/* Fetches all bins from the PEs that have them, on the default stream; gathered is this PE's. */
void gather_bins(unsigned long long *gathered, const unsigned long long *bins, int nbins);

#endif
