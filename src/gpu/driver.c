/*
 * driver.c - libcuda, opened at run time.
 *
 * libnvs needs no CUDA to be built, installed or run; driver.def lists what it calls once libcuda
 * is there. A program that has selected a GPU has opened libcuda itself, so for all others nothing
 * is opened before somebody asks for device memory: starting the driver takes a tenth of a second
 * and more.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu.h"

struct nvsi_cuda cu;

static struct {
    pthread_once_t once;
    bool open; /* and initialised, with at least one device */
    char reason[512];
} driver = {.once = PTHREAD_ONCE_INIT};

static const struct {
    const char *symbol;
    size_t field;
} functions[] = {
#define CUDA_FN(name, symbol, parameters) {symbol, offsetof(struct nvsi_cuda, name)},
#include "gpu/driver.def"
};

enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0] };

/* The name also before init, and for programs that only ask: nvs-info. */
static const char *library(void)
{
    struct nvsi_config config = {0};
    char message[512];
    if (nvsi.life == NVSI_INITIALISED)
        return nvsi.config.cuda_library;
    if (nvsi_config_load_variable(&config, NVSI_CONFIG_cuda_library, message, sizeof message))
        return "libcuda.so.1";
    return config.cuda_library;
}

bool nvsi_cuda_loaded(void)
{
    void *handle = dlopen(library(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static const char *name_of(CUresult result)
{
    const char *name = NULL;
    if (cu.cuGetErrorName && cu.cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
        return name;
    return "an unknown error";
}

static bool find_functions(void *handle)
{
    for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
        void *found = dlsym(handle, functions[i].symbol);
        if (!found) {
            snprintf(driver.reason, sizeof driver.reason,
                     "%s has no %s: a driver for CUDA 12 or later is needed", library(),
                     functions[i].symbol);
            return false;
        }
        memcpy((char *)&cu + functions[i].field, &found, sizeof found);
    }
    return true;
}

static void start(void)
{
    int count = 0;
    CUresult result = cu.cuInit(0);
    if (!result)
        result = cu.cuDeviceGetCount(&count);
    if (result == CUDA_ERROR_NO_DEVICE || (!result && count == 0))
        snprintf(driver.reason, sizeof driver.reason,
                 "the driver (%s) finds no GPU that this process may use", library());
    else if (result)
        snprintf(driver.reason, sizeof driver.reason, "the driver (%s) does not start: %s",
                 library(), name_of(result));
    else
        driver.open = true;
}

static void open_once(void)
{
    void *handle = dlopen(library(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        snprintf(driver.reason, sizeof driver.reason, "there is no CUDA driver: %s",
                 why ? why : library());
    } else if (find_functions(handle)) {
        start();
    }
    /* Never closed: a driver that has started has threads. */
}

bool nvsi_cuda_open(void)
{
    pthread_once(&driver.once, open_once);
    return driver.open;
}

const char *nvsi_cuda_reason(void)
{
    return nvsi_cuda_open() ? "" : driver.reason;
}

int nvsi_cuda_error(const char *fn, CUresult result, const char *attempt, ...)
{
    char text[256];
    const char *words = NULL;
    va_list args;
    va_start(args, attempt);
    vsnprintf(text, sizeof text, attempt, args);
    va_end(args);
    if (cu.cuGetErrorString)
        cu.cuGetErrorString(result, &words);
    return nvsi_error(result == CUDA_ERROR_OUT_OF_MEMORY ? NVS_ERR_MEMORY : NVS_ERR_SYSTEM,
                      "%s: PE %d cannot %s: %s (%s)", fn, nvsi.me, text, name_of(result),
                      words ? words : "no description");
}
