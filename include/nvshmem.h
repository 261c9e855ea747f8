/*
 * nvshmem.h - NVSHMEM for host code and, compiled by nvcc, for kernels.
 *
 * The typed functions are in nvshmem/rma.h, amo.h, wait.h and coll.h, those that kernels may call
 * as well in nvshmem/both.h; everything else is below. Compiled by nvcc the names of these five are
 * functions for both sides, and the others that NVSHMEM has in kernels come with them: all of it is
 * nvshmem/device/api.h. What NVSHMEM offers in kernels only is here for the host too: p, g, iput,
 * iget, atomics, put_signal, wait_until and test.
 *
 * void functions cannot say that they failed. They write a sentence and end the job, or with
 * NVS_ON_ERROR=return only record the error for nvshmemx_error_check() of nvshmemx.h.
 */
#ifndef NVS_NVSHMEM_H
#define NVS_NVSHMEM_H

#include "nvshmem/types.h"

#if defined(NVS_DEVICE_CODE)
#include "nvshmem/device/api.h"
#else
#include "nvshmem/amo.h"
#include "nvshmem/both.h"
#include "nvshmem/coll.h"
#include "nvshmem/rma.h"
#include "nvshmem/wait.h"
#endif

#if !defined(__CUDACC_RTC__) /* which compiles kernels only */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start, end, queries --------------------------------------------------------------------- */

/* Joins the job; collective over all PEs. Calls are counted: each needs a nvshmem_finalize. */
NVS_API void nvshmem_init(void);
/* provided gets the level that is granted, which is the one requested. Returns 0 on success. */
NVS_API int nvshmem_init_thread(int requested, int *provided);
NVS_API void nvshmem_query_thread(int *provided);
/* Waits for all PEs, then releases what the library holds. Collective. */
NVS_API void nvshmem_finalize(void);

NVS_API void nvshmem_info_get_version(int *major, int *minor);
NVS_API void nvshmem_info_get_name(char *name);

/* ---- memory: collective over all PEs, which pass the same arguments -------------------------- */

/* NULL if size is 0 or there is no memory, on all PEs alike. Aligned to 64 bytes. */
NVS_API void *nvshmem_malloc(size_t size);
/* All bytes are zero. */
NVS_API void *nvshmem_calloc(size_t count, size_t size);
/* alignment: a power of two. */
NVS_API void *nvshmem_align(size_t alignment, size_t size);
/* Not a barrier: the memory is used again once every PE has freed it. NULL: does nothing. */
NVS_API void nvshmem_free(void *ptr);

/* ---- teams ----------------------------------------------------------------------------------- */

NVS_API void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
/* Collective over parent_team. PEs outside of the new team get NVSHMEM_TEAM_INVALID. Return 0, or a
 * nonzero value and NVSHMEM_TEAM_INVALID. config may be NULL if its mask is 0. */
NVS_API int nvshmem_team_split_strided(nvshmem_team_t parent_team, int start, int stride, int size,
                                       const nvshmem_team_config_t *config, long config_mask,
                                       nvshmem_team_t *new_team);
NVS_API int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange,
                                  const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                                  nvshmem_team_t *xaxis_team,
                                  const nvshmem_team_config_t *yaxis_config, long yaxis_mask,
                                  nvshmem_team_t *yaxis_team);
NVS_API void nvshmem_team_destroy(nvshmem_team_t team);

#ifdef __cplusplus
}
#endif

#endif /* !__CUDACC_RTC__ */

#endif
