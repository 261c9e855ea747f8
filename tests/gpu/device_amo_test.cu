/*
 * device_amo_test.cu - atomics in kernels: all PEs' threads at one word at once, each operation's
 * result, and p and g of every size.
 */
#include "device_job.h"

enum { THREADS = 64, BLOCKS = 2, TIMES = 4, WORKERS = THREADS * BLOCKS };

struct words {
    uint64_t add64;
    uint32_t inc32, or32, and32, xor32, cas32;
    uint64_t cas64;
    float swapped;
    double doubled;
    int64_t signed64;
    uint8_t bytes[8];
    uint16_t shorts[4];
    nvshmem_half half;
};
struct args {
    struct words *words; /* symmetric */
    uint64_t *seen;      /* what fetch_add gave to each thread each time */
};

GT_KERNEL(hammer, struct args, args)
{
    int target = nvshmem_n_pes() - 1;
    unsigned me = (unsigned)nvshmem_my_pe();
    unsigned worker = blockIdx.x * blockDim.x + threadIdx.x;
    struct words *w = args.words;
    for (unsigned i = 0; i < TIMES; i++) {
        args.seen[worker * TIMES + i] = nvshmem_uint64_atomic_fetch_add(&w->add64, 1, target);
        nvshmem_uint32_atomic_inc(&w->inc32, target);
        nvshmem_uint32_atomic_xor(&w->xor32, 1u << (worker % 32), target);
        nvshmem_int64_atomic_add(&w->signed64, -3, target);
        /* An increment by compare and swap, which all others' disturb. */
        uint32_t old = nvshmem_uint32_atomic_fetch(&w->cas32, target);
        for (;;) {
            uint32_t found = nvshmem_uint32_atomic_compare_swap(&w->cas32, old, old + 1, target);
            if (found == old)
                break;
            old = found;
        }
    }
    nvshmem_uint32_atomic_or(&w->or32, 1u << (me % 32), target);
    nvshmem_uint32_atomic_and(&w->and32, ~(1u << (me % 32)), target);
}

static void test_hammer(struct words *words)
{
    size_t count = (size_t)WORKERS * TIMES, total = count * (size_t)job_npes;
    uint64_t *seen = (uint64_t *)gt_malloc(count * sizeof *seen);
    struct words zero;
    memset((void *)&zero, 0, sizeof zero);
    zero.and32 = ~0u;
    gt_copy(words, &zero, sizeof zero);
    nvshmem_barrier_all();
    struct args args = {words, seen};
    GT_LAUNCH(hammer, BLOCKS, THREADS, NULL, args);
    gt_sync_all();
    nvshmem_barrier_all();

    struct words got;
    gt_read(&got, words, sizeof got);
    if (job_me == job_npes - 1) {
        uint32_t all = job_npes >= 32 ? ~0u : (1u << job_npes) - 1;
        GT_CHECK(got.add64 == total, "%llu of %zu", (unsigned long long)got.add64, total);
        GT_CHECK(got.inc32 == total, "%u of %zu", got.inc32, total);
        GT_CHECK(got.cas32 == total, "%u of %zu", got.cas32, total);
        GT_CHECK(got.signed64 == -3 * (int64_t)total, "%lld", (long long)got.signed64);
        GT_CHECK(got.or32 == all, "%x", got.or32);
        GT_CHECK(got.and32 == ~all, "%x", got.and32);
        GT_CHECK(got.xor32 == 0, "%x", got.xor32);
    }
    uint64_t *host = (uint64_t *)malloc(count * sizeof *host);
    gt_read(host, seen, count * sizeof *host);
    for (size_t i = 0; i < count; i++) {
        GT_CHECK(host[i] < total, "a value of %llu", (unsigned long long)host[i]);
        if (i % TIMES)
            GT_CHECK(host[i] > host[i - 1], "a thread saw %llu after %llu",
                     (unsigned long long)host[i], (unsigned long long)host[i - 1]);
    }
    free(host);
    gt_free(seen);
    nvshmem_barrier_all();
}

/* One after the other: results and effects. right: the neighbour whose words this PE changes. */
struct result {
    float swapped, fetched;
    double doubled;
    uint64_t cas_fail, cas_hit, fetch_and, fetch_or, fetch_xor, fetch_inc;
    uint8_t byte;
    uint16_t word;
    uint32_t half_bits;
};
struct each_args {
    struct words *words;
    struct result *result;
};

