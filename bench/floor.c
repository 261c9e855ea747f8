/*
 * floor.c - what this machine can do: two pinned processes over one shared mapping, no library.
 *
 * The operations are in floor_ops.c and have the names of shmem_bench.c and mpi_bench.c.
 */
#include "floor_ops.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Onto CPU `number` of those that we may use. */
static void pin(int number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && number-- == 0)
            CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(3);
    return memory;
}

int main(int argc, char **argv)
{
    struct floor_memory memory = {.words = shared(sizeof *memory.words)};
    for (int i = 0; i < 2; i++) {
        /* A page more: misaligned destinations end behind the buffer. */
        memory.x[i] = shared(MAX_BYTES + 4096);
        memory.y[i] = shared(MAX_BYTES + 4096);
    }
    pid_t child = fork();
    struct side side = {"floor", child ? 0 : 1, 2, floor_barrier, floor_largest};
    pin(side.me);
    if (!child) /* it would wait for ever for a parent that was killed */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < MAX_BYTES; i += 4096)
        memory.x[side.me][i] = memory.y[side.me][i] = 1;
    memory.own = private_memory(MAX_BYTES + 4096);
    floor_open(&memory, side.me);
    int wrong = bench_run(&side, floor_operations, NULL, argc, argv), status = 0;
    if (child)
        waitpid(child, &status, 0);
    return wrong || status;
}
