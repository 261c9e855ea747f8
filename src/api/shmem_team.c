/*
 * shmem_team.c - teams and contexts of OpenSHMEM. A context is the core's object; the default one
 * is NULL there and here.
 */
#include "api/skin_job.h"
#include "pshmem.h"

int pshmem_team_my_pe(shmem_team_t team)
{
    return nvsi_skin_team_my_pe("shmem_team_my_pe", team);
}
NVSI_PROFILED(shmem_team_my_pe);

int pshmem_team_n_pes(shmem_team_t team)
{
    return nvsi_skin_team_n_pes("shmem_team_n_pes", team);
}
NVSI_PROFILED(shmem_team_n_pes);

int pshmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
    struct nvsi_team *found;
    const char *fn = "shmem_team_get_config";
    if (team == SHMEM_TEAM_INVALID && nvsi.npes > 0) /* a question that the standard allows */
        return NVS_ERR_INVALID;
    int status = nvsi_skin_team(fn, team, &found);
    if (!status)
        status = nvsi_skin_config(fn, config, config_mask, SHMEM_TEAM_NUM_CONTEXTS);
    if (status)
        return nvsi_skin_told(status);
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
        config->num_contexts = found->num_contexts;
    return 0;
}
NVSI_PROFILED(shmem_team_get_config);

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    return nvsi_skin_translate("shmem_team_translate_pe", src_team, src_pe, dest_team);
}
NVSI_PROFILED(shmem_team_translate_pe);

static int num_contexts(const shmem_team_config_t *config, long mask)
{
    return config && (mask & SHMEM_TEAM_NUM_CONTEXTS) ? config->num_contexts : 0;
}

int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team)
{
    const char *fn = "shmem_team_split_strided";
    int status = nvsi_skin_config(fn, config, config_mask, SHMEM_TEAM_NUM_CONTEXTS);
    if (!status)
        return nvsi_skin_split_strided(fn, parent_team, start, stride, size,
                                       num_contexts(config, config_mask), new_team);
    if (new_team)
        *new_team = SHMEM_TEAM_INVALID;
    return nvsi_skin_told(status);
}
NVSI_PROFILED(shmem_team_split_strided);

int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
                         const shmem_team_config_t *xaxis_config, long xaxis_mask,
                         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                         long yaxis_mask, shmem_team_t *yaxis_team)
{
    int contexts[2] = {num_contexts(xaxis_config, xaxis_mask),
                       num_contexts(yaxis_config, yaxis_mask)};
    const char *fn = "shmem_team_split_2d";
    int status = nvsi_skin_config(fn, xaxis_config, xaxis_mask, SHMEM_TEAM_NUM_CONTEXTS);
    if (!status)
        status = nvsi_skin_config(fn, yaxis_config, yaxis_mask, SHMEM_TEAM_NUM_CONTEXTS);
    if (!status)
        return nvsi_skin_split_2d(fn, parent_team, xrange, contexts, xaxis_team, yaxis_team);
    if (xaxis_team && yaxis_team)
        *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    return nvsi_skin_told(status);
}
NVSI_PROFILED(shmem_team_split_2d);

void pshmem_team_destroy(shmem_team_t team)
{
    nvsi_skin_team_destroy("shmem_team_destroy", team);
}
NVSI_PROFILED(shmem_team_destroy);

int pshmem_team_sync(shmem_team_t team)
{
    return nvsi_skin_told(nvsi_skin_team_sync("shmem_team_sync", team));
}
NVSI_PROFILED(shmem_team_sync);

/* ---- contexts -------------------------------------------------------------------------------- */

#define ALL_OPTIONS (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE)

static int create(const char *fn, shmem_team_t handle, long options, shmem_ctx_t *ctx)
{
    struct nvsi_team *team;
    if (!ctx)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: ctx is NULL: it must point to a place for the result", fn);
    *ctx = SHMEM_CTX_INVALID;
    int status = nvsi_skin_team(fn, handle, &team);
    if (!status && (options & ~ALL_OPTIONS))
        status = nvsi_error(NVS_ERR_INVALID, "%s: options 0x%lx: allowed are bits of 0x%lx", fn,
                            options, ALL_OPTIONS);
    return status ? status : nvsi_ctx_create(fn, team, options, ctx);
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    return nvsi_skin_told(create("shmem_ctx_create", SHMEM_TEAM_WORLD, options, ctx));
}
NVSI_PROFILED(shmem_ctx_create);

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    if (team == SHMEM_TEAM_INVALID) {
        if (ctx)
            *ctx = SHMEM_CTX_INVALID;
        return NVS_ERR_INVALID;
    }
    return nvsi_skin_told(create("shmem_team_create_ctx", team, options, ctx));
}
NVSI_PROFILED(shmem_team_create_ctx);

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
    if (ctx == SHMEM_CTX_INVALID)
        return;
    int status = nvsi_ready("shmem_ctx_destroy");
    if (!status && ctx == SHMEM_CTX_DEFAULT)
        status = nvsi_error(NVS_ERR_INVALID,
                            "shmem_ctx_destroy: the default context cannot be destroyed");
    nvsi_check(status ? status : nvsi_ctx_destroy("shmem_ctx_destroy", ctx));
}
NVSI_PROFILED(shmem_ctx_destroy);

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
    const char *fn = "shmem_ctx_get_team";
    if (!team)
        return nvsi_skin_told(nvsi_error(
            NVS_ERR_INVALID, "%s: team is NULL: it must point to a place for the result", fn));
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return NVS_ERR_INVALID;
    int status = nvsi_ready(fn);
    if (!status)
        status = nvsi_check_ctx(fn, ctx);
    if (!status)
        *team = ctx ? ctx->team->id : SHMEM_TEAM_WORLD;
    return nvsi_skin_told(status);
}
NVSI_PROFILED(shmem_ctx_get_team);

void pshmem_ctx_c11_generic_selection_failed(void)
{
    nvsi_check(nvsi_error(NVS_ERR_INVALID,
                          "a type-generic OpenSHMEM name was used with an unsupported type"));
}
NVSI_PROFILED(shmem_ctx_c11_generic_selection_failed);
