/*
 * half_block_test.cu - a block of half-precision gradients with its scale, in device memory.
 *
 * As tests/spmd/half_block.c: 256 halfs and a float scale in one struct, sent in 16-bit units to
 * the right PE by put16 with a fence and a signal, and by put16_signal; from the host, on a stream,
 * and in a kernel by a thread, a warp and a block; at addresses aligned and aligned for halfs only.
 * A kernel of the right PE watches meanwhile: a half is never a byte of the round before and one of
 * this, and once the signal is there all halfs and the scale are of this round.
 */
#include "device_job.h"

enum { HALFS = 256, UNITS = HALFS + 2, ROUNDS = 12, ROOM = 640, THREADS = 64 };
enum way {
    HOST_PUT,
    HOST_SIGNAL,
    STREAM_PUT,
    STREAM_SIGNAL,
    THREAD_PUT,
    THREAD_SIGNAL,
    WARP_PUT,
    WARP_SIGNAL,
    BLOCK_PUT,
    BLOCK_SIGNAL,
    NUM_WAYS
};
static const char *const way_names[] = {
    "put16",        "put16_signal",        "put16_on_stream", "put16_signal_on_stream",
    "thread put16", "thread put16_signal", "warp put16",      "warp put16_signal",
    "block put16",  "block put16_signal"};

struct block {
    uint16_t half[HALFS];
    float scale;
};
static_assert(sizeof(struct block) == UNITS * 2, "no padding");

struct args {
    int way, right, left;
    char *dst, *src;            /* where the block lies, symmetric */
    uint64_t *arrived, *looked; /* signals: rounds that came here; that the right one has seen */
    uint64_t first;             /* rounds first .. first + ROUNDS - 1 */
    unsigned *wrong;            /* of this PE: torn halfs, old halfs, wrong scales */
};
enum { TORN, OLD, SCALE, NUM_WRONG };

/* Both bytes change from one round to the next. */
#if defined(NVS_EMULATE_DEVICE)
#define BOTH static inline
#else
#define BOTH static __host__ __device__ inline
#endif
BOTH uint16_t half_of(uint64_t round)
{
    return (uint16_t)(round % 251 * 0x0101 + 0x0102);
}
BOTH float scale_of(uint64_t round)
{
    return (float)round * 0.25f;
}
/* The 16-bit units of the block: the scale may lie where no float may. */
BOTH uint16_t unit_of(uint64_t round, int i)
{
    float scale = scale_of(round);
    uint16_t parts[2];
    memcpy(parts, &scale, sizeof scale);
    return i < HALFS ? half_of(round) : parts[i - HALFS];
}

/* ---- the receiver ---------------------------------------------------------------------------- */

GT_KERNEL(watch, struct args, args)
{
    const volatile uint16_t *units = (const volatile uint16_t *)args.dst;
    for (uint64_t round = args.first; round < args.first + ROUNDS; round++) {
        /* With one PE the writer is a thread of this process: looking would be a race in it. */
        for (unsigned i = threadIdx.x;
             nvshmem_n_pes() > 1 && nvshmem_signal_fetch(args.arrived) < round; i += 37) {
            uint16_t now = units[i % HALFS];
            if (now != half_of(round) && now != half_of(round - 1))
                atomicAdd(&args.wrong[TORN], 1u);
            __nanosleep(20);
        }
        nvshmem_signal_wait_until(args.arrived, NVSHMEM_CMP_GE, round);
        for (int i = (int)threadIdx.x; i < UNITS; i += THREADS)
            if (units[i] != unit_of(round, i))
                atomicAdd(&args.wrong[i < HALFS ? OLD : SCALE], 1u);
        __syncthreads(); /* all have looked */
        if (threadIdx.x == 0)
            nvshmemx_signal_op(args.looked, round, NVSHMEM_SIGNAL_SET, args.left);
    }
}

/* ---- the sender in a kernel ------------------------------------------------------------------ */

#define PUT(name) name(args.dst, args.src, UNITS, args.right)
#define PUT_SIGNAL(name)                                                                           \
    name(args.dst, args.src, UNITS, args.arrived, round, NVSHMEM_SIGNAL_SET, args.right)

GT_KERNEL(send, struct args, args)
{
    uint16_t *src = (uint16_t *)args.src;
    bool first_warp = threadIdx.x < 32, first_thread = threadIdx.x == 0;
    for (uint64_t round = args.first; round < args.first + ROUNDS; round++) {
        nvshmem_signal_wait_until(args.looked, NVSHMEM_CMP_GE, round - 1);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < UNITS; i += THREADS)
            src[i] = unit_of(round, i);
        __syncthreads();
        if (args.way == THREAD_PUT && first_thread)
            PUT(nvshmem_put16);
        if (args.way == THREAD_SIGNAL && first_thread)
            PUT_SIGNAL(nvshmem_put16_signal);
        if (args.way == WARP_PUT && first_warp)
            PUT(nvshmemx_put16_warp);
        if (args.way == WARP_SIGNAL && first_warp)
            PUT_SIGNAL(nvshmemx_put16_signal_warp);
        if (args.way == BLOCK_PUT)
            PUT(nvshmemx_put16_block);
        if (args.way == BLOCK_SIGNAL)
            PUT_SIGNAL(nvshmemx_put16_signal_block);
        __syncthreads();
        if (first_thread && (args.way - THREAD_PUT) % 2 == 0) {
            nvshmem_fence(); /* orders what the block has put before, too */
            nvshmemx_signal_op(args.arrived, round, NVSHMEM_SIGNAL_SET, args.right);
        }
    }
}

