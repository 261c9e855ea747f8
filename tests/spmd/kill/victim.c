/*
 * victim.c - a program one PE of which dies at a chosen place in a chosen way.
 *
 *     victim PLACE HOW PE DELAY_MS [MARKER]
 *
 * That PE gets into the place and stays there, because its right neighbour does not do its part;
 * after the delay it dies. The neighbour computes, all others join in at the place, so that the
 * death is met by PEs that compute and by PEs that wait. The marker is for whoever looks into /proc
 * for processes that were left behind.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <shmem.h>

static const char *place, *how;
static sigjmp_buf back_in_main;
static volatile int *volatile nowhere;
static long lock, word, total, one = 1;

/* A handler that hides the fault it handles behind an exit, and one that makes another. */
static void exit_4(int sig)
{
    (void)sig;
    _exit(4);
}

static void fault_again(int sig)
{
    (void)sig;
    *nowhere = 2;
}

static void die_in_handler(void (*handler)(int))
{
    signal(SIGSEGV, handler);
    *nowhere = 1;
}

static void die(int sig)
{
    (void)sig;
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit0") == 0)
        _exit(0);
    else if (strcmp(how, "exit3") == 0)
        _exit(3);
    else if (strcmp(how, "return") == 0)
        siglongjmp(back_in_main, 1);
    else if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    else if (strcmp(how, "handler") == 0)
        die_in_handler(exit_4);
    else if (strcmp(how, "fault_in_handler") == 0)
        die_in_handler(fault_again);
    else
        shmem_global_exit(7);
}

static void compute(void)
{
    volatile double x = 1;
    for (;;)
        x = x * 1.000001 + 1;
}

static void enter(void)
{
    if (strcmp(place, "barrier") == 0)
        shmem_barrier_all();
    else if (strcmp(place, "sync") == 0)
        shmem_team_sync(SHMEM_TEAM_WORLD);
    else if (strcmp(place, "malloc") == 0)
        shmem_malloc(1000);
    else if (strcmp(place, "reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &one, 1);
    else if (strcmp(place, "lock") == 0)
        shmem_set_lock(&lock);
    else if (strcmp(place, "wait") == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
    else if (strcmp(place, "finalize") == 0)
        shmem_finalize();
    else
        compute();
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: victim PLACE HOW PE DELAY_MS [MARKER]\n");
        return 2;
    }
    place = argv[1];
    how = argv[2];
    long delay = atol(argv[4]);
    struct itimerval timer = {.it_value = {delay / 1000, delay % 1000 * 1000}};
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), victim = atoi(argv[3]) % npes;
    bool neighbour = npes > 1 && me == (victim + 1) % npes;
    if (neighbour && strcmp(place, "lock") == 0)
        shmem_set_lock(&lock); /* and keeps it */
    shmem_barrier_all();
    if (me == victim) {
        if (sigsetjmp(back_in_main, 1))
            return 0;
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    if (!neighbour)
        enter();
    compute();
}
