/*
 * nvshmem_team_init.c - teams by a number that their members share, in any order of PEs. Only the
 * members call, and each knows nothing but the number and its own index.
 */
#include "api/skin_job.h"
#include "nvshmemx.h"

static const char fn[] = "nvshmemx_team_init";

/* Unique in the job: this PE's number and how many it has given before. */
int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    static _Atomic uint32_t given;
    int status = nvsi_ready("nvshmemx_team_get_uniqueid");
    if (status)
        return nvsi_tell(status);
    if (!uniqueid)
        return nvsi_tell(
            nvsi_error(NVS_ERR_INVALID, "nvshmemx_team_get_uniqueid: uniqueid is NULL"));
    *uniqueid = (uint64_t)(nvsi.me + 1) << 32 | atomic_fetch_add(&given, 1);
    return 0;
}

static int check(const nvshmem_team_t *team, const nvshmem_team_config_t *config, long mask,
                 int npes, int index)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (!team || !config || !(mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID))
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: team and config must not be NULL, and config_mask must have "
                          "NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID",
                          fn);
    if (config->uniqueid >> 62)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: unique id %#llx does not come from nvshmemx_team_get_uniqueid", fn,
                          (unsigned long long)config->uniqueid);
    if (npes >= 1 && npes <= nvsi.npes && index >= 0 && index < npes)
        return 0;
    return nvsi_error(NVS_ERR_INVALID, "%s: index %d of %d PEs: the job has %d PEs", fn, index,
                      npes, nvsi.npes);
}

int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask,
                       int npes, int pe_idx_in_team)
{
    if (team)
        *team = NVSHMEM_TEAM_INVALID;
    int status = check(team, config, config_mask, npes, pe_idx_in_team);
    if (status)
        return nvsi_tell(status);
    int contexts = config_mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS ? config->num_contexts : 0;
    return nvsi_skin_told(
        nvsi_team_join(fn, config->uniqueid, npes, pe_idx_in_team, contexts, team));
}
