/*
 * module.c - kernels and variables, by name.
 *
 * Our kernels, compiled by the host compiler, are in libfakecuda_kernels.so beside this library;
 * whatever image of ours is loaded (a fatbin, or the text that stands for it where there is no
 * nvcc) brings that in. Kernels announce themselves when their library is loaded (emu.h).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct CUmod_st {
    struct emu_global own; /* of fakecuda_module(); no name: all that were announced */
    bool loaded;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_kernel *kernels;
static struct emu_global *globals;

/* ---- what announces itself ------------------------------------------------------------------- */

EMU_API void emu_kernel_announce(struct emu_kernel *kernel)
{
    pthread_mutex_lock(&lock);
    kernel->next = kernels;
    kernels = kernel;
    pthread_mutex_unlock(&lock);
}

EMU_API void emu_kernel_forget(struct emu_kernel *kernel)
{
    pthread_mutex_lock(&lock);
    struct emu_kernel **link = &kernels;
    while (*link && *link != kernel)
        link = &(*link)->next;
    if (*link)
        *link = kernel->next;
    pthread_mutex_unlock(&lock);
}

/* To the driver a variable of a kernel's is device memory. */
EMU_API void emu_global_announce(struct emu_global *global)
{
    pthread_mutex_lock(&lock);
    global->next = globals;
    globals = global;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&fake.lock);
    fake_range_add_locked(global->address, global->nbytes, FAKE_GLOBAL, 0);
    pthread_mutex_unlock(&fake.lock);
}

EMU_API void emu_global_forget(struct emu_global *global)
{
    pthread_mutex_lock(&lock);
    struct emu_global **link = &globals;
    while (*link && *link != global)
        link = &(*link)->next;
    if (*link)
        *link = global->next;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&fake.lock);
    struct fake_range *range = fake_range_find_locked(global->address);
    if (range && range->kind == FAKE_GLOBAL)
        fake_range_drop_locked(range);
    pthread_mutex_unlock(&fake.lock);
}

const struct emu_kernel *fake_kernel(const char *name)
{
    pthread_mutex_lock(&lock);
    struct emu_kernel *kernel = kernels;
    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    pthread_mutex_unlock(&lock);
    return kernel;
}

CUfunction fakecuda_function(const char *name)
{
    return (CUfunction)(uintptr_t)fake_kernel(name);
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool load_our_kernels(void)
{
    static bool loaded;
    char path[4096];
    Dl_info self;
    if (loaded || !dladdr((void *)(uintptr_t)cuInit, &self))
        return loaded;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 1;
    snprintf(path, sizeof path, "%.*s/libfakecuda_kernels.so", folder,
             slash ? self.dli_fname : ".");
    loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL;
    if (!loaded)
        fprintf(stderr, "fakecuda: %s\n", dlerror());
    return loaded;
}

static bool is_ours(const void *image)
{
    static const uint32_t fatbin = 0xba55ed50;
    return memcmp(image, &fatbin, sizeof fatbin) == 0 || strncmp(image, "nvs ", 4) == 0;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER_CONTEXT(context);
    if (!module || !image || !context)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = fake_unsafe();
    if (!result && (!is_ours(image) || !load_our_kernels()))
        result = CUDA_ERROR_INVALID_IMAGE;
    if (result)
        return result;
    *module = calloc(1, sizeof **module);
    if (!*module)
        abort();
    (*module)->loaded = true;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER_CONTEXT(context);
    if (!module || !context)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake.lock);
    if (module->own.address) {
        struct fake_range *range = fake_range_find_locked(module->own.address);
        if (range)
            fake_range_drop_locked(range);
    }
    pthread_mutex_unlock(&fake.lock);
    free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER_CONTEXT(context);
    if (!function || !module || !name || !context)
        return CUDA_ERROR_INVALID_VALUE;
    CUfunction found = module->loaded ? fakecuda_function(name) : NULL;
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
}

static CUresult variable_of(const struct CUmod_st *module, const char *name, CUdeviceptr *ptr,
                            size_t *nbytes)
{
    pthread_mutex_lock(&lock);
    const struct emu_global *global = module->loaded ? globals : &module->own;
    while (global && strcmp(global->name, name) != 0)
        global = global->next;
    pthread_mutex_unlock(&lock);
    if (!global)
        return CUDA_ERROR_NOT_FOUND;
    if (ptr)
        *ptr = (CUdeviceptr)(uintptr_t)global->address;
    if (nbytes)
        *nbytes = global->nbytes;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *ptr, size_t *nbytes, CUmodule module, const char *name)
{
    ENTER_CONTEXT(context);
    if (!module || !name || !context)
        return CUDA_ERROR_INVALID_VALUE;
    return variable_of(module, name, ptr, nbytes);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *nbytes, CUlibrary library, const char *name)
{
    ENTER_CONTEXT(context);
    if (!library || !name || !context)
        return CUDA_ERROR_INVALID_VALUE;
    return variable_of((const struct CUmod_st *)(const void *)library, name, ptr, nbytes);
}

CUmodule fakecuda_module(const char *name, void *variable, size_t nbytes)
{
    CUmodule module = calloc(1, sizeof *module);
    if (!module)
        abort();
    module->own = (struct emu_global){name, variable, nbytes, NULL};
    pthread_mutex_lock(&fake.lock);
    fake_range_add_locked(variable, nbytes, FAKE_GLOBAL, 0);
    pthread_mutex_unlock(&fake.lock);
    return module;
}

CUlibrary fakecuda_library(const char *name, void *variable, size_t nbytes)
{
    return (CUlibrary)(void *)fakecuda_module(name, variable, nbytes);
}
