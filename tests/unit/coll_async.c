/*
 * coll_async.c - collectives as resumable steps: several in flight on two teams, stepped in any
 * order, none of them blocking. Those of one team finish in the order in which they began.
 *
 * A program of several PEs over internal functions, run by nvsrun (tests/spmd/coll.cmake).
 */
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "coll/coll.h"

enum { IN_FLIGHT = 6, ROUNDS = 150, MOST = 150000 };

struct flight {
    struct nvsi_coll coll;
    struct nvsi_coll_args args;
    int team; /* 0 or 1 */
    bool broadcast, done;
    size_t nelems;
    int64_t *dst, *src;
};

static struct flight flights[IN_FLIGHT];
static int64_t *symmetric[IN_FLIGHT][2], *ordinary[IN_FLIGHT][2];

/* The same on all PEs. */
static unsigned agreed(unsigned bound)
{
    static uint64_t state = 88172645463325252u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % bound;
}

static void begin(int n)
{
    static const size_t counts[] = {1, 200, 300, 5000, MOST};
    struct flight *flight = &flights[n];
    bool staged = agreed(2);
    flight->team = (int)agreed(2);
    flight->broadcast = agreed(2);
    flight->nelems = counts[agreed(5)];
    flight->done = false;
    flight->dst = (staged ? ordinary : symmetric)[n][0];
    flight->src = (staged ? ordinary : symmetric)[n][1];
    int root = (int)agreed(1000) % nvsi.npes;
    for (size_t i = 0; i < flight->nelems; i++)
        flight->src[i] =
            flight->broadcast && nvsi.teams[flight->team]->team_pe != root ? -1 : (int64_t)i + n;
    flight->args = (struct nvsi_coll_args){.fn = "test",
                                           .dst = flight->dst,
                                           .src = flight->src,
                                           .nelems = flight->nelems,
                                           .dst_stride = 1,
                                           .src_stride = 1,
                                           .dtype = NVSI_INT64,
                                           .elem_bytes = sizeof(int64_t),
                                           .op = NVSI_SUM,
                                           .root = flight->broadcast ? root : 0};
    const struct nvsi_coll_kind *kind =
        flight->broadcast ? &nvsi_kind_broadcast : &nvsi_kind_all_reduce;
    int status = nvsi_coll_begin(&flight->coll, kind, nvsi.teams[flight->team], &flight->args);
    CHECK(status == 0, "begin %d: %d", n, status);
}

static void check_flight(int n)
{
    const struct flight *flight = &flights[n];
    int64_t times = flight->broadcast ? 1 : nvsi.npes;
    size_t i = 0;
    while (i < flight->nelems && flight->dst[i] == times * ((int64_t)i + n))
        i++;
    CHECK(i == flight->nelems, "flight %d, %s of %zu: dst[%zu] is %lld", n,
          flight->broadcast ? "broadcast" : "all_reduce", flight->nelems, i,
          (long long)flight->dst[i]);
    for (int k = 0; k < n; k++)
        CHECK(flights[k].team != flight->team || flights[k].done, "%d before %d on team %d", n, k,
              flight->team);
}

/* Steps flight n once; how many became complete by it. */
static int step(int n)
{
    if (flights[n].done)
        return 0;
    int status = nvsi_coll_step(&flights[n].coll);
    CHECK(status >= 0, "step %d: %d %s", n, status, nvs_last_error());
    if (status == NVSI_STEP_AGAIN)
        return 0;
    check_flight(n);
    flights[n].done = true;
    return 1;
}

/* Each PE steps in its own random order: often the later one first, which has to wait its turn. */
static void run_round(unsigned *own)
{
    for (int n = 0; n < IN_FLIGHT; n++)
        begin(n);
    for (int complete = 0; complete < IN_FLIGHT && !check_failures;) {
        int more = step(rand_r(own) % IN_FLIGHT);
        complete += more;
        if (!more)
            sched_yield();
    }
}

int main(void)
{
    if (nvs_init())
        return 1;
    /* Two teams of all PEs; a job of one PE has them too. */
    for (int n = 0; n < IN_FLIGHT; n++)
        for (int k = 0; k < 2; k++) {
            symmetric[n][k] = nvs_malloc(MOST * sizeof(int64_t));
            ordinary[n][k] = malloc(MOST * sizeof(int64_t));
        }
    unsigned own = (unsigned)nvsi.me + 1;
    for (int round = 0; round < ROUNDS && !check_failures; round++)
        run_round(&own);
    nvs_finalize();
    return check_result();
}
