/*
 * nvrtc_kernel.cu - a kernel that is compiled while the program runs, and calls NVSHMEM.
 *
 * Code generators work like this, among them Triton and many frameworks: a kernel exists as text,
 * NVRTC compiles it, the driver loads the module. Such a module has no start-up code, so the
 * program introduces it to the job: nvshmemx_cumodule_init after loading,
 * nvshmemx_cumodule_finalize before unloading. NVRTC and the driver are opened at run time, so that
 * there is nothing more to link.
 *
 *   nvcc nvrtc_kernel.cu -lnvs
 *   nvsrun -n 4 ./a.out
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <getopt.h>
#include <string>
#include <vector>

#define CHECK(call, good)                                                                          \
    do {                                                                                           \
        int error_ = (int)(call);                                                                  \
        if (error_ != (int)(good)) {                                                               \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, error_);           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define CUDA_CHECK(call) CHECK(call, cudaSuccess)
#define NVRTC_CHECK(call) CHECK(call, NVRTC_SUCCESS)

static const char usage[] =
    "Compiles a kernel with NVRTC; it rotates an array around the PEs.\n"
    "  --include DIR    folder of nvshmem.h (include next to the lib of the NVSHMEM that is used)\n"
    "  --cuda DIR       CUDA's folder of headers (CUDA_HOME/include)\n"
    "  --compile-only   compile the kernel for sm_90 and end; needs no GPU\n"
    "  --help           this text\n";
static std::string nvs_include, cuda_include;
static int compile_only;

static void read_options(int argc, char **argv)
{
    static const option names[] = {{"include", 1, nullptr, 'i'},
                                   {"cuda", 1, nullptr, 'c'},
                                   {"compile-only", 0, &compile_only, 1},
                                   {"help", 0, nullptr, 'h'},
                                   {}};
    const char *home = getenv("CUDA_HOME");
    cuda_include = std::string(home ? home : "/usr/local/cuda") + "/include";
    Dl_info library; /* .../lib/libnvs.so: headers in .../include */
    if (dladdr((void *)nvshmem_finalize, &library)) {
        std::string folder = library.dli_fname;
        nvs_include = folder.substr(0, folder.rfind('/') + 1) + "../include";
    }
    for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        if (c == 'i' || c == 'c')
            (c == 'i' ? nvs_include : cuda_include) = optarg;
        else if (c != 0) {
            fputs(usage, c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : 2);
        }
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const char source[] = R"(
#include <nvshmem.h>
#include <nvshmemx.h>

extern "C" __global__ void rotate(int *dst, const int *src, int nelems, uint64_t *signal)
{
    int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    nvshmemx_int_put_signal_block(dst, src, nelems, signal, 1, NVSHMEM_SIGNAL_SET, right);
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, 1);
    __syncthreads();
    for (int i = threadIdx.x; i < nelems; i += blockDim.x)
        dst[i] += nvshmem_my_pe();
}
)";

/* ---- NVRTC ----------------------------------------------------------------------------------- */

