/*
 * nvshmemx.h - NVSHMEM's extensions for host code, and the error query of nvs.
 */
#ifndef NVS_NVSHMEMX_H
#define NVS_NVSHMEMX_H

#include "nvshmem.h"
#include "nvshmem/device/context.h"

#if !defined(__CUDACC_RTC__)

#include "nvshmem/launch.h"
#include "nvshmem/stream.h"

struct CUmod_st;
struct CUlib_st;

#ifdef __cplusplus
extern "C" {
#endif

/* The oldest error of this PE that was not asked for yet, as a status: 0, or a negative NVS_ERR_*
 * of nvs.h. Forgets it. Any thread, any time. */
NVS_API int nvshmemx_error_check(void);

/* ---- initialisation with attributes ---------------------------------------------------------- */

/* flags: 0, or one of NVSHMEMX_INIT_WITH_UNIQUEID, _MPI_COMM and _SHMEM. Only the members that the
 * flag needs are read, so that attributes need not be initialised. The PEs are those that nvsrun
 * started; rank and size in the attributes must agree. Returns 0 or a status. */
NVS_API int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes);
NVS_API int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes);
NVS_API void nvshmemx_hostlib_finalize(void);
/* One of NVSHMEM_STATUS_*. Any time. */
NVS_API int nvshmemx_init_status(void);
/* Needs no initialisation; one PE calls it and hands the result to the others. */
NVS_API int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid);
/* Fill in the attributes for nvshmemx_init_attr. uniqueid must live until then. */
NVS_API int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks,
                                            const nvshmemx_uniqueid_t *uniqueid,
                                            nvshmemx_init_attr_t *attr);
NVS_API int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr);
NVS_API void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);

/* ---- teams, signals, memory ------------------------------------------------------------------ */

/* One PE asks for a number and hands it to the others of a new team. */
NVS_API int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid);
/* Makes a team of the npes PEs that call it with the same config->uniqueid; this PE is number
 * pe_idx_in_team of it. config_mask must have NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID. */
NVS_API int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config,
                               long config_mask, int npes, int pe_idx_in_team);

/* Ordinary host memory needs no registration; the arguments are checked. */
NVS_API int nvshmemx_buffer_register(void *addr, size_t length);
NVS_API int nvshmemx_buffer_unregister(void *addr);
NVS_API void nvshmemx_buffer_unregister_all(void);
/* Memory of the caller as symmetric memory: collective, the same size on all PEs. buf must be
 * memory of this PE's GPU that cuMemCreate() has made with
 * CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, one allocation or several in a row; buf and size are
 * multiples of the granularity (2 MiB). Returns the symmetric address of the same memory, or NULL;
 * buf stays valid. flags: none is defined. */
NVS_API void *nvshmemx_buffer_register_symmetric(void *buf, size_t size, int flags);
/* Local, as nvshmem_free: ptr is what the call above returned. The memory stays the caller's. */
NVS_API int nvshmemx_buffer_unregister_symmetric(void *ptr, size_t size);

/* ---- modules that are loaded at run time ----------------------------------------------------- */

/* A module or library whose device code calls NVSHMEM (compiled by NVRTC, a cubin, a fatbin), after
 * it was loaded and before its kernels run; in the context in which it was loaded. Code that nvcc
 * has compiled into the program needs no such call. Forgotten at finalize. CUmodule and CUlibrary.
 */
NVS_API int nvshmemx_cumodule_init(struct CUmod_st *module);
NVS_API int nvshmemx_cumodule_finalize(struct CUmod_st *module);
NVS_API int nvshmemx_culibrary_init(struct CUlib_st *library);
NVS_API int nvshmemx_culibrary_finalize(struct CUlib_st *library);

/* ---- for kernels ----------------------------------------------------------------------------- */

/* What nvshmem/device/context.h is about: a kernel's argument that knows the job. After the first
 * nvshmem_malloc. 0 or a status. */
NVS_API int nvshmemx_get_device_context(nvshmem_team_t team, nvshmemx_device_context_t *context);
/* num_qps handles, all of them NVSHMEMX_QP_DEFAULT, in memory that the caller frees (free) after
 * finalize. Collective. 0 or a status. */
NVS_API int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array);

#ifdef __cplusplus
}
#endif

#endif /* !__CUDACC_RTC__ */

#endif
