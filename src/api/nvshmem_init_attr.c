/*
 * nvshmem_init_attr.c - starting with attributes: a unique id, an MPI communicator, an OpenSHMEM
 * job.
 *
 * The PEs of a job are those that nvsrun started, or one. The attributes cannot add any: they are
 * compared with that, and what does not fit is refused before anything starts. Callers pass
 * uninitialised structures in which only set_attr_*_args has set something, so nothing else in them
 * is read, and no version field at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "api/skin_job.h"
#include "nvshmemx.h"

_Static_assert(sizeof(nvshmemx_uniqueid_t) == 128, "NVSHMEM's size");
_Static_assert(sizeof(nvshmemx_uniqueid_args_t) == 24, "NVSHMEM's size");
_Static_assert(sizeof(nvshmemx_init_args_t) == 128, "NVSHMEM's size");
_Static_assert(sizeof(nvshmemx_init_attr_t) == 144, "NVSHMEM's size");
_Static_assert(sizeof(nvshmem_team_config_t) == 64, "NVSHMEM's size");

static const char fn[] = "nvshmemx_init_attr";

/* ---- filling in ------------------------------------------------------------------------------ */

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    if (!uniqueid)
        return nvsi_tell(nvsi_error(NVS_ERR_INVALID, "nvshmemx_get_uniqueid: uniqueid is NULL"));
    memset(uniqueid, 0, sizeof *uniqueid);
    uniqueid->version = NVSHMEMX_UNIQUEID_VERSION;
    if (getrandom(uniqueid->internal, 16, 0) == 16)
        return 0;
    return nvsi_error(NVS_ERR_SYSTEM, "nvshmemx_get_uniqueid: no random numbers: %s",
                      strerror(errno));
}

int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks,
                                    const nvshmemx_uniqueid_t *uniqueid, nvshmemx_init_attr_t *attr)
{
    if (!uniqueid || !attr)
        return nvsi_error(NVS_ERR_INVALID, "nvshmemx_set_attr_uniqueid_args: %s is NULL",
                          uniqueid ? "attr" : "uniqueid");
    if (nranks < 1 || myrank < 0 || myrank >= nranks)
        return nvsi_error(NVS_ERR_INVALID,
                          "nvshmemx_set_attr_uniqueid_args: rank %d of %d does not exist", myrank,
                          nranks);
    memset(attr, 0, sizeof *attr);
    attr->version = NVSHMEMX_INIT_ATTR_VERSION;
    attr->args.version = NVSHMEMX_INIT_ARGS_VERSION;
    attr->args.uid_args.version = NVSHMEMX_UNIQUEID_ARGS_VERSION;
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)uniqueid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return 0;
}

int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    if (!mpi_comm || !attr)
        return nvsi_error(NVS_ERR_INVALID, "nvshmemx_set_attr_mpi_comm_args: %s is NULL",
                          mpi_comm ? "attr" : "mpi_comm");
    memset(attr, 0, sizeof *attr);
    attr->version = NVSHMEMX_INIT_ATTR_VERSION;
    attr->mpi_comm = mpi_comm;
    return 0;
}

/* ---- comparing with the job that there is ---------------------------------------------------- */

/* This process in the job that it is in or would join: from init, or from the launcher. */
static void current_job(int *me, int *npes, bool *launched)
{
    const char *pe = getenv(NVSI_ENV_PE), *count = getenv(NVSI_ENV_NPES);
    *launched = pe && count;
    *me = nvsi.npes ? nvsi.me : *launched ? atoi(pe) : 0;
    *npes = nvsi.npes ? nvsi.npes : *launched ? atoi(count) : 1;
}

static int check_rank(int rank, int nranks)
{
    int me, npes;
    bool launched;
    current_job(&me, &npes, &launched);
    if (rank == me && nranks == npes)
        return 0;
    if (!launched)
        return nvsi_error(
            NVS_ERR_UNSUPPORTED,
            "%s: rank %d of %d, but this process was not started by nvsrun: start the "
            "program with nvsrun -n %d",
            fn, rank, nranks, nranks);
    return nvsi_error(NVS_ERR_LAUNCH,
                      "%s: rank %d of %d, but nvsrun started this process as %d of "
                      "%d: they must be the same",
                      fn, rank, nranks, me, npes);
}

/* How many processes an MPI launcher says it started; 1 if none does. */
static int mpi_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && atoi(value) > 1)
            return atoi(value);
    }
    return 1;
}

static int check_mpi(const nvshmemx_init_attr_t *attributes)
{
    int me, npes;
    bool launched;
    current_job(&me, &npes, &launched);
    if (!attributes->mpi_comm)
        return nvsi_error(NVS_ERR_INVALID, "%s: mpi_comm is NULL", fn);
    if (!launched && npes < mpi_size())
        return nvsi_error(NVS_ERR_UNSUPPORTED,
                          "%s: an MPI launcher started %d processes, which nvs cannot join: start "
                          "the program with nvsrun -n %d",
                          fn, mpi_size(), mpi_size());
    return 0;
}

static int check_attributes(unsigned flags, const nvshmemx_init_attr_t *attributes)
{
    switch (flags) {
    case 0:
    case NVSHMEMX_INIT_WITH_SHMEM: /* it is the same job */
        return 0;
    case NVSHMEMX_INIT_WITH_UNIQUEID:
    case NVSHMEMX_INIT_WITH_MPI_COMM:
        break;
    default:
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: flags 0x%x: allowed are 0 and one of NVSHMEMX_INIT_WITH_UNIQUEID, "
                          "_MPI_COMM and _SHMEM",
                          fn, flags);
    }
    if (!attributes)
        return nvsi_error(NVS_ERR_INVALID, "%s: attributes is NULL", fn);
    if (flags == NVSHMEMX_INIT_WITH_MPI_COMM)
        return check_mpi(attributes);
    return check_rank(attributes->args.uid_args.myrank, attributes->args.uid_args.nranks);
}

/* ---- start and end --------------------------------------------------------------------------- */

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    int status = check_attributes(flags, attributes);
    return nvsi_skin_told(status ? status : nvsi_skin_init(fn, NVSHMEM_THREAD_SINGLE, NULL));
}

int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    return nvshmemx_init_attr(flags, attributes);
}

void nvshmemx_hostlib_finalize(void)
{
    nvsi_check(nvsi_finalize("nvshmemx_hostlib_finalize"));
}

int nvshmemx_init_status(void)
{
    return nvsi.npes > 0 ? NVSHMEM_STATUS_IS_INITIALIZED : NVSHMEM_STATUS_NOT_INITIALIZED;
}
