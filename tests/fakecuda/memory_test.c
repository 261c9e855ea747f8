/*
 * memory_test.c - the stand-in's memory: contexts, allocations, who may touch what, what pointers
 * are, virtual memory within a process and between two, and that all of it is given back.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_test.h"

enum { GRANULE = 2 << 20 };

static const CUmemAllocationProp prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const CUmemAccessDesc rights = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void test_contexts(void)
{
    CUcontext context, other, seen;
    CUdeviceptr ptr;
    int active;
    unsigned flags;
    FAILS(cuMemAlloc(&ptr, 100), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    FAILS(cuMemAlloc(&ptr, 100), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(!active, "nobody has retained it");
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent(context));
    OK(cuMemAlloc(&ptr, 100));
    OK(cuCtxCreate(&other, 0, 0));
    OK(cuCtxGetCurrent(&seen));
    CHECK(seen == other, "a new context is current");
    OK(cuCtxDestroy(other));
    OK(cuCtxGetCurrent(&seen));
    CHECK(seen == context, "the one before is current again");
    CHECK(fakecuda_used() > 0, "something is used");
    OK(cuDevicePrimaryCtxRelease(0));
    CHECK(fakecuda_used() == 0, "%zu bytes outlive their context", fakecuda_used());
    FAILS(cuMemAlloc(&ptr, 100), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPopCurrent(&seen));
    FAILS(cuCtxPopCurrent(&seen), CUDA_ERROR_INVALID_CONTEXT);
    begin();
}

static void test_allocations(void)
{
    CUdeviceptr ptr;
    size_t free_bytes, total, before;
    char out[100], in[100];
    OK(cuMemGetInfo(&before, &total));
    CHECK(total == (size_t)64 << 20, "FAKECUDA_MEM is 64m: %zu", total);
    FAILS(cuMemAlloc(&ptr, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAlloc(&ptr, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc(&ptr, 5000));
    OK(cuMemGetInfo(&free_bytes, &total));
    CHECK(before - free_bytes == 8192, "%zu bytes are taken", before - free_bytes);
    memset(out, 7, sizeof out);
    OK(cuMemcpyHtoD(ptr + 4900, out, 100));
    OK(cuMemcpyDtoH(in, ptr + 4900, 100));
    CHECK(memcmp(in, out, 100) == 0, "the bytes came back");
    FAILS(cuMemcpyHtoD(ptr + 8150, out, 100), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)in, out, 100), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFree(ptr + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(ptr));
    FAILS(cuMemFree(ptr), CUDA_ERROR_INVALID_VALUE);
    CHECK(fakecuda_used() == 0, "%zu bytes", fakecuda_used());
}

static int type_of(CUdeviceptr ptr)
{
    unsigned type = 0;
    CUresult result = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr);
    return result ? -result : (int)type;
}

static void test_pointers(void)
{
    static char ordinary[100];
    void *pinned;
    unsigned managed = 0;
    CUdeviceptr device = new_memory(100), both, seen;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)ordinary;
    OK(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemAllocManaged(&both, 100, 1));
    CHECK(type_of(device + 99) == CU_MEMORYTYPE_DEVICE, "%d", type_of(device));
    CHECK(type_of((CUdeviceptr)(uintptr_t)pinned) == CU_MEMORYTYPE_HOST, "pinned memory");
    CHECK(type_of(at) == -CUDA_ERROR_INVALID_VALUE, "ordinary memory: %d", type_of(at));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, both));
    CHECK(managed == 1, "managed memory");
    FAILS(cuMemHostGetDevicePointer(&seen, ordinary, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister(ordinary, 100, CU_MEMHOSTREGISTER_PORTABLE));
    FAILS(cuMemHostRegister(ordinary + 10, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&seen, ordinary, 0));
    CHECK(type_of(at) == CU_MEMORYTYPE_HOST && seen == at, "registered memory");
    OK(cuMemHostUnregister(ordinary));
    FAILS(cuMemHostUnregister(ordinary), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(device));
    OK(cuMemFree(both));
}

/* ---- virtual memory -------------------------------------------------------------------------- */

