/*
 * ctx.c - communication contexts: a team for PE numbers, and a stream of operations to be quieted.
 *
 * On mapped memory a context has nothing in flight of its own; a network transport hangs its worker
 * here.
 *
 * Programs use contexts after they have destroyed them, or the team below them. So a destroyed one
 * is kept for a while, with a team that has no PEs: every PE number is wrong in it, which the fast
 * path finds without a check of its own.
 */
#include <stdlib.h>

#include "nvs_internal.h"

enum { NUM_DEAD = 256 };

static struct nvsi_team nobody = {.id = NVSI_TEAM_INVALID, .slot = -1};

/* The destroyed contexts, oldest one next to be freed. Guarded by nvsi.lock. */
static struct nvsi_ctx *dead[NUM_DEAD];
static unsigned next_dead;

static void bury(struct nvsi_ctx *ctx)
{
    ctx->team = &nobody;
    free(dead[next_dead]);
    dead[next_dead] = ctx;
    next_dead = (next_dead + 1) % NUM_DEAD;
}

/* What tells threads apart: shmemx_register_gettid(), or the system. */
static uint64_t (*thread_of_user)(void);

void nvsi_ctx_thread_from(uint64_t (*thread)(void))
{
    thread_of_user = thread;
}

uint64_t nvsi_ctx_thread(void)
{
    return thread_of_user ? thread_of_user() : (uint64_t)pthread_self();
}

int nvsi_ctx_create(const char *fn, struct nvsi_team *team, long options, struct nvsi_ctx **ctx)
{
    struct nvsi_ctx *made = calloc(1, sizeof *made);
    if (!made)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a context", fn);
    made->team = team;
    made->options = options;
    made->owner = nvsi_ctx_thread();
    pthread_mutex_lock(&nvsi.lock);
    made->next = nvsi.contexts;
    nvsi.contexts = made;
    pthread_mutex_unlock(&nvsi.lock);
    *ctx = made;
    return 0;
}

int nvsi_ctx_destroy(const char *fn, struct nvsi_ctx *ctx)
{
    int status = nvsi_check_ctx(fn, ctx);
    if (!status)
        status = nvsi_quiet(ctx, fn);
    if (status)
        return status;
    pthread_mutex_lock(&nvsi.lock);
    struct nvsi_ctx **link = &nvsi.contexts;
    while (*link && *link != ctx)
        link = &(*link)->next;
    bool known = *link;
    if (known) {
        *link = ctx->next;
        bury(ctx);
    }
    pthread_mutex_unlock(&nvsi.lock);
    if (!known)
        return nvsi_error(NVS_ERR_INVALID, "%s: ctx: context %p does not exist on PE %d", fn,
                          (void *)ctx, nvsi.me);
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
        bury(ctx);
    }
    pthread_mutex_unlock(&nvsi.lock);
}
