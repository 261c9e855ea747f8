/*
 * op_p2p.c - puts, gets and signals between pairs of PEs.
 *
 * put and get are complete when an iteration ends: the time is that until the data is there. The
 * _nbi forms, p and g's counterpart, complete once, after the last iteration: the time is that
 * between two of them. put_signal is answered by a put_signal, and half of the round trip counts;
 * signal is the same without data, ping_pong with p instead.
 */
#include "kernels.h"
#include "perf.h"

static void put_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n && call->route.to >= 0; n--, rotor_next(&at)) {
        shmem_putmem(at.dst, at.src, call->nbytes, call->route.to);
        shmem_quiet();
    }
}

static void put_nbi_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n && call->route.to >= 0; n--, rotor_next(&at))
        shmem_putmem_nbi(at.dst, at.src, call->nbytes, call->route.to);
    shmem_quiet();
}

static void get_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n && call->route.to >= 0; n--, rotor_next(&at))
        shmem_getmem(at.dst, at.src, call->nbytes, call->route.to);
}

static void get_nbi_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n && call->route.to >= 0; n--, rotor_next(&at))
        shmem_getmem_nbi(at.dst, at.src, call->nbytes, call->route.to);
    shmem_quiet();
}

/* Who starts sends first; in a ring everybody does. There a PE may be ahead of the one that it
 * sends to, with two signals on their way that may overtake each other: they add up instead. */
static void put_signal_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    uint64_t *word = &call->board->signal;
    bool starts = call->route.to >= 0;
    int peer = starts ? call->route.to : call->route.from;
    for (; n && peer >= 0; n--, rotor_next(&at)) {
        struct answer answer = answer_of(call, &call->pool->signals, 0);
        if (starts)
            shmem_putmem_signal(at.dst, at.src, call->nbytes, word, answer.set, answer.op, peer);
        shmem_signal_wait_until(word, SHMEM_CMP_GE, answer.wanted);
        if (!starts)
            shmem_putmem_signal(at.dst, at.src, call->nbytes, word, answer.set, answer.op, peer);
    }
    shmem_quiet();
}

static void signal_run(struct call *call, size_t first, size_t n)
{
    uint64_t *word = &call->board->signal;
    bool starts = call->route.to >= 0;
    int peer = starts ? call->route.to : call->route.from;
    (void)first;
    for (; n && peer >= 0; n--) {
        struct answer answer = answer_of(call, &call->pool->signals, 0);
        if (starts)
            nvshmemx_signal_op(word, answer.set, answer.op, peer);
        shmem_signal_wait_until(word, SHMEM_CMP_GE, answer.wanted);
        if (!starts)
            nvshmemx_signal_op(word, answer.set, answer.op, peer);
    }
    shmem_quiet();
}

/* In a ring, too, a later number is as good as the one that is waited for. But there the answer
 * comes from somebody else than the PE that this one sends to, so nothing says that the number
 * before has arrived: without a fence it could come last. */
static void ping_pong_run(struct call *call, size_t first, size_t n)
{
    uint64_t *word = &call->board->turn;
    bool starts = call->route.to >= 0, ring = starts && call->route.from >= 0;
    int peer = starts ? call->route.to : call->route.from;
    (void)first;
    for (; n && peer >= 0; n--) {
        uint64_t number = ++call->pool->turns;
        if (ring)
            shmem_fence();
        if (starts)
            shmem_uint64_p(word, number, peer);
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, number);
        if (!starts)
            shmem_uint64_p(word, number, peer);
    }
    shmem_quiet();
}

/* What the word must hold after a series of one, when all have finished: the last answer, or
 * what it held before. */
static size_t answer_wrong(struct call *call, uint64_t *word, const uint64_t *count)
{
    bool takes_part = call->route.to >= 0 || call->route.from >= 0;
    call_prepare(call, 0, 1);
    uint64_t expected = board_get(call, word);
    shmem_barrier_all();
    call_run(call, 0, 1);
    shmem_barrier_all();
    if (takes_part)
        expected = call->options->mode == MODE_GRAPH ? 1 : *count;
    return board_get(call, word) != expected;
}

static size_t signal_wrong(struct call *call, uint64_t round)
{
    (void)round;
    return answer_wrong(call, &call->board->signal, &call->pool->signals);
}

static size_t ping_pong_wrong(struct call *call, uint64_t round)
{
    (void)round;
    return answer_wrong(call, &call->board->turn, &call->pool->turns);
}

/* From an address in the pool to the image's: nothing where the pool is host memory. */
static ptrdiff_t to_image(const struct call *call)
{
    return call->pool->image - call->pool->base;
}