/* ---- the sender on the host and on a stream -------------------------------------------------- */

static void fill(struct block *block, uint64_t round)
{
    for (int i = 0; i < HALFS; i++)
        block->half[i] = half_of(round);
    block->scale = scale_of(round);
}

static void send_from_host(const struct args &a, uint64_t round)
{
    struct block block;
    nvshmem_signal_wait_until(a.looked, NVSHMEM_CMP_GE, round - 1);
    fill(&block, round);
    gt_copy(a.src, &block, sizeof block);
    if (a.way == HOST_SIGNAL) {
        nvshmem_put16_signal(a.dst, a.src, UNITS, a.arrived, round, NVSHMEM_SIGNAL_SET, a.right);
        return;
    }
    nvshmem_put16(a.dst, a.src, UNITS, a.right);
    nvshmem_fence();
    nvshmemx_signal_op(a.arrived, round, NVSHMEM_SIGNAL_SET, a.right);
}

/* blocks: pinned, one for each round, since all rounds are enqueued at once. */
static void send_on_stream(const struct args &a, uint64_t round, struct block *block,
                           gt_stream stream)
{
    fill(block, round);
    nvshmemx_signal_wait_until_on_stream(a.looked, NVSHMEM_CMP_GE, round - 1, stream);
    gt_copy_async(a.src, block, sizeof *block, stream);
    if (a.way == STREAM_SIGNAL) {
        nvshmemx_put16_signal_on_stream(a.dst, a.src, UNITS, a.arrived, round, NVSHMEM_SIGNAL_SET,
                                        a.right, stream);
        return;
    }
    nvshmemx_put16_on_stream(a.dst, a.src, UNITS, a.right, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmemx_signal_op_on_stream(a.arrived, round, NVSHMEM_SIGNAL_SET, a.right, stream);
}

/* ---- all ------------------------------------------------------------------------------------- */

static struct block *pinned;
static gt_stream watching, sending;

static void run(const struct args &a, size_t to, size_t from)
{
    unsigned wrong[NUM_WRONG];
    GT_LAUNCH(watch, 1, THREADS, watching, a);
    if (a.way >= THREAD_PUT)
        GT_LAUNCH(send, 1, THREADS, sending, a);
    for (int i = 0; i < ROUNDS && a.way < THREAD_PUT; i++) {
        if (a.way <= HOST_SIGNAL)
            send_from_host(a, a.first + (uint64_t)i);
        else
            send_on_stream(a, a.first + (uint64_t)i, &pinned[i], sending);
    }
    gt_sync(sending);
    gt_sync(watching);
    gt_read(wrong, a.wrong, sizeof wrong);
    for (int i = 0; i < NUM_WRONG; i++)
        GT_CHECK(wrong[i] == 0, "%s to +%zu from +%zu: %u torn halfs, %u old ones, %u old scales",
                 way_names[a.way], to, from, wrong[TORN], wrong[OLD], wrong[SCALE]);
    gt_set_async(a.wrong, 0, sizeof wrong, sending);
    gt_sync(sending);
}

int main(void)
{
    static const struct {
        size_t dst, src;
    } places[] = {{0, 0}, {2, 2}, {0, 6}, {10, 0}, {62, 30}};
    job_begin();
    char *dst = (char *)nvshmem_calloc(2, ROOM), *src = dst + ROOM;
    uint64_t *signals = (uint64_t *)nvshmem_calloc(2, sizeof *signals);
    struct args a = {0,
                     (job_me + 1) % job_npes,
                     (job_me + job_npes - 1) % job_npes,
                     dst,
                     src,
                     signals,
                     signals + 1,
                     1,
                     (unsigned *)gt_malloc(NUM_WRONG * sizeof(unsigned))};
    GT_LOAD(send);
    watching = gt_stream_new();
    sending = gt_stream_new();
    pinned = (struct block *)gt_malloc_host(ROUNDS * sizeof *pinned);
    gt_set_async(a.wrong, 0, NUM_WRONG * sizeof(unsigned), sending);
    gt_sync(sending);

    struct block before;
    for (a.way = 0; a.way < NUM_WAYS; a.way++)
        for (const auto &place : places) {
            a.dst = dst + place.dst;
            a.src = src + place.src;
            fill(&before, a.first - 1);
            gt_copy(a.dst, &before, sizeof before);
            nvshmem_barrier_all();
            run(a, place.dst, place.src);
            a.first += ROUNDS;
            nvshmem_barrier_all();
        }

    gt_free_host(pinned);
    gt_stream_free(sending);
    gt_stream_free(watching);
    gt_free(a.wrong);
    nvshmem_free(signals);
    nvshmem_free(dst);
    return job_end();
}
