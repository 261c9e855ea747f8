/*
 * order.c - fence and quiet.
 *
 * On mapped memory an operation is complete when its instructions are, except for what still sits
 * in this core's store buffer:
 *  - fence orders puts to each PE. A release fence does: nothing on x86 (stores leave in order;
 *    copies around the caches end with a store fence of their own), a store barrier elsewhere.
 *  - quiet promises that earlier puts are visible to everybody before anything later, loads
 *    included (store buffering: both PEs put, quiet, then get; one must see the other's put). Only
 *    a full fence gives that.
 * A transport with operations in flight adds its own part.
 */
#include "nvs_internal.h"
#include "transport/transport.h"

int nvsi_fence(struct nvsi_ctx *ctx, const char *fn)
{
    int status = nvsi_ready(fn);
    if (NVSI_UNLIKELY(status))
        return status;
    atomic_thread_fence(memory_order_release);
    if (NVSI_UNLIKELY(nvsi.device != NULL))
        status = nvsi.device->ops.fence(ctx);
    return status || !nvsi.transport->fence ? status : nvsi.transport->fence(ctx);
}

int nvsi_quiet_slow(struct nvsi_ctx *ctx, const char *fn)
{
    int status = nvsi_ready(fn);
    if (!status && nvsi.transport->quiet)
        status = nvsi.transport->quiet(ctx);
    if (!status && nvsi.device)
        status = nvsi.device->ops.quiet(ctx);
    atomic_thread_fence(memory_order_seq_cst);
    return status;
}
