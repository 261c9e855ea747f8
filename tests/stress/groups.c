/*
 * groups.c - teams that are split and destroyed, contexts that are created and destroyed.
 */
#include "model.h"

static void set_team(struct team *team, shmem_team_t handle, const int *pes, int npes)
{
    team->npes = npes;
    team->handle = handle;
    memcpy(team->pes, pes, (size_t)npes * sizeof *pes);
    int number = team_number(team, world.me);
    if ((handle == SHMEM_TEAM_INVALID) != (number < 0))
        give_up("a team of %d PEs: handle %d, but my number in it is %d", npes, (int)handle,
                number);
    if (number < 0)
        return;
    if (shmem_team_my_pe(handle) != number || shmem_team_n_pes(handle) != npes)
        give_up("team %d: my number is %d of %d, expected %d of %d", (int)handle,
                shmem_team_my_pe(handle), shmem_team_n_pes(handle), number, npes);
    for (int i = 0; i < npes; i++)
        if (shmem_team_translate_pe(handle, i, SHMEM_TEAM_WORLD) != pes[i])
            give_up("team %d: PE %d is %d in the world, expected %d", (int)handle, i,
                    shmem_team_translate_pe(handle, i, SHMEM_TEAM_WORLD), pes[i]);
}

static struct team *free_team(void)
{
    for (int i = 1; i < MAX_TEAMS; i++)
        if (!world.teams[i].npes)
            return &world.teams[i];
    return NULL;
}

static int count_free_teams(void)
{
    int count = 0;
    for (int i = 1; i < MAX_TEAMS; i++)
        count += !world.teams[i].npes;
    return count;
}

static void split_strided(struct rng *rng, const struct team *parent)
{
    int n = parent->npes, pes[MAX_PES];
    int start = (int)rng_below(rng, (size_t)n), stride = 1 + (int)rng_below(rng, 3);
    if (rng_below(rng, 3) == 0)
        stride = -stride;
    int room = (stride > 0 ? n - 1 - start : start) / abs(stride) + 1;
    int npes = 1 + (int)rng_below(rng, (size_t)room);
    for (int i = 0; i < npes; i++)
        pes[i] = parent->pes[start + i * stride];
    shmem_team_t handle = SHMEM_TEAM_INVALID;
    if (parent->handle != SHMEM_TEAM_INVALID &&
        shmem_team_split_strided(parent->handle, start, stride, npes, NULL, 0, &handle))
        give_up("split_strided %d %d %d of %d PEs: %s", start, stride, npes, n, nvs_last_error());
    set_team(free_team(), handle, pes, npes);
}

/* The rows and the columns are as many teams; this PE has one of each. */
static void split_2d(struct rng *rng, const struct team *parent)
{
    int n = parent->npes, xrange = 1 + (int)rng_below(rng, (size_t)n), pes[MAX_PES];
    int rows = (n + xrange - 1) / xrange, mine = team_number(parent, world.me);
    if (rows + xrange > count_free_teams())
        return;
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    if (mine >= 0 && shmem_team_split_2d(parent->handle, xrange, NULL, 0, &x, NULL, 0, &y))
        give_up("split_2d by %d of %d PEs: %s", xrange, n, nvs_last_error());
    for (int row = 0; row < rows; row++) {
        int npes = 0;
        for (int i = row * xrange; i < n && i < (row + 1) * xrange; i++)
            pes[npes++] = parent->pes[i];
        bool in = mine >= 0 && mine / xrange == row;
        set_team(free_team(), in ? x : SHMEM_TEAM_INVALID, pes, npes);
    }
    for (int column = 0; column < xrange; column++) {
        int npes = 0;
        for (int i = column; i < n; i += xrange)
            pes[npes++] = parent->pes[i];
        bool in = mine >= 0 && mine % xrange == column;
        set_team(free_team(), in ? y : SHMEM_TEAM_INVALID, pes, npes);
    }
}

/* The contexts of a team go with it; half of the time the program destroys them first. */
static void destroy_team(struct rng *rng, int index)
{
    struct team *team = &world.teams[index];
    bool first = rng_below(rng, 2);
    for (int i = 1; i < NUM_CTXS; i++) {
        struct context *ctx = &world.ctxs[i];
        if (ctx->team != index)
            continue;
        if (first && team->handle != SHMEM_TEAM_INVALID)
            shmem_ctx_destroy(ctx->handle);
        ctx->team = -1;
    }
    if (team->handle != SHMEM_TEAM_INVALID)
        shmem_team_destroy(team->handle);
    team->npes = 0;
}

static int random_team(struct rng *rng)
{
    for (;;) {
        int index = (int)rng_below(rng, MAX_TEAMS);
        if (world.teams[index].npes)
            return index;
    }
}

static void change_context(struct rng *rng, struct context *ctx)
{
    int index = random_team(rng);
    long options = rng_below(rng, 3) == 0 ? SHMEM_CTX_SERIALIZED : 0;
    bool old_in = ctx->team >= 0 && world.teams[ctx->team].handle != SHMEM_TEAM_INVALID;
    if (old_in)
        shmem_ctx_destroy(ctx->handle);
    ctx->team = index;
    ctx->handle = SHMEM_CTX_INVALID;
    const struct team *team = &world.teams[index];
    if (team->handle != SHMEM_TEAM_INVALID &&
        shmem_team_create_ctx(team->handle, options, &ctx->handle))
        give_up("a context of team %d: %s", (int)team->handle, nvs_last_error());
}

void groups_open(void)
{
    int all[MAX_PES];
    for (int pe = 0; pe < world.npes; pe++)
        all[pe] = pe;
    set_team(&world.teams[0], SHMEM_TEAM_WORLD, all, world.npes);
    for (int i = 1; i < NUM_CTXS; i++)
        world.ctxs[i].team = -1;
    world.ctxs[0].handle = SHMEM_CTX_DEFAULT;
}

void groups_change(void)
{
    struct rng rng = draw_from(world.epoch, 1000003);
    size_t changes = rng_below(&rng, 3);
    while (changes-- > 0) {
        int index = random_team(&rng);
        if (index && rng_below(&rng, 3) == 0)
            destroy_team(&rng, index);
        else if (count_free_teams() && rng_below(&rng, 4))
            split_strided(&rng, &world.teams[index]);
        else
            split_2d(&rng, &world.teams[index]);
    }
    if (rng_below(&rng, 2))
        change_context(&rng, &world.ctxs[1 + rng_below(&rng, NUM_CTXS - 1)]);
}

void contexts_quiet(void)
{
    for (int i = 1; i < NUM_CTXS; i++)
        if (world.ctxs[i].team >= 0)
            shmem_ctx_quiet(world.ctxs[i].handle); /* of a team without us: invalid, does nothing */
}
