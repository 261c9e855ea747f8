/*
 * signal.c - put-with-signal: data first, then one atomic update of a 64-bit word.
 *
 * Order on mapped memory: the copy's stores come before the signal's store in program order; the
 * signal is stored with release (or by a locked add), so whoever sees it sees the data. memcpy ends
 * with a store fence where it stores around the caches.
 */
#include "boot/crash.h"
#include "fast.h"
#include "transport/transport.h"
#include "wait.h"

static int check_op(const char *fn, int op)
{
    if (op == NVSI_SIGNAL_SET || op == NVSI_SIGNAL_ADD)
        return 0;
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: signal operation %d does not exist: allowed are SIGNAL_SET (%d) and "
                      "SIGNAL_ADD (%d)",
                      fn, op, NVSI_SIGNAL_SET, NVSI_SIGNAL_ADD);
}

int nvsi_locate_signal(const struct nvsi_ctx *ctx, const char *fn, const uint64_t *sig, int op,
                       int pe, struct nvsi_remote *at)
{
    int status = check_op(fn, op);
    if (!status)
        status = nvsi_locate(ctx, fn, "sig_addr", sig, 1, sizeof *sig, pe, at);
    if (!status && (uintptr_t)sig % sizeof *sig)
        status =
            nvsi_error(NVS_ERR_INVALID,
                       "%s: sig_addr: address %p is not aligned: a signal needs a multiple of 8",
                       fn, (const void *)sig);
    return status;
}

static void update(uint64_t *word, uint64_t value, int op)
{
    if (op == NVSI_SIGNAL_SET)
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

int nvsi_put_signal(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                    size_t elem_bytes, uint64_t *sig, uint64_t value, int op, int pe)
{
    struct nvsi_remote at, sig_at;
    int status = nvsi_locate(ctx, fn, "dst", dst, nelems, elem_bytes, pe, &at);
    if (!status)
        status = nvsi_locate_signal(ctx, fn, sig, op, pe, &sig_at);
    if (status)
        return status;
    struct nvsi_peer *peer = &nvsi.peers[at.pe];
    if (NVSI_UNLIKELY(nvsi.device != NULL) &&
        (sig_at.seg == NVSI_SEG_DEVICE || nvsi_way(&at, src) == &nvsi.device->ops))
        return nvsi.device->ops.put_signal(ctx, &at, src, nelems * elem_bytes, &sig_at, value, op);
    if (!peer->seg[sig_at.seg] || !peer->seg[at.seg])
        return peer->ops->put_signal(ctx, &at, src, nelems * elem_bytes, &sig_at, value, op);
    nvsi_copy(peer->seg[at.seg] + at.offset, src, nelems * elem_bytes, NVSI_AT_PUT_SIGNAL, at.pe);
    NVSI_CRASH_POINT(signal_data_put);
    update((uint64_t *)(peer->seg[sig_at.seg] + sig_at.offset), value, op);
    nvsi_wake(at.pe);
    return 0;
}

int nvsi_signal(struct nvsi_ctx *ctx, const char *fn, uint64_t *sig, uint64_t value, int op, int pe)
{
    struct nvsi_remote at;
    int status = nvsi_locate_signal(ctx, fn, sig, op, pe, &at);
    if (status)
        return status;
    struct nvsi_peer *peer = &nvsi.peers[at.pe];
    if (!peer->seg[at.seg])
        return nvsi_way(&at, NULL)->amo(ctx, &at,
                                        op == NVSI_SIGNAL_SET ? NVSI_AMO_SET : NVSI_AMO_ADD,
                                        sizeof *sig, value, 0, NULL);
    update((uint64_t *)(peer->seg[at.seg] + at.offset), value, op);
    nvsi_wake(at.pe);
    return 0;
}