static CUdeviceptr map_new(CUdeviceptr at, size_t nbytes, CUmemGenericAllocationHandle *handle)
{
    OK(cuMemCreate(handle, nbytes, &prop, 0));
    OK(cuMemMap(at, nbytes, 0, *handle, 0));
    OK(cuMemSetAccess(at, nbytes, &rights, 1));
    return at;
}

/* Two granules are mapped at base: what the driver tells about them. */
static void asked(CUdeviceptr base, CUmemGenericAllocationHandle handle)
{
    CUmemGenericAllocationHandle again;
    CUmemAllocationProp made;
    CUdeviceptr first, plain = new_memory(100);
    size_t nbytes;
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + GRANULE + 5)));
    CHECK(again == handle, "another handle");
    OK(cuMemGetAllocationPropertiesFromHandle(&made, again));
    CHECK(made.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
              made.location.id == 0,
          "types %d, device %d", made.requestedHandleTypes, made.location.id);
    OK(cuMemRelease(again));
    OK(cuMemGetAddressRange(&first, &nbytes, base + GRANULE));
    CHECK(first == base && nbytes == 2 * GRANULE, "%zu bytes", nbytes);
    FAILS(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)plain), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemGetAddressRange(&first, &nbytes, (CUdeviceptr)(uintptr_t)&first),
          CUDA_ERROR_NOT_FOUND);
    OK(cuMemFree(plain));
}

