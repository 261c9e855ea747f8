/*
 * device_wait_test.cu - waiting and testing in kernels: one word, many words, status and vectors,
 * every comparison, and signals that come after their data.
 */
#include "device_job.h"

enum { WORDS = 12, LAPS = 40, BLOCK_HALFS = 256 };

/* ---- a ring in which data follows the signal round ------------------------------------------- */

/* A block of gradients as quantisers make it: the halves mean nothing without their scale. */
struct gradients {
    uint16_t halfs[BLOCK_HALFS];
    float scale;
};

struct ring_args {
    char *in, *out; /* symmetric; `skew` bytes before the blocks */
    uint64_t *sig;
    unsigned skew, *wrong;
};

static inline
#if defined(__CUDACC__)
    __host__ __device__
#endif
        uint16_t
        half_of(unsigned lap, unsigned i)
{
    return (uint16_t)(lap * 773 + i * 7);
}

/* The block goes round the ring lap after lap; the scale says which lap it is. */
GT_KERNEL(ring, struct ring_args, args)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes(), right = (me + 1) % npes;
    for (unsigned lap = 1; lap <= LAPS; lap++) {
        if (me != 0 || lap > 1)
            if (threadIdx.x == 0)
                nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_GE, me == 0 ? lap - 1 : lap);
        __syncthreads();
        unsigned seen = me == 0 ? lap - 1 : lap;
        const struct gradients *in = (const struct gradients *)(args.in + args.skew);
        if (seen > 0) {
            for (unsigned i = threadIdx.x; i < BLOCK_HALFS; i += blockDim.x)
                if (in->halfs[i] != half_of(seen, i))
                    atomicAdd(args.wrong, 1u);
            if (threadIdx.x == 0 && in->scale != (float)seen)
                atomicAdd(args.wrong, 1000u);
        }
        struct gradients *out = (struct gradients *)(args.out + args.skew);
        for (unsigned i = threadIdx.x; i < BLOCK_HALFS; i += blockDim.x)
            out->halfs[i] = half_of(lap, i);
        if (threadIdx.x == 0)
            out->scale = (float)lap;
        __syncthreads();
        nvshmemx_put16_signal_block(args.in + args.skew, out, sizeof *out / 2, args.sig, lap,
                                    NVSHMEM_SIGNAL_SET, right);
    }
    if (me == 0 && threadIdx.x == 0)
        nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_EQ, LAPS);
}

static void test_ring(unsigned skew)
{
    char *in = (char *)job_malloc(sizeof(struct gradients) + 64);
    char *out = (char *)gt_malloc(sizeof(struct gradients) + 64);
    uint64_t *sig = (uint64_t *)job_malloc(sizeof *sig), zero = 0;
    unsigned *wrong = (unsigned *)gt_malloc(sizeof *wrong), count = 0;
    gt_copy(sig, &zero, sizeof zero);
    gt_copy(wrong, &count, sizeof count);
    nvshmem_barrier_all();
    struct ring_args args = {in, out, sig, skew, wrong};
    GT_LAUNCH(ring, 1, 96, NULL, args);
    gt_read(&count, wrong, sizeof count);
    GT_CHECK(count == 0, "skew %u: %u things were not as the signal said", skew, count);
    nvshmem_barrier_all();
    gt_free(wrong);
    gt_free(out);
    nvshmem_free(sig);
    nvshmem_free(in);
}

/* ---- much data behind one signal ------------------------------------------------------------- */

enum { BIG = 1 << 18, BIG_ROUNDS = 12 };

struct big_args {
    unsigned *in, *out; /* in: symmetric */
    uint64_t *sig, *taken;
    unsigned *wrong;
};

/* The last words are those that the block's last threads copy: they must not come after a signal
 * that the first one sends. So the receiver looks from the end. */
