/*
 * ctx.c - communication contexts: a team for PE numbers, and a stream of operations to be quieted.
 *
 * On mapped memory a context has nothing in flight of its own; a network transport hangs its worker
 * here.
 */
#include <stdlib.h>

#include "nvs_internal.h"

int nvsi_ctx_create(const char *fn, struct nvsi_team *team, long options, struct nvsi_ctx **ctx)
{
    struct nvsi_ctx *made = calloc(1, sizeof *made);
    if (!made)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a context", fn);
    made->team = team;
    made->options = options;
    pthread_mutex_lock(&nvsi.lock);
    made->next = nvsi.contexts;
    nvsi.contexts = made;
    pthread_mutex_unlock(&nvsi.lock);
    *ctx = made;
    return 0;
}

int nvsi_ctx_destroy(const char *fn, struct nvsi_ctx *ctx)
{
    int status = nvsi_quiet(ctx, fn);
    if (status)
        return status;
    pthread_mutex_lock(&nvsi.lock);
    struct nvsi_ctx **link = &nvsi.contexts;
    while (*link && *link != ctx)
        link = &(*link)->next;
    bool known = *link;
    if (known)
        *link = ctx->next;
    pthread_mutex_unlock(&nvsi.lock);
    if (!known)
        return nvsi_error(NVS_ERR_INVALID, "%s: context %p does not exist (destroyed before?)", fn,
                          (void *)ctx);
    free(ctx);
    return 0;
}

void nvsi_ctx_destroy_all(const struct nvsi_team *team)
{
    pthread_mutex_lock(&nvsi.lock);
    for (struct nvsi_ctx **link = &nvsi.contexts; *link;) {
        struct nvsi_ctx *ctx = *link;
        if (team && ctx->team != team) {
            link = &ctx->next;
            continue;
        }
        *link = ctx->next;
        free(ctx);
    }
    pthread_mutex_unlock(&nvsi.lock);
}