static void test_vmm_rules(void)
{
    CUdeviceptr base;
    CUmemGenericAllocationHandle one, two;
    char byte = 5;
    OK(cuMemAddressReserve(&base, 8 * GRANULE, 0, 0, 0));
    CHECK(base % GRANULE == 0, "%llx", (unsigned long long)base);
    FAILS(cuMemAddressReserve(&base, GRANULE + 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemCreate(&one, 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemCreate(&one, 100ull * GRANULE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemCreate(&one, 2 * GRANULE, &prop, 0));
    FAILS(cuMemMap(base + 4096, 2 * GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemMap(base, 4 * GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemMap(base + 7 * GRANULE, 2 * GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemMap(base, GRANULE, 0, one, 0), CUDA_ERROR_NOT_SUPPORTED); /* not a part */
    OK(cuMemMap(base, 2 * GRANULE, 0, one, 0));
    asked(base, one);
    FAILS(cuMemMap(base + GRANULE, GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoD(base, &byte, 1), CUDA_ERROR_INVALID_VALUE); /* no access yet */
    FAILS(cuMemSetAccess(base, 3 * GRANULE, &rights, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(base, 2 * GRANULE, &rights, 1));
    map_new(base + 2 * GRANULE, GRANULE, &two);
    OK(cuMemcpyHtoD(base + 2 * GRANULE - 1, "ab", 2)); /* over the seam of two mappings */
    FAILS(cuMemUnmap(base, GRANULE), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAddressFree(base, 8 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(one));
    FAILS(cuMemRelease(one), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(two));
    CHECK(fakecuda_used() == 3 * GRANULE, "mappings keep memory: %zu", fakecuda_used());
    OK(cuMemUnmap(base, 3 * GRANULE));
    CHECK(fakecuda_used() == 0 && fakecuda_mapped() == 0, "all is given back");
    FAILS(cuMemAddressFree(base, GRANULE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(base, 8 * GRANULE));
}

/* Two mappings of one piece of memory, one of them through a descriptor. */
static void test_sharing(void)
{
    CUdeviceptr base;
    CUmemGenericAllocationHandle own, imported;
    int fd;
    char byte = 0;
    OK(cuMemAddressReserve(&base, 2 * GRANULE, 0, 0, 0));
    map_new(base, GRANULE, &own);
    OK(cuMemExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(cuMemMap(base + GRANULE, GRANULE, 0, imported, 0));
    OK(cuMemSetAccess(base + GRANULE, GRANULE, &rights, 1));
    OK(cuMemRelease(imported));
    OK(cuMemcpyHtoD(base + 77, "x", 1));
    OK(cuMemcpyDtoH(&byte, base + GRANULE + 77, 1));
    CHECK(byte == 'x', "the other mapping has %d", byte);
    CHECK(fakecuda_used() == GRANULE, "it is one piece of memory: %zu", fakecuda_used());
    OK(cuMemUnmap(base, 2 * GRANULE));
    OK(cuMemRelease(own));
    OK(cuMemAddressFree(base, 2 * GRANULE));
    CHECK(fakecuda_used() == 0, "%zu", fakecuda_used());
    FAILS(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)0,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          CUDA_ERROR_INVALID_VALUE);
}

/* ---- between processes ----------------------------------------------------------------------- */

static void send_fd(int socket, int fd)
{
    char byte = 0, control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    OK(sendmsg(socket, &message, 0) != 1);
}

static int receive_fd(int socket)
{
    int fd;
    char byte, control[CMSG_SPACE(sizeof fd)];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    OK(recvmsg(socket, &message, 0) != 1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

/* The other process writes what this one finds. */
static int writer(int socket)
{
    CUdeviceptr base;
    CUmemGenericAllocationHandle handle;
    begin();
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)receive_fd(socket),
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemAddressReserve(&base, GRANULE, 0, 0, 0));
    OK(cuMemMap(base, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(base, GRANULE, &rights, 1));
    OK(cuMemcpyHtoD(base + 4321, "shared", 7));
    return fakecuda_used() != 0; /* it is not this process's memory */
}

static void test_processes(int socket, pid_t child)
{
    CUdeviceptr base;
    CUmemGenericAllocationHandle handle;
    int fd, status;
    char text[8] = "";
    OK(cuMemAddressReserve(&base, GRANULE, 0, 0, 0));
    map_new(base, GRANULE, &handle);
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(socket, fd);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the other process: %d", status);
    OK(cuMemcpyDtoH(text, base + 4321, 7));
    CHECK(strcmp(text, "shared") == 0, "\"%s\"", text);
}

/* ---- what the host must not touch ------------------------------------------------------------ */

static sigjmp_buf back;

static void on_fault(int signal)
{
    siglongjmp(back, signal);
}

static void test_host_access(void)
{
    CUdeviceptr ptr = new_memory(100);
    volatile char *device = (char *)(uintptr_t)ptr;
    struct sigaction action = {.sa_handler = on_fault}, old;
    if (fake.pkey < 0) {
        printf("no protection keys: host threads can touch device memory here\n");
        return;
    }
    sigaction(SIGSEGV, &action, &old);
    int fault = sigsetjmp(back, 1);
    if (!fault)
        *device = 1;
    sigaction(SIGSEGV, &old, NULL);
    CHECK(fault == SIGSEGV, "the host wrote device memory");
    int pipe_fds[2];
    OK(pipe(pipe_fds));
    CHECK(write(pipe_fds[1], (void *)(uintptr_t)ptr, 1) < 0, "a system call read device memory");
    OK(cuMemFree(ptr));
}

/* With the real driver, too, a child of fork() has no GPU. */
static void test_fork(void)
{
    int count, status;
    pid_t child = fork();
    if (child == 0)
        _exit(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child could call CUDA");
}

static void test_failing(void)
{
    CUmemGenericAllocationHandle handle;
    setenv("FAKECUDA_FAIL", "cuMemGetInfo:1:999", 1);
    FAILS(cuMemCreate(&handle, 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    setenv("FAKECUDA_FAIL", "cuCtxGetDevice:2:801", 1);
    int device;
    OK(cuCtxGetDevice(&device));
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuCtxGetDevice(&device));
    CHECK(fakecuda_calls("cuCtxGetDevice") == 3, "three calls");
    CHECK(fakecuda_calls("cuCtxGetDevice") == 0, "and none since");
    unsetenv("FAKECUDA_FAIL");
}

int main(void)
{
    int sockets[2];
    setenv("FAKECUDA_MEM", "64m", 1);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    pid_t child = fork(); /* before CUDA is started */
    if (child == 0)
        return writer(sockets[1]);
    test_contexts();
    test_allocations();
    test_pointers();
    test_vmm_rules();
    test_sharing();
    test_processes(sockets[0], child);
    test_host_access();
    test_fork();
    test_failing();
    return check_result();
}
