/*
 * far_sizes_test.cu - more than 4 GiB, and more than 2^32 elements, by every way there is: host
 * calls, streams, kernels.
 *
 * A counter of 32 bits anywhere would do too little, go round, or store in the wrong place. So a
 * byte depends on all bits of its index, and all of dst is looked at, what must not change as well:
 * by a kernel, and by the host at the places where counters overflow, since the kernel that looks
 * might have the same mistake.
 *
 * One GPU may do for all PEs; with too little memory the test is skipped. On the stand-in, and with
 * a number of bytes as argument, the same is done with less.
 */
#include "device_job.h"

#define SOME_MORE ((3u << 20) + 5)
#if defined(NVS_EMULATE_DEVICE)
#define COUNT ((uint64_t)200003)
#define FN_BOTH static inline
#else
#define COUNT (((uint64_t)1 << 32) + SOME_MORE)
#define FN_BOTH static __host__ __device__
#endif

enum { EDGE = 4096, WINDOW = 64, BLOCK_THREADS = 512, MARK = 0xa5 };

/* ---- what must be where ---------------------------------------------------------------------- */

/* What dst holds: src of one PE from byte `shift` on, at every second byte, the sum of all, or one
 * behind the other. */
enum layout { COPY, SPREAD, SUM, GATHER };

struct expected {
    enum layout layout;
    int pe, npes;
    uint64_t count, shift;
};

/* Byte i of src of a PE. */
FN_BOTH uint8_t byte_of(int pe, uint64_t i)
{
    uint64_t x = i / 8 + (uint64_t)(pe + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint8_t)((x ^ x >> 31) >> i % 8 * 8);
}

/* Byte i of dst. */
FN_BOTH uint8_t wanted(const struct expected &what, uint64_t i)
{
    uint8_t sum = 0;
    if (i < what.shift)
        return MARK;
    i -= what.shift;
    switch (what.layout) {
    case COPY:
        return i < what.count ? byte_of(what.pe, i) : (uint8_t)MARK;
    case SPREAD:
        return i % 2 == 0 && i / 2 < what.count ? byte_of(what.pe, i / 2) : (uint8_t)MARK;
    case SUM:
        for (int pe = 0; pe < what.npes; pe++)
            sum = (uint8_t)(sum + byte_of(pe, i));
        return i < what.count ? sum : (uint8_t)MARK;
    default:
        return i / what.count < (uint64_t)what.npes ? byte_of((int)(i / what.count), i % what.count)
                                                    : (uint8_t)MARK;
    }
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

struct fill_args {
    uint8_t *src;
    uint64_t nbytes;
    int pe;
};
GT_KERNEL(fill_far, struct fill_args, args)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.nbytes; i += step)
        args.src[i] = byte_of(args.pe, i);
}

struct look_args {
    const uint8_t *dst;
    uint64_t nbytes;
    struct expected what;
    uint64_t *wrong; /* for each thread: the first byte that is not as wanted, or nbytes */
};
GT_KERNEL(look_far, struct look_args, args)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t i = thread;
    while (i < args.nbytes && args.dst[i] == wanted(args.what, i))
        i += step;
    args.wrong[thread] = i < args.nbytes ? i : args.nbytes;
}

enum op {
    KERNEL_PUT,
    KERNEL_PUT_WARP,
    KERNEL_GET,
    KERNEL_IPUT,
    KERNEL_REDUCE,
    KERNEL_COLLECT,
    KERNEL_BROADCAST
};
struct move_args {
    uint8_t *dst, *src;
    uint64_t count;
    int op, pe;
};
GT_KERNEL(move_far, struct move_args, args)
{
    uint8_t *dst = args.dst, *src = args.src;
    switch (args.op) {
    case KERNEL_PUT:
        nvshmemx_uint8_put_block(dst, src, args.count, args.pe);
        break;
    case KERNEL_PUT_WARP:
        if (threadIdx.x < 32)
            nvshmemx_uint8_put_warp(dst, src, args.count, args.pe);
        break;
    case KERNEL_GET:
        nvshmemx_uint8_get_block(dst, src, args.count, args.pe);
        break;
    case KERNEL_IPUT:
        nvshmemx_uint8_iput_block(dst, src, 2, 1, args.count, args.pe);
        break;
    case KERNEL_REDUCE:
        nvshmemx_uint8_sum_reduce_block(NVSHMEM_TEAM_WORLD, dst, src, args.count);
        break;
    case KERNEL_COLLECT:
        nvshmemx_uint8_fcollect_block(NVSHMEM_TEAM_WORLD, dst, src, args.count);
        break;
    default:
        nvshmemx_uint8_broadcast_block(NVSHMEM_TEAM_WORLD, dst, src, args.count, args.pe);
    }
}

