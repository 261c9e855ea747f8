/*
 * device_lent.c - memory of the program's own as symmetric memory:
 * nvshmemx_buffer_register_symmetric. One allocation and several in a row, that begin somewhere
 * else on each PE; what goes over it; taken back, lent again, left behind at finalize; and all that
 * is refused.
 */
#include "device.h"

#include "../../src/gpu/cuda_abi.h"

enum { GRANULE = 2 << 20, MAX_PIECES = 4 };

static struct {
    int (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    int (*unreserve)(CUdeviceptr, size_t);
    int (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                  unsigned long long);
    int (*release)(CUmemGenericAllocationHandle);
    int (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    int (*unmap)(CUdeviceptr, size_t);
    int (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
} vmm;

static int gpu, ngpus;

static void find_vmm(void)
{
    const char *name = getenv("NVS_CUDA_LIBRARY");
    void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    *(void **)&vmm.reserve = device_symbol(library, "cuMemAddressReserve");
    *(void **)&vmm.unreserve = device_symbol(library, "cuMemAddressFree");
    *(void **)&vmm.create = device_symbol(library, "cuMemCreate");
    *(void **)&vmm.release = device_symbol(library, "cuMemRelease");
    *(void **)&vmm.map = device_symbol(library, "cuMemMap");
    *(void **)&vmm.unmap = device_symbol(library, "cuMemUnmap");
    *(void **)&vmm.set_access = device_symbol(library, "cuMemSetAccess");
    driver.count(&ngpus);
    gpu = nvshmem_my_pe() % ngpus;
}

/* ---- memory of the program ---------------------------------------------------------------------
 */

struct own {
    CUdeviceptr base;
    size_t nbytes, pieces[MAX_PIECES]; /* granules */
    CUmemGenericAllocationHandle handles[MAX_PIECES];
    int npieces;
};

#define OK(call)                                                                                   \
    do {                                                                                           \
        int ok_error = (call);                                                                     \
        CHECK(ok_error == 0, "%s: error %d", #call, ok_error);                                     \
    } while (0)

static void own_make(struct own *own, const size_t *pieces, int npieces, int device, bool shared)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes =
                                    shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    memset(own, 0, sizeof *own);
    own->npieces = npieces;
    for (int i = 0; i < npieces; i++)
        own->nbytes += pieces[i] * GRANULE;
    OK(vmm.reserve(&own->base, own->nbytes, 0, 0, 0));
    size_t at = 0;
    for (int i = 0; i < npieces; i++) {
        own->pieces[i] = pieces[i];
        OK(vmm.create(&own->handles[i], pieces[i] * GRANULE, &prop, 0));
        OK(vmm.map(own->base + at, pieces[i] * GRANULE, 0, own->handles[i], 0));
        at += pieces[i] * GRANULE;
    }
    OK(vmm.set_access(own->base, own->nbytes, &access, 1));
}

static void own_free(struct own *own)
{
    size_t at = 0;
    for (int i = 0; i < own->npieces; i++) {
        OK(vmm.unmap(own->base + at, own->pieces[i] * GRANULE));
        OK(vmm.release(own->handles[i]));
        at += own->pieces[i] * GRANULE;
    }
    OK(vmm.unreserve(own->base, own->nbytes));
}

static char *at(const struct own *own, size_t granules)
{
    return (char *)(uintptr_t)(own->base + granules * GRANULE);
}

/* ---- what goes over it -------------------------------------------------------------------------
 */

enum { WORDS = 3 * GRANULE / 4 };

static int *image;

static void fill(int *buf, int first)
{
    for (int i = 0; i < WORDS; i++)
        image[i] = first + i;
    device_write(buf, image, WORDS * sizeof *image);
}

static void expect(const void *device, int first, const char *what)
{
    int bad = 0;
    device_read(image, device, WORDS * sizeof *image);
    for (int i = 0; i < WORDS; i++)
        bad += image[i] != first + i;
    CHECK(!bad, "%s: %d of %d words are wrong, the first is %d instead of %d", what, bad, WORDS,
          image[0], first);
}

/* buf: the program's address, ptr: the symmetric one of the same WORDS words. */
static void use(int *buf, int *ptr)
{
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    fill(buf, 1000 * spmd_me);
    expect(ptr, 1000 * spmd_me, "the same memory");
    nvshmem_barrier_all();
    nvshmem_int_get(image, ptr, WORDS, right);
    int bad = 0;
    for (int i = 0; i < WORDS; i++)
        bad += image[i] != 1000 * right + i;
    CHECK(!bad, "get: %d words are wrong", bad);
    nvshmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        image[i] = 7 + spmd_me + i;
    nvshmem_int_put(ptr, image, WORDS, right);
    nvshmem_barrier_all();
    expect(buf, 7 + left, "put");
    nvshmem_barrier_all();
    if (spmd_me < spmd_npes && nvshmem_ptr(ptr, right)) {
        int zero = 0, sum = 0;
        device_write(buf, &zero, sizeof zero);
        nvshmem_barrier_all();
        for (int pe = 0; pe < spmd_npes; pe++)
            nvshmem_int_atomic_add(ptr, spmd_me + 1, pe);
        nvshmem_barrier_all();
        device_read(&sum, buf, sizeof sum);
        CHECK(sum == spmd_npes * (spmd_npes + 1) / 2, "sum is %d", sum);
        CHECK(spmd_me == right || (char *)nvshmem_ptr(ptr, right) != (char *)ptr, "PE %d", right);
    }
    nvshmem_barrier_all();
}

static void *lend(void *buf, size_t nbytes)
{
    void *ptr = nvshmemx_buffer_register_symmetric(buf, nbytes, 0);
    CHECK(ptr, "%s", nvs_last_error());
    if (!ptr)
        nvshmem_global_exit(1);
    return ptr;
}

static void take_back(void *ptr, size_t nbytes)
{
    int status = nvshmemx_buffer_unregister_symmetric(ptr, nbytes);
    CHECK(status == 0, "%d: %s", status, nvs_last_error());
}

static void whole(void)
{
    size_t used = driver.used ? driver.used() : 0, mapped = driver.mapped ? driver.mapped() : 0;
    struct own own;
    own_make(&own, (size_t[]){3}, 1, gpu, true);
    int *ptr = lend(at(&own, 0), own.nbytes);
    use((int *)(void *)at(&own, 0), ptr);
    take_back(ptr, own.nbytes);
    fill((int *)(void *)at(&own, 0), 5);
    expect(at(&own, 0), 5, "after it was taken back");
    own_free(&own);
    nvshmem_barrier_all();
    if (driver.used)
        CHECK(driver.used() == used, "%zu bytes are in use, not %zu", driver.used(), used);
    if (driver.mapped)
        CHECK(driver.mapped() == mapped, "%zu bytes are mapped, not %zu", driver.mapped(), mapped);
}

/* Of several allocations, whose number and beginning differ from PE to PE. */
static void pieces(void)
{
    static const size_t shapes[][MAX_PIECES] = {{1, 1, 3, 0}, {4, 2, 0, 0}, {2, 1, 1, 1}};
    static const int counts[] = {3, 2, 4}, leads[] = {1, 2, 0};
    struct own own;
    int shape = spmd_me % 3;
    own_make(&own, shapes[shape], counts[shape], gpu, true);
    char *buf = at(&own, (size_t)leads[shape]);
    int *ptr = lend(buf, 3 * GRANULE), *other = nvshmem_malloc(GRANULE);
    use((int *)(void *)buf, ptr);
    nvshmem_free(other);
    take_back(ptr, 3 * GRANULE);
    own_free(&own);
}

static void again_and_again(void)
{
    struct own own[2];
    own_make(&own[0], (size_t[]){3}, 1, gpu, true);
    own_make(&own[1], (size_t[]){2, 1}, 2, gpu, true);
    for (int i = 0; i < 6; i++) {
        int *a = lend(at(&own[i % 2], 0), 3 * GRANULE);
        int *b = lend(at(&own[1 - i % 2], 0), 3 * GRANULE);
        int *c = nvshmem_malloc(100 + (size_t)i);
        use((int *)(void *)at(&own[i % 2], 0), a);
        take_back(a, 3 * GRANULE);
        nvshmem_free(c);
        use((int *)(void *)at(&own[1 - i % 2], 0), b);
        take_back(b, 3 * GRANULE);
    }
    own_free(&own[0]);
    own_free(&own[1]);
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void refused(void *buf, size_t nbytes, int status, const char *words)
{
    while (nvshmemx_error_check())
        ;
    void *ptr = nvshmemx_buffer_register_symmetric(buf, nbytes, 0);
    const char *sentence = nvs_last_error();
    int error = nvshmemx_error_check();
    CHECK(!ptr && error == status && strstr(sentence, words),
          "%p, %d instead of %d: \"%s\" lacks "
          "\"%s\"",
          ptr, error, status, sentence, words);
}

static void refusals(const struct own *own)
{
    static char host[2 * GRANULE];
    char *aligned = (char *)(((uintptr_t)host + GRANULE - 1) / GRANULE * GRANULE);
    char *good = at(own, 0);
    uint64_t plain;
    refused(NULL, GRANULE, NVS_ERR_INVALID, "allowed are multiples of 2097152 but 0");
    refused(good, 0, NVS_ERR_INVALID, "allowed are multiples of 2097152 but 0");
    refused(good + 4096, GRANULE, NVS_ERR_INVALID, "allowed are multiples of 2097152");
    refused(good, GRANULE + 1, NVS_ERR_INVALID, "size 2097153");
    refused(good, (size_t)1 << 62, NVS_ERR_INVALID, "allowed are up to");
    refused(aligned, GRANULE, NVS_ERR_UNSUPPORTED, "is memory of the host: allowed is memory of");
    refused(good, own->nbytes + GRANULE, NVS_ERR_UNSUPPORTED, "allowed is memory of this PE's GPU");
    OK(driver.alloc(&plain, 2 * GRANULE));
    refused((void *)(uintptr_t)((plain + GRANULE - 1) / GRANULE * GRANULE), GRANULE,
            NVS_ERR_UNSUPPORTED, "is memory of cudaMalloc");
    OK(driver.free(plain));
    void *symmetric = nvshmem_align(GRANULE, GRANULE);
    refused(symmetric, GRANULE, NVS_ERR_INVALID, "is symmetric memory already");
    nvshmem_free(symmetric);
}

static void wrong_memory(void)
{
    struct own closed, other;
    own_make(&closed, (size_t[]){1}, 1, gpu, false);
    refused(at(&closed, 0), GRANULE, NVS_ERR_UNSUPPORTED, "cannot be exported as a descriptor");
    own_free(&closed);
    if (ngpus == 1)
        return;
    own_make(&other, (size_t[]){1}, 1, (gpu + 1) % ngpus, true);
    refused(at(&other, 0), GRANULE, NVS_ERR_INVALID, "is not of GPU");
    own_free(&other);
}

/* The PEs do not agree, or one of them is wrong: all hear of it. */
static void disagreements(const struct own *own)
{
    char *good = at(own, 0);
    if (spmd_npes == 1)
        return;
    refused(good, spmd_me ? GRANULE : 2 * GRANULE, NVS_ERR_MISMATCH,
            "all PEs must ask for the same");
    refused(spmd_me ? good : good + 1, GRANULE, NVS_ERR_INVALID,
            spmd_me ? "PE 0 passes an argument that is not allowed" : "allowed are multiples of");
    refused(spmd_me == 1 ? NULL : good, GRANULE, NVS_ERR_INVALID,
            spmd_me == 1 ? "allowed are multiples of" : "PE 1 passes an argument");
}

static void back(void *ptr, size_t nbytes, const char *words)
{
    while (nvshmemx_error_check())
        ;
    int status = nvshmemx_buffer_unregister_symmetric(ptr, nbytes);
    CHECK(status == NVS_ERR_INVALID && strstr(nvs_last_error(), words), "%d: \"%s\" lacks \"%s\"",
          status, nvs_last_error(), words);
}

static void twice(const struct own *own)
{
    char *buf = at(own, 0), *ptr = lend(buf, 2 * GRANULE);
    refused(buf, 2 * GRANULE, NVS_ERR_INVALID, "that are registered already");
    refused(buf + GRANULE, 2 * GRANULE, NVS_ERR_INVALID, "overlap the 4194304 bytes at");
    refused(ptr, 2 * GRANULE, NVS_ERR_INVALID, "is symmetric memory already");
    back(ptr, GRANULE, "but 4194304 bytes are registered");
    back(buf, 2 * GRANULE, "is the caller's own address of a buffer: pass");
    back(ptr + GRANULE, GRANULE, "no buffer of PE");
    back(NULL, GRANULE, "no buffer of PE");
    while (nvshmemx_error_check())
        ;
    nvshmem_free(ptr);
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID &&
              strstr(nvs_last_error(), "nvshmemx_buffer_unregister_symmetric takes it back"),
          "free: %s", nvs_last_error());
    take_back(ptr, 2 * GRANULE);
    back(ptr, 2 * GRANULE, "no buffer of PE");
    void *malloced = nvshmem_malloc(GRANULE);
    back(malloced, GRANULE, "no buffer of PE");
    nvshmem_free(malloced);
}

/* Before the first nvshmem_malloc: it opens the GPUs. Left behind at finalize, lent again. */
static void left_behind(int argc, char **argv)
{
    struct own own;
    own_make(&own, (size_t[]){3}, 1, gpu, true);
    for (int life = 0; life < 2; life++) {
        use((int *)(void *)at(&own, 0), lend(at(&own, 0), own.nbytes));
        nvshmem_finalize();
        nvshmem_init();
        spmd_join(argc, argv);
    }
    void *ptr = lend(at(&own, 0), own.nbytes);
    take_back(ptr, own.nbytes);
    own_free(&own);
}

int main(int argc, char **argv)
{
    struct own own;
    device_begin(argc, argv);
    find_vmm();
    image = malloc(WORDS * sizeof *image);
    left_behind(argc, argv);
    whole();
    pieces();
    again_and_again();
    own_make(&own, (size_t[]){2, 1}, 2, gpu, true);
    refusals(&own);
    wrong_memory();
    disagreements(&own);
    twice(&own);
    use((int *)(void *)at(&own, 0), lend(at(&own, 0), 3 * GRANULE));
    return device_end();
}