GT_KERNEL(big, struct big_args, args)
{
    int npes = nvshmem_n_pes(), right = (nvshmem_my_pe() + 1) % npes;
    int left = (nvshmem_my_pe() + npes - 1) % npes;
    for (unsigned round = 1; round <= BIG_ROUNDS; round++) {
        for (unsigned i = threadIdx.x; i < BIG; i += blockDim.x)
            args.out[i] = round;
        if (threadIdx.x == 0) /* the right neighbour has looked at the last round */
            nvshmem_signal_wait_until(args.taken, NVSHMEM_CMP_GE, round - 1);
        nvshmemx_uint_put_signal_block(args.in, args.out, BIG, args.sig, round, NVSHMEM_SIGNAL_SET,
                                       right);
        if (threadIdx.x == 0)
            nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_GE, round);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < BIG; i += blockDim.x)
            if (args.in[BIG - 1 - i] != round)
                atomicAdd(args.wrong, 1u);
        __syncthreads();
        if (threadIdx.x == 0)
            nvshmemx_signal_op(args.taken, round, NVSHMEM_SIGNAL_SET, left);
    }
}

static void test_big(void)
{
    unsigned *in = (unsigned *)job_malloc(BIG * sizeof *in), count = 0;
    unsigned *out = (unsigned *)gt_malloc(BIG * sizeof *out);
    unsigned *wrong = (unsigned *)gt_malloc(sizeof *wrong);
    uint64_t *sig = (uint64_t *)nvshmem_calloc(2, sizeof *sig);
    gt_copy(wrong, &count, sizeof count);
    nvshmem_barrier_all();
    struct big_args args = {in, out, sig, sig + 1, wrong};
    GT_LAUNCH(big, 1, 64, NULL, args);
    gt_read(&count, wrong, sizeof count);
    GT_CHECK(count == 0, "%u words came after their signal", count);
    nvshmem_barrier_all();
    gt_free(wrong);
    gt_free(out);
    nvshmem_free(sig);
    nvshmem_free(in);
}

/* ---- many words ------------------------------------------------------------------------------ */

struct many_args {
    int *ints; /* symmetric, WORDS of each */
    uint64_t *longs;
    short *shorts;
    int *status;
    uint64_t *wanted;
    uint64_t *answers;
};

/* Each PE sets its right neighbour's words, some later than others, and waits for its own. */
GT_KERNEL(many, struct many_args, args)
{
    int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    uint64_t *a = args.answers;
    if (threadIdx.x == 32) {
        for (int i = WORDS - 1; i >= 0; i--) {
            nvshmem_int_p(args.ints + i, -i - 1, right);
            nvshmem_uint64_p(args.longs + i, 100u + (unsigned)i, right);
            nvshmem_fence();
        }
        nvshmem_short_p(args.shorts, -5, right);
    }
    if (threadIdx.x != 0)
        return;
    nvshmem_short_wait_until(args.shorts, NVSHMEM_CMP_LT, 0);
    a[0] = (uint64_t)nvshmem_short_test(args.shorts, NVSHMEM_CMP_EQ, -5);
    nvshmem_int_wait_until_all(args.ints, WORDS, NULL, NVSHMEM_CMP_LT, 0);
    a[1] = (uint64_t)nvshmem_int_test_all(args.ints, WORDS, NULL, NVSHMEM_CMP_NE, 0);
    /* Only words 3 and 8 count. */
    a[2] = nvshmem_int_wait_until_any(args.ints, WORDS, args.status, NVSHMEM_CMP_LE, -9);
    size_t indices[WORDS];
    a[3] = nvshmem_int_wait_until_some(args.ints, WORDS, indices, args.status, NVSHMEM_CMP_LE, -4);
    a[4] = indices[0] * 100 + indices[1];
    nvshmem_uint64_wait_until_all_vector(args.longs, WORDS, NULL, NVSHMEM_CMP_EQ, args.wanted);
    a[5] =
        nvshmem_uint64_test_any_vector(args.longs, WORDS, args.status, NVSHMEM_CMP_NE, args.wanted);
    a[6] = nvshmem_uint64_test_some_vector(args.longs, WORDS, indices, NULL, NVSHMEM_CMP_GE,
                                           args.wanted);
    a[7] = nvshmem_uint64_wait_until_any(args.longs, 0, NULL, NVSHMEM_CMP_EQ, 1);
    a[8] = nvshmem_uint64_wait_until_some_vector(args.longs, WORDS, indices, args.status,
                                                 NVSHMEM_CMP_EQ, args.wanted);
    a[9] = (uint64_t)nvshmem_uint64_test_all_vector(args.longs, WORDS, NULL, NVSHMEM_CMP_GT,
                                                    args.wanted);
    a[10] = nvshmem_int_test_any(args.ints, WORDS, NULL, NVSHMEM_CMP_EQ, -7);
    a[11] = nvshmem_int_test_some(args.ints, WORDS, indices, NULL, NVSHMEM_CMP_GT, -7);
    a[12] = nvshmem_uint64_wait_until_any_vector(args.longs, WORDS, args.status, NVSHMEM_CMP_EQ,
                                                 args.wanted);
}

