/*
 * check.c - whether the values are right: new data in one copy, one operation, then every element
 * of the destination, and every byte that nobody may have written. Not while the clock runs.
 */
#include "perf.h"

static size_t wrong_once(struct call *call, const struct data *data)
{
    size_t copy = data->seed % call->copies;
    copy_fill(call, copy, data);
    shmem_barrier_all();
    call->checking = true;
    call_run(call, copy, 1);
    call->checking = false;
    shmem_barrier_all();
    size_t wrong = copy_wrong(call, copy, data);
    shmem_barrier_all(); /* nobody fills while another PE looks */
    return wrong;
}

/* Reductions of floating point twice: exact sums, and sums that round (data.c). */
static size_t wrong_by_origin(struct call *call, uint64_t round)
{
    struct data data = {.type = call->type,
                        .redop = call->op->reduces ? call->redop : REDOP_NONE,
                        .seed = round,
                        .npes = call->npes};
    size_t wrong = wrong_once(call, &data);
    if (call->op->reduces && call->type->kind == KIND_FLOAT) {
        data.rounding = true;
        wrong += wrong_once(call, &data);
    }
    return wrong;
}

void check(struct call *call, struct figures *figures)
{
    static uint64_t round; /* the same on all PEs, since all check the same */
    size_t wrong = 0;
    if (!call->options->check) {
        figures->wrong = -1;
        return;
    }
    for (long i = 0; i < call->options->check; i++)
        wrong += (call->op->wrong ? call->op->wrong : wrong_by_origin)(call, ++round);
    figures->wrong = sum_of_all((long long)wrong);
}
