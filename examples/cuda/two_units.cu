/*
 * two_units.cu - device code in two translation units: this one and two_units_gather.cu.
 *
 * NVSHMEM's own device library needs relocatable device code and a device link for every program.
 * Here a plain compile of each file is enough, and -rdc=true does no harm: each unit finds the job
 * by itself. The two do a histogram together: kernels here add to bins that are spread over the
 * PEs, those of the other file fetch all bins again.
 *
 *   nvcc two_units.cu two_units_gather.cu -lnvs       (or with -rdc=true)
 *   nvsrun -n 4 ./a.out
 */
#include "two_units.h"

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <vector>

static const char usage[] = "Counts values in bins that are spread over the PEs.\n"
                            "  --count N   values of each PE (50000)\n"
                            "  --bins N    bins (1000)\n"
                            "  --help      this text\n";
static int nvalues = 50000, nbins = 1000;

static void read_options(int argc, char **argv)
{
    static const option names[] = {
        {"count", 1, &nvalues, 0}, {"bins", 1, &nbins, 0}, {"help", 0, nullptr, 'h'}, {}};
    char rest;
    for (int index, c; (c = getopt_long(argc, argv, "", names, &index)) != -1;) {
        int *value = c == 0 ? names[index].flag : nullptr;
        if (value && sscanf(optarg, "%d%c", value, &rest) == 1 && *value > 0)
            continue;
        if (value)
            fprintf(stderr, "--%s %s: not a number from 1 on\n", names[index].name, optarg);
        fputs(usage, c == 'h' ? stdout : stderr);
        exit(c == 'h' ? 0 : 2);
    }
}

/* Value i of PE pe, as a bin: more of the low ones. */
__host__ __device__ static int bin_of(int pe, int i, int nbins)
{
    unsigned hash = (pe * 50021u + i) * 2654435761u;
    return (int)((hash >> 8) % (1 + (hash >> 4) % nbins));
}

/* Bin b is number b / npes of PE b % npes. */
__global__ void count_values(unsigned long long *bins, int nvalues, int nbins)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nvalues; i += gridDim.x * blockDim.x) {
        int bin = bin_of(me, i, nbins);
        nvshmem_ulonglong_atomic_inc(&bins[bin / npes], bin % npes);
    }
}

static int wrong_bins(const unsigned long long *gathered, int npes)
{
    std::vector<unsigned long long> host(nbins), expected(nbins);
    CUDA_CHECK(cudaMemcpy(host.data(), gathered, nbins * sizeof host[0], cudaMemcpyDeviceToHost));
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < nvalues; i++)
            expected[bin_of(pe, i, nbins)]++;
    int wrong = 0;
    for (int bin = 0; bin < nbins; bin++)
        wrong += host[bin] != expected[bin];
    return wrong;
}

static int sum_over_pes(int mine)
{
    int sum = 0, *both = (int *)nvshmem_malloc(2 * sizeof(int));
    CUDA_CHECK(cudaMemcpy(both, &mine, sizeof mine, cudaMemcpyHostToDevice));
    nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, both + 1, both, 1, nullptr);
    CUDA_CHECK(cudaMemcpy(&sum, both + 1, sizeof sum, cudaMemcpyDeviceToHost));
    nvshmem_free(both);
    return sum;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int ndevices = 0;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0) {
        fputs("two_units: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    int npes = nvshmem_n_pes(), bins_per_pe = (nbins + npes - 1) / npes;
    unsigned long long *gathered,
        *bins = (unsigned long long *)nvshmem_calloc(bins_per_pe, sizeof *bins);
    CUDA_CHECK(cudaMalloc(&gathered, nbins * sizeof *gathered));

    count_values<<<8, 256>>>(bins, nvalues, nbins);
    nvshmemx_barrier_all_on_stream(nullptr); /* the atomics of all PEs are done */
    gather_bins(gathered, bins, nbins);      /* in the other unit */

    int wrong = sum_over_pes(wrong_bins(gathered, npes));
    if (nvshmem_my_pe() == 0)
        printf(
            "two_units: %d PEs: %d values of each counted in %d bins by one unit, fetched by the "
            "other%s: %d wrong\n",
            npes, nvalues, nbins, relocatable, wrong);
    CUDA_CHECK(cudaFree(gathered));
    nvshmem_free(bins);
    nvshmem_finalize();
    return wrong != 0;
}