static void test_many(void)
{
    struct many_args args;
    int status[WORDS];
    uint64_t wanted[WORDS], answers[13], zero[WORDS] = {0};
    args.ints = (int *)job_malloc(sizeof(int) * WORDS);
    args.longs = (uint64_t *)job_malloc(sizeof(uint64_t) * WORDS);
    args.shorts = (short *)job_malloc(sizeof(short) * WORDS);
    args.status = (int *)gt_malloc(sizeof status);
    args.wanted = (uint64_t *)gt_malloc(sizeof wanted);
    args.answers = (uint64_t *)gt_malloc(sizeof answers);
    for (int i = 0; i < WORDS; i++) {
        status[i] = i != 3 && i != 8;
        wanted[i] = 100u + (unsigned)i;
    }
    gt_copy(args.status, status, sizeof status);
    gt_copy(args.wanted, wanted, sizeof wanted);
    gt_copy(args.ints, zero, sizeof(int) * WORDS);
    gt_copy(args.longs, zero, sizeof zero);
    gt_copy(args.shorts, zero, sizeof(short) * WORDS);
    nvshmem_barrier_all();
    GT_LAUNCH(many, 1, 64, NULL, args);
    gt_read(answers, args.answers, sizeof answers);
    const uint64_t right[13] = {1, 1, 8, 2, 308, (uint64_t)-1, WORDS, (uint64_t)-1, 2, 0, 6, 6, 3};
    for (int i = 0; i < 13; i++)
        GT_CHECK(answers[i] == right[i], "answer %d: %lld, not %lld", i, (long long)answers[i],
                 (long long)right[i]);
    nvshmem_barrier_all();
    gt_free(args.status);
    gt_free(args.wanted);
    gt_free(args.answers);
}

/* ---- counting signals ------------------------------------------------------------------------ */

struct count_args {
    uint64_t *sig;
    unsigned times;
};

/* All add to all, also together with data of no size. */
GT_KERNEL(count_signals, struct count_args, args)
{
    int npes = nvshmem_n_pes();
    for (unsigned i = 0; i < args.times; i++)
        for (int pe = 0; pe < npes; pe++)
            if (i % 2)
                nvshmemx_signal_op(args.sig, 1, NVSHMEM_SIGNAL_ADD, pe);
            else
                nvshmem_putmem_signal(args.sig, args.sig, 0, args.sig, 1, NVSHMEM_SIGNAL_ADD, pe);
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_EQ,
                                  (uint64_t)args.times * blockDim.x * (unsigned)npes);
}

static void test_counts(void)
{
    uint64_t *sig = (uint64_t *)job_malloc(sizeof *sig), value = 0;
    gt_copy(sig, &value, sizeof value);
    nvshmem_barrier_all();
    struct count_args args = {sig, 6};
    GT_LAUNCH(count_signals, 1, 40, NULL, args);
    gt_read(&value, sig, sizeof value);
    GT_CHECK(value == 6u * 40u * (unsigned)job_npes, "%llu signals", (unsigned long long)value);
    nvshmem_barrier_all();
}

int main(void)
{
    job_begin();
    for (unsigned skew = 0; skew <= 20; skew += 4)
        test_ring(skew);
    test_big();
    test_many();
    test_counts();
    return job_end();
}
