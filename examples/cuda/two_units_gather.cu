/*
 * two_units_gather.cu - the other unit of two_units.cu.
 */
#include "two_units.h"

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void fetch_bins(unsigned long long *gathered, const unsigned long long *bins, int nbins)
{
    int npes = nvshmem_n_pes();
    for (int bin = blockIdx.x * blockDim.x + threadIdx.x; bin < nbins;
         bin += gridDim.x * blockDim.x)
        gathered[bin] = nvshmem_ulonglong_g(&bins[bin / npes], bin % npes);
}

void gather_bins(unsigned long long *gathered, const unsigned long long *bins, int nbins)
{
    fetch_bins<<<4, 256>>>(gathered, bins, nbins);
    CUDA_CHECK(cudaGetLastError());
}
