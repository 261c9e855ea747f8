/*
 * mpirun_start.cu - chooses the GPU by what the launcher says, before NVSHMEM is there.
 *
 * Programs under mpirun, srun or torchrun select their device first thing, by their number among
 * the processes of the machine, which each launcher puts into a variable of its own. Where none
 * does, the program asks NVSHMEM, between nvshmem_init and the first nvshmem_malloc. Then kernels
 * of all PEs tell each other what they got, which is checked against what the hosts have read.
 *
 *   nvcc mpirun_start.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <vector>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char usage[] =
    "Selects a GPU by the local rank of the launcher, and tells all PEs who has which.\n"
    "  --quiet   only the result, without the list of PE 0\n"
    "  --help    this text\n";
static int quiet;

static void read_options(int argc, char **argv)
{
    static const option names[] = {{"quiet", 0, &quiet, 1}, {"help", 0, nullptr, 'h'}, {}};
    for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        if (c == 0)
            continue;
        fputs(usage, c == 'h' ? stdout : stderr);
        exit(c == 'h' ? 0 : 2);
    }
}

/* This process among those of its machine, from 0; -1: no launcher says so. PMI_RANK counts the
 * whole job: on several machines that still spreads the PEs, if each has as many. */
static int local_rank(const char **source)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MV2_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID",
                                        "SLURM_LOCALID",
                                        "LOCAL_RANK",
                                        "PMI_RANK"};
    for (const char *name : names)
        if (const char *value = getenv(name)) {
            *source = name;
            return atoi(value);
        }
    *source = "NVSHMEMX_TEAM_NODE";
    return -1;
}

/* What a PE says of itself. The table is symmetric, with a line for each PE. */
struct line {
    int pe, local, device;
    char bus[20]; /* where the GPU is plugged in: the same for PEs that share it */
};

/* Writes this PE's line into the tables of all. */
__global__ void introduce(line *table)
{
    line *mine = &table[nvshmem_my_pe()];
    for (int pe = threadIdx.x; pe < nvshmem_n_pes(); pe += blockDim.x)
        nvshmem_putmem(mine, mine, sizeof *mine, pe);
}

/* Selects the device by the launcher's number if there is one, before NVSHMEM starts, otherwise by
 * NVSHMEM's, after that. */
static line start(int ndevices, const char **source)
{
    line mine = {};
    mine.local = local_rank(source);
    if (mine.local >= 0)
        CUDA_CHECK(cudaSetDevice(mine.local % ndevices));
    nvshmem_init();
    if (mine.local < 0) {
        mine.local = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
        CUDA_CHECK(cudaSetDevice(mine.local % ndevices));
    }
    mine.pe = nvshmem_my_pe();
    CUDA_CHECK(cudaGetDevice(&mine.device));
    CUDA_CHECK(cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, mine.device));
    return mine;
}

/* Symmetric memory has to lie on the device that was chosen, whatever NVSHMEM did meanwhile. */
static bool lies_on(int device, const void *symmetric)
{
    cudaPointerAttributes attributes;
    CUDA_CHECK(cudaPointerGetAttributes(&attributes, symmetric));
    return attributes.device == device;
}

/* The lines that kernels wrote, and those that NVSHMEM gathers for the hosts: the same, and in
 * order. Returns the number of wrong ones. */
static int compare(const std::vector<line> &told, const std::vector<line> &gathered)
{
    int wrong = 0;
    for (size_t pe = 0; pe < told.size(); pe++) {
        if (nvshmem_my_pe() == 0 && !quiet)
            printf("  PE %d has local rank %d and device %d at %s\n", told[pe].pe, told[pe].local,
                   told[pe].device, told[pe].bus);
        wrong += told[pe].pe != (int)pe || memcmp(&told[pe], &gathered[pe], sizeof(line)) != 0;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int ndevices = 0;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0) {
        fputs("mpirun_start: there is no GPU\n", stderr);
        return 77;
    }
    const char *source;
    line mine = start(ndevices, &source);
    int npes = nvshmem_n_pes();
    size_t nbytes = npes * sizeof(line);

    line *table = (line *)nvshmem_malloc(nbytes), *gathered = (line *)nvshmem_malloc(nbytes);
    CUDA_CHECK(cudaMemcpy(table + mine.pe, &mine, sizeof mine, cudaMemcpyHostToDevice));
    nvshmemx_fcollectmem_on_stream(NVSHMEM_TEAM_WORLD, gathered, table + mine.pe, sizeof mine,
                                   nullptr);
    introduce<<<1, 64>>>(table);
    nvshmemx_barrier_all_on_stream(nullptr);

    std::vector<line> by_kernels(npes), by_nvshmem(npes);
    CUDA_CHECK(cudaMemcpy(by_kernels.data(), table, nbytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(by_nvshmem.data(), gathered, nbytes, cudaMemcpyDeviceToHost));
    int wrong = compare(by_kernels, by_nvshmem);
    bool here = lies_on(mine.local % ndevices, table) && mine.device == mine.local % ndevices;
    printf(
        "mpirun_start: PE %d of %d: device %d of %d by %s, memory on it: %s; lines of all PEs: %d "
        "wrong\n",
        mine.pe, npes, mine.device, ndevices, source, here ? "yes" : "NO", wrong);
    nvshmem_free(gathered);
    nvshmem_free(table);
    nvshmem_finalize();
    return wrong != 0 || !here;
}