#define P_LOOP(bits)                                                                               \
    for (; n; n--, rotor_next(&at))                                                                \
    shmem_uint##bits##_p((uint##bits##_t *)at.dst, *(const uint##bits##_t *)(at.src + image), pe)

#define G_LOOP(bits)                                                                               \
    for (; n; n--, rotor_next(&at))                                                                \
    *(uint##bits##_t *)(at.dst + image) = shmem_uint##bits##_g((const uint##bits##_t *)at.src, pe)

static void p_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    ptrdiff_t image = to_image(call);
    int pe = call->route.to;
    if (pe < 0)
        return;
    switch (call->type->size) {
    case 1:
        P_LOOP(8);
        break;
    case 2:
        P_LOOP(16);
        break;
    case 4:
        P_LOOP(32);
        break;
    default:
        P_LOOP(64);
    }
    shmem_quiet();
}

static void g_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    char *dst = at.dst;
    ptrdiff_t image = to_image(call);
    int pe = call->route.to;
    if (pe < 0)
        return;
    switch (call->type->size) {
    case 1:
        G_LOOP(8);
        break;
    case 2:
        G_LOOP(16);
        break;
    case 4:
        G_LOOP(32);
        break;
    default:
        G_LOOP(64);
    }
    if (call->checking && image)
        gpu_upload(dst, dst + image, call->type->size);
}

/* NOT_WRITTEN is what a PE without a partner has as its partner, too. */
static struct origin from_sender(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = call->route.from};
}

static struct origin from_target(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = call->route.to};
}

static struct origin from_partner(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = call->route.from >= 0 ? call->route.from : call->route.to};
}

#define BETWEEN_TWO                                                                                \
    .group = "between two PEs", .src_shape = SHAPE_ONE, .dst_shape = SHAPE_ONE, .routed = true,    \
    .default_type = NVS_FLOAT32

#define ONE_WORD                                                                                   \
    .group = "between two PEs", .src_shape = SHAPE_ONE, .dst_shape = SHAPE_ONE, .routed = true,    \
    .default_type = NVS_UINT64

const struct op ops_p2p[] = {
    {.name = "put",
     .help = "a put and a quiet",
     .sized = true,
     .run = put_run,
     .enqueue = put_enqueue,
     .kernel = KERNEL_PUT,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "put_nbi",
     .help = "puts one after the other, one quiet at the end",
     .sized = true,
     .run = put_nbi_run,
     .enqueue = put_nbi_enqueue,
     .kernel = KERNEL_PUT_NBI,
     .quiet_last = true,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "get",
     .help = "a get",
     .sized = true,
     .run = get_run,
     .enqueue = get_enqueue,
     .kernel = KERNEL_GET,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = "get_nbi",
     .help = "gets one after the other, one quiet at the end",
     .sized = true,
     .run = get_nbi_run,
     .enqueue = get_nbi_enqueue,
     .kernel = KERNEL_GET_NBI,
     .quiet_last = true,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = "put_signal",
     .help = "one way: half of a put with signal and its answer",
     .sized = true,
     .ping_pong = true,
     .run = put_signal_run,
     .enqueue = put_signal_enqueue,
     .kernel = KERNEL_PUT_SIGNAL,
     .answers = true,
     .origin = from_partner,
     BETWEEN_TWO},
    {.name = "signal",
     .help = "one way: half of a signal and its answer",
     .types = 1 << NVS_UINT64,
     .ping_pong = true,
     .answers = true,
     .run = signal_run,
     .enqueue = signal_enqueue,
     .kernel = KERNEL_SIGNAL,
     .by_thread = true,
     .wrong = signal_wrong,
     ONE_WORD},
    {.name = "ping_pong",
     .help = "one way: half of a p and its answer",
     .types = 1 << NVS_UINT64,
     .ping_pong = true,
     .answers = true,
     .run = ping_pong_run,
     .enqueue = ping_pong_enqueue,
     .kernel = KERNEL_PING_PONG,
     .by_thread = true,
     .wrong = ping_pong_wrong,
     ONE_WORD},
    {.name = "p",
     .help = "stores of one element, one quiet at the end",
     .run = p_run,
     .enqueue = p_enqueue,
     .kernel = KERNEL_P,
     .quiet_last = true,
     .by_thread = true,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "g",
     .help = "a load of one element",
     .run = g_run,
     .enqueue = g_enqueue,
     .kernel = KERNEL_G,
     .by_thread = true,
     .returns = true,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = NULL},
};
