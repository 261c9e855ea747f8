/*
 * stencil.cu - heat in a plate: a 2D Jacobi iteration whose PEs exchange halos by put with signal.
 *
 * Each PE has a strip of rows, and above and below it a copy of the neighbour's nearest row, the
 * halo. A block that has computed a row at the edge of the strip puts it into the neighbour's halo
 * and sets the neighbour's signal to the number of steps done. Only the blocks at the edges wait,
 * while the others compute.
 *
 * There are two plates, read and written in turn. A neighbour's put may come early, one step ahead,
 * into the plate that is read in this step. It can't come before the edge row has read the halo:
 * what lets the neighbour compute that step is the signal that this row sends after it.
 *
 *   nvcc stencil.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <utility>
#include <vector>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
            nvshmem_global_exit(1);                                                                \
        }                                                                                          \
    } while (0)

static const char usage[] =
    "Jacobi steps on a square plate, in strips of rows, with halos exchanged by put with signal.\n"
    "  --size N    points of the plate in each direction, at least one row for each PE (500)\n"
    "  --steps N   steps (200)\n"
    "  --help      this text\n";
static int size = 500, steps = 200;

static void read_options(int argc, char **argv)
{
    static const option names[] = {
        {"size", 1, &size, 0}, {"steps", 1, &steps, 0}, {"help", 0, nullptr, 'h'}, {}};
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

/* A PE's strip: `rows` rows of the plate, and the neighbours; -1: the plate ends here. */
struct strip {
    int size, rows, first;        /* first: its first row in the plate */
    int above, below, rows_above; /* neighbours, and the rows that the upper one has */
    uint64_t *from_above, *from_below;
};

/* The plate has a border of constant values: row 0 and column 0 of `size + 2`, and the last ones.
 */
__host__ __device__ static float average(const float *now, int width, int row, int column)
{
    const float *at = now + (long)row * width + column;
    return 0.25f * ((at[-width] + at[width]) + (at[-1] + at[1]));
}

__global__ void jacobi_step(float *next, const float *now, strip s, uint64_t step)
{
    int width = s.size + 2;
    for (int row = 1 + blockIdx.x; row <= s.rows; row += gridDim.x) {
        bool top = row == 1 && s.above >= 0, bottom = row == s.rows && s.below >= 0;
        if (threadIdx.x == 0) {
            if (top)
                nvshmem_signal_wait_until(s.from_above, NVSHMEM_CMP_GE, step);
            if (bottom)
                nvshmem_signal_wait_until(s.from_below, NVSHMEM_CMP_GE, step);
        }
        __syncthreads();
        for (int column = 1 + threadIdx.x; column <= s.size; column += blockDim.x)
            next[(long)row * width + column] = average(now, width, row, column);
        __syncthreads(); /* the row is complete, and the halo read */
        float *done = next + (long)row * width;
        if (top) /* into the upper neighbour's lower halo, and the other way round */
            nvshmemx_float_put_signal_block(next + (long)(s.rows_above + 1) * width, done, width,
                                            s.from_below, step + 1, NVSHMEM_SIGNAL_SET, s.above);
        if (bottom)
            nvshmemx_float_put_signal_block(next, done, width, s.from_above, step + 1,
                                            NVSHMEM_SIGNAL_SET, s.below);
    }
}

static strip strip_of(int me, int npes)
{
    auto first = [=](int pe) { return (int)((long)size * pe / npes); };
    strip s = {};
    s.size = size;
    s.first = first(me);
    s.rows = first(me + 1) - first(me);
    s.above = me - 1;
    s.below = me + 1 < npes ? me + 1 : -1;
    s.rows_above = me > 0 ? first(me) - first(me - 1) : 0;
    s.from_above = (uint64_t *)nvshmem_calloc(2, sizeof(uint64_t));
    s.from_below = s.from_above + 1;
    return s;
}

/* Hot above, cold below, and something in between inside. */
static std::vector<float> first_plate()
{
    int width = size + 2;
    std::vector<float> plate((long)width * width);
    for (int row = 0; row < width; row++)
        for (int column = 0; column < width; column++)
            plate[(long)row * width + column] = row == 0 ? 100.0f
                                                : row == width - 1
                                                    ? -10.0f
                                                    : (float)((row * 7 + column * 3) % 50);
    return plate;
}

/* The same on the host and in one piece: the same operations, so the same bits. */
static std::vector<float> reference()
{
    std::vector<float> now = first_plate(), next = now;
    for (int step = 0; step < steps; step++, std::swap(now, next))
        for (int row = 1; row <= size; row++)
            for (int column = 1; column <= size; column++)
                next[(long)row * (size + 2) + column] = average(now.data(), size + 2, row, column);
    return now;
}

static int wrong_points(const float *device, const strip &s)
{
    std::vector<float> expected = reference(), mine((long)s.rows * (size + 2));
    CUDA_CHECK(cudaMemcpy(mine.data(), device + size + 2, mine.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (size_t i = 0; i < mine.size(); i++)
        wrong += mine[i] != expected[(long)(s.first + 1) * (size + 2) + i];
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
        fputs("stencil: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
    if (size < npes) {
        fprintf(stderr, "stencil: --size %d: at least %d, a row for each PE\n", size, npes);
        nvshmem_global_exit(2);
    }

    /* Symmetric memory has the same size everywhere: that of the longest strip, with halos. */
    strip s = strip_of(me, npes);
    size_t nbytes = (size_t)((size + npes - 1) / npes + 2) * (size + 2) * sizeof(float);
    float *now = (float *)nvshmem_malloc(nbytes), *next = (float *)nvshmem_malloc(nbytes);
    std::vector<float> plate = first_plate();
    for (float *buffer : {now, next})
        CUDA_CHECK(cudaMemcpy(buffer, plate.data() + (long)s.first * (size + 2),
                              (size_t)(s.rows + 2) * (size + 2) * sizeof(float),
                              cudaMemcpyHostToDevice));
    nvshmemx_barrier_all_on_stream(nullptr);
    for (int step = 0; step < steps; step++, std::swap(now, next))
        jacobi_step<<<16, 256>>>(next, now, s, step);
    CUDA_CHECK(cudaGetLastError());

    int wrong = sum_over_pes(wrong_points(now, s));
    if (me == 0)
        printf("stencil: %d PEs: %d steps on %d x %d points, compared with one host: %d wrong\n",
               npes, steps, size, size, wrong);
    nvshmem_free(now);
    nvshmem_free(next);
    nvshmem_free(s.from_above);
    nvshmem_finalize();
    return wrong != 0;
}
