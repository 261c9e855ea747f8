/*
 * nvs_info_gpu.h - the section about GPUs of nvs_info_facts().
 */
#ifndef NVSI_NVS_INFO_GPU_H
#define NVSI_NVS_INFO_GPU_H

#include "nvs_internal.h"

typedef void nvsi_info_tell(void *to, const char *key, enum nvs_fact_kind kind, const char *value,
                            const char *note);
/* Opens the driver to find out. */
void nvsi_info_gpu(nvsi_info_tell *tell, void *to);

#endif
