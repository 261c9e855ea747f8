/*
 * nvshmem_coll_api.h - a name that programs for NVSHMEM include; all of it is in nvshmem.h.
 */
#ifndef NVS_HOST_NVSHMEM_COLL_API_H
#define NVS_HOST_NVSHMEM_COLL_API_H

#include "nvshmem.h"

#endif
