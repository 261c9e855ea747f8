/*
 * amo.c - atomics on words that are not mapped here, and the errors of those that can't be.
 */
#include "fast.h"
#include "transport/transport.h"

int nvsi_amo_slow(struct nvsi_ctx *ctx, const char *fn, enum nvsi_amo_code code, void *dst,
                  size_t nbytes, uint64_t operand, uint64_t compare, int pe, uint64_t *old)
{
    struct nvsi_remote at;
    const char *what = code == NVSI_AMO_FETCH ? "src" : "dst";
    int status = nvsi_locate(ctx, fn, what, dst, 1, nbytes, pe, &at);
    if (status)
        return status;
    if ((uintptr_t)dst % nbytes)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %s: address %p is not aligned: an atomic of %zu bytes needs a "
                          "multiple of %zu",
                          fn, what, dst, nbytes, nbytes);
    return nvsi_way(&at, NULL)->amo(ctx, &at, code, nbytes, operand, compare, old);
}
