/*
 * gpu.c - the GPU of this PE, through libcuda, which is opened at run time: nvs-perf is built
 * without CUDA and runs on machines without it.
 *
 * A PE takes the device of its number on this host. That is done before the first nvshmem_malloc(),
 * which then returns device memory on all PEs.
 */
#include "kernels.h"
#include "perf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

/* FN(name, symbol, parameters): what nvs-perf calls. */
#define GPU_FUNCTIONS(FN)                                                                          \
    FN(init, "cuInit", (unsigned flags))                                                           \
    FN(error_name, "cuGetErrorName", (int error, const char **name))                               \
    FN(device_count, "cuDeviceGetCount", (int *count))                                             \
    FN(device_get, "cuDeviceGet", (int *device, int ordinal))                                      \
    FN(device_name, "cuDeviceGetName", (char *name, int size, int device))                         \
    FN(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))          \
    FN(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext * context, int device))              \
    FN(context_set, "cuCtxSetCurrent", (CUcontext context))                                        \
    FN(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, uint64_t ptr))     \
    FN(allocate, "cuMemAlloc_v2", (uint64_t * ptr, size_t nbytes))                                 \
    FN(upload, "cuMemcpyHtoD_v2", (uint64_t dst, const void *src, size_t nbytes))                  \
    FN(download, "cuMemcpyDtoH_v2", (void *dst, uint64_t src, size_t nbytes))                      \
    FN(copy_async, "cuMemcpyAsync",                                                                \
       (uint64_t dst, uint64_t src, size_t nbytes, cudaStream_t stream))                           \
    FN(stream_create, "cuStreamCreateWithPriority",                                                \
       (cudaStream_t * stream, unsigned flags, int priority))                                      \
    FN(stream_synchronize, "cuStreamSynchronize", (cudaStream_t stream))                           \
    FN(capture_begin, "cuStreamBeginCapture_v2", (cudaStream_t stream, int mode))                  \
    FN(capture_end, "cuStreamEndCapture", (cudaStream_t stream, CUgraph * graph))                  \
    FN(graph_instantiate, "cuGraphInstantiateWithFlags",                                           \
       (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                              \
    FN(graph_launch, "cuGraphLaunch", (CUgraphExec exec, cudaStream_t stream))                     \
    FN(graph_drop, "cuGraphDestroy", (CUgraph graph))                                              \
    FN(exec_drop, "cuGraphExecDestroy", (CUgraphExec exec))                                        \
    FN(module_load, "cuModuleLoadData", (CUmodule * module, const void *image))                    \
    FN(module_function, "cuModuleGetFunction",                                                     \
       (CUfunction * function, CUmodule module, const char *name))                                 \
    FN(launch, "cuLaunchKernel",                                                                   \
       (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
        unsigned bz, unsigned shared_bytes, cudaStream_t stream, void **params, void **extra))

static struct {
#define FN(name, symbol, parameters) int(*name) parameters;
    GPU_FUNCTIONS(FN)
#undef FN
    /* Not in every driver: without it the first replay of a graph takes longer. */
    int (*graph_upload)(CUgraphExec exec, cudaStream_t stream);
} cuda;

static const struct {
    const char *symbol;
    size_t at;
} functions[] = {
#define FN(name, symbol, parameters) {symbol, offsetof(__typeof__(cuda), name)},
    GPU_FUNCTIONS(FN)
#undef FN
};

enum { MULTIPROCESSORS = 16, L2_CACHE_BYTES = 38, MEMORY_TYPE = 2, DEVICE_MEMORY = 2 };
enum { NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1 };

static struct {
    int device;
    char name[128];
    cudaStream_t stream;
    uint64_t result;
    CUfunction kernels[NUM_KERNELS], collectives[NUM_KERNELS][NUM_COLLECTIVES];
} gpu;

static const char *name_of(int error)
{
    const char *name = NULL;
    if (cuda.error_name(error, &name) || !name)
        return "unknown error";
    return name;
}

static void check_call(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "nvs-perf: PE %d: cannot %s: %s\n", shmem_my_pe(), what, name_of(error));
    shmem_global_exit(2);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_library(struct options *options)
{
    const char *path = getenv("NVS_CUDA_LIBRARY");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        options_mistake(options, "--memory device: there is no GPU driver here: %s", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = dlsym(library, functions[i].symbol);
        if (!found) {
            options_mistake(options, "--memory device: the GPU driver has no %s: it is too old",
                            functions[i].symbol);
            return false;
        }
        memcpy((char *)&cuda + functions[i].at, &found, sizeof(found));
    }
    void *found = dlsym(library, "cuGraphUpload");
    memcpy(&cuda.graph_upload, &found, sizeof(found));
    return true;
}

static bool select_device(struct options *options)
{
    int count = 0;
    CUcontext context;
    int error = cuda.init(0);
    if (!error)
        error = cuda.device_count(&count);
    if (error || !count) {
        options_mistake(options, "--memory device: the driver shows no GPU: %s",
                        error ? name_of(error) : "0 devices");
        return false;
    }
    check_call(cuda.device_get(&gpu.device, nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % count),
               "select a GPU");
    check_call(cuda.context_retain(&context, gpu.device), "use the GPU");
    check_call(cuda.context_set(context), "use the GPU");
    check_call(cuda.stream_create(&gpu.stream, NON_BLOCKING, 0), "make a stream");
    check_call(cuda.device_name(gpu.name, sizeof(gpu.name), gpu.device), "ask for the GPU's name");
    check_call(cuda.allocate(&gpu.result, sizeof(uint64_t)), "allocate device memory");
    return true;
}

bool gpu_open(struct options *options)
{
    return open_library(options) && select_device(options);
}

/* ---- memory and streams ---------------------------------------------------------------------- */

static int attribute(int which)
{
    int value = 0;
    check_call(cuda.device_attribute(&value, which, gpu.device), "ask for the GPU's properties");
    return value;
}

bool gpu_holds(const void *ptr)
{
    unsigned type = 0;
    return cuda.pointer_attribute(&type, MEMORY_TYPE, (uint64_t)(uintptr_t)ptr) == 0 &&
           type == DEVICE_MEMORY;
}

size_t gpu_cache_bytes(void)
{
    return (size_t)attribute(L2_CACHE_BYTES);
}

int gpu_multiprocessors(void)
{
    return attribute(MULTIPROCESSORS);
}

const char *gpu_name(void)
{
    return gpu.name;
}

cudaStream_t gpu_stream(void)
{
    return gpu.stream;
}

void gpu_synchronize(void)
{
    check_call(cuda.stream_synchronize(gpu.stream), "wait for the stream");
}

void gpu_upload(void *device, const void *host, size_t nbytes)
{
    check_call(cuda.upload((uint64_t)(uintptr_t)device, host, nbytes), "copy to the GPU");
}

void gpu_download(void *host, const void *device, size_t nbytes)
{
    check_call(cuda.download(host, (uint64_t)(uintptr_t)device, nbytes), "copy from the GPU");
}

void gpu_copy(void *dst, const void *src, size_t nbytes)
{
    check_call(
        cuda.copy_async((uint64_t)(uintptr_t)dst, (uint64_t)(uintptr_t)src, nbytes, gpu.stream),
        "copy on the GPU");
}

uint64_t *gpu_result(void)
{
    return (uint64_t *)(uintptr_t)gpu.result;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

void gpu_graph_begin(void)
{
    check_call(cuda.capture_begin(gpu.stream, CAPTURE_THREAD_LOCAL), "begin a graph");
}

void *gpu_graph_end(void)
{
    CUgraph graph;
    CUgraphExec exec;
    check_call(cuda.capture_end(gpu.stream, &graph), "end a graph");
    check_call(cuda.graph_instantiate(&exec, graph, 0), "instantiate a graph");
    check_call(cuda.graph_drop(graph), "drop a graph");
    if (cuda.graph_upload)
        check_call(cuda.graph_upload(exec, gpu.stream), "upload a graph");
    return exec;
}

void gpu_graph_launch(void *graph)
{
    check_call(cuda.graph_launch(graph, gpu.stream), "launch a graph");
}

void gpu_graph_drop(void *graph)
{
    check_call(cuda.exec_drop(graph), "drop a graph");
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* In the order of enum kernel_op. */
static const char *const collective_names[] = {
    "barrier", "sync", "broadcast", "all_gather", "all_to_all", "all_reduce", "reduce_scatter"};
_Static_assert(NUM_COLLECTIVES == sizeof(collective_names) / sizeof(*collective_names), "all");

static void find_collectives(CUmodule module, const char *name, CUfunction *found)
{
    char symbol[64];
    for (int i = 0; i < NUM_COLLECTIVES; i++) {
        snprintf(symbol, sizeof(symbol), "%s_%s", name, collective_names[i]);
        check_call(cuda.module_function(&found[i], module, symbol), "find nvs-perf's kernels");
    }
}

static bool load(struct options *options, enum kernel kernel)
{
    static const char *const names[] = {"perf_word", "perf_thread", "perf_warp", "perf_block"};
    CUmodule module;
    int error = cuda.module_load(&module, kernel_images[kernel]);
    if (error && !kernels_compiled) {
        options_mistake(options, "--mode %s: nvs-perf was built without nvcc and has no kernels",
                        mode_names[options->mode]);
        return false;
    }
    check_call(error, "load nvs-perf's kernels");
    check_call(cuda.module_function(&gpu.kernels[kernel], module, names[kernel]),
               "find nvs-perf's kernels");
    if (kernel != KERNEL_OF_WORDS)
        find_collectives(module, names[kernel], gpu.collectives[kernel]);
    if (nvshmemx_cumodule_init(module))
        options_mistake(options, "--mode %s: %s", mode_names[options->mode], nvs_last_error());
    return !options->error[0];
}

bool gpu_load_kernels(struct options *options)
{
    if (options->mode == MODE_THREAD)
        return load(options, KERNEL_OF_WORDS) && load(options, KERNEL_OF_THREAD);
    return load(options, options->mode == MODE_WARP ? KERNEL_OF_WARP : KERNEL_OF_BLOCK);
}

void gpu_launch(enum kernel kernel, unsigned blocks, unsigned threads, struct kernel_args *args)
{
    void *params[] = {args};
    int collective = args->op - KERNEL_BARRIER;
    CUfunction function = collective >= 0 && collective < NUM_COLLECTIVES
                              ? gpu.collectives[kernel][collective]
                              : gpu.kernels[kernel];
    check_call(cuda.launch(function, blocks, 1, 1, threads, 1, 1, 0, gpu.stream, params, NULL),
               "start a kernel");
}
