/*
 * workload.c - a program that does a bit of everything, to be killed in the middle of it.
 *
 *     workload SEED MILLISECONDS MARKER
 *
 * All PEs draw the same actions from the seed, and check what they compute. It ends in order when
 * PE 0 says that the time is over. Signals from deaths_test.py make it die by its own hand at
 * whatever instruction it is: see deaths[].
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvs.h>
#include <shmem.h>

enum { SMALL = 10, LARGE = 20000, HUGE_COUNT = 400000 };

static uint64_t seed;
static int me, npes;
static long lock, counter, mailbox[16], go_on;
static uint64_t bell;
static volatile int *volatile nowhere;
static volatile sig_atomic_t leave; /* what main does at the next round */

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "workload: PE %d: %s is wrong: %s\n", me, what, nvs_last_error());
    exit(9);
}

/* ---- ways to die, each in a signal handler --------------------------------------------------- */

static void by_abort(int sig)
{
    (void)sig;
    abort();
}

static void by_exit_5(int sig)
{
    (void)sig;
    _exit(5);
}

static void by_exit_0(int sig)
{
    (void)sig;
    _exit(0);
}

static void by_fault_in_fault(int sig)
{
    (void)sig;
    *nowhere = 2;
}

static void by_double_fault(int sig)
{
    (void)sig;
    signal(SIGSEGV, by_fault_in_fault);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    *nowhere = 1;
}

static void by_exec(int sig)
{
    (void)sig;
    execl("/bin/true", "true", (char *)NULL);
    _exit(127);
}

/* exit() and return are no business of a handler: main does them. */
static void later(int sig)
{
    leave = sig;
}

static void (*const deaths[])(int) = {by_abort, by_exit_5, by_exit_0, by_double_fault,
                                      by_exec,  later,     later};
enum { EXIT_6 = 5, RETURN_0 = 6 };

static void deaths_prepare(void)
{
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
        struct sigaction action = {.sa_handler = deaths[i], .sa_flags = SA_RESTART};
        sigaction(SIGRTMIN + (int)i, &action, NULL);
    }
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void heap(void)
{
    size_t nbytes = 1 + draw(draw(2) ? 1000 : 3000000);
    char *a = shmem_malloc(nbytes), *b = shmem_calloc(1 + draw(500), 8);
    check(a && b, "malloc");
    memset(a, me, nbytes);
    if (draw(2)) {
        a = shmem_realloc(a, nbytes * 2);
        check(a && a[0] == (char)me && a[nbytes - 1] == (char)me, "realloc");
    }
    nvs_free(b);
    shmem_free(a);
}

static void locks(void)
{
    long before = counter;
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        shmem_set_lock(&lock);
        long value = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, value + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    check(me != 0 || counter == before + 3 * npes, "counter behind a lock");
}

/* From ordinary memory, which goes through the stages, or from symmetric memory. */
static void reduce(size_t nelems, bool ordinary)
{
    int64_t *src = ordinary ? malloc(nelems * 8) : shmem_malloc(nelems * 8);
    int64_t *dst = ordinary ? malloc(nelems * 8) : shmem_malloc(nelems * 8);
    check(src && dst, "memory");
    for (size_t i = 0; i < nelems; i++)
        src[i] = me + (int64_t)i;
    check(nvs_all_reduce(0, dst, src, nelems, NVS_INT64, NVS_SUM, NULL) == 0, "all_reduce");
    int64_t last = (int64_t)(nelems - 1) * npes + (int64_t)npes * (npes - 1) / 2;
    check(dst[nelems - 1] == last, "sum");
    if (ordinary) {
        free(src);
        free(dst);
    } else {
        nvs_free(src);
        nvs_free(dst);
    }
}

static void collectives(void)
{
    static const size_t sizes[] = {1, SMALL, LARGE, HUGE_COUNT};
    for (int i = 0; i < 20; i++)
        reduce(1 + (size_t)draw(SMALL), true);
    reduce(sizes[draw(4)], draw(2));
    for (int i = 0; i < 50; i++)
        shmem_barrier_all();
}

static void atomics(void)
{
    for (int i = 0; i < 500; i++)
        shmem_long_atomic_inc(&mailbox[2], (me + i) % npes);
    shmem_quiet();
}

static void signals(void)
{
    static long data[1000];
    int to = (me + 1) % npes;
    uint64_t before = bell;
    shmem_barrier_all();
    shmem_long_put_signal(data, data, 1000, &bell, 1, SHMEM_SIGNAL_ADD, to);
    shmem_signal_wait_until(&bell, SHMEM_CMP_GT, before);
    shmem_barrier_all();
}

static void teams(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, (npes + 1) / 2, NULL, 0, &team);
    if (team == SHMEM_TEAM_INVALID)
        return;
    for (int i = 0; i < 5; i++)
        shmem_team_sync(team);
    shmem_team_destroy(team);
}

static void forks(void)
{
    pid_t child = fork();
    if (child == 0) {
        memset(mailbox, 1, sizeof mailbox);
        usleep(2000);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0)
        ;
}

static void lives(void)
{
    shmem_finalize();
    usleep(1000);
    shmem_init();
}

static void ordinary(void)
{
    void *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = malloc(1 + (size_t)i * 500);
    FILE *file = fopen("/dev/null", "w");
    for (int i = 0; file && i < 200; i++)
        fprintf(file, "%d %f\n", i, i * 1.5);
    if (file)
        fclose(file);
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
}

static void (*const actions[])(void) = {heap,  locks, collectives, atomics, signals,
                                        teams, forks, lives,       ordinary};

static bool time_is_over(const struct timespec *start, long limit_ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    go_on =
        (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000 < limit_ms;
    check(shmem_long_broadcast(SHMEM_TEAM_WORLD, &go_on, &go_on, 1, 0) == 0, "broadcast");
    return !go_on;
}

int main(int argc, char **argv)
{
    struct timespec start;
    deaths_prepare();
    if (argc < 3)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    clock_gettime(CLOCK_MONOTONIC, &start);
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    while (!time_is_over(&start, atol(argv[2]))) {
        actions[draw(sizeof actions / sizeof actions[0])]();
        if (leave == SIGRTMIN + EXIT_6)
            exit(6);
        if (leave == SIGRTMIN + RETURN_0)
            return 0;
    }
    shmem_finalize();
    return 0;
}
