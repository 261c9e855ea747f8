/*
 * corners.c - what programs rarely do and the library must survive: run by corners.sh, one corner
 * at a time.
 *
 *   bss       exec before init: the second program's untouched .bss is 0
 *   again     exec after finalize, and a heap whose earlier life has left marks
 *   exec      exec without finalize: init is refused
 *   gone      one PE has finalized, the others still meet: an error, not a hang
 *   lock      a lock that is not held is not released; threads of a PE share their PE's place
 *   compare   a comparison that does not exist is never true
 *   reader    shmem_global_exit while another thread holds the lock of stdin
 *   closed    descriptors 0 to 2 are closed: the arena is not put there
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <pthread.h>

static char big[1 << 20];
static long offset, lock, counter;

static int again(const char *program, const char *corner)
{
    execl("/proc/self/exe", program, corner, "again", (char *)NULL);
    return 1;
}

static int bss(const char *program, bool second)
{
    if (!second) {
        memset(big, 7, sizeof big);
        return again(program, "bss");
    }
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof big; i++)
        wrong += big[i] != 0;
    CHECK(wrong == 0, "%zu bytes are not 0", wrong);
    shmem_init();
    shmem_finalize();
    return 0;
}

/* PE 0 frees its object, the others do not: all must go on to find the same places. */
static int heap_again(const char *program, bool second)
{
    shmem_init();
    if (!second) {
        for (int i = 0; i < 10; i++)
            nvs_free(nvs_malloc(100));
        shmem_finalize();
        return again(program, "again");
    }
    char *first = nvs_malloc(100), *last = NULL;
    if (shmem_my_pe() == 0)
        nvs_free(first);
    for (int i = 0; i < 15; i++)
        last = nvs_malloc(100);
    offset = last - first;
    shmem_barrier_all();
    long other = shmem_long_g(&offset, (shmem_my_pe() + 1) % shmem_n_pes());
    CHECK(other == offset, "%ld here, %ld there", offset, other);
    shmem_finalize();
    return 0;
}

static int exec_inside(const char *program, bool second)
{
    if (second)
        return nvs_init() == NVS_ERR_LAUNCH ? 3 : 1;
    shmem_init();
    shmem_barrier_all();
    return again(program, "exec");
}

static int gone(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_finalize();
        return 0;
    }
    int first = nvshmem_barrier(NVSHMEM_TEAM_WORLD), second = nvshmem_barrier(NVSHMEM_TEAM_WORLD);
    /* A slow PE may already find the team given up by a quick one. */
    CHECK(first == 0 || first == NVS_ERR_MISMATCH, "%d: %s", first, nvs_last_error());
    CHECK(second == NVS_ERR_MISMATCH, "%d: %s", second, nvs_last_error());
    shmem_finalize();
    return 0;
}

static void *lock_often(void *unused)
{
    for (int i = 0; i < 500; i++) {
        shmem_set_lock(&lock);
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
    return unused;
}

static int locks(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (shmem_my_pe() == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    shmem_clear_lock(&lock);
    int status = nvshmemx_error_check(), wanted = shmem_my_pe() == 0 ? 0 : NVS_ERR_INVALID;
    CHECK(status == wanted, "%d", status);
    shmem_barrier_all();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, lock_often, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    shmem_barrier_all();
    long count = shmem_long_g(&counter, 0);
    CHECK(count == 1500L * shmem_n_pes(), "%ld", count);
    shmem_finalize();
    return 0;
}

static int compare(void)
{
    shmem_init();
    CHECK(!shmem_long_test(&offset, 99, 0), "it is true");
    int status = nvshmemx_error_check();
    CHECK(status == NVS_ERR_INVALID, "%d", status);
    shmem_finalize();
    return 0;
}

static void *read_input(void *unused)
{
    getchar();
    return unused;
}

static int reader(void)
{
    pthread_t thread;
    shmem_init();
    pthread_create(&thread, NULL, read_input, NULL);
    spmd_sleep_ms(100);
    printf("printed by %d\n", shmem_my_pe());
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        shmem_global_exit(3);
    pause();
    return 1;
}

static int closed(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    shmem_init();
    char junk[4096];
    memset(junk, 'x', sizeof junk);
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, junk, sizeof junk) > 0)
            return 1;
    shmem_finalize();
    return 0;
}

static int run(const char *program, const char *corner, bool second)
{
    if (!strcmp(corner, "bss"))
        return bss(program, second);
    if (!strcmp(corner, "again"))
        return heap_again(program, second);
    if (!strcmp(corner, "exec"))
        return exec_inside(program, second);
    if (!strcmp(corner, "gone"))
        return gone();
    if (!strcmp(corner, "lock"))
        return locks();
    if (!strcmp(corner, "compare"))
        return compare();
    if (!strcmp(corner, "reader"))
        return reader();
    return strcmp(corner, "closed") ? 2 : closed();
}

int main(int argc, char **argv)
{
    int status = run(argv[0], argc > 1 ? argv[1] : "", argc > 2);
    return spmd_failures ? 1 : status;
}
