/*
 * moe_shuffle.cu - tokens go to the PEs of their experts and come back, as in a mixture of experts.
 *
 *   1  each PE counts its tokens for each other PE and sorts them by PE: npes pieces
 *   2  an all-to-all of the counts says what comes from whom; the receiver lays the pieces out one
 *      behind the other, and a second all-to-all tells each sender where its piece begins
 *   3  block d puts the piece for PE d there, with a signal
 *   4  block s waits for the piece of PE s only, applies the expert to it, and signals back
 *   5  block d gets its piece back, and the tokens return to their old places
 *
 * Nothing is padded, and the host never learns a count.
 *
 *   nvcc moe_shuffle.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
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
    "Routes tokens to experts on other PEs and back, by counts, with puts and signals.\n"
    "  --tokens N   tokens of each PE (1000)\n"
    "  --width N    floats in a token (128)\n"
    "  --help       this text\n";
static int ntokens = 1000, width = 128;

static void read_options(int argc, char **argv)
{
    static const option names[] = {
        {"tokens", 1, &ntokens, 0}, {"width", 1, &width, 0}, {"help", 0, nullptr, 'h'}, {}};
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

/* What an expert does, and which PE has that of token i of PE pe: PE 0 gets more than the others.
 */
__host__ __device__ static float expert(float value, int pe)
{
    return value * 2.0f + (float)(pe + 1);
}
__host__ __device__ static int expert_of(int pe, int i, int npes)
{
    unsigned hash = (pe * 1000003u + i) * 2654435761u >> 16;
    return hash % 4 == 0 ? 0 : (int)(hash / 4 % npes);
}
__host__ __device__ static float token(int pe, int i, int column)
{
    return (float)((pe * 7919 + i * 31 + column) % 4093);
}

struct shuffle {
    int ntokens, width;
    int *place;                        /* token j of the sorted ones was token place[j] */
    float *sorted, *received, *result; /* tokens: for the others, from the others, back again */
    /* An entry for each PE. A piece is `counts` tokens long; it begins at `begins` in `sorted`
     * here and at `begins_there` in `received` there. Those that come from others: `*_in`. */
    int *counts, *begins, *begins_there, *counts_in, *begins_in;
    uint64_t *arrived, *done;
};

__device__ static void prefix_sums(int *begins, const int *counts, int n)
{
    for (int i = 0, sum = 0; i < n; sum += counts[i++])
        begins[i] = sum;
}

/* Step 1, by one block: a thread for each piece, so that tokens keep their order. */
__global__ void sort_tokens(shuffle s)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
    for (int d = threadIdx.x; d < npes; d += blockDim.x)
        for (int i = s.counts[d] = 0; i < s.ntokens; i++)
            s.counts[d] += expert_of(me, i, npes) == d;
    __syncthreads();
    if (threadIdx.x == 0)
        prefix_sums(s.begins, s.counts, npes);
    __syncthreads();
    for (int d = threadIdx.x; d < npes; d += blockDim.x)
        for (int i = 0, j = s.begins[d]; i < s.ntokens; i++)
            if (expert_of(me, i, npes) == d)
                s.place[j++] = i;
    __syncthreads();
    for (int k = threadIdx.x; k < s.ntokens * s.width; k += blockDim.x)
        s.sorted[k] = token(me, s.place[k / s.width], k % s.width);
}

/* In step 2, between the all-to-alls. */
__global__ void lay_out(shuffle s)
{
    prefix_sums(s.begins_in, s.counts_in, nvshmem_n_pes());
}

