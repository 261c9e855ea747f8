/*
 * backend_no_gpu.c - stands for backend_gpu.c where there is no nvcc.
 */
#include "backend.h"

#include <stdio.h>

static bool no_gpu_usable(char *reason, size_t size)
{
    snprintf(reason, size, "this program was built without nvcc, for CPUs only");
    return false;
}

const struct backend backend_gpu = {.name = "gpu", .usable = no_gpu_usable};
