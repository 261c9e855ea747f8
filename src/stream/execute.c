/*
 * execute.c - operations of streams, run by the host: by the worker of a queue, or by a host
 * function of a CUDA stream.
 *
 * What an operation is was fixed by the call; what it reads and writes is read and written when it
 * runs. A collective takes its turn in the team when it is put into the stream (nvsi_coll_begin),
 * because the order of the calls is what PEs must agree on; it enters when its stream has come to
 * it and all collectives of the team before it are over.
 */
#include "stream/execute.h"

#include <stdio.h>
#include <unistd.h>

#include "transport/transport.h"
#include "wait.h"

/* Operations in streams that have not run. */
static _Atomic uint32_t pending;

/* ---- what does not wait for its turn --------------------------------------------------------- */

/* A constant size: one store, of which nobody sees half. */
static int put_value(const struct nvsi_stream_op *op)
{
    switch (op->elem_bytes) {
    case 1:
        return nvsi_p(NULL, op->fn, op->dst, op->value_bytes, 1, op->pe);
    case 2:
        return nvsi_p(NULL, op->fn, op->dst, op->value_bytes, 2, op->pe);
    case 4:
        return nvsi_p(NULL, op->fn, op->dst, op->value_bytes, 4, op->pe);
    case 8:
        return nvsi_p(NULL, op->fn, op->dst, op->value_bytes, 8, op->pe);
    default:
        return nvsi_put(NULL, op->fn, op->dst, op->value_bytes, 1, op->elem_bytes, op->pe, false);
    }
}

static int wait_words(const struct nvsi_stream_op *op)
{
    if (!op->values && !op->status && op->nelems == 1)
        return nvsi_wait_until(op->fn, op->dst, op->word, op->cmp, op->value);
    /* The value as a word of any width: the machine is little-endian (skin.h). */
    struct nvsi_words words = {.ivars = op->dst,
                               .nelems = op->nelems,
                               .status = op->status,
                               .word = op->word,
                               .cmp = op->cmp,
                               .values = op->values ? op->values : &op->value,
                               .vector = op->values != NULL};
    return nvsi_wait_until_all(op->fn, &words);
}

