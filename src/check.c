/*
 * check.c - NVS_CHECK=yes: mistakes that only a slow look can find.
 *
 * The usual checks are those that cost nothing beside a store: is the PE there, is the range inside
 * of the heap or of the static data. With NVS_CHECK no peer counts as mapped (init.c), so every
 * operation takes the slow way, where it is compared with the table of objects: a range must be
 * inside of one object that nobody has freed. The contexts and the local side are looked at, too.
 */
#include "fast.h"
#include "transport/transport.h"

#define CTX_PRIVATE 2L /* SHMEM_CTX_PRIVATE */

static int check_ctx(const char *fn, const struct nvsi_ctx *ctx)
{
    if (!ctx)
        return 0;
    pthread_mutex_lock(&nvsi.lock);
    const struct nvsi_ctx *found = nvsi.contexts;
    while (found && found != ctx)
        found = found->next;
    pthread_mutex_unlock(&nvsi.lock);
    if (!found)
        return nvsi_error(NVS_ERR_INVALID, "%s: ctx: context %p does not exist on PE %d", fn,
                          (const void *)ctx, nvsi.me);
    if ((ctx->options & CTX_PRIVATE) && ctx->owner != nvsi_ctx_thread())
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: ctx: context %p is private to the thread that made it", fn,
                          (const void *)ctx);
    return 0;
}

int nvsi_check_remote(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                      size_t nbytes, int pe)
{
    int status = check_ctx(fn, ctx);
    return status ? status : nvsi.check(fn, what, sym, nbytes, pe);
}

int nvsi_check_local(const char *fn, const char *what, const void *local, size_t nbytes,
                     const struct nvsi_remote *at)
{
    if (!nbytes)
        return 0;
    if (!local)
        return nvsi_error(NVS_ERR_INVALID, "%s: %s is NULL, but there are %zu bytes to copy", fn,
                          what, nbytes);
    uintptr_t here = (uintptr_t)local;
    uintptr_t there = (uintptr_t)nvsi.seg[at->seg].base + at->offset;
    if (at->pe == nvsi.me && here != there && here < there + nbytes && there < here + nbytes)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: dst and src overlap: %zu bytes at %p and at %p on PE %d", fn, nbytes,
                          (void *)here, (void *)there, nvsi.me);
    return nvsi.check(fn, what, local, nbytes, nvsi.me);
}
