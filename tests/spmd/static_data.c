/*
 * static_data.c - global and static variables are symmetric, also while their owner computes, and
 * a large array costs only what is touched.
 */
#include "spmd.h"

#include <sys/stat.h>

#define HUGE_BYTES ((size_t)1 << 30)

int initialised = 4711;
long zeroed;
static double local_to_file = 2.5;
char text[] = "a string with a few letters";
int *pointer_to_global = &initialised;
static char huge[HUGE_BYTES];
/* What a busy owner looks at and its peers change. */
static volatile long finished;
static long counter, mailbox[64];

static void test_values(void)
{
    static int in_function = 12;
    CHECK(initialised == 4711 && zeroed == 0 && local_to_file == 2.5 && in_function == 12,
          "%d %ld %g %d", initialised, zeroed, local_to_file, in_function);
    CHECK(strcmp(text, "a string with a few letters") == 0, "'%s'", text);
    CHECK(pointer_to_global == &initialised, "%p", (void *)pointer_to_global);
    shmem_barrier_all();
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    shmem_int_p(&initialised, 100 + spmd_me, right);
    shmem_long_p(&zeroed, 200 + spmd_me, right);
    shmem_double_p(&local_to_file, 0.5 + spmd_me, right);
    shmem_int_p(&in_function, 300 + spmd_me, right);
    shmem_char_p(&text[2], (char)('A' + spmd_me), right);
    shmem_barrier_all();
    CHECK(*pointer_to_global == 100 + left, "%d", initialised);
    CHECK(zeroed == 200 + left, "%ld", zeroed);
    CHECK(local_to_file == 0.5 + left, "%g", local_to_file);
    CHECK(in_function == 300 + left, "%d", in_function);
    CHECK(text[2] == 'A' + left, "'%s'", text);
    CHECK(shmem_double_g(&local_to_file, right) == 0.5 + spmd_me, "%g",
          shmem_double_g(&local_to_file, right));
    CHECK(shmem_addr_accessible(&zeroed, right), "PE %d", right);
    int on_stack = 0;
    CHECK(!shmem_addr_accessible(&on_stack, right), "the stack is not symmetric");
    shmem_barrier_all();
}

/* PE `owner` computes and calls nothing until all others are done with its variables. */
static void test_busy_owner(int owner)
{
    finished = 0;
    counter = 0;
    shmem_barrier_all();
    double start = spmd_seconds();
    if (spmd_me == owner) {
        volatile double x = 1;
        while (finished < spmd_npes - 1)
            x = x * 1.0000001 + 0.5;
    } else {
        long word = 1000 * spmd_me;
        shmem_long_put(&mailbox[spmd_me % 64], &word, 1, owner);
        shmem_quiet();
        CHECK(shmem_long_g(&mailbox[spmd_me % 64], owner) == word, "PE %d", owner);
        for (int i = 0; i < 100; i++)
            (void)shmem_long_atomic_fetch_inc(&counter, owner);
        shmem_long_atomic_inc((long *)&finished, owner);
        shmem_quiet();
        if (owner == 0 && spmd_me == 1)
            printf("put, get and 101 atomics into a busy PE: %.2f ms\n",
                   1e3 * (spmd_seconds() - start));
    }
    shmem_barrier_all();
    if (spmd_me == owner) {
        CHECK(counter == 100L * (spmd_npes - 1), "%ld", counter);
        for (int pe = 0; pe < spmd_npes; pe++)
            CHECK(pe == owner || mailbox[pe % 64] == 1000 * pe, "%ld", mailbox[pe % 64]);
    }
    shmem_barrier_all();
}

static size_t resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        CHECK(fscanf(file, "%lu %lu", &total, &resident) == 2, "statm");
        fclose(file);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* A gibibyte of .bss per PE, of which a few pages are used. */
static void test_huge(void)
{
    int right = (spmd_me + 1) % spmd_npes, left = (spmd_me + spmd_npes - 1) % spmd_npes;
    const size_t places[] = {0, HUGE_BYTES / 2 + 17, HUGE_BYTES - 1};
    for (int i = 0; i < 3; i++)
        shmem_char_p(&huge[places[i]], (char)(spmd_me + i + 1), right);
    shmem_barrier_all();
    for (int i = 0; i < 3; i++)
        CHECK(huge[places[i]] == left + i + 1, "place %d: %d", i, huge[places[i]]);
    CHECK(huge[HUGE_BYTES / 4] == 0, "%d", huge[HUGE_BYTES / 4]);
    size_t resident = resident_bytes();
    CHECK(resident < HUGE_BYTES / 4, "%zu bytes are resident", resident);
    const char *fd = getenv("NVS_JOB_FD");
    struct stat job;
    if (fd && fstat(atoi(fd), &job) == 0) {
        size_t used = (size_t)job.st_blocks * 512;
        CHECK(used < HUGE_BYTES / 4 * (size_t)spmd_npes, "the job's memory has %zu bytes", used);
        if (spmd_me == 0)
            printf("%zu KiB resident, the job has %zu KiB\n", resident >> 10, used >> 10);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    test_values();
    for (int owner = 0; owner < spmd_npes; owner++)
        test_busy_owner(owner);
    test_huge();
    return spmd_end();
}
