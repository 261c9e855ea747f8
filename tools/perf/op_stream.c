/*
 * op_stream.c - the ops on streams: each function puts one iteration into the stream.
 *
 * A put completes where a quiet is in the stream, in the same order. p reads its value when it is
 * called, so it is taken from the image; g is the one that waits for the stream.
 */
#include "perf.h"

static char *image_of(const struct call *call, const char *ptr)
{
    return call->pool->image + (ptr - call->pool->base);
}

ENQUEUE(put)
{
    (void)turn;
    if (call->route.to < 0)
        return;
    nvshmemx_putmem_on_stream(at->dst, at->src, call->nbytes, call->route.to, stream);
    nvshmemx_quiet_on_stream(stream);
}

ENQUEUE(put_nbi)
{
    (void)turn;
    if (call->route.to >= 0)
        nvshmemx_putmem_nbi_on_stream(at->dst, at->src, call->nbytes, call->route.to, stream);
}

ENQUEUE(get)
{
    (void)turn;
    if (call->route.to >= 0)
        nvshmemx_getmem_on_stream(at->dst, at->src, call->nbytes, call->route.to, stream);
}

ENQUEUE(get_nbi)
{
    (void)turn;
    if (call->route.to >= 0)
        nvshmemx_getmem_nbi_on_stream(at->dst, at->src, call->nbytes, call->route.to, stream);
}

ENQUEUE(put_signal)
{
    uint64_t *word = &call->board->signal;
    bool starts = call->route.to >= 0;
    int peer = starts ? call->route.to : call->route.from;
    if (peer < 0)
        return;
    struct answer answer = answer_of(call, &call->pool->signals, turn);
    if (starts)
        nvshmemx_putmem_signal_on_stream(at->dst, at->src, call->nbytes, word, answer.set,
                                         answer.op, peer, stream);
    nvshmemx_signal_wait_until_on_stream(word, answer.cmp, answer.wanted, stream);
    if (!starts)
        nvshmemx_putmem_signal_on_stream(at->dst, at->src, call->nbytes, word, answer.set,
                                         answer.op, peer, stream);
}

ENQUEUE(signal)
{
    uint64_t *word = &call->board->signal;
    bool starts = call->route.to >= 0;
    int peer = starts ? call->route.to : call->route.from;
    (void)at;
    if (peer < 0)
        return;
    struct answer answer = answer_of(call, &call->pool->signals, turn);
    if (starts)
        nvshmemx_signal_op_on_stream(word, answer.set, answer.op, peer, stream);
    nvshmemx_signal_wait_until_on_stream(word, answer.cmp, answer.wanted, stream);
    if (!starts)
        nvshmemx_signal_op_on_stream(word, answer.set, answer.op, peer, stream);
}

ENQUEUE(ping_pong)
{
    uint64_t *word = &call->board->turn;
    bool starts = call->route.to >= 0;
    int peer = starts ? call->route.to : call->route.from;
    (void)at;
    if (peer < 0)
        return;
    struct answer answer = answer_of(call, &call->pool->turns, turn);
    if (starts)
        nvshmemx_uint64_p_on_stream(word, answer.wanted, peer, stream);
    nvshmemx_uint64_wait_until_on_stream(word, answer.cmp, answer.wanted, stream);
    if (!starts)
        nvshmemx_uint64_p_on_stream(word, answer.wanted, peer, stream);
}

#define P(bits)                                                                                    \
    nvshmemx_uint##bits##_p_on_stream((uint##bits##_t *)at->dst, *(uint##bits##_t *)value,         \
                                      call->route.to, stream)

ENQUEUE(p)
{
    void *value = image_of(call, at->src);
    (void)turn;
    if (call->route.to < 0)
        return;
    switch (call->type->size) {
    case 1:
        P(8);
        break;
    case 2:
        P(16);
        break;
    case 4:
        P(32);
        break;
    default:
        P(64);
    }
}

