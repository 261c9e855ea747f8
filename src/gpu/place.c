/*
 * place.c - one variable that wants to know of the job: where it is, and writing it.
 *
 * The address of a unit's variable only the CUDA runtime knows that the unit was linked with; a
 * module's the driver.
 */
#include "gpu/place.h"

#include "nvshmem/device/unit.h"

/* A part of the program that this GPU cannot run does not keep the others from running: *address is
 * 0 then, and it is asked again next time. The same of one that its runtime does not know yet. */
static int unit_address(struct nvsi_place *place, CUdeviceptr *address)
{
    const struct nvsx_device_unit *unit = place->key;
    void *ptr = NULL;
    int error = unit->address(&ptr, unit->shadow);
    *address = error ? 0 : (CUdeviceptr)(uintptr_t)ptr;
    place->late = error && place->late ? place->late - 1 : 0;
    if (error && !place->useless && !place->late)
        nvsi_log(
            NVSI_LOG_WARN,
            "a part of this program with device code cannot be used on this GPU (error %d of the "
            "program's CUDA runtime): compile it for compute capability %d.%d",
            error, nvsi_gpu.compute_capability / 10, nvsi_gpu.compute_capability % 10);
    place->useless = error && !place->late;
    return 0;
}

static int module_address(const char *fn, const struct nvsi_place *place, CUdeviceptr *address)
{
    size_t nbytes = 0;
    const char *what = place->kind == NVSI_PLACE_MODULE ? "the module" : "the library";
    CUresult result = place->kind == NVSI_PLACE_MODULE
                          ? cu.cuModuleGetGlobal(address, &nbytes, place->key, "nvsi_device")
                          : cu.cuLibraryGetGlobal(address, &nbytes, place->key, "nvsi_device");
    if (result == CUDA_ERROR_NOT_FOUND)
        return nvsi_error(
            NVS_ERR_INVALID,
            "%s: %s has no variable nvsi_device: no source of it includes nvshmem.h and "
            "uses a device function",
            fn, what);
    if (result)
        return nvsi_cuda_error(fn, result, "find the variable nvsi_device of %s", what);
    if (nbytes != sizeof(struct nvsi_dev_state))
        return nvsi_error(
            NVS_ERR_MISMATCH,
            "%s: nvsi_device of %s has %zu bytes, not %zu: it was compiled with headers of "
            "another version of nvs",
            fn, what, nbytes, sizeof(struct nvsi_dev_state));
    return 0;
}

int nvsi_place_find(const char *fn, struct nvsi_place *place)
{
    CUcontext context = NULL;
    cu.cuCtxGetCurrent(&context);
    if (place->context && place->context == context)
        return 0;
    CUdeviceptr address;
    int status = place->kind == NVSI_PLACE_UNIT ? unit_address(place, &address)
                                                : module_address(fn, place, &address);
    if (status)
        return status;
    place->address = address;
    place->context = address ? context : NULL;
    return 0;
}

int nvsi_place_write(const char *fn, struct nvsi_place *place, const struct nvsi_dev_state *state,
                     CUstream stream)
{
    int status = nvsi_place_find(fn, place);
    if (status || !place->address)
        return status;
    CUresult result = cu.cuMemcpyHtoDAsync(place->address, state, sizeof *state, stream);
    if (!result)
        result = cu.cuStreamSynchronize(stream);
    return result ? nvsi_cuda_error(fn, result, "tell kernels about the job") : 0;
}
