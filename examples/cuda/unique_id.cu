/*
 * unique_id.cu - joins a job by a unique id that one process makes and hands to the others.
 *
 * This is the start for programs whose launcher knows nothing of NVSHMEM: all they need is their
 * rank, the number of ranks, and a way to hand 128 bytes from rank 0 to the rest. Here ranks come
 * from the variables of the usual launchers, and the id through a file. A process that nobody
 * launched is a job of one.
 *
 *   nvcc unique_id.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <string>
#include <unistd.h>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
            nvshmem_global_exit(1);                                                                \
        }                                                                                          \
    } while (0)

static const char usage[] = "Starts with a unique id, handed over in a file, and counts the PEs.\n"
                            "  --file PATH   the file; rank 0 makes and removes it (one in TMPDIR, "
                            "named after the launcher)\n"
                            "  --help        this text\n";

static std::string read_options(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    /* All ranks have the same parent, the launcher. */
    std::string file =
        std::string(folder ? folder : "/tmp") + "/unique_id." + std::to_string(getppid());
    static const option names[] = {{"file", 1, nullptr, 'f'}, {"help", 0, nullptr, 'h'}, {}};
    for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        if (c == 'f') {
            file = optarg;
            continue;
        }
        fputs(usage, c == 'h' ? stdout : stderr);
        exit(c == 'h' ? 0 : 2);
    }
    return file;
}

/* ---- rank and number of ranks ---------------------------------------------------------------- */

static void find_rank(int *rank, int *nranks)
{
    static const char *const names[][2] = {{"NVS_JOB_PE", "NVS_JOB_NPES"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"},
                                           {"RANK", "WORLD_SIZE"}};
    *rank = 0;
    *nranks = 1;
    for (auto name : names)
        if (getenv(name[0]) && getenv(name[1])) {
            *rank = atoi(getenv(name[0]));
            *nranks = atoi(getenv(name[1]));
            return;
        }
}

/* ---- the id, through a file ------------------------------------------------------------------ */

/* Written beside, then renamed: whoever finds the file finds all of it. */
static bool write_id(const std::string &file, const nvshmemx_uniqueid_t &id)
{
    std::string beside = file + ".XXXXXX";
    int fd = mkstemp(&beside[0]);
    if (fd < 0 || write(fd, &id, sizeof id) != (ssize_t)sizeof id || close(fd) != 0)
        return false;
    return rename(beside.c_str(), file.c_str()) == 0;
}

static bool read_id(const std::string &file, nvshmemx_uniqueid_t *id)
{
    for (int tries = 0; tries < 60000; tries++, usleep(1000))
        if (FILE *stream = fopen(file.c_str(), "rb")) {
            bool complete = fread(id, sizeof *id, 1, stream) == 1;
            fclose(stream);
            return complete;
        }
    return false;
}

static int join(const std::string &file)
{
    int rank, nranks;
    find_rank(&rank, &nranks);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (rank == 0 && nvshmemx_get_uniqueid(&id) != 0)
        return 1;
    if (nranks > 1 && !(rank == 0 ? write_id(file, id) : read_id(file, &id))) {
        perror(file.c_str());
        return 1;
    }
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(rank, nranks, &id, &attributes);
    int status = nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes);
    if (rank == 0 && nranks > 1) /* all have read it, or they would not be here */
        unlink(file.c_str());
    if (status == 0 && (nvshmem_my_pe() != rank || nvshmem_n_pes() != nranks)) {
        fprintf(stderr, "unique_id: rank %d of %d became PE %d of %d\n", rank, nranks,
                nvshmem_my_pe(), nvshmem_n_pes());
        return 1;
    }
    return status;
}

/* ---- something to do ------------------------------------------------------------------------- */

/* Leaves a mark of this PE at every other one. */
__global__ void say_hello(int *marks)
{
    int me = nvshmem_my_pe();
    for (int pe = threadIdx.x; pe < nvshmem_n_pes(); pe += blockDim.x)
        nvshmem_int_p(&marks[me], me + 1, pe);
}

int main(int argc, char **argv)
{
    std::string file = read_options(argc, argv);
    int ndevices = 0;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0) {
        fputs("unique_id: there is no GPU\n", stderr);
        return 77;
    }
    if (join(file) != 0)
        return 1;
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));

    int npes = nvshmem_n_pes(), wrong = 0;
    int *marks = (int *)nvshmem_calloc(npes, sizeof(int));
    say_hello<<<1, 64>>>(marks);
    nvshmemx_barrier_all_on_stream(nullptr);
    for (int pe = 0; pe < npes; pe++) {
        int mark;
        CUDA_CHECK(cudaMemcpy(&mark, marks + pe, sizeof mark, cudaMemcpyDeviceToHost));
        wrong += mark != pe + 1;
    }
    printf("unique_id: PE %d of %d: marks of all PEs from their kernels: %d wrong\n",
           nvshmem_my_pe(), npes, wrong);
    nvshmem_free(marks);
    nvshmem_finalize();
    return wrong != 0;
}
