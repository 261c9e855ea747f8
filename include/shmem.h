/*
 * shmem.h - OpenSHMEM 1.5.
 *
 * The typed functions are in shmem/rma.h, amo.h, signal.h, wait.h, coll.h and deprecated.h, which
 * this file includes; everything else is below. Type-generic names (shmem_put and so on) are there
 * in C11 and in C++; define NVS_NO_GENERICS to do without. pshmem.h has the profiling names.
 *
 * void functions cannot say that they failed. They write a sentence and end the job, or with
 * NVS_ON_ERROR=return only record the error for nvshmemx_error_check() of nvshmemx.h.
 */
#ifndef NVS_SHMEM_H
#define NVS_SHMEM_H

#include "shmem/amo.h"
#include "shmem/coll.h"
#include "shmem/deprecated.h"
#include "shmem/rma.h"
#include "shmem/signal.h"
#include "shmem/types.h"
#include "shmem/wait.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start, end, queries --------------------------------------------------------------------- */

/* Joins the job; collective over all PEs. Calls are counted: each needs its own shmem_finalize. */
NVS_API void shmem_init(void);
/* provided gets the level that is granted, which is the one requested. Returns 0 on success. */
NVS_API int shmem_init_thread(int requested, int *provided);
NVS_API void shmem_query_thread(int *provided);
/* Waits for all PEs, then releases what the library holds. Collective. */
NVS_API void shmem_finalize(void);
/* Ends all PEs of the job with this status. */
NVS_API NVS_NORETURN void shmem_global_exit(int status);

/* This PE's number and the number of PEs. Outside of shmem_init .. shmem_finalize an error: it ends
 * the job, or with NVS_ON_ERROR=return gives -1. */
NVS_API int shmem_my_pe(void);
NVS_API int shmem_n_pes(void);
/* 1 if puts and gets to PE pe (and to addr there) are possible, otherwise 0. */
NVS_API int shmem_pe_accessible(int pe);
NVS_API int shmem_addr_accessible(const void *addr, int pe);
/* Where dest of PE pe can be loaded and stored here, or NULL. */
NVS_API void *shmem_ptr(const void *dest, int pe);
NVS_API void shmem_info_get_version(int *major, int *minor);
NVS_API void shmem_info_get_name(char *name);
/* For profiling tools, which define it; does nothing here. */
NVS_API void shmem_pcontrol(int level, ...);

/* ---- memory: collective over all PEs, which pass the same arguments -------------------------- */

/* NULL if size is 0 or there is no memory, on all PEs alike. Aligned to 64 bytes. */
NVS_API void *shmem_malloc(size_t size);
NVS_API void *shmem_malloc_with_hints(size_t size, long hints);
/* All bytes are zero. */
NVS_API void *shmem_calloc(size_t count, size_t size);
/* alignment: a power of two. */
NVS_API void *shmem_align(size_t alignment, size_t size);
NVS_API void *shmem_realloc(void *ptr, size_t size);
/* A barrier, then frees. NULL: does nothing. */
NVS_API void shmem_free(void *ptr);

/* ---- teams ----------------------------------------------------------------------------------- */

/* -1 for SHMEM_TEAM_INVALID and for teams that this PE is not in. */
NVS_API int shmem_team_my_pe(shmem_team_t team);
NVS_API int shmem_team_n_pes(shmem_team_t team);
NVS_API int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config);
/* The number in dest_team of PE src_pe of src_team; -1 if it has none. */
NVS_API int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
/* Collective over parent_team. PEs outside of the new team get SHMEM_TEAM_INVALID. Return 0, or a
 * nonzero value and SHMEM_TEAM_INVALID. config may be NULL if its mask is 0. */
NVS_API int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                                     const shmem_team_config_t *config, long config_mask,
                                     shmem_team_t *new_team);
NVS_API int shmem_team_split_2d(shmem_team_t parent_team, int xrange,
                                const shmem_team_config_t *xaxis_config, long xaxis_mask,
                                shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                                long yaxis_mask, shmem_team_t *yaxis_team);
NVS_API void shmem_team_destroy(shmem_team_t team);
NVS_API int shmem_team_sync(shmem_team_t team);
/* shmem_ptr for PE pe of team. */
NVS_API void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe);

/* ---- contexts: PE numbers given with a context count in its team ----------------------------- */

/* Return 0, or a nonzero value and SHMEM_CTX_INVALID. */
NVS_API int shmem_ctx_create(long options, shmem_ctx_t *ctx);
NVS_API int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);
/* Completes what was issued on it. SHMEM_CTX_INVALID: does nothing. */
NVS_API void shmem_ctx_destroy(shmem_ctx_t ctx);
NVS_API int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);
/* Selected by type-generic names for arguments of no supported type; a call does not compile. */
NVS_API void shmem_ctx_c11_generic_selection_failed(void);

/* ---- order and synchronisation --------------------------------------------------------------- */

/* Orders puts, atomics and signals to each PE. SHMEM_CTX_INVALID: does nothing. */
NVS_API void shmem_fence(void);
NVS_API void shmem_ctx_fence(shmem_ctx_t ctx);
/* Completes all operations issued so far. SHMEM_CTX_INVALID: does nothing. */
NVS_API void shmem_quiet(void);
NVS_API void shmem_ctx_quiet(shmem_ctx_t ctx);
/* shmem_quiet, then waits for all PEs. */
NVS_API void shmem_barrier_all(void);
/* Waits for all PEs; completes no puts. */
NVS_API void shmem_sync_all(void);

NVS_API uint64_t shmem_signal_fetch(const volatile uint64_t *sig_addr);
/* Returns the value that satisfied the condition. */
NVS_API uint64_t shmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/* Locks: a symmetric long, 0 at first. shmem_test_lock returns 0 if it took the lock, 1 if another
 * PE holds it. Releasing a lock completes this PE's puts first. */
NVS_API void shmem_set_lock(long *lock);
NVS_API void shmem_clear_lock(long *lock);
NVS_API int shmem_test_lock(long *lock);

/* ---- deprecated ------------------------------------------------------------------------------ */

NVS_API void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync);
NVS_API void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync);
NVS_API void shmem_wait(volatile long *ivar, long cmp_value);
NVS_API void shmem_wait_until(volatile long *ivar, int cmp, long cmp_value);

/* Caches are coherent; these do nothing. */
NVS_API void shmem_set_cache_inv(void);
NVS_API void shmem_clear_cache_inv(void);
NVS_API void shmem_set_cache_line_inv(void *dest);
NVS_API void shmem_clear_cache_line_inv(void *dest);
NVS_API void shmem_udcflush(void);
NVS_API void shmem_udcflush_line(void *dest);

/* shmem_init once; the job is left when the program exits. npes is not used. */
NVS_API void start_pes(int npes);
NVS_API int my_pe(void);
NVS_API int _my_pe(void);
NVS_API int num_pes(void);
NVS_API int _num_pes(void);
NVS_API void *shmalloc(size_t size);
NVS_API void shfree(void *ptr);
NVS_API void *shrealloc(void *ptr, size_t size);
NVS_API void *shmemalign(size_t alignment, size_t size);

#ifdef __cplusplus
}
#endif

#ifndef NVS_NO_GENERICS
#if defined(__cplusplus)
#include "shmem/overloads.h"
#elif __STDC_VERSION__ >= 201112L
#include "shmem/generics.h"
#endif
#endif

#endif
