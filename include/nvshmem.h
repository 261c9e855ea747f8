/*
 * nvshmem.h - NVSHMEM for host code.
 *
 * The typed functions are in nvshmem/rma.h, amo.h, wait.h and coll.h, which this file includes;
 * everything else is below. Memory is host memory. What NVSHMEM offers in kernels only is here for
 * the host too: p, g, iput, iget, atomics, put_signal, wait_until and test.
 *
 * void functions cannot say that they failed. They write a sentence and end the job, or with
 * NVS_ON_ERROR=return only record the error for nvshmemx_error_check() of nvshmemx.h.
 */
#ifndef NVS_NVSHMEM_H
#define NVS_NVSHMEM_H

#include "nvshmem/amo.h"
#include "nvshmem/coll.h"
#include "nvshmem/rma.h"
#include "nvshmem/types.h"
#include "nvshmem/wait.h"

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
/* Ends all PEs of the job with this status. */
NVS_API NVS_NORETURN void nvshmem_global_exit(int status);

/* This PE's number and the number of PEs. Outside of nvshmem_init .. nvshmem_finalize an error: it
 * ends the job, or with NVS_ON_ERROR=return gives -1. */
NVS_API int nvshmem_my_pe(void);
NVS_API int nvshmem_n_pes(void);
/* Where dest of PE pe can be loaded and stored here, or NULL. */
NVS_API void *nvshmem_ptr(const void *dest, int pe);
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

/* -1 for NVSHMEM_TEAM_INVALID and for teams that this PE is not in. */
NVS_API int nvshmem_team_my_pe(nvshmem_team_t team);
NVS_API int nvshmem_team_n_pes(nvshmem_team_t team);
NVS_API void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
/* The number in dest_team of PE src_pe of src_team; -1 if it has none. */
NVS_API int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe,
                                      nvshmem_team_t dest_team);
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

/* ---- order and synchronisation --------------------------------------------------------------- */

/* Orders puts, atomics and signals to each PE. */
NVS_API void nvshmem_fence(void);
/* Completes all operations issued so far. */
NVS_API void nvshmem_quiet(void);
/* Quiet, then waits for the PEs of the team. */
NVS_API int nvshmem_barrier(nvshmem_team_t team);
NVS_API void nvshmem_barrier_all(void);
/* Waits for the PEs of the team; completes no puts. The first two are the same. */
NVS_API int nvshmem_team_sync(nvshmem_team_t team);
NVS_API int nvshmem_sync(nvshmem_team_t team);
NVS_API void nvshmem_sync_all(void);

NVS_API uint64_t nvshmem_signal_fetch(const volatile uint64_t *sig_addr);
/* Returns the value that satisfied the condition. */
NVS_API uint64_t nvshmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp,
                                           uint64_t cmp_value);

#ifdef __cplusplus
}
#endif

#endif
