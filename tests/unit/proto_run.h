/*
 * proto_run.h - runs a data protocol of nvshmem/device/proto.h among "PEs" that are threads, or
 * processes with shared memory, with random delays.
 *
 * A scenario is a function that all PEs run. What they share is in struct world, which is zeroed
 * memory, as channels are. A PE that waits too long, or finds something wrong, counts a failure and
 * sets `over`, upon which all end.
 */
#ifndef TESTS_UNIT_PROTO_RUN_H
#define TESTS_UNIT_PROTO_RUN_H

#include "check.h"
#include "nvshmem/device/proto.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PES = 4, MAX_CELLS = 64, MAX_PAIRS = 128, GUARD_SECONDS = 100 };

/* What others store into a PE's memory. */
struct place {
    struct nvsd_vec4 cells[2][MAX_PES][MAX_CELLS];
    uint8_t sides[2][MAX_PES][MAX_CELLS];
    uint64_t pairs[2][MAX_PES][MAX_PAIRS];
    uint64_t begun[MAX_PES];
    uint32_t flags[MAX_PES];
    uint64_t plain[MAX_PES]; /* ordinary data behind a barrier */
    uint64_t done;           /* rounds that this PE has left: for the test, not for the protocol */
};

struct world {
    struct place places[MAX_PES];
    uint32_t over;
    uint32_t failures;
};

struct pe {
    struct world *world;
    int me, npes;
    uint64_t random;
    uint64_t first; /* the round before the first one */
    time_t guard;
    void (*scenario)(struct pe *pe);
};

static inline uint32_t pe_random(struct pe *pe)
{
    pe->random = pe->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(pe->random >> 33);
}

/* A number that all PEs compute alike. */
static inline uint32_t common_random(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
    x = (x ^ x >> 30) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

static inline void pe_delay(struct pe *pe)
{
    uint32_t dice = pe_random(pe) % 1024;
    if (dice == 0)
        usleep(pe_random(pe) % 200);
    else if (dice < 32)
        sched_yield();
}

static inline bool pe_over(struct pe *pe)
{
    return nvsd_ld_relaxed32(&pe->world->over) != 0;
}

static inline void pe_fail(struct pe *pe, const char *what, uint64_t round, uint64_t detail)
{
    if (nvsd_atomic_add32(&pe->world->failures, 1) == 0)
        fprintf(stderr, "PE %d of %d, round %llu (first %llu): %s (%llu)\n", pe->me, pe->npes,
                (unsigned long long)round, (unsigned long long)pe->first, what,
                (unsigned long long)detail);
    nvsd_st_relaxed32(&pe->world->over, 1);
}

/* One round of a wait; false: it is over. */
static inline bool pe_wait(struct pe *pe, unsigned *rounds, const char *what, uint64_t round)
{
    nvsd_relax(rounds);
    if (*rounds % 1024 == 0 && time(NULL) > pe->guard)
        pe_fail(pe, what, round, 0);
    return !pe_over(pe);
}

static inline void *run_thread(void *arg)
{
    struct pe *pe = arg;
    pe->scenario(pe);
    return NULL;
}

static inline void run_as_threads(struct pe *pes, int npes)
{
    pthread_t threads[MAX_PES];
    for (int i = 0; i < npes; i++)
        if (pthread_create(&threads[i], NULL, run_thread, &pes[i]))
            exit(1);
    for (int i = 0; i < npes; i++)
        pthread_join(threads[i], NULL);
}

static inline void run_as_processes(struct pe *pes, int npes)
{
    pid_t children[MAX_PES];
    fflush(NULL);
    for (int i = 0; i < npes; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            pes[i].scenario(&pes[i]);
            _exit(0);
        }
    }
    for (int i = 0; i < npes; i++) {
        int status = -1;
        CHECK(children[i] > 0 && waitpid(children[i], &status, 0) == children[i] && status == 0,
              "PE %d ended with %d", i, status);
    }
}

/* prepare (may be NULL) is called before the PEs start. */
static inline void run(const char *name, void (*scenario)(struct pe *), int npes, uint64_t first,
                       void (*prepare)(struct world *, int npes, uint64_t first), bool processes)
{
    struct pe pes[MAX_PES];
    size_t nbytes = sizeof(struct world);
    struct world *world =
        mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world == MAP_FAILED)
        exit(1);
    if (prepare)
        prepare(world, npes, first);
    for (int i = 0; i < npes; i++) {
        pes[i] = (struct pe){.world = world,
                             .me = i,
                             .npes = npes,
                             .random = first + (uint64_t)i * 77 + 1,
                             .first = first,
                             .guard = time(NULL) + GUARD_SECONDS,
                             .scenario = scenario};
        world->places[i].done = first;
    }
    if (processes)
        run_as_processes(pes, npes);
    else
        run_as_threads(pes, npes);
    CHECK(world->failures == 0, "%s: %d PEs as %s, from round %llu", name, npes,
          processes ? "processes" : "threads", (unsigned long long)first);
    munmap(world, nbytes);
}

/* Threads and processes, two to MAX_PES PEs, from each of these rounds on. */
static inline void run_all(const char *name, void (*scenario)(struct pe *), const uint64_t *firsts,
                           int nfirsts, void (*prepare)(struct world *, int npes, uint64_t first))
{
    for (int i = 0; i < nfirsts; i++)
        for (int npes = 2; npes <= MAX_PES; npes++)
            for (int processes = 0; processes < 2; processes++)
                run(name, scenario, npes, firsts[i], prepare, processes);
}

#endif
