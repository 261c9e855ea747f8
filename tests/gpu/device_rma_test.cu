/*
 * device_rma_test.cu - put, get, strided copies and put_signal in kernels: random sizes,
 * alignments, widths, scopes and targets, against what the bytes must be. Each PE writes into a
 * region of its own at its target, whose every byte is compared, so that a byte too many is seen as
 * well.
 */
#include "device_job.h"

enum { REGION = 16384, EDGE = 64, ROUNDS = 60, THREADS = 96 };
enum op { PUT, GET, IPUT, IGET, PUT_SIGNAL, NUM_OPS };

/* What a PE does in a round. */
struct move {
    int op, scope, width, target; /* width: 1, 2, 4, 8, 16 bytes */
    size_t dst, src, nelems;      /* offsets in bytes */
    ptrdiff_t dst_stride, src_stride;
};
struct args {
    struct move move;
    char *dst; /* symmetric: a region of each PE */
    char *src; /* symmetric */
    uint64_t *sig;
    uint64_t round;
};

/* Names for the scopes of a function that has all three. */
#define SCOPES(call, ...)                                                                          \
    (m.scope == 0   ? nvshmem_##call(__VA_ARGS__)                                                  \
     : m.scope == 1 ? nvshmemx_##call##_warp(__VA_ARGS__)                                          \
                    : nvshmemx_##call##_block(__VA_ARGS__))
#define WIDTHS(op, ...)                                                                            \
    (m.width == 1   ? SCOPES(op##8, __VA_ARGS__)                                                   \
     : m.width == 2 ? SCOPES(op##16, __VA_ARGS__)                                                  \
     : m.width == 4 ? SCOPES(op##32, __VA_ARGS__)                                                  \
     : m.width == 8 ? SCOPES(op##64, __VA_ARGS__)                                                  \
                    : SCOPES(op##128, __VA_ARGS__))

GT_KERNEL(do_move, struct args, args)
{
    const struct move &m = args.move;
    if ((m.scope == 0 && threadIdx.x != 0) || (m.scope == 1 && threadIdx.x >= 32))
        return;
    char *dst = args.dst + m.dst;
    const char *src = args.src + m.src;
    switch (m.op) {
    case PUT:
        WIDTHS(put, dst, src, m.nelems, m.target);
        break;
    case GET:
        WIDTHS(get, dst, src, m.nelems, m.target);
        break;
    case IPUT:
        WIDTHS(iput, dst, src, m.dst_stride, m.src_stride, m.nelems, m.target);
        break;
    case IGET:
        WIDTHS(iget, dst, src, m.dst_stride, m.src_stride, m.nelems, m.target);
        break;
    default:
        if (m.scope == 0)
            nvshmem_putmem_signal(dst, src, m.nelems * (size_t)m.width, args.sig, args.round,
                                  NVSHMEM_SIGNAL_SET, m.target);
        else if (m.scope == 1)
            nvshmemx_putmem_signal_warp(dst, src, m.nelems * (size_t)m.width, args.sig, args.round,
                                        NVSHMEM_SIGNAL_SET, m.target);
        else
            nvshmemx_putmem_signal_block(dst, src, m.nelems * (size_t)m.width, args.sig, args.round,
                                         NVSHMEM_SIGNAL_SET, m.target);
    }
}

/* Waits for the signals of those who send here: the data has to be there then. */
struct wait_args {
    uint64_t *sig;
    uint64_t round;
    char *region, *copy;
};
GT_KERNEL(await_signal, struct wait_args, args)
{
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_EQ, args.round);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < REGION; i += blockDim.x)
        args.copy[i] = args.region[i];
}

static struct move random_move(void)
{
    struct move m;
    memset(&m, 0, sizeof m);
    m.op = (int)job_below(NUM_OPS);
    m.scope = (int)job_below(3);
    m.width = 1 << job_below(5);
    m.target = (int)job_below((unsigned)job_npes);
    bool strided = m.op == IPUT || m.op == IGET;
    m.dst_stride = strided ? 1 + (ptrdiff_t)job_below(5) : 1;
    m.src_stride = strided ? 1 + (ptrdiff_t)job_below(5) : 1;
    /* Half of them aligned to their width, the others anyhow; the sizes from nothing to all. */
    unsigned unit = job_below(2) ? 1 : (unsigned)m.width;
    m.dst = EDGE + job_below(64) / unit * unit;
    m.src = EDGE + job_below(64) / unit * unit;
    size_t most = (REGION - 3 * EDGE) / (size_t)m.width / 5;
    m.nelems = job_below(4) ? job_below(40) : job_below((unsigned)most);
    if (m.nelems > most)
        m.nelems = most;
    return m;
}

/* What the move of PE `from` puts into `region`, which it filled before. */
static void expect(const struct move *m, int from, unsigned round, unsigned char *region)
{
    bool reads = m->op == GET || m->op == IGET;
    size_t w = (size_t)m->width;
    for (size_t i = 0; i < m->nelems; i++)
        for (size_t b = 0; b < w; b++)
            region[m->dst + i * (size_t)m->dst_stride * w + b] = job_byte(
                reads ? m->target : from, round, m->src + i * (size_t)m->src_stride * w + b);
}

static void compare(const unsigned char *wanted, const unsigned char *got, const struct move *m,
                    int from, unsigned round)
{
    for (size_t i = 0; i < REGION; i++)
        if (wanted[i] != got[i]) {
            GT_CHECK(false,
                     "round %u, PE %d from %d, op %d scope %d width %d dst %zu src %zu n %zu "
                     "strides %td %td: byte %zu is %02x, not %02x",
                     round, job_me, from, m->op, m->scope, m->width, m->dst, m->src, m->nelems,
                     m->dst_stride, m->src_stride, i, got[i], wanted[i]);
            return;
        }
}

int main(void)
{
    job_begin();
    size_t all = (size_t)job_npes * REGION;
    char *dst = (char *)job_malloc(all), *src = (char *)job_malloc(REGION);
    uint64_t *sig = (uint64_t *)job_malloc((size_t)job_npes * sizeof *sig);
    char *copy = (char *)gt_malloc(REGION);
    unsigned char *host = (unsigned char *)malloc(all), *wanted = (unsigned char *)malloc(REGION);
    struct move *moves = (struct move *)malloc((size_t)job_npes * sizeof *moves);

    memset(host, 0, all);
    gt_copy(sig, host, (size_t)job_npes * sizeof *sig);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (int pe = 0; pe < job_npes; pe++)
            moves[pe] = random_move();
        for (size_t i = 0; i < REGION; i++)
            host[i] = job_byte(job_me, round, i);
        gt_copy(src, host, REGION);
        memset(host, 0xa5, all);
        gt_copy(dst, host, all);
        nvshmem_barrier_all();

        struct args args = {moves[job_me], dst + (size_t)job_me * REGION, src, sig + job_me, round};
        GT_LAUNCH(do_move, 1, THREADS, NULL, args);
        for (int from = 0; from < job_npes; from++)
            if (moves[from].op == PUT_SIGNAL && moves[from].target == job_me) {
                struct wait_args wait = {sig + from, round, dst + (size_t)from * REGION, copy};
                GT_LAUNCH(await_signal, 1, THREADS, NULL, wait);
                gt_read(host, copy, REGION);
                memset(wanted, 0xa5, REGION);
                expect(&moves[from], from, round, wanted);
                compare(wanted, host, &moves[from], from, round);
            }
        gt_sync_all();
        nvshmem_barrier_all();

        gt_read(host, dst, all);
        for (int from = 0; from < job_npes; from++) {
            bool reads = moves[from].op == GET || moves[from].op == IGET;
            memset(wanted, 0xa5, REGION);
            if (reads ? from == job_me : moves[from].target == job_me)
                expect(&moves[from], from, round, wanted);
            compare(wanted, host + (size_t)from * REGION, &moves[from], from, round);
        }
        nvshmem_barrier_all();
    }
    return job_end();
}