/* ---- a case -----------------------------------------------------------------------------------
 */

static struct {
    uint8_t *dst, *src;
    uint64_t count, dst_bytes;
    uint64_t *wrong, *wrong_here; /* look_args.wrong, and a copy of it */
    unsigned blocks;
    int to, from; /* neighbours */
    gt_stream stream;
} far;

static void look_everywhere(const char *name, const struct expected *what)
{
    struct look_args args = {far.dst, far.dst_bytes, *what, far.wrong};
    size_t threads = (size_t)far.blocks * BLOCK_THREADS, first = 0;
    GT_LAUNCH(look_far, far.blocks, BLOCK_THREADS, NULL, args);
    gt_read(far.wrong_here, far.wrong, threads * sizeof *far.wrong);
    for (size_t i = 1; i < threads; i++)
        if (far.wrong_here[i] < far.wrong_here[first])
            first = i;
    GT_CHECK(far.wrong_here[first] == far.dst_bytes, "%s: PE %d: byte %llu of dst", name, job_me,
             (unsigned long long)far.wrong_here[first]);
}

/* Around a byte of dst, by the host. */
static void look_around(const char *name, const struct expected *what, uint64_t at)
{
    uint8_t bytes[WINDOW];
    uint64_t first = at < WINDOW / 2 ? 0 : at - WINDOW / 2;
    if (first + WINDOW > far.dst_bytes)
        return;
    gt_read(bytes, far.dst + first, WINDOW);
    for (unsigned i = 0; i < WINDOW; i++)
        GT_CHECK(bytes[i] == wanted(*what, first + i), "%s: PE %d: byte %llu is %02x, not %02x",
                 name, job_me, (unsigned long long)(first + i), bytes[i], wanted(*what, first + i));
}

static void begin(void)
{
    gt_set_async(far.dst, MARK, far.dst_bytes, far.stream);
    gt_sync(far.stream);
    nvshmem_barrier_all();
}

/* All that was started here is done when this is called, but for streams. */
static void end(const char *name, enum layout layout, int pe, uint64_t shift)
{
    const struct expected what = {layout, pe, job_npes, far.count, shift};
    const uint64_t far_places[] = {0,
                                   (uint64_t)1 << 31,
                                   (uint64_t)1 << 32,
                                   (uint64_t)1 << 33,
                                   far.count,
                                   far.count + ((uint64_t)1 << 31),
                                   far.count + ((uint64_t)1 << 32),
                                   2 * far.count,
                                   far.dst_bytes - WINDOW / 2};
    gt_sync(far.stream);
    nvshmem_barrier_all();
    look_everywhere(name, &what);
    for (size_t i = 0; i < sizeof far_places / sizeof *far_places; i++)
        look_around(name, &what, far_places[i] + shift);
    nvshmem_barrier_all();
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static void by_host(void)
{
    begin();
    nvshmem_uint8_put(far.dst, far.src, far.count, far.to);
    end("put", COPY, far.from, 0);
    begin();
    nvshmem_uint8_get(far.dst + 1, far.src, far.count, far.to);
    end("get", COPY, far.to, 1);
    begin();
    nvshmem_uint8_iput(far.dst, far.src, 2, 1, far.count, far.to);
    end("iput", SPREAD, far.from, 0);
    begin();
    nvshmem_uint8_sum_reduce(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count);
    end("sum_reduce", SUM, -1, 0);
    begin();
    nvshmem_uint8_fcollect(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count);
    end("fcollect", GATHER, -1, 0);
    begin();
    nvshmem_uint8_broadcast(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count, job_npes - 1);
    end("broadcast", COPY, job_npes - 1, 0);
}

static void by_stream(void)
{
    begin();
    nvshmemx_uint8_put_on_stream(far.dst + 1, far.src, far.count, far.to, far.stream);
    end("put_on_stream", COPY, far.from, 1);
    begin();
    nvshmemx_uint8_get_on_stream(far.dst, far.src, far.count, far.to, far.stream);
    end("get_on_stream", COPY, far.to, 0);
    begin();
    nvshmemx_uint8_iput_on_stream(far.dst, far.src, 2, 1, far.count, far.to, far.stream);
    end("iput_on_stream", SPREAD, far.from, 0);
    begin();
    nvshmemx_uint8_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count,
                                        far.stream);
    end("sum_reduce_on_stream", SUM, -1, 0);
    begin(); /* not aligned alike: another way through the kernel that folds */
    nvshmemx_uint8_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, far.dst + 1, far.src, far.count,
                                        far.stream);
    end("sum_reduce_on_stream, unaligned", SUM, -1, 1);
    begin();
    nvshmemx_uint8_fcollect_on_stream(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count, far.stream);
    end("fcollect_on_stream", GATHER, -1, 0);
    begin();
    nvshmemx_uint8_broadcast_on_stream(NVSHMEM_TEAM_WORLD, far.dst, far.src, far.count, 0,
                                       far.stream);
    end("broadcast_on_stream", COPY, 0, 0);
}

