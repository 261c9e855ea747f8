/*
 * signal.c - put-with-signal: who sees the signal sees the data.
 *
 * Messages go round a ring and from all PEs to all, in all forms: typed and untyped, set and add,
 * blocking and not, with a context, of both APIs. Every message is checked completely.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>

enum { MAX_PES = 8, WORDS = 700, FORMS = 9 };

struct box {
    long data[WORDS];
    uint64_t signal;
};

static struct box static_box[2];
static shmem_ctx_t ctx;

static long word_of(int from, int round, size_t i)
{
    return (long)rng_mix(spmd_seed + (uint64_t)from * 100003 + (uint64_t)round * 1009 + i);
}

/* Sends n words of src with the given signal in the form that the round asks for. */
static void send(struct box *box, const long *src, size_t n, uint64_t value, int op, int form,
                 int pe)
{
    switch (form) {
    case 0:
        shmem_long_put_signal(box->data, src, n, &box->signal, value, op, pe);
        break;
    case 1:
        shmem_long_put_signal_nbi(box->data, src, n, &box->signal, value, op, pe);
        break;
    case 2:
        shmem_putmem_signal(box->data, src, n * sizeof *src, &box->signal, value, op, pe);
        break;
    case 3:
        shmem_put64_signal_nbi(box->data, src, n, &box->signal, value, op, pe);
        break;
    case 4:
        shmem_ctx_put32_signal(ctx, box->data, src, 2 * n, &box->signal, value, op, pe);
        break;
    case 5:
        shmem_ctx_long_put_signal_nbi(ctx, box->data, src, n, &box->signal, value, op, pe);
        break;
    case 6:
        nvshmem_long_put_signal(box->data, src, n, &box->signal, value, op, pe);
        break;
    case 7:
        nvshmem_putmem_signal_nbi(box->data, src, n * sizeof *src, &box->signal, value, op, pe);
        break;
    default: /* data, fence, then the signal alone */
        shmem_long_put(box->data, src, n, pe);
        shmem_fence();
        nvshmemx_signal_op(&box->signal, value, op, pe);
    }
}

static void check_message(const struct box *box, int from, int round, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool right = box->data[i] == word_of(from, round, i);
        CHECK(right, "round %d: word %zu of %zu from PE %d is %lx, expected %lx", round, i, n, from,
              (unsigned long)box->data[i], (unsigned long)word_of(from, round, i));
        if (!right)
            return;
    }
}

/* Each PE sends to its right neighbour; two boxes by turns, and an answer that a box is free. */
static void test_ring(struct box *boxes, uint64_t *emptied)
{
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    static long src[2][WORDS];
    boxes[0].signal = boxes[1].signal = emptied[0] = emptied[1] = 0;
    shmem_barrier_all();
    for (int round = 0; round < 2 * FORMS * 2; round++) {
        int turn = round % 2, form = round / 2 % FORMS;
        struct rng rng = rng_of(7, (uint64_t)round);
        size_t n = rng_below(&rng, WORDS + 1);
        uint64_t number = (uint64_t)round / 2 + 1; /* of the message in this box */
        bool add = rng_below(&rng, 2);
        shmem_uint64_wait_until(&emptied[turn], SHMEM_CMP_GE, number - 1);
        for (size_t i = 0; i < n; i++)
            src[turn][i] = word_of(spmd_me, round, i);
        send(&boxes[turn], src[turn], n, add ? 1 : number,
             add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, form, right);
        if (form % 2 == 1 || form == 7) { /* non-blocking: src must stay until quiet */
            shmem_quiet();
            shmem_ctx_quiet(ctx);
        }
        uint64_t got = shmem_signal_wait_until(&boxes[turn].signal, SHMEM_CMP_EQ, number);
        CHECK(got == number, "%llu", (unsigned long long)got);
        CHECK(shmem_signal_fetch(&boxes[turn].signal) == number, "%llu",
              (unsigned long long)boxes[turn].signal);
        check_message(&boxes[turn], left, round, n);
        shmem_uint64_atomic_inc(&emptied[turn], left);
    }
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* All PEs send to one; added signals count the messages. */
static void test_gather(struct box *boxes, uint64_t *count)
{
    static long src[WORDS];
    for (int target = 0; target < spmd_npes; target++) {
        *count = 0;
        shmem_barrier_all();
        for (size_t i = 0; i < WORDS; i++)
            src[i] = word_of(spmd_me, target, i);
        shmem_long_put_signal(boxes[spmd_me].data, src, WORDS, count, 1, SHMEM_SIGNAL_ADD, target);
        if (spmd_me == target) {
            uint64_t npes = (uint64_t)spmd_npes;
            CHECK(nvshmem_signal_wait_until(count, NVSHMEM_CMP_GE, npes) == npes, "%llu",
                  (unsigned long long)*count);
            CHECK(nvshmem_signal_fetch(count) == npes, "%llu", (unsigned long long)*count);
            for (int pe = 0; pe < spmd_npes; pe++)
                check_message(&boxes[pe], pe, target, WORDS);
        }
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    CHECK(shmem_ctx_create(0, &ctx) == 0, "no context");
    struct box *boxes = shmem_malloc(sizeof *boxes * MAX_PES);
    uint64_t *words = shmem_calloc(4, sizeof *words);
    for (int i = 0; i < 5; i++) {
        test_ring(boxes, words);
        test_ring(static_box, words);
    }
    test_gather(boxes, words + 2);
    shmem_ctx_destroy(ctx);
    return spmd_end();
}
