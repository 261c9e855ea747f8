/*
 * hang.c - programs that hang, each in its own way, until somebody says who is missing.
 *
 *     hang SCENARIO [MARKER]
 *
 * PE 1 is the one that does not do its part: it computes for ever. What must be said about each is
 * in hang_test.py.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvs.h>
#include <nvshmem.h>
#include <shmem.h>

static int me, npes;
static float numbers[100], sums[100];
static long lock, word;
static long psync[SHMEM_BCAST_SYNC_SIZE];

static void compute(void)
{
    for (;;)
        pause();
}

/* What a program does whose call has failed. */
static void check(bool good)
{
    if (good)
        return;
    fprintf(stderr, "PE %d: %s\n", me, nvs_last_error());
    exit(3);
}

static void all_reduce(nvs_team_t team)
{
    check(nvs_all_reduce(team, sums, numbers, 100, NVS_FLOAT32, NVS_SUM, NULL) == 0);
}

/* Every second PE, from the second on. */
static nvshmem_team_t odd_team(void)
{
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 2, npes / 2, NULL, 0, &team);
    return team;
}

static void missing(void)
{
    if (me == 1)
        compute();
    all_reduce(0);
}

/* A void function of a standard, which ends the job itself. */
static void barrier(void)
{
    if (me == 1)
        compute();
    shmem_barrier_all();
}

static void team(void)
{
    nvshmem_team_t odd = odd_team();
    if (me == 1)
        compute();
    if (me % 2)
        all_reduce(odd);
    compute();
}

/* A place in the arena that another team has used before; its numbers begin anew. */
static void second_team(void)
{
    nvshmem_team_t odd = odd_team();
    for (int i = 0; i < 20 && me % 2; i++)
        nvshmem_team_sync(odd);
    nvshmem_team_destroy(odd);
    nvshmem_barrier_all();
    team();
}

/* Each of two PEs waits for the other, in another team. */
/* The root of small broadcasts runs ahead, until the ring of slots is full. */
static void ring(void)
{
    if (me == 1)
        compute();
    for (int i = 0; i < 20; i++)
        check(nvs_broadcast(0, sums, numbers, 4, NVS_FLOAT32, 0, NULL) == 0);
}

static void crossed(void)
{
    nvshmem_team_t odd = odd_team();
    if (me == 1)
        check(nvshmem_team_sync(odd) == 0);
    shmem_barrier_all();
}

static void broadcast(void)
{
    if (me == 1)
        compute();
    if (me != 2) /* not awaited by anybody */
        check(shmem_float_broadcast(SHMEM_TEAM_WORLD, sums, numbers, 100, 1) == 0);
    compute();
}

static void active_set(void)
{
    if (me == 1 || me == 0)
        compute();
    shmem_barrier(1, 0, npes - 1, psync);
}

static void wait_until(void)
{
    if (me == 1)
        compute();
    shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
}

static void set_lock(void)
{
    if (me == 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 1)
        compute();
    shmem_set_lock(&lock);
}

static void malloc_alone(void)
{
    if (me == 1)
        compute();
    check(shmem_malloc(12345) != NULL);
}

/* Waits twice: what is said about the second wait must not depend on the first. */
static void twice(void)
{
    if (me == 1)
        usleep(1500000);
    all_reduce(0);
    missing();
}

/* Takes its time, but comes. */
static void late(void)
{
    if (me == 1)
        sleep(3);
    all_reduce(0);
    shmem_finalize();
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"missing", missing},     {"barrier", barrier},         {"team", team},
    {"ring", ring},           {"second_team", second_team}, {"crossed", crossed},
    {"broadcast", broadcast}, {"active_set", active_set},   {"wait_until", wait_until},
    {"set_lock", set_lock},   {"malloc", malloc_alone},     {"twice", twice},
    {"late", late},
};

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    shmem_barrier_all();
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0)
            scenarios[i].run();
    fprintf(stderr, "hang: no scenario, or it came back\n");
    return 2;
}
