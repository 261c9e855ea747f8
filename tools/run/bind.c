/*
 * bind.c - which CPUs a PE runs on.
 *
 * The CPUs that nvsrun may use (a container or taskset may have taken some away) are cut into
 * consecutive parts of equal size, one for each PE: neighbours in number are neighbours on the
 * chip, and a PE with several threads keeps several CPUs. With one PE that is all of them.
 */
#include "run.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define CPUS_MAX 16384

union cpus {
    cpu_set_t first;
    unsigned char bytes[CPUS_MAX / 8];
};

/* The CPUs of PE pe: from the first up to but without the last, counted among those allowed. */
struct share {
    int first, last;
};

static const union cpus *cpus_allowed(int *ncpus)
{
    static union cpus allowed;
    static int count = -1;
    if (count < 0) {
        int bytes = sched_getaffinity(0, sizeof(allowed), &allowed.first);
        count = bytes < 0 ? 0 : CPU_COUNT_S(sizeof(allowed), &allowed.first);
    }
    *ncpus = count;
    return &allowed;
}

static struct share share_of(int pe, int npes, int ncpus)
{
    if (npes > ncpus)
        return (struct share){pe % ncpus, pe % ncpus + 1};
    return (struct share){(int)((long)pe * ncpus / npes), (int)((long)(pe + 1) * ncpus / npes)};
}

static bool share_chosen(const struct options *options, int pe, struct share *share,
                         const union cpus **allowed)
{
    int ncpus;
    *allowed = cpus_allowed(&ncpus);
    if (!ncpus || options->bind == BIND_NONE)
        return false;
    if (options->bind == BIND_AUTO && options->npes > ncpus)
        return false;
    *share = share_of(pe, options->npes, ncpus);
    return true;
}

/* The number of the next allowed CPU from cpu on. */
static int cpu_next(const union cpus *allowed, int cpu)
{
    while (cpu < CPUS_MAX && !CPU_ISSET_S((size_t)cpu, sizeof(*allowed), &allowed->first))
        cpu++;
    return cpu;
}

void bind_apply(const struct options *options, int pe)
{
    const union cpus *allowed;
    struct share share;
    if (!share_chosen(options, pe, &share, &allowed))
        return;
    union cpus mine = {.bytes = {0}};
    int cpu = cpu_next(allowed, 0);
    for (int i = 0; i < share.last && cpu < CPUS_MAX; i++) {
        if (i >= share.first)
            CPU_SET_S((size_t)cpu, sizeof(mine), &mine.first);
        cpu = cpu_next(allowed, cpu + 1);
    }
    /* A CPU may have gone since; to run elsewhere is better than not to run. */
    sched_setaffinity(0, sizeof(mine), &mine.first);
}

void bind_describe(const struct options *options, int pe, char *text, size_t size)
{
    const union cpus *allowed;
    struct share share;
    if (!share_chosen(options, pe, &share, &allowed)) {
        snprintf(text, size, "not bound");
        return;
    }
    int first = cpu_next(allowed, 0), last;
    for (int i = 0; i < share.first; i++)
        first = cpu_next(allowed, first + 1);
    last = first;
    for (int i = share.first; i + 1 < share.last; i++)
        last = cpu_next(allowed, last + 1);
    snprintf(text, size, first == last ? "bound to CPU %d" : "bound to CPUs %d to %d", first, last);
}
