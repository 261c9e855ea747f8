/*
 * nvshmem/types.h - types and constants of NVSHMEM. Programs include nvshmem.h and nvshmemx.h.
 *
 * Names, values and sizes are those of NVSHMEM 3.5, so that programs and bindings written for it
 * compile and run unchanged.
 */
#ifndef NVS_NVSHMEM_TYPES_H
#define NVS_NVSHMEM_TYPES_H

#include "nvshmem/device/state.h"
#include "nvshmem/version.h"
#include "nvshmem/visibility.h"

#if !defined(__CUDACC_RTC__)
#include <limits.h>
#endif

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

/* Kernels are compiled here: by nvcc or NVRTC, or by the host compiler in the tests of nvs. */
#if defined(__CUDACC__) || defined(NVS_EMULATE_DEVICE)
#define NVS_DEVICE_CODE 1
#endif

/* The OpenSHMEM version that NVSHMEM states, and the NVSHMEM release that is followed here. */
#define NVSHMEM_MAJOR_VERSION 1
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 5
#define NVSHMEM_VENDOR_PATCH_VERSION 0
#define NVSHMEM_VENDOR_VERSION                                                                     \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 +                   \
     NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_MAX_NAME_LEN 256
#define NVSHMEM_VENDOR_STRING "nvs " NVS_VERSION_STRING " (NVSHMEM 3.5.0)"

/* ---- half types ------------------------------------------------------------------------------ */

/* CUDA's types where they are known, otherwise the bits. Include cuda_fp16.h and cuda_bf16.h before
 * this file to have CUDA's types in host code. */
#if defined(__CUDA_FP16_TYPES_EXIST__)
typedef __half nvshmem_half;
#else
typedef uint16_t nvshmem_half;
#endif
#if defined(__CUDA_BF16_TYPES_EXIST__)
typedef __nv_bfloat16 nvshmem_bfloat16;
#else
typedef uint16_t nvshmem_bfloat16;
#endif

/* ---- teams ----------------------------------------------------------------------------------- */

typedef int32_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;
typedef uint64_t nvshmemx_team_uniqueid_t;

enum {
    NVSHMEM_TEAM_INVALID = -1,
    NVSHMEM_TEAM_WORLD = 0,
    NVSHMEM_TEAM_SHARED = 1,
    NVSHMEMX_TEAM_NODE = 2,
    NVSHMEMX_TEAM_SAME_MYNODE_INDEX = 3
};
#define NVSHMEM_TEAM_WORLD_INDEX NVSHMEM_TEAM_WORLD
#define NVSHMEM_TEAM_SHARED_INDEX NVSHMEM_TEAM_SHARED
#define NVSHMEM_TEAM_NODE_INDEX NVSHMEMX_TEAM_NODE

typedef struct {
    int version;
    int num_contexts;
    nvshmemx_team_uniqueid_t uniqueid;
    char padding[48];
} nvshmem_team_config_v2;
typedef nvshmem_team_config_v2 nvshmem_team_config_t;

#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 1L
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID 2L
#define NVSHMEM_TEAM_NUM_CONTEXTS NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS
#define NVSHMEM_TEAM_CONFIG_VERSION (2 * 65536 + 64)
/* clang-format off */
#define NVSHMEM_TEAM_CONFIG_INITIALIZER {NVSHMEM_TEAM_CONFIG_VERSION, -1, UINT64_MAX, {0}}
/* clang-format on */

/* ---- options and results --------------------------------------------------------------------- */

enum {
    NVSHMEM_THREAD_SINGLE = 0,
    NVSHMEM_THREAD_FUNNELED = 1,
    NVSHMEM_THREAD_SERIALIZED = 2,
    NVSHMEM_THREAD_MULTIPLE = 3
};

enum nvshmemi_cmp_type {
    NVSHMEM_CMP_EQ = 0,
    NVSHMEM_CMP_NE = 1,
    NVSHMEM_CMP_GT = 2,
    NVSHMEM_CMP_LE = 3,
    NVSHMEM_CMP_LT = 4,
    NVSHMEM_CMP_GE = 5,
    NVSHMEM_CMP_SENTINEL = 0x7fffffff
};

enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 };

/* Queue pairs, for networks. Over NVLink there is one way to a peer: nvshmemx_qp_create gives
 * NVSHMEMX_QP_DEFAULT for each. */