static int run_one_sided(const struct nvsi_stream_op *op)
{
    struct nvsi_strided shape = {op->dst_stride, op->src_stride, op->nelems, op->elem_bytes};
    switch (op->op) {
    case NVSI_SOP_PUT:
        if (op->immediate)
            return put_value(op);
        return nvsi_put(NULL, op->fn, op->dst, op->src, op->nelems, op->elem_bytes, op->pe,
                        op->nbi);
    case NVSI_SOP_GET:
        return nvsi_get(NULL, op->fn, op->dst, op->src, op->nelems, op->elem_bytes, op->pe,
                        op->nbi);
    case NVSI_SOP_G:
        return nvsi_get(NULL, op->fn, op->dst, op->src, 1, op->elem_bytes, op->pe, false);
    case NVSI_SOP_IPUT:
        return nvsi_iput(NULL, op->fn, op->dst, op->src, &shape, op->pe);
    case NVSI_SOP_IGET:
        return nvsi_iget(NULL, op->fn, op->dst, op->src, &shape, op->pe);
    case NVSI_SOP_PUT_SIGNAL:
        return nvsi_put_signal(NULL, op->fn, op->dst, op->src, op->nelems, op->elem_bytes, op->sig,
                               op->value, op->sig_op, op->pe);
    case NVSI_SOP_SIGNAL:
        return nvsi_signal(NULL, op->fn, op->sig, op->value, op->sig_op, op->pe);
    case NVSI_SOP_WAIT:
        return wait_words(op);
    default: /* NVSI_SOP_QUIET */
        return nvsi_quiet(NULL, op->fn);
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

static const struct nvsi_coll_kind *const kinds[] = {
    [NVSI_SOP_BARRIER] = &nvsi_kind_barrier,
    [NVSI_SOP_SYNC] = &nvsi_kind_sync,
    [NVSI_SOP_BROADCAST] = &nvsi_kind_broadcast,
    [NVSI_SOP_ALL_GATHER] = &nvsi_kind_all_gather,
    [NVSI_SOP_ALL_TO_ALL] = &nvsi_kind_all_to_all,
    [NVSI_SOP_ALL_REDUCE] = &nvsi_kind_all_reduce,
    [NVSI_SOP_REDUCE_SCATTER] = &nvsi_kind_reduce_scatter,
};

const struct nvsi_coll_kind *nvsi_sop_coll(const struct nvsi_stream_op *op,
                                           struct nvsi_coll_args *args)
{
    bool data = op->op >= NVSI_SOP_BROADCAST;
    *args = (struct nvsi_coll_args){.fn = op->fn,
                                    .dst = op->dst,
                                    .src = op->src,
                                    .nelems = data ? op->nelems : 0,
                                    .dst_stride = 1,
                                    .src_stride = 1,
                                    .dtype = data ? op->dtype : -1,
                                    .elem_bytes = data ? op->elem_bytes : 1,
                                    .op = op->redop,
                                    .root = op->root,
                                    .flags = op->symmetric ? NVSI_COLL_SYMMETRIC : 0};
    return kinds[op->op];
}

static int begin_collective(struct nvsi_queued *queued)
{
    struct nvsi_team *team = nvsi_team_get(queued->team);
    if (!team)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: team %d does not exist any more on PE %d: it was destroyed after "
                          "the graph was captured",
                          queued->fn, (int)queued->team, nvsi.me);
    queued->op.team = team;
    const struct nvsi_coll_kind *kind = nvsi_sop_coll(&queued->op, &queued->args);
    int status = nvsi_coll_begin(&queued->coll, kind, team, &queued->args);
    if (!status)
        atomic_fetch_add(&team->queued, 1);
    return status;
}

static int run_collective(struct nvsi_queued *queued)
{
    struct nvsi_team *team = queued->op.team;
    int status = 0;
    if (queued->op.op == NVSI_SOP_BARRIER && nvsi.transport->quiet)
        status = nvsi.transport->quiet(NULL);
    int finished = nvsi_coll_finish(&queued->coll);
    atomic_fetch_sub(&team->queued, 1); /* the last look at the team: it may be destroyed now */
    return status ? status : finished;
}

/* ---- life of an operation -------------------------------------------------------------------- */

void nvsi_queued_fill(struct nvsi_queued *queued, const struct nvsi_stream_op *op)
{
    memset(queued, 0, sizeof *queued);
    queued->op = *op;
    snprintf(queued->fn, sizeof queued->fn, "%s", op->fn);
    queued->team = op->team ? op->team->id : NVSI_TEAM_INVALID;
    queued->session = nvsi.session;
}

int nvsi_queued_enter(void *payload)
{
    struct nvsi_queued *queued = payload;
    queued->op.fn = queued->fn;
    int status = nvsi_ready(queued->fn);
    if (!status && queued->session != nvsi.session)
        status = nvsi_error(NVS_ERR_STATE,
                            "%s: captured before nvs was finalized and initialised again: the "
                            "addresses in that graph are no more",
                            queued->fn);
    if (!status && nvsi_sop_is_collective(queued->op.op))
        status = begin_collective(queued);
    if (status)
        return status;
    queued->entered = true;
    atomic_fetch_add(&pending, 1);
    return 0;
}

int nvsi_queued_run(void *payload)
{
    struct nvsi_queued *queued = payload;
    bool collective = nvsi_sop_is_collective(queued->op.op);
    int status = collective ? run_collective(queued) : run_one_sided(&queued->op);
    nvsi_check(status);
    atomic_fetch_sub(&pending, 1); /* the last look at anything: finalize may go on */
    return status;
}

const struct nvsi_task_kind nvsi_queued_kind = {.enter = nvsi_queued_enter, .run = nvsi_queued_run};

void nvsi_stream_settle(void)
{
    struct nvsi_wait wait = {0};
    while (atomic_load(&pending))
        if (nvsi_wait_round(&wait, -1)) /* whatever happened ends those operations too */
            usleep(1000);
    nvsi_wait_end(&wait);
}