#define G(bits)                                                                                    \
    (*(uint##bits##_t *)value =                                                                    \
         nvshmemx_uint##bits##_g_on_stream((uint##bits##_t *)at->src, call->route.to, stream))

ENQUEUE(g)
{
    void *value = image_of(call, at->dst);
    (void)turn;
    if (call->route.to < 0)
        return;
    switch (call->type->size) {
    case 1:
        G(8);
        break;
    case 2:
        G(16);
        break;
    case 4:
        G(32);
        break;
    default:
        G(64);
    }
    if (call->checking && call->options->device)
        gpu_upload(at->dst, value, call->type->size);
}

ENQUEUE(barrier)
{
    (void)call, (void)at, (void)turn;
    nvshmemx_barrier_all_on_stream(stream);
}

ENQUEUE(sync)
{
    (void)call, (void)at, (void)turn;
    nvshmemx_sync_all_on_stream(stream);
}

/* ---- collectives ----------------------------------------------------------------------------- */

ENQUEUE(broadcast)
{
    (void)turn;
    must(nvshmemx_broadcastmem_on_stream(NVSHMEM_TEAM_WORLD, at->dst, at->src, call->nbytes,
                                         call->root, stream));
}

ENQUEUE(all_gather)
{
    (void)turn;
    must(
        nvshmemx_fcollectmem_on_stream(NVSHMEM_TEAM_WORLD, at->dst, at->src, call->nbytes, stream));
}

ENQUEUE(all_to_all)
{
    (void)turn;
    must(
        nvshmemx_alltoallmem_on_stream(NVSHMEM_TEAM_WORLD, at->dst, at->src, call->nbytes, stream));
}

/* REDUCE(kind): functions of NVSHMEM by type and operator behind one signature. */
#define WRAP(kind, name, type, op)                                                                 \
    static int kind##_##name##_##op(void *dst, const void *src, size_t nelems,                     \
                                    cudaStream_t stream)                                           \
    {                                                                                              \
        return nvshmemx_##name##_##op##_##kind##_on_stream(NVSHMEM_TEAM_WORLD, (type *)dst,        \
                                                           (const type *)src, nelems, stream);     \
    }
#define WRAP_OPS(kind, name, type)                                                                 \
    WRAP(kind, name, type, sum)                                                                    \
    WRAP(kind, name, type, prod)                                                                   \
    WRAP(kind, name, type, max)                                                                    \
    WRAP(kind, name, type, min)
#define TYPES(F, kind)                                                                             \
    F(kind, int8, int8_t)                                                                          \
    F(kind, uint8, uint8_t)                                                                        \
    F(kind, int32, int32_t)                                                                        \
    F(kind, uint32, uint32_t)                                                                      \
    F(kind, int64, int64_t)                                                                        \
    F(kind, uint64, uint64_t)                                                                      \
    F(kind, half, nvshmem_half)                                                                    \
    F(kind, float, float)                                                                          \
    F(kind, double, double)                                                                        \
    F(kind, bfloat16, nvshmem_bfloat16)
#define ROW(kind, name, type)                                                                      \
    {kind##_##name##_sum, kind##_##name##_prod, kind##_##name##_max, kind##_##name##_min},

TYPES(WRAP_OPS, reduce)
TYPES(WRAP_OPS, reducescatter)

typedef int reduction(void *dst, const void *src, size_t nelems, cudaStream_t stream);

/* By enum nvs_dtype and enum nvs_op. */
static reduction *const reductions[NUM_DTYPES][4] = {TYPES(ROW, reduce)};
static reduction *const scatters[NUM_DTYPES][4] = {TYPES(ROW, reducescatter)};

ENQUEUE(all_reduce)
{
    (void)turn;
    must(reductions[call->type->code][call->redop](at->dst, at->src, call->count, stream));
}

ENQUEUE(reduce_scatter)
{
    (void)turn;
    must(scatters[call->type->code][call->redop](at->dst, at->src, call->count, stream));
}
