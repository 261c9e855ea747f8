/*
 * nvshmem_team.c - teams, order, barriers and signals of NVSHMEM.
 */
#include "api/skin_job.h"
#include "nvshmemx.h"

int nvshmem_team_my_pe(nvshmem_team_t team)
{
    return nvsi_skin_team_my_pe("nvshmem_team_my_pe", team);
}

int nvshmem_team_n_pes(nvshmem_team_t team)
{
    return nvsi_skin_team_n_pes("nvshmem_team_n_pes", team);
}

void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    struct nvsi_team *found;
    const char *fn = "nvshmem_team_get_config";
    int status = nvsi_skin_team(fn, team, &found);
    nvsi_check(status);
    if (!status && nvsi_skin_out(fn, "config", config))
        config->num_contexts = found->num_contexts;
}

int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team)
{
    return nvsi_skin_translate("nvshmem_team_translate_pe", src_team, src_pe, dest_team);
}

#define KNOWN_MASK (NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS | NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID)

static int num_contexts(const nvshmem_team_config_t *config, long mask)
{
    return config && (mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) ? config->num_contexts : 0;
}

int nvshmem_team_split_strided(nvshmem_team_t parent_team, int start, int stride, int size,
                               const nvshmem_team_config_t *config, long config_mask,
                               nvshmem_team_t *new_team)
{
    const char *fn = "nvshmem_team_split_strided";
    int status = nvsi_skin_config(fn, config, config_mask, KNOWN_MASK);
    if (!status)
        return nvsi_skin_split_strided(fn, parent_team, start, stride, size,
                                       num_contexts(config, config_mask), new_team);
    if (new_team)
        *new_team = NVSHMEM_TEAM_INVALID;
    return nvsi_skin_told(status);
}

int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange,
                          const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                          nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config,
                          long yaxis_mask, nvshmem_team_t *yaxis_team)
{
    int contexts[2] = {num_contexts(xaxis_config, xaxis_mask),
                       num_contexts(yaxis_config, yaxis_mask)};
    const char *fn = "nvshmem_team_split_2d";
    int status = nvsi_skin_config(fn, xaxis_config, xaxis_mask, KNOWN_MASK);
    if (!status)
        status = nvsi_skin_config(fn, yaxis_config, yaxis_mask, KNOWN_MASK);
    if (!status)
        return nvsi_skin_split_2d(fn, parent_team, xrange, contexts, xaxis_team, yaxis_team);
    if (xaxis_team && yaxis_team)
        *xaxis_team = *yaxis_team = NVSHMEM_TEAM_INVALID;
    return nvsi_skin_told(status);
}

void nvshmem_team_destroy(nvshmem_team_t team)
{
    nvsi_skin_team_destroy("nvshmem_team_destroy", team);
}

/* ---- order and synchronisation --------------------------------------------------------------- */

void nvshmem_fence(void)
{
    nvsi_check(nvsi_fence(NULL, "nvshmem_fence"));
}

void nvshmem_quiet(void)
{
    nvsi_check(nvsi_quiet(NULL, "nvshmem_quiet"));
}

int nvshmem_barrier(nvshmem_team_t team)
{
    return nvsi_skin_told(nvsi_skin_team_barrier("nvshmem_barrier", team));
}

void nvshmem_barrier_all(void)
{
    nvsi_check(nvsi_skin_team_barrier("nvshmem_barrier_all", NVSHMEM_TEAM_WORLD));
}

int nvshmem_team_sync(nvshmem_team_t team)
{
    return nvsi_skin_told(nvsi_skin_team_sync("nvshmem_team_sync", team));
}

int nvshmem_sync(nvshmem_team_t team)
{
    return nvsi_skin_told(nvsi_skin_team_sync("nvshmem_sync", team));
}

void nvshmem_sync_all(void)
{
    nvsi_check(nvsi_skin_team_sync("nvshmem_sync_all", NVSHMEM_TEAM_WORLD));
}

/* ---- signals --------------------------------------------------------------------------------- */

void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    nvsi_check(nvsi_signal(NULL, "nvshmemx_signal_op", sig_addr, signal, sig_op, pe));
}

uint64_t nvshmem_signal_fetch(const volatile uint64_t *sig_addr)
{
    return nvsi_skin_signal_fetch("nvshmem_signal_fetch", sig_addr);
}

uint64_t nvshmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return nvsi_skin_signal_wait("nvshmem_signal_wait_until", sig_addr, cmp, cmp_value);
}