GT_KERNEL(each, struct each_args, args)
{
    if (threadIdx.x != 0)
        return;
    int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    struct words *w = args.words;
    struct result *r = args.result;
    nvshmem_float_atomic_set(&w->swapped, 1.5f, right);
    r->swapped = nvshmem_float_atomic_swap(&w->swapped, -2.25f, right);
    r->fetched = nvshmem_float_atomic_fetch(&w->swapped, right);
    r->doubled = nvshmem_double_atomic_swap(&w->doubled, 1e300, right);
    nvshmem_uint64_atomic_set(&w->cas64, 77, right);
    r->cas_fail = nvshmem_uint64_atomic_compare_swap(&w->cas64, 76, 1, right);
    r->cas_hit = nvshmem_uint64_atomic_compare_swap(&w->cas64, 77, ~0ull, right);
    r->fetch_and = nvshmem_uint64_atomic_fetch_and(&w->cas64, 0xff00ff, right);
    r->fetch_or = nvshmem_uint64_atomic_fetch_or(&w->cas64, 0x1000000, right);
    r->fetch_xor = nvshmem_uint64_atomic_fetch_xor(&w->cas64, 0xffff, right);
    r->fetch_inc = nvshmem_uint64_atomic_fetch_inc(&w->cas64, right);
    for (unsigned i = 0; i < 8; i++)
        nvshmem_uint8_p(&w->bytes[i], (uint8_t)(200 + i), right);
    for (unsigned i = 0; i < 4; i++)
        nvshmem_short_p((short *)&w->shorts[i], (short)(-1000 - (int)i), right);
    r->byte = nvshmem_uint8_g(&w->bytes[5], right);
    r->word = (uint16_t)nvshmem_short_g((const short *)&w->shorts[3], right);
    nvshmem_half half = nvshmem_half_g(&w->half, right);
    nvshmem_half_p(&w->half, half, nvshmem_my_pe());
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    r->half_bits = bits;
}

static void test_each(struct words *words)
{
    struct result *result = (struct result *)gt_malloc(sizeof *result), r;
    struct words w;
    memset((void *)&w, 0, sizeof w);
    w.doubled = 3;
    uint16_t bits = 0x3e55;
    memcpy((void *)&w.half, &bits, sizeof bits);
    gt_copy(words, &w, sizeof w);
    nvshmem_barrier_all();
    struct each_args args = {words, result};
    GT_LAUNCH(each, 1, 32, NULL, args);
    gt_read(&r, result, sizeof r);
    GT_CHECK(r.swapped == 1.5f && r.fetched == -2.25f, "%g %g", (double)r.swapped,
             (double)r.fetched);
    GT_CHECK(r.doubled == 3, "%g", r.doubled);
    GT_CHECK(r.cas_fail == 77 && r.cas_hit == 77, "compare and swap");
    GT_CHECK(r.fetch_and == ~0ull, "and");
    GT_CHECK(r.fetch_or == 0xff00ff, "or");
    GT_CHECK(r.fetch_xor == 0x1ff00ff, "xor");
    GT_CHECK(r.fetch_inc == 0x1ffff00, "inc %llx", (unsigned long long)r.fetch_inc);
    GT_CHECK(r.byte == 205 && (int16_t)r.word == -1003, "%u %d", r.byte, (int16_t)r.word);
    GT_CHECK(r.half_bits == 0x3e55, "%x", r.half_bits);
    nvshmem_barrier_all();
    gt_read(&w, words, sizeof w);
    GT_CHECK(w.cas64 == 0x1ffff01, "%llx", (unsigned long long)w.cas64);
    GT_CHECK(w.swapped == -2.25f && w.doubled == 1e300, "%g %g", (double)w.swapped, w.doubled);
    for (unsigned i = 0; i < 8; i++)
        GT_CHECK(w.bytes[i] == 200 + i, "byte %u: %u", i, w.bytes[i]);
    gt_free(result);
}

int main(void)
{
    job_begin();
    struct words *words = (struct words *)job_malloc(sizeof *words);
    test_hammer(words);
    test_each(words);
    return job_end();
}