typedef int nvshmemx_qp_handle_t;
typedef enum {
    NVSHMEMX_QP_HOST = 0,
    NVSHMEMX_QP_DEFAULT = 1,
    NVSHMEMX_QP_ANY = 0x7fffffff,
    NVSHMEMX_QP_ALL = 0x7fffffff
} nvshmemx_qp_handle_index_t;
typedef enum {
    NVSHMEM_PE_INVALID = -1,
    NVSHMEMX_PE_ANY = 1 << 15,
    NVSHMEMX_PE_ALL = 1 << 15
} nvshmem_pe_index_t;

/* What nvshmemx_init_status returns. */
typedef enum {
    NVSHMEM_STATUS_NOT_INITIALIZED = 0,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED = 1,
    NVSHMEM_STATUS_IS_INITIALIZED = 2,
    NVSHMEM_STATUS_LIMITED_MPG = 3,
    NVSHMEM_STATUS_FULL_MPG = 4,
    NVSHMEM_STATUS_INVALID = 0x7fffffff
} nvshmemx_init_status_t;

/* Status values of NVSHMEM's own functions. nvs returns 0 or a negative value (nvs.h); compare with
 * NVSHMEMX_SUCCESS only. */
enum nvshmemx_status {
    NVSHMEMX_SUCCESS = 0,
    NVSHMEMX_ERROR_INVALID_VALUE = 1,
    NVSHMEMX_ERROR_OUT_OF_MEMORY = 2,
    NVSHMEMX_ERROR_NOT_SUPPORTED = 3,
    NVSHMEMX_ERROR_SYMMETRY = 4,
    NVSHMEMX_ERROR_GPU_NOT_SELECTED = 5,
    NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED = 6,
    NVSHMEMX_ERROR_INTERNAL = 7,
    NVSHMEMX_ERROR_SENTINEL = 0x7fffffff
};

/* ---- initialisation with attributes ---------------------------------------------------------- */

#define NVSHMEMX_INIT_THREAD_PES 1
#define NVSHMEMX_INIT_WITH_MPI_COMM (1 << 1)
#define NVSHMEMX_INIT_WITH_SHMEM (1 << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)
#define NVSHMEMX_INIT_MAX (1 << 31)

#define NVSHMEM_UNIQUEID_PADDING 124
#define NVSHMEM_UNIQUEID_ARGS_INVALID (-1)

typedef struct {
    int version;
    char internal[NVSHMEM_UNIQUEID_PADDING];
} nvshmemx_uniqueid_v1;
typedef nvshmemx_uniqueid_v1 nvshmemx_uniqueid_t;

typedef struct {
    int version;
    nvshmemx_uniqueid_t *id;
    int myrank;
    int nranks;
} nvshmemx_uniqueid_args_v1;
typedef nvshmemx_uniqueid_args_v1 nvshmemx_uniqueid_args_t;

typedef struct {
    int version;
    nvshmemx_uniqueid_args_t uid_args;
    char content[96];
} nvshmemx_init_args_v1;
typedef nvshmemx_init_args_v1 nvshmemx_init_args_t;

typedef struct {
    int version;
    void *mpi_comm; /* points to an MPI_Comm */
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_v1;
typedef nvshmemx_init_attr_v1 nvshmemx_init_attr_t;

#define NVSHMEMX_UNIQUEID_VERSION (65536 + 128)
#define NVSHMEMX_UNIQUEID_ARGS_VERSION (65536 + 24)
#define NVSHMEMX_INIT_ARGS_VERSION (65536 + 128)
#define NVSHMEMX_INIT_ATTR_VERSION (65536 + 144)
/* clang-format off */
#define NVSHMEMX_UNIQUEID_INITIALIZER {NVSHMEMX_UNIQUEID_VERSION, {0}}
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER {NVSHMEMX_UNIQUEID_ARGS_VERSION, NULL, 0, 0}
#define NVSHMEMX_INIT_ARGS_INITIALIZER {NVSHMEMX_INIT_ARGS_VERSION, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, {0}}
#define NVSHMEMX_INIT_ATTR_INITIALIZER {NVSHMEMX_INIT_ATTR_VERSION, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER}
/* clang-format on */

#endif
