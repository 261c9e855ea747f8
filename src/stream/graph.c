/*
 * graph.c - launching a captured graph.
 *
 * Each captured queue is a lane. The nodes of lane 0 run in the stream that the graph is launched
 * into, those of the others in queues of the runner, so that a node that waits in one lane does not
 * hold up the node of another lane that it waits for. A node waits for the nodes before it in other
 * lanes by their tickets of this launch. What comes first in a lane waits for the stream as it was
 * at the launch, and the last task in the stream waits for all lanes. Launches of one runner follow
 * each other, in whatever streams they are.
 *
 * Tasks are entered as they are put in, in the order of the capture: so collectives take their
 * turns anew in each launch, and in the same order on all PEs.
 */
#include "stream/queues.h"

#include <stdlib.h>

struct nvsi_runner {
    pthread_mutex_t lock;
    struct nvsi_graph *graph;
    struct nvsi_queue **lanes; /* [0] is NULL: the stream's */
    uint64_t *tickets;         /* of the nodes in the current launch */
    struct nvsi_point last;    /* the end of the latest launch */
};

void nvsx_runner_release(struct nvsi_runner *runner)
{
    if (!runner)
        return;
    for (size_t i = 1; runner->lanes && i < runner->graph->nlanes; i++)
        if (runner->lanes[i])
            nvsi_queue_close(runner->lanes[i]);
    if (runner->last.queue)
        nvsi_queue_unref(runner->last.queue);
    nvsx_graph_release(runner->graph);
    pthread_mutex_destroy(&runner->lock);
    free(runner->lanes);
    free(runner->tickets);
    free(runner);
}

int nvsx_runner_create(struct nvsi_graph *graph, struct nvsi_runner **runner)
{
    int status = nvsi_queue_usable();
    struct nvsi_runner *made = status ? NULL : calloc(1, sizeof *made);
    if (!made)
        return status ? status : nvsi_error(NVS_ERR_MEMORY, "stream: no memory for a graph");
    pthread_mutex_init(&made->lock, NULL);
    made->graph = graph;
    atomic_fetch_add(&graph->refs, 1);
    made->lanes = calloc(graph->nlanes + 1, sizeof(void *));
    made->tickets = calloc(graph->nnodes + 1, sizeof *made->tickets);
    if (!made->lanes || !made->tickets) {
        nvsx_runner_release(made);
        return nvsi_error(NVS_ERR_MEMORY, "stream: no memory for a graph");
    }
    for (size_t i = 1; !status && i < graph->nlanes; i++)
        if (!(made->lanes[i] = nvsi_queue_new(NVSX_QUEUE_NON_BLOCKING, 0)))
            status = NVS_ERR_MEMORY;
    if (status)
        nvsx_runner_release(made);
    else
        *runner = made;
    return status;
}

static struct nvsi_queue *lane_queue(const struct nvsi_runner *runner, struct nvsi_queue *stream,
                                     size_t lane)
{
    return lane ? runner->lanes[lane] : stream;
}

/* A task without a function, that waits for points; freed on an error. */
static int push_join(struct nvsi_queue *stream, struct nvsi_task *task, int status,
                     uint64_t *ticket)
{
    if (!status)
        return nvsi_queue_push(stream, task, ticket);
    nvsi_task_free(task);
    return status;
}

static int begin_launch(struct nvsi_runner *runner, struct nvsi_queue *stream, uint64_t *ticket)
{
    struct nvsi_task *task = nvsi_task_new(NULL, NULL, 0);
    if (!task)
        return NVS_ERR_MEMORY;
    int status = 0;
    if (runner->last.queue)
        status = nvsi_task_after(task, runner->last.queue, runner->last.ticket);
    return push_join(stream, task, status, ticket);
}

/* Also after a launch that failed half way: what was put in is waited for. */
static int end_launch(struct nvsi_runner *runner, struct nvsi_queue *stream)
{
    uint64_t ticket;
    struct nvsi_task *task = nvsi_task_new(NULL, NULL, 0);
    if (!task)
        return NVS_ERR_MEMORY;
    int status = 0;
    for (size_t i = 1; !status && i < runner->graph->nlanes; i++)
        status = nvsi_task_after(task, runner->lanes[i], atomic_load(&runner->lanes[i]->put));
    status = push_join(stream, task, status, &ticket);
    if (status)
        return status;
    atomic_fetch_add(&stream->refs, 1);
    if (runner->last.queue)
        nvsi_queue_unref(runner->last.queue);
    runner->last = (struct nvsi_point){stream, ticket};
    return 0;
}

static int launch_node(struct nvsi_runner *runner, struct nvsi_queue *stream, size_t index,
                       uint64_t begin)
{
    const struct nvsi_node *node = &runner->graph->nodes[index];
    struct nvsi_task *task = nvsi_task_new(node->kind, node->payload, node->nbytes);
    if (!task)
        return NVS_ERR_MEMORY;
    int status = node->lane ? nvsi_task_after(task, stream, begin) : 0;
    for (size_t i = 0; !status && i < node->nafter; i++) {
        size_t before = node->after[i];
        size_t lane = runner->graph->nodes[before].lane;
        if (lane != node->lane)
            status =
                nvsi_task_after(task, lane_queue(runner, stream, lane), runner->tickets[before]);
    }
    return push_join(lane_queue(runner, stream, node->lane), task, status, &runner->tickets[index]);
}

static int launch(struct nvsi_runner *runner, struct nvsi_queue *stream)
{
    uint64_t begin = 0;
    int status = begin_launch(runner, stream, &begin);
    if (status)
        return status;
    for (size_t i = 0; !status && i < runner->graph->nnodes; i++)
        status = launch_node(runner, stream, i, begin);
    int ended = end_launch(runner, stream);
    return status ? status : ended;
}

int nvsx_runner_launch(struct nvsi_runner *runner, void *stream)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_usable();
    if (!status)
        status = nvsi_queue_of(stream, &queue);
    if (status)
        return status;
    if (nvsi_queue_captured(queue)) {
        status = nvsi_capture_graph(queue, runner->graph);
    } else {
        pthread_mutex_lock(&runner->lock);
        status = launch(runner, queue);
        pthread_mutex_unlock(&runner->lock);
    }
    nvsi_queue_unref(queue);
    return status;
}
