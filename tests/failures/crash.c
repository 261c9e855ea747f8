/*
 * crash.c - a program that comes past every planted point, on every PE; crash_test.py chooses where
 * one of them dies.
 *
 *     crash MARKER
 *
 * With NVS_ON_ERROR=return, the others go on until a call fails, leave in order, and say so. That
 * is only possible if the dead PE has left nothing locked.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <shmem.h>

enum { LARGE = 40000 };

static int me, npes;
static long lock, psync[SHMEM_BCAST_SYNC_SIZE];
static uint64_t bell;
static bool lost; /* some call has failed, because a PE is lost */

static void note(int status)
{
    int kept = nvshmemx_error_check();
    lost |= status == NVS_ERR_PE_LOST || kept == NVS_ERR_PE_LOST;
}

static void heap(void)
{
    char *a = shmem_malloc(1000), *b = shmem_calloc(10, 8);
    a = a ? shmem_realloc(a, 100000) : a;
    note(0);
    if (lost)
        return;
    nvs_free(b);
    shmem_free(a);
    note(0);
}

/* PE `holder` has the lock alone; then while all others queue up for it. */
static void locks(int holder)
{
    if (me == holder) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (me == holder)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == holder)
        usleep(3000);
    else
        shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    note(0);
}

/* From symmetric memory, and from ordinary memory, which goes through the stages. */
static void collectives(void)
{
    static int64_t from[LARGE], to[LARGE];
    int64_t *ordinary = calloc(LARGE, sizeof *ordinary);
    if (!ordinary)
        exit(9);
    note(nvs_all_reduce(0, to, from, 10, NVS_INT64, NVS_SUM, NULL));
    note(nvs_all_reduce(0, to, from, LARGE, NVS_INT64, NVS_SUM, NULL));
    note(nvs_all_reduce(0, ordinary, ordinary, LARGE, NVS_INT64, NVS_SUM, NULL));
    free(ordinary);
}

static void signals(void)
{
    static long data[100];
    uint64_t before = bell;
    shmem_barrier_all();
    shmem_long_put_signal(data, data, 100, &bell, 1, SHMEM_SIGNAL_ADD, (me + 1) % npes);
    shmem_signal_wait_until(&bell, SHMEM_CMP_GT, before);
    note(0);
}

static nvshmem_team_t everybody(void)
{
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
    note(0);
    return team;
}

/* Each PE is the first member of one team, so that each claims a place; and all are in active sets.
 */
static void teams(void)
{
    for (int first = 0; first < npes && !lost; first++) {
        nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
        int stride = first ? -1 : 1, size = first ? first + 1 : npes;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, first, stride, size, NULL, 0, &team);
        if (team != NVSHMEM_TEAM_INVALID)
            nvshmem_team_destroy(team);
        note(0);
    }
    if (lost)
        return;
    if (me > 0)
        shmem_barrier(1, 0, npes - 1, psync);
    if (me < npes - 1)
        shmem_barrier(0, 0, npes - 1, psync);
    note(0);
}

/* Memory of the GPU (of the stand-in for one), and a team that gets its part of it. */
static void device(void)
{
    char *ptr = nvs_malloc_device(3 << 20);
    note(0);
    if (lost)
        return;
    nvshmem_team_t team = everybody();
    if (team != NVSHMEM_TEAM_INVALID)
        nvshmem_team_destroy(team);
    note(nvs_free(ptr));
}

/* A call that PEs disagree about breaks the team, and nothing else. */
static void mismatch(void)
{
    int64_t value = me;
    nvshmem_team_t team = everybody();
    if (lost)
        return;
    nvs_all_reduce(team, &value, &value, 1, me ? NVS_INT64 : NVS_FLOAT64, NVS_SUM, NULL);
    while (nvshmemx_error_check()) /* that was on purpose */
        ;
    nvshmem_team_destroy(team);
}

/* A wait that comes to its sleep. */
static void long_waits(void)
{
    for (int pe = 0; pe < npes && !lost; pe++) {
        if (pe == me)
            usleep(40000);
        shmem_barrier_all();
        note(0);
    }
}

static void life(void)
{
    shmem_init();
    note(0);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (lost || npes < 1) {
        lost = true;
        return;
    }
    void (*const parts[])(void) = {heap, collectives, signals, teams, mismatch, long_waits, device};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !lost; i++)
        parts[i]();
    for (int holder = 0; holder < npes && !lost; holder++)
        locks(holder);
    shmem_finalize();
    note(0);
}

int main(void)
{
    life();
    if (!lost)
        life();
    printf("PE %s leaves%s\n", getenv("NVS_JOB_PE"), lost ? ": a PE was lost" : "");
    return 0;
}
