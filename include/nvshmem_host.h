/*
 * nvshmem_host.h - a name that programs for NVSHMEM include; all of it is in nvshmemx.h.
 */
#ifndef NVS_NVSHMEM_HOST_H
#define NVS_NVSHMEM_HOST_H

#include "nvshmemx.h"

#endif
