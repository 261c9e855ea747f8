/*
 * nvshmem_constants.h - a name that programs for NVSHMEM include; all of it is in nvshmem/types.h.
 */
#ifndef NVS_DEVICE_HOST_TRANSPORT_NVSHMEM_CONSTANTS_H
#define NVS_DEVICE_HOST_TRANSPORT_NVSHMEM_CONSTANTS_H

#include "nvshmem/types.h"

#endif
