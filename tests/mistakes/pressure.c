/*
 * pressure.c - takes symmetric memory until it is refused, and then uses all of it. pressure.py
 * runs it where something is scarce.
 *
 *   pressure grow BYTES     objects of so many bytes, until malloc says no; touches every byte
 *   pressure churn BYTES    the same, but frees every second one and starts again
 *   pressure one BYTES      one object; prints the sentence if it is refused
 *   pressure full           with no descriptor left
 *   pressure exit           PE 0 exits with status 5 after start_pes, the others wait for it
 *   pressure locked         after mlockall(MCL_FUTURE)
 *   pressure sandbox        without memfd_create
 *
 * Prints what was taken, or the sentence of the error, and exits 0 and 4.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NVS_NO_GENERICS
#include <nvs.h>
#include <nvshmem.h>
#include <shmem.h>

enum { REFUSED = 4, SKIP = 77, MAX_OBJECTS = 4096 };

static int refused(void)
{
    fprintf(stderr, "%s\n", nvs_last_error());
    return REFUSED;
}

static void *objects[MAX_OBJECTS];

static int take(size_t nbytes, int count)
{
    while (count < MAX_OBJECTS && (objects[count] = nvs_malloc(nbytes)))
        count++;
    return count;
}

static int grow(size_t nbytes, int rounds)
{
    int count = 0;
    if (nvs_init())
        return refused();
    for (int round = 0; round < rounds; round++) {
        count = take(nbytes, count);
        for (int i = 0; i < count; i++)
            memset(objects[i], i, nbytes);
        nvshmem_barrier_all();
        for (int i = 1; i < count && round + 1 < rounds; i += 2) {
            nvs_free(objects[i]);
            objects[i] = objects[--count];
        }
    }
    if (nvs_my_pe() == 0)
        fprintf(stderr, "%d objects, then: %s\n", count, nvs_last_error());
    for (int i = 0; i < count; i++)
        if (((char *)objects[i])[nbytes - 1] != ((char *)objects[i])[0])
            return 1;
    return nvs_finalize() ? refused() : 0;
}

static int one(size_t nbytes)
{
    if (nvs_init() || !nvs_malloc(nbytes))
        return refused();
    return nvs_finalize() ? refused() : 0;
}

static int full(void)
{
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    return nvs_init() || nvs_finalize() ? refused() : 0;
}

static int leave(void)
{
    start_pes(0);
    if (nvs_my_pe() == 0)
        exit(5);
    nvshmem_barrier_all();
    return 0;
}

static int locked(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        return SKIP;
    return nvs_init() ? refused() : 0;
}

static int sandbox(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return SKIP;
    return nvs_init() ? refused() : 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    size_t nbytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (!strcmp(mode, "grow"))
        return grow(nbytes, 1);
    if (!strcmp(mode, "churn"))
        return grow(nbytes, 6);
    if (!strcmp(mode, "one"))
        return one(nbytes);
    if (!strcmp(mode, "full"))
        return full();
    if (!strcmp(mode, "exit"))
        return leave();
    if (!strcmp(mode, "locked"))
        return locked();
    return strcmp(mode, "sandbox") ? 2 : sandbox();
}
