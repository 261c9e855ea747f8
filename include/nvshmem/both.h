/*
 * nvshmem/both.h - queries, order and synchronisation of NVSHMEM: what host code and kernels share.
 *
 * These are the host's. nvcc compiles functions of the same names that are these in host code and
 * others in kernels (src/api/gen_device.py makes them from this file); what is said here about
 * errors is said of the host.
 */
#ifndef NVS_NVSHMEM_BOTH_H
#define NVS_NVSHMEM_BOTH_H

#include "nvshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ends all PEs of the job with this status. */
NVS_API NVS_NORETURN void nvshmem_global_exit(int status);

/* This PE's number and the number of PEs. Outside of nvshmem_init .. nvshmem_finalize an error: it
 * ends the job, or with NVS_ON_ERROR=return gives -1. */
NVS_API int nvshmem_my_pe(void);
NVS_API int nvshmem_n_pes(void);
/* Where dest of PE pe can be loaded and stored here, or NULL. */
NVS_API void *nvshmem_ptr(const void *dest, int pe);
/* Multicast addresses: NULL. */
NVS_API void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr);

/* -1 for NVSHMEM_TEAM_INVALID and for teams that this PE is not in. */
NVS_API int nvshmem_team_my_pe(nvshmem_team_t team);
NVS_API int nvshmem_team_n_pes(nvshmem_team_t team);
/* The number in dest_team of PE src_pe of src_team; -1 if it has none. */
NVS_API int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe,
                                      nvshmem_team_t dest_team);

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

NVS_API void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
NVS_API uint64_t nvshmem_signal_fetch(const volatile uint64_t *sig_addr);
/* Returns the value that satisfied the condition. */
NVS_API uint64_t nvshmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp,
                                           uint64_t cmp_value);

#ifdef __cplusplus
}
#endif

#endif