static void kernel(const char *name, enum op op, int pe, uint64_t shift)
{
    struct move_args args = {far.dst + shift, far.src, far.count, op, pe};
    begin();
    GT_LAUNCH(move_far, 1, BLOCK_THREADS, far.stream, args);
    switch (op) {
    case KERNEL_GET:
        end(name, COPY, pe, shift);
        break;
    case KERNEL_IPUT:
        end(name, SPREAD, far.from, shift);
        break;
    case KERNEL_REDUCE:
        end(name, SUM, -1, shift);
        break;
    case KERNEL_COLLECT:
        end(name, GATHER, -1, shift);
        break;
    default:
        end(name, COPY, op == KERNEL_BROADCAST ? pe : far.from, shift);
    }
}

static void by_kernel(void)
{
    kernel("put_block", KERNEL_PUT, far.to, 0);
    kernel("put_block, unaligned", KERNEL_PUT, far.to, 1);
    kernel("put_warp", KERNEL_PUT_WARP, far.to, 0);
    kernel("get_block", KERNEL_GET, far.to, 0);
    kernel("get_block, unaligned", KERNEL_GET, far.to, 4);
    kernel("iput_block", KERNEL_IPUT, far.to, 0);
    kernel("sum_reduce_block", KERNEL_REDUCE, -1, 0);
    kernel("fcollect_block", KERNEL_COLLECT, -1, 0);
    kernel("broadcast_block", KERNEL_BROADCAST, 0, 0);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Whether there is enough for all PEs on this GPU, on each of them. */
static bool enough(void)
{
    int devices = gt_devices(), node_npes = nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE);
    uint64_t sharers = (uint64_t)((node_npes + devices - 1) / devices);
    uint64_t needed = sharers * (far.dst_bytes + far.count + ((uint64_t)1 << 28));
    int mine = gt_free_bytes() >= needed, all = 0, *words = (int *)job_malloc(2 * sizeof *words);
    gt_copy(words, &mine, sizeof mine);
    nvshmem_int_min_reduce(NVSHMEM_TEAM_WORLD, words + 1, words, 1);
    gt_read(&all, words + 1, sizeof all);
    nvshmem_free(words);
    if (!mine)
        fprintf(stderr, "PE %d: %llu bytes of the GPU's memory are needed, and %llu are free\n",
                job_me, (unsigned long long)needed, (unsigned long long)gt_free_bytes());
    return all;
}

static void make_room(void)
{
    far.blocks = 4 * gt_multiprocessors();
    far.to = (job_me + 1) % job_npes;
    far.from = (job_me + job_npes - 1) % job_npes;
    far.dst = (uint8_t *)job_malloc(far.dst_bytes);
    far.src = (uint8_t *)job_malloc(far.count);
    far.wrong = (uint64_t *)gt_malloc((size_t)far.blocks * BLOCK_THREADS * sizeof *far.wrong);
    far.wrong_here = (uint64_t *)malloc((size_t)far.blocks * BLOCK_THREADS * sizeof *far.wrong);
    far.stream = gt_stream_new();
    GT_LOAD(move_far);
    GT_LOAD(look_far);
    struct fill_args args = {far.src, far.count, job_me};
    GT_LAUNCH(fill_far, far.blocks, BLOCK_THREADS, NULL, args);
    gt_sync_all();
}

int main(int argc, char **argv)
{
    job_begin();
    uint64_t most = (uint64_t)(job_npes > 2 ? job_npes : 2); /* iput fills every second byte */
    far.count = argc > 1 ? strtoull(argv[1], NULL, 0) : COUNT;
    far.dst_bytes = most * far.count + EDGE;
    if (far.count == 0) {
        fprintf(stderr, "the number of bytes is %s: it must be at least 1\n", argv[1]);
        return 1;
    }
    if (!enough()) {
        nvshmem_finalize();
        return 77;
    }
    make_room();
    by_host();
    by_stream();
    by_kernel();
    nvshmem_free(far.dst);
    nvshmem_free(far.src);
    return job_end();
}
