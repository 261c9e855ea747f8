/*
 * cuda_runtime_api.h - a name that programs for CUDA include; all of it is in cuda_runtime.h.
 */
#ifndef NVS_CUDART_CUDA_RUNTIME_API_H
#define NVS_CUDART_CUDA_RUNTIME_API_H

#include "cuda_runtime.h"

#endif
