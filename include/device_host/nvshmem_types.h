/*
 * nvshmem_types.h - a name that programs for NVSHMEM include; all of it is in nvshmem/types.h.
 */
#ifndef NVS_DEVICE_HOST_NVSHMEM_TYPES_H
#define NVS_DEVICE_HOST_NVSHMEM_TYPES_H

#include "nvshmem/types.h"

#endif
