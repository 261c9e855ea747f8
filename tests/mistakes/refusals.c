/*
 * refusals.c - the system refuses one PE what the library asks for: no mapping, no ordinary memory,
 * no pages. Nothing crashes, all PEs get an error in words, and their heaps stay the same.
 *
 * This program has functions of its own with the names of the C library's, which the library then
 * calls as well. They pass the call on, or refuse when their turn has come.
 */
#include "../spmd/spmd.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <nvs.h>
#include <nvshmemx.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
int main(void)
{
    return SPMD_SKIP; /* a sanitizer has these functions of its own */
}
#else

/* How many calls still go through; negative: all. */
static int mmap_left = -1, realloc_left = -1, fallocate_left = -1;

static bool refused(int *left)
{
    return *left >= 0 && (*left)-- == 0;
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
    if (refused(&mmap_left)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
}

void *realloc(void *ptr, size_t size)
{
    static void *(*next)(void *, size_t);
    if (refused(&realloc_left))
        return NULL;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "realloc");
    return next(ptr, size);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (mode == 0 && refused(&fallocate_left)) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

static int launched(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* Init without one of the mappings that it needs: an error, and the next try succeeds. */
static void test_mmap(int me, int npes)
{
    int tries = 0, status = -1;
    while (status && tries < 200) {
        mmap_left = me == npes - 1 ? tries : -1;
        status = nvs_init();
        bool last = mmap_left >= 0; /* init asked for no more than that */
        mmap_left = -1;
        CHECK(status <= 0 && (!status || strlen(nvs_last_error()) > 20), "try %d: status %d: '%s'",
              tries, status, nvs_last_error());
        CHECK(!status || me != npes - 1 || strstr(nvs_last_error(), "init: "), "try %d: '%s'",
              tries, nvs_last_error());
        CHECK(!last || !status, "try %d: %s", tries, nvs_last_error());
        tries++;
    }
    (void)nvshmemx_error_check();
    CHECK(status == 0 && tries > 2, "after %d tries: %s", tries, nvs_last_error());
}

/* All PEs have the same objects: the offset of a new one in the heap is the same everywhere. */
static void check_same(int line)
{
    static long *base;
    static long offset;
    if (!base)
        base = nvs_malloc(64);
    long *probe = nvs_malloc(4096);
    CHECK(base && probe, "line %d: %s", line, nvs_last_error());
    offset = probe - base;
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++) {
        long other = shmem_long_g(&offset, pe);
        CHECK(other == offset, "line %d: %ld here, %ld on PE %d", line, offset, other, pe);
    }
    shmem_barrier_all();
    nvs_free(probe);
}

/* One PE's tables cannot grow: nobody gets the object. */
static void test_realloc(void)
{
    enum { MANY = 300 };
    void *all[MANY] = {0};
    int refusals = 0;
    for (int i = 0; i < MANY; i++) {
        for (int left = 0; !all[i] && left < 10; left++) {
            realloc_left = spmd_me == spmd_npes - 1 ? left : -1;
            all[i] = nvs_malloc(100);
            realloc_left = -1;
            if (all[i])
                break;
            int status = nvshmemx_error_check();
            refusals++;
            CHECK(status == NVS_ERR_MEMORY, "%s", nvs_strerror(status));
            CHECK(strstr(nvs_last_error(), "nvs_malloc: "), "%s", nvs_last_error());
        }
        CHECK(all[i], "object %d: %s", i, nvs_last_error());
    }
    CHECK(refusals > 4, "%d refusals", refusals);
    check_same(__LINE__);
    for (int i = 0; i < MANY; i++)
        nvs_free(all[i]);
    check_same(__LINE__);
}

/* Bytes of memory that the job holds: of the one memory file among this process's descriptors. */
static size_t arena_bytes(void)
{
    char path[64], target[64];
    struct stat status;
    for (int fd = 3; fd < 70000; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        if (strstr(target, "memfd:nvs-job") && fstat(fd, &status) == 0)
            return (size_t)status.st_blocks * 512;
    }
    return 0;
}

/* The pages of one PE are refused. Only with NVS_COMMIT=yes are they taken by malloc. */
static void test_fallocate(void)
{
    bool commits = getenv("NVS_COMMIT") != NULL;
    fallocate_left = spmd_me == spmd_npes - 1 ? 0 : -1;
    char *ptr = nvs_malloc(1 << 20);
    CHECK(!ptr == commits, "%p: %s", (void *)ptr, nvs_last_error());
    CHECK(nvshmemx_error_check() == (commits ? NVS_ERR_MEMORY : 0), "%s", nvs_last_error());
    fallocate_left = -1;
    nvs_free(ptr);
    check_same(__LINE__);
    size_t before = arena_bytes();
    shmem_barrier_all();
    ptr = nvs_malloc(1 << 20);
    size_t after = arena_bytes();
    CHECK(!commits || after >= before + (1 << 20), "%zu bytes before, %zu after", before, after);
    memset(ptr, 1, 1 << 20);
    fallocate_left = spmd_me == spmd_npes - 1 ? 0 : -1;
    char *larger = shmem_realloc(ptr, 3 << 20);
    fallocate_left = -1;
    (void)nvshmemx_error_check();
    CHECK(!larger == commits, "%p: %s", (void *)larger, nvs_last_error());
    for (int i = 0; i < 1 << 20; i += 4096)
        CHECK((larger ? larger : ptr)[i] == 1, "byte %d is lost", i);
    nvs_free(larger ? larger : ptr);
    check_same(__LINE__);
}

int main(void)
{
    int me = launched("NVS_JOB_PE", 0), npes = launched("NVS_JOB_NPES", 1);
    spmd_me = me;
    spmd_npes = npes;
    setenv("NVS_ON_ERROR", "return", 1);
    test_mmap(me, npes);
    test_realloc();
    test_fallocate();
    nvs_finalize();
    return spmd_result();
}
#endif
