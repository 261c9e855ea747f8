/*
 * modules.c - device code that a program loads at run time: nvshmemx_cumodule_init() and its like.
 */
#include "nvshmemx.h"

#include <stdlib.h>

#include "gpu/place.h"

/* In the caller's context if it has one, since that is where the module is. */
static int find_and_write(const char *fn, struct nvsi_place *place)
{
    CUcontext before = NULL;
    if (!nvsi_cuda_open())
        return nvsi_error(NVS_ERR_UNSUPPORTED, "%s: there is no GPU: %s", fn, nvsi_cuda_reason());
    cu.cuCtxGetCurrent(&before);
    if (!before && nvsi_gpu.up)
        cu.cuCtxPushCurrent(nvsi_gpu.context);
    int status = nvsi_place_find(fn, place);
    if (!status) {
        nvsi_places_add(place);
        status = nvsi_places_update(fn);
    }
    if (!before && nvsi_gpu.up)
        cu.cuCtxPopCurrent(&before);
    return status;
}

static int module_init(const char *fn, enum nvsi_place_kind kind, void *key)
{
    int status = nvsi_ready(fn);
    if (!status && !key)
        status = nvsi_error(NVS_ERR_INVALID, "%s: the %s is NULL", fn,
                            kind == NVSI_PLACE_MODULE ? "module" : "library");
    if (status)
        return nvsi_tell(status);
    struct nvsi_place *place = nvsi_place_new(kind, key);
    if (!place)
        return nvsi_tell(nvsi_error(NVS_ERR_MEMORY, "%s: no memory", fn));
    nvsi_places_take_back(kind, key); /* twice is once */
    status = find_and_write(fn, place);
    if (status && !nvsi_places_take_back(kind, key))
        free(place);
    return status ? nvsi_tell(status) : 0;
}

static int module_finalize(const char *fn, enum nvsi_place_kind kind, void *key)
{
    if (nvsi_places_take_back(kind, key) || nvsi.npes == 0) /* finalize has forgotten all of them */
        return 0;
    return nvsi_tell(
        nvsi_error(NVS_ERR_INVALID, "%s: %p was not given to %s_init, or that has failed", fn, key,
                   kind == NVSI_PLACE_MODULE ? "nvshmemx_cumodule" : "nvshmemx_culibrary"));
}

int nvshmemx_cumodule_init(struct CUmod_st *module)
{
    return module_init(__func__, NVSI_PLACE_MODULE, module);
}

int nvshmemx_cumodule_finalize(struct CUmod_st *module)
{
    return module_finalize(__func__, NVSI_PLACE_MODULE, module);
}

int nvshmemx_culibrary_init(struct CUlib_st *library)
{
    return module_init(__func__, NVSI_PLACE_LIBRARY, library);
}

int nvshmemx_culibrary_finalize(struct CUlib_st *library)
{
    return module_finalize(__func__, NVSI_PLACE_LIBRARY, library);
}