/* Steps 3 to 5, by a block for each PE. */
__global__ void exchange(shuffle s)
{
    int me = nvshmem_my_pe(), pe = blockIdx.x, nelems = s.counts[pe] * s.width;
    float *mine = s.sorted + (long)s.begins[pe] * s.width;
    float *there = s.received + (long)s.begins_there[pe] * s.width;
    /* An empty piece is a signal only. */
    nvshmemx_float_put_signal_block(there, mine, nelems, &s.arrived[me], 1, NVSHMEM_SIGNAL_SET, pe);

    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(&s.arrived[pe], NVSHMEM_CMP_EQ, 1);
    __syncthreads();
    float *theirs = s.received + (long)s.begins_in[pe] * s.width;
    for (int k = threadIdx.x; k < s.counts_in[pe] * s.width; k += blockDim.x)
        theirs[k] = expert(theirs[k], me);
    __threadfence_system(); /* another GPU will read it */
    __syncthreads();
    if (threadIdx.x == 0) {
        nvshmemx_signal_op(&s.done[me], 1, NVSHMEM_SIGNAL_SET, pe);
        nvshmem_signal_wait_until(&s.done[pe], NVSHMEM_CMP_EQ, 1);
    }
    __syncthreads();
    nvshmemx_float_get_block(mine, there, nelems, pe);
    __syncthreads();
    for (int k = threadIdx.x; k < nelems; k += blockDim.x)
        s.result[(long)s.place[s.begins[pe] + k / s.width] * s.width + k % s.width] = mine[k];
}

static void run(shuffle s, int npes)
{
    sort_tokens<<<1, 256>>>(s);
    nvshmemx_int_alltoall_on_stream(NVSHMEM_TEAM_WORLD, s.counts_in, s.counts, 1, nullptr);
    lay_out<<<1, 1>>>(s);
    nvshmemx_int_alltoall_on_stream(NVSHMEM_TEAM_WORLD, s.begins_there, s.begins_in, 1, nullptr);
    void *args[] = {&s};
    int status = nvshmemx_collective_launch((const void *)exchange, npes, 256, args, 0, nullptr);
    if (status != 0) {
        fprintf(stderr, "moe_shuffle: the launch failed with status %d\n", status);
        nvshmem_global_exit(1);
    }
}

/* The same permutation by hand: the tokens that all PEs sent here, in order of PE and of token, and
 * this PE's own after their way there and back. */
static int wrong_values(const shuffle &s, int me, int npes)
{
    std::vector<float> in((size_t)npes * ntokens * width), back((size_t)ntokens * width);
    CUDA_CHECK(cudaMemcpy(in.data(), s.received, in.size() * sizeof(float), cudaMemcpyDefault));
    CUDA_CHECK(cudaMemcpy(back.data(), s.result, back.size() * sizeof(float), cudaMemcpyDefault));
    int wrong = 0;
    size_t at = 0;
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < ntokens; i++)
            for (int k = 0; k < width && expert_of(pe, i, npes) == me; k++)
                wrong += in[at++] != expert(token(pe, i, k), me);
    for (size_t k = 0; k < back.size(); k++)
        wrong += back[k] != expert(token(me, k / width, k % width), expert_of(me, k / width, npes));
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
        fputs("moe_shuffle: there is no GPU\n", stderr);
        return 77;
    }
    nvshmem_init();
    CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices));
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();

    size_t piece = (size_t)ntokens * width * sizeof(float);
    shuffle s = {};
    s.ntokens = ntokens, s.width = width;
    s.sorted = (float *)nvshmem_malloc(piece);
    s.received = (float *)nvshmem_malloc(npes * piece); /* all tokens may come here */
    s.counts = (int *)nvshmem_calloc(5 * npes, sizeof(int));
    s.begins = s.counts + npes, s.begins_there = s.begins + npes;
    s.counts_in = s.begins_there + npes, s.begins_in = s.counts_in + npes;
    s.arrived = (uint64_t *)nvshmem_calloc(2 * npes, sizeof(uint64_t));
    s.done = s.arrived + npes;
    CUDA_CHECK(cudaMalloc(&s.place, ntokens * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&s.result, piece));

    run(s, npes);
    int wrong = sum_over_pes(wrong_values(s, me, npes));
    if (me == 0)
        printf("moe_shuffle: %d PEs: %d tokens of each to experts and back, compared with a "
               "permutation by hand: %d wrong values\n",
               npes, ntokens, wrong);
    CUDA_CHECK(cudaFree(s.result));
    CUDA_CHECK(cudaFree(s.place));
    for (void *memory : {(void *)s.arrived, (void *)s.counts, (void *)s.received, (void *)s.sorted})
        nvshmem_free(memory);
    nvshmem_finalize();
    return wrong != 0;
}
