/*
 * kill_test.cu - a PE dies in the midst of what its GPU does; the others' kernels and streams end,
 * and their calls name it. Run by tests/failures/gpu_kill_test.py, with --on-loss continue.
 *
 *     kill wait|barrier|stream|signal|graph   PE 1 kills itself while its kernel waits, and the
 *                                             others wait for it: in that way
 *     kill random MARKER                      all do a bit of everything, until somebody is gone
 *
 * Each PE prints "PE n pid P" when it begins, and "PE n noticed: SENTENCE" at the end.
 */
#include "device_job.h"

#include <nvs.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

struct work {
    int kind; /* of the wait */
    int rounds;
    uint64_t *sig;     /* symmetric */
    volatile int *in;  /* pinned: the kernel is there */
    int *data;         /* symmetric */
    uint64_t expected; /* value of the signal */
};
enum { WAIT, BARRIER };

GT_KERNEL(kill_work, struct work, work)
{
    if (threadIdx.x != 0)
        return;
    *work.in = 1;
    for (int i = 0; i < work.rounds; i++)
        if (work.kind == BARRIER)
            nvshmem_barrier_all();
        else
            nvshmem_signal_wait_until(work.sig, NVSHMEM_CMP_GE, work.expected);
}

/* A signal with its data to the next PE, then wait for the one from before. */
GT_KERNEL(kill_ring, struct work, work)
{
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
    nvshmemx_int_put_signal_block(work.data, work.data + 256, 256, work.sig, work.expected,
                                  NVSHMEM_SIGNAL_SET, (me + 1) % npes);
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(work.sig, NVSHMEM_CMP_GE, work.expected);
}

static struct work work;
static gt_stream stream;
static int *over; /* memory of the host: how many have noticed */
static char said[512];

static void sleep_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* Whether the call has failed; keeps the first sentence. */
static bool failed(int status)
{
    if (status && !said[0])
        snprintf(said, sizeof said, "%s", nvs_last_error());
    return status != 0;
}

static bool reduce_fails(void)
{
    return failed(
        nvs_all_reduce(NVS_TEAM_WORLD, work.data, work.data + 256, 8, NVS_INT32, NVS_SUM, NULL));
}

/* Prints what calls say, and leaves when all others have seen as much: to leave is a loss, too. */
static void notice(void)
{
    for (int ms = 0; !said[0] && !reduce_fails() && ms < 30000; ms += 10)
        sleep_ms(10);
    printf("PE %d noticed: %s\n", job_me, said[0] ? said : "nothing");
    fflush(stdout);
    for (int pe = 0; pe < job_npes; pe++)
        nvshmem_int_atomic_inc(over, pe);
    for (int ms = 0; ms < 20000 && *(volatile int *)over < job_npes - 1; ms++)
        sleep_ms(1);
    _exit(0);
}

static void stay_until_killed(void)
{
    GT_LAUNCH(kill_work, 1, 32, stream, work);
    while (!*work.in)
        sleep_ms(1);
    sleep_ms(200); /* the others wait by now, most likely */
    kill(getpid(), SIGKILL);
}

static void put_reduce(void)
{
    (void)failed(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, work.data, work.data + 256,
                                                   16, (cudaStream_t)stream));
}

static void planned(const char *how)
{
    work.kind = !strcmp(how, "barrier") ? BARRIER : WAIT;
    work.rounds = 1;
    work.expected = 1;
    if (job_me == 1) {
        work.kind = WAIT; /* for what nobody sends */
        stay_until_killed();
    }
    if (!strcmp(how, "stream")) {
        put_reduce();
    } else if (!strcmp(how, "signal")) {
        nvshmemx_signal_wait_until_on_stream(work.sig, NVSHMEM_CMP_EQ, 1, (cudaStream_t)stream);
    } else if (!strcmp(how, "graph")) {
        gt_capture(stream);
        put_reduce();
        nvshmemx_signal_wait_until_on_stream(work.sig, NVSHMEM_CMP_NE, 0, (cudaStream_t)stream);
        gt_replay(gt_captured(stream), stream);
    } else {
        GT_LAUNCH(kill_work, 1, 32, stream, work);
    }
    gt_sync(stream); /* comes back, though PE 1 does not */
}

static void a_round(uint64_t round, gt_graph graph)
{
    switch (job_below(5)) {
    case 0:
        work.kind = BARRIER;
        work.rounds = 1 + (int)job_below(20);
        GT_LAUNCH(kill_work, 1, 32, stream, work);
        break;
    case 1:
        put_reduce();
        break;
    case 2:
        gt_replay(graph, stream);
        break;
    case 3:
        nvshmemx_int_put_signal_on_stream(work.data, work.data + 256, 128, work.sig, round,
                                          NVSHMEM_SIGNAL_SET, (job_me + 1) % job_npes,
                                          (cudaStream_t)stream);
        nvshmemx_signal_wait_until_on_stream(work.sig, NVSHMEM_CMP_GE, round, (cudaStream_t)stream);
        break;
    default:
        work.expected = round;
        GT_LAUNCH(kill_ring, 1, 64, stream, work);
    }
    gt_sync(stream);
    (void)failed(nvshmemx_error_check());
}

static void random_work(void)
{
    gt_capture(stream);
    put_reduce();
    gt_graph graph = gt_captured(stream);
    printf("PE %d begins\n", job_me);
    fflush(stdout);
    for (uint64_t round = 1; !said[0] && !reduce_fails(); round++)
        a_round(round, graph);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "wait";
    setenv("NVS_ON_ERROR", "return", 0);
    job_begin();
    printf("PE %d pid %d\n", job_me, (int)getpid());
    fflush(stdout);
    GT_LOAD(kill_work);
    GT_LOAD(kill_ring);
    stream = gt_stream_new();
    work.sig = (uint64_t *)job_malloc(sizeof *work.sig);
    work.data = (int *)job_malloc(512 * sizeof(int));
    work.in = (volatile int *)gt_malloc_host(sizeof *work.in);
    *work.in = 0;
    over = (int *)nvs_malloc(sizeof *over);
    gt_set_async(work.sig, 0, sizeof *work.sig, stream);
    gt_set_async(work.data, 0, 512 * sizeof(int), stream);
    gt_sync(stream);
    nvshmem_barrier_all();
    if (!strcmp(how, "random"))
        random_work();
    else
        planned(how);
    notice();
}
