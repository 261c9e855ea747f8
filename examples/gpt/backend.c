/*
 * backend.c - all PEs compute on GPUs, or none does.
 */
#include "backend.h"

#include <stdio.h>

#include "nvs.h"
#include "train.h"

const struct backend *backend_choose(const struct options *o)
{
    char reason[400] = "";
    int32_t pe = nvs_my_pe(), npes = nvs_n_pes(), first = npes; /* the first PE without a GPU */
    bool wanted = o->device == DEVICE_GPU || o->precision == PRECISION_BFLOAT16;
    if (o->device == DEVICE_CPU)
        return &backend_cpu;
    if (!backend_gpu.usable(reason, sizeof(reason)))
        first = pe;
    if (nvs_all_reduce(NVS_TEAM_WORLD, &first, &first, 1, NVS_INT32, NVS_MIN, NULL))
        die("nvs_all_reduce", nvs_last_error());
    if (first == npes)
        return &backend_gpu;
    if (!wanted)
        return &backend_cpu;
    if (first == pe)
        fprintf(stderr, "gpt: PE %d: %s: %s\n", pe,
                o->device == DEVICE_GPU ? "--device gpu" : "--precision bfloat16 needs a GPU",
                reason);
    return NULL;
}
