/*
 * nvshmem_version.h - a name that programs for NVSHMEM include; all of it is in nvshmem/types.h.
 */
#ifndef NVS_NON_ABI_NVSHMEM_VERSION_H
#define NVS_NON_ABI_NVSHMEM_VERSION_H

#include "nvshmem/types.h"

#endif
