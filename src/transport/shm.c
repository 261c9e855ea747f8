/*
 * shm.c - peers of this host: everything is mapped, so the fast path never asks a transport.
 *
 * The functions are here for the few callers that want a transport's answer (signals between a
 * mapped and a hidden segment) and as the plain meaning that chaos.c delays.
 */
#include "fast.h"
#include "transport/transport.h"

static void *mapped(const struct nvsi_remote *at)
{
    return nvsi.peers[at->pe].mapped[at->seg] + at->offset;
}

static int put(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src, size_t nbytes,
               bool nbi)
{
    (void)ctx;
    (void)nbi;
    nvsi_copy(mapped(at), src, nbytes, NVSI_AT_PUT, at->pe);
    nvsi_wake(at->pe);
    return 0;
}

static int get(struct nvsi_ctx *ctx, const struct nvsi_remote *at, void *dst, size_t nbytes,
               bool nbi)
{
    (void)ctx;
    (void)nbi;
    nvsi_copy(dst, mapped(at), nbytes, NVSI_AT_GET, at->pe);
    return 0;
}

static int amo(struct nvsi_ctx *ctx, const struct nvsi_remote *at, enum nvsi_amo_code code,
               size_t nbytes, uint64_t operand, uint64_t compare, uint64_t *old)
{
    (void)ctx;
    uint64_t before = nbytes == 4
                          ? nvsi_amo_word32(code, mapped(at), (uint32_t)operand, (uint32_t)compare)
                          : nvsi_amo_word64(code, mapped(at), operand, compare);
    if (old)
        *old = before;
    nvsi_wake(at->pe);
    return 0;
}

static int put_signal(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src,
                      size_t nbytes, const struct nvsi_remote *sig, uint64_t value, int op)
{
    put(ctx, at, src, nbytes, false);
    return amo(ctx, sig, op == NVSI_SIGNAL_SET ? NVSI_AMO_SET : NVSI_AMO_ADD, sizeof value, value,
               0, NULL);
}

const struct nvsi_transport nvsi_transport_shm = {
    .name = "shm",
    .put = put,
    .get = get,
    .amo = amo,
    .put_signal = put_signal,
};
