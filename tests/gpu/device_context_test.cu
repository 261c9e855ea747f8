/*
 * device_context_test.cu - kernels that are given a context by value, of the world and of a team
 * whose numbers differ from the world's.
 */
#include "device_job.h"

enum { COUNT = 700 };

struct args {
    nvshmemx_device_context_t context;
    int *dst, *src; /* symmetric */
    uint64_t *sig, *counter;
    int *answers;
};

GT_KERNEL(with_context, struct args, args)
{
    const nvshmemx_device_context_t &context = args.context;
    int me = context.my_pe(), npes = context.n_pes(), right = (me + 1) % npes;
    context.put_signal<NVSHMEMX_SCOPE_BLOCK>(args.dst, args.src, (size_t)COUNT, args.sig, 1,
                                             NVSHMEM_SIGNAL_ADD, right);
    if (threadIdx.x == 0) {
        context.signal_wait_until(args.sig, NVSHMEM_CMP_GE, 1);
        context.p(args.dst + COUNT, me, right);
        args.answers[0] = me;
        args.answers[1] = npes;
        args.answers[2] = context.g(args.src, right);
        args.answers[3] = *context.ptr(args.src, right);
        args.answers[4] = context.ptr(args.answers, right) == nullptr;
        context.fetch_add(args.counter, (uint64_t)2, 0);
    }
    args.answers[5] = context.barrier<NVSHMEMX_SCOPE_BLOCK>();
    if (threadIdx.x == 0) {
        args.answers[6] = args.dst[COUNT];
        args.answers[7] = (int)context.g(args.counter, 0);
    }
}

/* first, step: world number of the team's first member, and the distance to the next. */
static void test_team(nvshmem_team_t team, int first, int step)
{
    struct args args;
    int npes = nvshmem_team_n_pes(team), me = nvshmem_team_my_pe(team), answers[8];
    int left = 0, right = 0;
    if (me >= 0) {
        left = first + (me + npes - 1) % npes * step;
        right = first + (me + 1) % npes * step;
    }
    int host[COUNT + 1] = {0};
    memset((void *)&args, 0, sizeof args);
    args.dst = (int *)nvshmem_align(64, sizeof host);
    args.src = (int *)nvshmem_align(64, sizeof host);
    args.sig = (uint64_t *)nvshmem_calloc(1, sizeof *args.sig);
    args.counter = (uint64_t *)nvshmem_calloc(1, sizeof *args.counter);
    args.answers = (int *)gt_malloc(sizeof answers);
    if (me >= 0)
        GT_CHECK(nvshmemx_get_device_context(team, &args.context) == 0, "no context");
    for (int i = 0; i < COUNT; i++)
        host[i] = job_me * 10000 + i;
    gt_copy(args.src, host, sizeof host);
    nvshmem_barrier_all();
    if (me >= 0) {
        GT_LAUNCH(with_context, 1, 64, NULL, args);
        gt_read(host, args.dst, sizeof host);
        gt_read(answers, args.answers, sizeof answers);
        const int wanted[8] = {me, npes, right * 10000,          right * 10000,
                               1,  0,    (me + npes - 1) % npes, 2 * npes};
        for (int i = 0; i < 8; i++)
            GT_CHECK(answers[i] == wanted[i], "answer %d: %d, not %d", i, answers[i], wanted[i]);
        for (int i = 0; i < COUNT; i++)
            GT_CHECK(host[i] == left * 10000 + i, "element %d: %d", i, host[i]);
    }
    nvshmem_barrier_all();
    gt_free(args.answers);
    nvshmem_free(args.counter);
    nvshmem_free(args.sig);
    nvshmem_free(args.src);
    nvshmem_free(args.dst);
}

int main(void)
{
    job_begin();
    nvshmemx_device_context_t context;
    GT_CHECK(nvshmemx_get_device_context(NVSHMEM_TEAM_WORLD, &context) < 0,
             "before there is a GPU");
    test_team(NVSHMEM_TEAM_WORLD, 0, 1);
    nvshmem_team_t last = NVSHMEM_TEAM_INVALID;
    if (job_npes > 1) /* all but the first */
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 1, job_npes - 1, NULL, 0, &last);
    test_team(last, 1, 1);
    GT_CHECK(nvshmemx_get_device_context(12345, &context) < 0, "a context of no team");
    GT_CHECK(nvshmemx_get_device_context(NVSHMEM_TEAM_WORLD, NULL) < 0, "nowhere to put it");
    nvshmemx_qp_handle_t *handles = NULL;
    GT_CHECK(nvshmemx_qp_create(3, &handles) == 0 && handles[2] == NVSHMEMX_QP_DEFAULT, "handles");
    free(handles);
    return job_end();
}
