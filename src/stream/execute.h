/*
 * execute.h - an operation as it waits in a stream for its turn, and running it on the host.
 */
#ifndef NVSI_EXECUTE_H
#define NVSI_EXECUTE_H

#include "coll/coll.h"
#include "stream/queue.h"
#include "stream/stream.h"

/* Copied into a queue or a graph as it is: enter() makes pointers into it. */
struct nvsi_queued {
    struct nvsi_stream_op op;
    char fn[96];      /* what op.fn says: it may be gone */
    int32_t team;     /* the handle: a graph may be launched when the team is gone */
    uint32_t session; /* in which it was enqueued or captured */
    bool entered;
    struct nvsi_coll_args args;
    struct nvsi_coll coll;
};

void nvsi_queued_fill(struct nvsi_queued *queued, const struct nvsi_stream_op *op);
/* Takes the turn of a collective. An error: the operation does not happen. */
int nvsi_queued_enter(void *queued);
/* Runs it; reports an error as NVS_ON_ERROR says. */
int nvsi_queued_run(void *queued);
extern const struct nvsi_task_kind nvsi_queued_kind;

static inline bool nvsi_sop_is_collective(enum nvsi_sop op)
{
    return op >= NVSI_SOP_BARRIER;
}
/* The arguments of a collective as coll/ takes them, and its kind. */
const struct nvsi_coll_kind *nvsi_sop_coll(const struct nvsi_stream_op *op,
                                           struct nvsi_coll_args *args);

#endif
