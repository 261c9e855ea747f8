/*
 * shmemx.h - extensions to OpenSHMEM. nvs has none of its own under this prefix; nvshmemx.h and
 * nvs.h work on the same PEs, teams and memory.
 */
#ifndef NVS_SHMEMX_H
#define NVS_SHMEMX_H

#include "shmem.h"

#endif
