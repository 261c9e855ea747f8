/*
 * op_p2p.c - puts, gets and signals between pairs of PEs.
 *
 * put and get are complete when an iteration ends: the time is that until the data is there. The
 * _nbi forms, p and g's counterpart, complete once, after the last iteration: the time is that
 * between two of them. put_signal is answered by a put_signal, and half of the round trip counts.
 */
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
    static uint64_t signals; /* that this PE has waited for, since the start of the program */
    struct rotor at = rotor_at(call, first);
    uint64_t *word = &call->board->signal;
    bool starts = call->route.to >= 0, ring = starts && call->route.from >= 0;
    int peer = starts ? call->route.to : call->route.from;
    int op = ring ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    for (; n && peer >= 0; n--, rotor_next(&at)) {
        signals++;
        if (starts)
            shmem_putmem_signal(at.dst, at.src, call->nbytes, word, ring ? 1 : signals, op, peer);
        shmem_signal_wait_until(word, SHMEM_CMP_GE, signals);
        if (!starts)
            shmem_putmem_signal(at.dst, at.src, call->nbytes, word, signals, op, peer);
    }
    shmem_quiet();
}

#define P_LOOP(bits)                                                                               \
    for (; n; n--, rotor_next(&at))                                                                \
    shmem_uint##bits##_p((uint##bits##_t *)at.dst, *(const uint##bits##_t *)at.src, pe)

#define G_LOOP(bits)                                                                               \
    for (; n; n--, rotor_next(&at))                                                                \
    *(uint##bits##_t *)at.dst = shmem_uint##bits##_g((const uint##bits##_t *)at.src, pe)

static void p_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
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

const struct op ops_p2p[] = {
    {.name = "put",
     .help = "a put and a quiet",
     .sized = true,
     .run = put_run,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "put_nbi",
     .help = "puts one after the other, one quiet at the end",
     .sized = true,
     .run = put_nbi_run,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "get",
     .help = "a get",
     .sized = true,
     .run = get_run,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = "get_nbi",
     .help = "gets one after the other, one quiet at the end",
     .sized = true,
     .run = get_nbi_run,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = "put_signal",
     .help = "one way: half of a put with signal and its answer",
     .sized = true,
     .ping_pong = true,
     .run = put_signal_run,
     .origin = from_partner,
     BETWEEN_TWO},
    {.name = "p",
     .help = "stores of one element, one quiet at the end",
     .run = p_run,
     .origin = from_sender,
     BETWEEN_TWO},
    {.name = "g",
     .help = "a load of one element",
     .run = g_run,
     .origin = from_target,
     BETWEEN_TWO},
    {.name = NULL},
};
