/*
 * device_errors_test.cu - wrong calls in kernels: each does nothing, the kernel goes on, and the
 * host hears of the first one. At the end a wait for what never comes, which NVS_TIMEOUT ends.
 */
#include "device_job.h"

#include <time.h>

#include <nvs.h>

enum mistake {
    PE_TOO_GREAT,
    PE_NEGATIVE,
    NOT_SYMMETRIC,
    NO_TEAM,
    WRONG_SIGNAL_OP,
    WRONG_COMPARISON,
    TOO_LONG, /* NVS_CHECK */
    NO_ROOT,
    NUM_MISTAKES
};

struct args {
    int mistake;
    int *object; /* symmetric */
    int *local;  /* not so */
    size_t nelems;
    uint64_t *sig;
    int *went_on;
};

GT_KERNEL(make_mistake, struct args, args)
{
    if (threadIdx.x != 0)
        return;
    int npes = nvshmem_n_pes(), me = nvshmem_my_pe(), status = 0;
    switch (args.mistake) {
    case PE_TOO_GREAT:
        nvshmem_int_p(args.object, 1, npes);
        break;
    case PE_NEGATIVE:
        nvshmem_int_put(args.object, args.local, 1, -1);
        break;
    case NOT_SYMMETRIC:
        nvshmem_int_atomic_inc(args.local, me);
        break;
    case NO_TEAM:
        status = nvshmem_barrier(77);
        break;
    case WRONG_SIGNAL_OP:
        nvshmemx_signal_op(args.sig, 1, 3, me);
        break;
    case WRONG_COMPARISON:
        nvshmem_uint64_wait_until(args.sig, 6, 1);
        break;
    case TOO_LONG:
        nvshmem_int_put(args.object, args.local, args.nelems, me);
        break;
    default:
        status = nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, args.object, args.object, 1, npes);
    }
    *args.went_on = 1 + (status != 0);
}

/* The error that the watchdog finds, as a status; 0 after a minute. */
static int await_error(void)
{
    for (int i = 0; i < 6000; i++) {
        int status = nvshmemx_error_check();
        if (status)
            return status;
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void test_mistake(struct args args, int status, bool failed)
{
    int went_on = 0, zero[2] = {0, 0}, found;
    gt_copy(args.went_on, &went_on, sizeof went_on);
    gt_copy(args.object, zero, sizeof *zero);
    gt_copy(args.sig, zero, sizeof zero);
    nvshmem_barrier_all();
    GT_LAUNCH(make_mistake, 1, 32, NULL, args);
    gt_read(&went_on, args.went_on, sizeof went_on);
    GT_CHECK(went_on == 1 + failed, "mistake %d: the kernel says %d", args.mistake, went_on);
    found = await_error();
    GT_CHECK(found == status, "mistake %d: status %d, not %d", args.mistake, found, status);
    gt_read(&went_on, args.object, sizeof went_on);
    GT_CHECK(went_on == 0, "mistake %d did something: %d", args.mistake, went_on);
    nvshmem_barrier_all();
}

/* What was wrong is over: the next call works. */
GT_KERNEL(right_call, struct args, args)
{
    if (threadIdx.x == 0)
        nvshmem_int_p(args.object, 5, nvshmem_my_pe());
}

struct wait_args {
    uint64_t *sig;
    int *status;
};
GT_KERNEL(wait_for_ever, struct wait_args, args)
{
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(args.sig, NVSHMEM_CMP_EQ, 1);
    if (threadIdx.x == 0)
        *args.status = 1;
}

int main(void)
{
    job_begin();
    size_t nbytes = 4096;
    struct args args;
    memset((void *)&args, 0, sizeof args);
    args.object = (int *)job_malloc(nbytes);
    args.local = (int *)gt_malloc(nbytes);
    args.sig = (uint64_t *)job_malloc(sizeof *args.sig);
    args.went_on = (int *)gt_malloc(sizeof *args.went_on);
    /* Longer than any heap, though nothing of it is touched when the check is there. */
    args.nelems = (size_t)1 << 50;

    static const int statuses[NUM_MISTAKES] = {
        NVS_ERR_INVALID, NVS_ERR_INVALID, NVS_ERR_SYMMETRIC, NVS_ERR_INVALID,
        NVS_ERR_INVALID, NVS_ERR_INVALID, NVS_ERR_SYMMETRIC, NVS_ERR_INVALID};
    for (int mistake = 0; mistake < NUM_MISTAKES; mistake++) {
        args.mistake = mistake;
        test_mistake(args, statuses[mistake], mistake == NO_TEAM || mistake == NO_ROOT);
    }
    int value = 0;
    GT_LAUNCH(right_call, 1, 32, NULL, args);
    gt_read(&value, args.object, sizeof value);
    GT_CHECK(value == 5, "%d", value);
    GT_CHECK(nvshmemx_error_check() == 0, "an error that nobody made");

    if (job_npes == 1) {
        struct wait_args wait = {args.sig, args.went_on};
        GT_LAUNCH(wait_for_ever, 1, 32, NULL, wait);
        int status = await_error();
        GT_CHECK(status == NVS_ERR_TIMEOUT, "status %d", status);
        gt_read(&value, args.went_on, sizeof value);
        GT_CHECK(value == 1, "the kernel says %d", value);
    }
    nvshmem_finalize();
    return gt_result();
}
