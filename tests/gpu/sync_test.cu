/*
 * sync_test.cu - barriers, shuffles and votes, on a GPU and by the stand-in's fibers: the same
 * answers.
 */
#include "gputest.h"

enum { THREADS = 160, BLOCKS = 5, WARPS = THREADS / 32 };

struct args {
    unsigned *out; /* a word for each thread */
    unsigned *count;
};

/* Each round a thread reads what its neighbour wrote in the round before. */
GT_KERNEL(barrier_rounds, struct args, args)
{
    __shared__ unsigned value[2][THREADS];
    value[0][threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (unsigned round = 0; round < 20; round++) {
        value[(round + 1) % 2][threadIdx.x] = value[round % 2][(threadIdx.x + 1) % THREADS] + 1;
        __syncthreads();
    }
    args.out[blockIdx.x * THREADS + threadIdx.x] = value[0][threadIdx.x];
}

static void test_barriers(unsigned *out, unsigned *host)
{
    struct args args = {out, NULL};
    GT_LAUNCH(barrier_rounds, BLOCKS, THREADS, NULL, args);
    gt_read(host, out, BLOCKS * THREADS * sizeof *host);
    for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
        unsigned wanted = (i % THREADS + 20) % THREADS + 20;
        GT_CHECK(host[i] == wanted, "thread %u has %u, not %u", i, host[i], wanted);
    }
}

GT_KERNEL(shuffles, struct args, args)
{
    const unsigned all = 0xffffffffu;
    unsigned lane = threadIdx.x % 32, *out = args.out + blockIdx.x * THREADS * 8 + threadIdx.x * 8;
    out[0] = __shfl_sync(all, threadIdx.x, 7);
    out[1] = __shfl_up_sync(all, threadIdx.x, 3);
    out[2] = __shfl_down_sync(all, threadIdx.x, 30);
    out[3] = __shfl_xor_sync(all, threadIdx.x, 17);
    out[4] = __ballot_sync(all, lane % 3 == 0);
    out[5] = (unsigned)__any_sync(all, lane == 31) + 2u * (unsigned)__all_sync(all, lane < 31);
    double sum = threadIdx.x;
    for (unsigned step = 16; step; step /= 2)
        sum += __shfl_xor_sync(all, sum, (int)step);
    out[6] = (unsigned)sum;
    /* halves of a warp that go their own ways */
    unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    if (lane < 16)
        out[7] = __shfl_sync(half, lane + 100, 5);
    else
        out[7] = __shfl_sync(half, lane + 200, 20);
}

static void test_shuffles(unsigned *out, unsigned *host)
{
    struct args args = {out, NULL};
    GT_LAUNCH(shuffles, BLOCKS, THREADS, NULL, args);
    gt_read(host, out, BLOCKS * THREADS * 8 * sizeof *host);
    for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
        unsigned t = i % THREADS, lane = t % 32, first = t - lane;
        unsigned wanted[8] = {first + 7,
                              lane >= 3 ? t - 3 : t,
                              lane < 2 ? t + 30 : t,
                              first + (lane ^ 17),
                              0x49249249u,
                              1,
                              32 * first + 496,
                              lane < 16 ? 105u : 220u};
        for (unsigned k = 0; k < 8; k++)
            GT_CHECK(host[i * 8 + k] == wanted[k], "thread %u, answer %u: %u, not %u", t, k,
                     host[i * 8 + k], wanted[k]);
    }
}

/* The blocks of a grid run at the same time: each waits for all others. */
GT_KERNEL(grid_meets, struct args, args)
{
    if (threadIdx.x == 0) {
        atomicAdd(args.count, 1u);
        while (atomicAdd(args.count, 0u) < gridDim.x)
            __nanosleep(100);
    }
    __syncthreads();
    args.out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(args.count, 0u);
}

static void test_grid(unsigned *out, unsigned *host)
{
    struct args args = {out, out + BLOCKS * THREADS};
    gt_set_async(args.count, 0, sizeof *args.count, NULL);
    GT_LAUNCH(grid_meets, BLOCKS, THREADS, NULL, args);
    gt_read(host, out, BLOCKS * THREADS * sizeof *host);
    for (unsigned i = 0; i < BLOCKS * THREADS; i++)
        GT_CHECK(host[i] == BLOCKS, "thread %u saw %u blocks", i, host[i]);
}

/* Threads that have left the kernel are not waited for. */
GT_KERNEL(some_leave, struct args, args)
{
    if (threadIdx.x % 2 && threadIdx.x >= 64)
        return;
    __syncthreads();
    int here = __syncthreads_count(threadIdx.x % 4 == 0);
    args.out[threadIdx.x] = (unsigned)here;
}

static void test_leaving(unsigned *out, unsigned *host)
{
    struct args args = {out, NULL};
    GT_LAUNCH(some_leave, 1, THREADS, NULL, args);
    gt_read(host, out, THREADS * sizeof *host);
    for (unsigned i = 0; i < THREADS; i += 2)
        GT_CHECK(host[i] == THREADS / 4, "thread %u counted %u", i, host[i]);
}

/* A warp that is not full, and three dimensions. */
GT_KERNEL(numbers, struct args, args)
{
    unsigned rank = threadIdx.x + blockDim.x * threadIdx.y;
    unsigned sum = rank;
    __syncwarp(__ballot_sync((1u << 20) - 1, 1));
    for (unsigned lane = 1; lane < 20; lane++)
        sum += __shfl_sync((1u << 20) - 1, rank, (int)lane) * (rank == 0);
    args.out[rank] = sum;
}

static void test_odd_sizes(unsigned *out, unsigned *host)
{
    struct args args = {out, NULL};
    GT_LAUNCH(numbers, 1, 20, NULL, args);
    gt_read(host, out, 20 * sizeof *host);
    GT_CHECK(host[0] == 190, "the sum is %u", host[0]);
    GT_CHECK(host[19] == 19, "thread 19 is %u", host[19]);
}

/* A recorded graph does it again each time. */
GT_KERNEL(counts_up, struct args, args)
{
    if (threadIdx.x == 0)
        *args.count += 1;
}

static void test_graph(unsigned *out)
{
    struct args args = {NULL, out};
    gt_stream stream = gt_stream_new();
    gt_set_async(out, 0, sizeof *out, stream);
    gt_sync(stream);
    gt_capture(stream);
    for (int i = 0; i < 3; i++)
        GT_LAUNCH(counts_up, 1, 32, stream, args);
    gt_graph graph = gt_captured(stream);
    unsigned count;
    gt_sync(stream);
    gt_read(&count, out, sizeof count);
    GT_CHECK(count == 0, "recording ran the kernel: %u", count);
    for (int i = 0; i < 7; i++)
        gt_replay(graph, stream);
    gt_sync(stream);
    gt_read(&count, out, sizeof count);
    GT_CHECK(count == 21, "%u", count);
    gt_graph_free(graph);
    gt_stream_free(stream);
}

int main(void)
{
    gt_need_gpu();
    gt_select(0);
    size_t nbytes = (BLOCKS * THREADS * 8 + 1) * sizeof(unsigned);
    unsigned *out = (unsigned *)gt_malloc(nbytes), *host = (unsigned *)malloc(nbytes);
    test_barriers(out, host);
    test_shuffles(out, host);
    test_grid(out, host);
    test_leaving(out, host);
    test_odd_sizes(out, host);
    test_graph(out);
    free(host);
    gt_free(out);
    return gt_result();
}
