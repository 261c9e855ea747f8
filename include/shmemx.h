/*
 * shmemx.h - extensions to OpenSHMEM under the names that Sandia OpenSHMEM gave them; several are
 * in OpenSHMEM 1.6 without the x. nvshmemx.h and nvs.h work on the same PEs, teams and memory.
 *
 * Blocks with strides and scans have a function for each type, in shmem/extensions.h, and
 * type-generic names in C11 and C++:
 *
 *   shmemx_ibput([ctx,] dst, src, dst_stride, src_stride, block_elems, nblocks, pe), shmemx_ibget
 *   shmemx_sum_inscan(team, dst, src, nelems), shmemx_sum_exscan
 *   shmemx_signal_set([ctx,] sig_addr, signal, pe), shmemx_signal_add
 */
#ifndef NVS_SHMEMX_H
#define NVS_SHMEMX_H

#include "shmem.h"

#include "shmem/extensions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The PEs of this host: here, all of them. */
#define SHMEMX_TEAM_NODE ((shmem_team_t)2)

/* For shmem_malloc_with_hints: the caller synchronises before memory is used. nvs does so in any
 * case. */
#define SHMEMX_MALLOC_NO_BARRIER 4L

/* Seconds since some time in the past; never goes back. Before init too. */
NVS_API double shmemx_wtime(void);
/* The name of this host. */
NVS_API char *shmemx_nodename(void);

/* gettid tells threads apart where these are not those of the system; NULL: those of the system.
 * Asked by shmem_ctx_create, and with NVS_CHECK at each use of a private context. Called before
 * shmem_init and before contexts exist. */
NVS_API void shmemx_register_gettid(uint64_t (*gettid)(void));

/* Set a signal of PE pe, or add to it; after the puts before it, for those who call shmem_fence().
 */
NVS_API void shmemx_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);
NVS_API void shmemx_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);
NVS_API void shmemx_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);
NVS_API void shmemx_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

#ifdef __cplusplus
}
#endif

#ifndef NVS_NO_GENERICS
#if defined(__cplusplus)
#include "shmem/extensions_overloads.h"
inline void shmemx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmemx_ctx_signal_set(ctx, sig_addr, signal, pe);
}
inline void shmemx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmemx_ctx_signal_add(ctx, sig_addr, signal, pe);
}
#elif __STDC_VERSION__ >= 201112L
/* clang-format off */
#define NVS_C11_X_CTX_CALL(TABLE, suffix, ...)                                     \
    _Generic((NVS_C11_FIRST(__VA_ARGS__)),                                         \
             shmem_ctx_t: TABLE(shmemx_ctx_, suffix, NVS_C11_OBJECT(__VA_ARGS__)), \
             default: TABLE(shmemx_, suffix, NVS_C11_OBJECT(__VA_ARGS__)))(__VA_ARGS__)
#define NVS_C11_X_TEAM_CALL(TABLE, suffix, ...) \
    TABLE(shmemx_, suffix, *(NVS_C11_SECOND(__VA_ARGS__)))(__VA_ARGS__)
#define NVS_C11_X_SIGNAL(op, ...)                    \
    _Generic((NVS_C11_FIRST(__VA_ARGS__)),           \
             shmem_ctx_t: shmemx_ctx_signal_##op,    \
             default: shmemx_signal_##op)(__VA_ARGS__)
/* clang-format on */
#define shmemx_signal_set(...) NVS_C11_X_SIGNAL(set, __VA_ARGS__)
#define shmemx_signal_add(...) NVS_C11_X_SIGNAL(add, __VA_ARGS__)
#define shmemx_ibput(...) NVS_C11_X_CTX_CALL(NVS_C11_RMA, _ibput, __VA_ARGS__)
#define shmemx_ibget(...) NVS_C11_X_CTX_CALL(NVS_C11_RMA, _ibget, __VA_ARGS__)
#define shmemx_sum_inscan(...) NVS_C11_X_TEAM_CALL(NVS_C11_SUM, _sum_inscan, __VA_ARGS__)
#define shmemx_sum_exscan(...) NVS_C11_X_TEAM_CALL(NVS_C11_SUM, _sum_exscan, __VA_ARGS__)
#endif
#endif

#endif
