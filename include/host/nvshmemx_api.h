/*
 * nvshmemx_api.h - a name that programs for NVSHMEM include; all of it is in nvshmemx.h.
 */
#ifndef NVS_HOST_NVSHMEMX_API_H
#define NVS_HOST_NVSHMEMX_API_H

#include "nvshmemx.h"

#endif