/* A library of CUDA, by the first of its names that is there. */
static void *open_library(const std::vector<const char *> &names)
{
    void *library = nullptr;
    for (size_t i = 0; i < names.size() && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    return library;
}

/* A function of it; `like` only gives the type. */
template <typename F> static F *function(void *library, const char *name, F *)
{
    void *address = dlsym(library, name);
    CHECK(address == nullptr, false);
    return (F *)address;
}
#define FUNCTION(library, name) auto name##_ = function(library, #name, (decltype(&name))nullptr)

static std::vector<char> compile(void *nvrtc, const std::string &arch)
{
    FUNCTION(nvrtc, nvrtcCreateProgram);
    FUNCTION(nvrtc, nvrtcCompileProgram);
    FUNCTION(nvrtc, nvrtcGetProgramLogSize);
    FUNCTION(nvrtc, nvrtcGetProgramLog);
    FUNCTION(nvrtc, nvrtcGetCUBINSize);
    FUNCTION(nvrtc, nvrtcGetCUBIN);
    FUNCTION(nvrtc, nvrtcDestroyProgram);

    nvrtcProgram program;
    NVRTC_CHECK(nvrtcCreateProgram_(&program, source, "rotate.cu", 0, nullptr, nullptr));
    std::string options[] = {"--gpu-architecture=" + arch, "--std=c++17", "-I" + nvs_include,
                             "-I" + cuda_include};
    std::vector<const char *> texts;
    for (const std::string &option : options)
        texts.push_back(option.c_str());
    nvrtcResult result = nvrtcCompileProgram_(program, (int)texts.size(), texts.data());
    size_t size;
    NVRTC_CHECK(nvrtcGetProgramLogSize_(program, &size));
    std::vector<char> log(size);
    NVRTC_CHECK(nvrtcGetProgramLog_(program, log.data()));
    fputs(log.data(), stderr); /* empty if all is well */
    NVRTC_CHECK(result);
    NVRTC_CHECK(nvrtcGetCUBINSize_(program, &size));
    std::vector<char> image(size);
    NVRTC_CHECK(nvrtcGetCUBIN_(program, image.data()));
    NVRTC_CHECK(nvrtcDestroyProgram_(&program));
    return image;
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Returns the number of wrong values on this PE. */
static int rotate(const std::vector<char> &image)
{
    void *driver = open_library({"libcuda.so.1"});
    CHECK(driver == nullptr, false);
    FUNCTION(driver, cuModuleLoadData);
    FUNCTION(driver, cuModuleGetFunction);
    FUNCTION(driver, cuLaunchKernel);
    FUNCTION(driver, cuModuleUnload);

    int me = nvshmem_my_pe(), npes = nvshmem_n_pes(), nelems = 10000, wrong = 0;
    std::vector<int> host(nelems);
    for (int i = 0; i < nelems; i++)
        host[i] = me * nelems + i;
    int *dst = (int *)nvshmem_calloc(nelems, sizeof(int)),
        *src = (int *)nvshmem_malloc(nelems * sizeof(int));
    uint64_t *signal = (uint64_t *)nvshmem_calloc(1, sizeof(uint64_t));
    CUDA_CHECK(cudaMemcpy(src, host.data(), nelems * sizeof(int), cudaMemcpyHostToDevice));

    CUmodule module;
    CUfunction kernel;
    CHECK(cuModuleLoadData_(&module, image.data()), CUDA_SUCCESS);
    CHECK(nvshmemx_cumodule_init(module), 0);
    CHECK(cuModuleGetFunction_(&kernel, module, "rotate"), CUDA_SUCCESS);
    void *args[] = {&dst, &src, &nelems, &signal};
    CHECK(cuLaunchKernel_(kernel, 1, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr), CUDA_SUCCESS);
    CUDA_CHECK(cudaMemcpy(host.data(), dst, nelems * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < nelems; i++)
        wrong += host[i] != (me + npes - 1) % npes * nelems + i + me;

    CHECK(nvshmemx_cumodule_finalize(module), 0);
    CHECK(cuModuleUnload_(module), CUDA_SUCCESS);
    nvshmem_free(signal);
    nvshmem_free(src);
    nvshmem_free(dst);
    return wrong;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int ndevices = 0;
    bool have_gpu = cudaGetDeviceCount(&ndevices) == cudaSuccess && ndevices > 0;
    void *nvrtc = open_library({"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"});
    if (!nvrtc || (!have_gpu && !compile_only)) {
        fprintf(stderr, "nvrtc_kernel: there is no %s\n", nvrtc ? "GPU" : "libnvrtc");
        return 77;
    }
    if (compile_only) {
        printf("nvrtc_kernel: compiled for sm_90: %zu bytes\n", compile(nvrtc, "sm_90").size());
        return 0;
    }
    nvshmem_init();
    int device = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % ndevices, wrong;
    cudaDeviceProp properties;
    CUDA_CHECK(cudaSetDevice(device));
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    wrong =
        rotate(compile(nvrtc, "sm_" + std::to_string(properties.major * 10 + properties.minor)));
    printf("nvrtc_kernel: PE %d of %d: values that a kernel compiled just now put to the right: %d "
           "wrong\n",
           nvshmem_my_pe(), nvshmem_n_pes(), wrong);
    nvshmem_finalize();
    return wrong != 0;
}
