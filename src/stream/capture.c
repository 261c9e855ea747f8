/*
 * capture.c - queues whose tasks become nodes of a graph.
 *
 * A captured queue remembers its tips: the nodes that its next node comes after. That node is then
 * the only tip. A mark that is put into the queue keeps a copy of the tips; a queue that waits for
 * the mark adds them to its own, and if it was not captured yet it is now. So nodes come after each
 * other exactly as the tasks would have. The capture ends in the queue in which it began, and only
 * if that has waited for all others: else work would be lost.
 */
#include "stream/queues.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t nvsi_capture_lock = PTHREAD_MUTEX_INITIALIZER;

static int no_memory(void)
{
    return nvsi_error(NVS_ERR_MEMORY, "stream: no memory for a graph");
}

/* ---- sets of nodes --------------------------------------------------------------------------- */

static int copy_tips(size_t **copy, const size_t *tips, size_t ntips)
{
    *copy = malloc((ntips + 1) * sizeof **copy);
    if (!*copy)
        return no_memory();
    if (ntips)
        memcpy(*copy, tips, ntips * sizeof **copy);
    return 0;
}

static int set_tips(struct nvsi_queue *queue, const size_t *tips, size_t ntips)
{
    size_t *copy;
    int status = copy_tips(&copy, tips, ntips);
    if (status)
        return status;
    free(queue->tips);
    queue->tips = copy;
    queue->ntips = ntips;
    return 0;
}

static int add_tips(struct nvsi_queue *queue, const size_t *tips, size_t ntips)
{
    size_t *all = realloc(queue->tips, (queue->ntips + ntips + 1) * sizeof *all);
    if (!all)
        return no_memory();
    queue->tips = all;
    for (size_t i = 0; i < ntips; i++) {
        size_t k = 0;
        while (k < queue->ntips && all[k] != tips[i])
            k++;
        if (k == queue->ntips)
            all[queue->ntips++] = tips[i];
    }
    return 0;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

void nvsx_graph_release(struct nvsi_graph *graph)
{
    if (!graph || atomic_fetch_sub(&graph->refs, 1) > 1)
        return;
    for (size_t i = 0; i < graph->nnodes; i++) {
        free(graph->nodes[i].payload);
        free(graph->nodes[i].after);
    }
    free(graph->nodes);
    free(graph);
}

size_t nvsx_graph_nodes(const struct nvsi_graph *graph)
{
    return graph->nnodes;
}

static int add_node(struct nvsi_graph *graph, const struct nvsi_node *model)
{
    if (graph->nnodes == graph->room) {
        size_t room = graph->room ? 2 * graph->room : 16;
        struct nvsi_node *nodes = realloc(graph->nodes, room * sizeof *nodes);
        if (!nodes)
            return no_memory();
        graph->nodes = nodes;
        graph->room = room;
    }
    struct nvsi_node node = *model;
    node.payload = malloc(node.nbytes + 1);
    if (!node.payload)
        return no_memory();
    memcpy(node.payload, model->payload, node.nbytes);
    if (copy_tips(&node.after, model->after, model->nafter)) {
        free(node.payload);
        return NVS_ERR_MEMORY;
    }
    graph->nodes[graph->nnodes++] = node;
    return 0;
}

/* ---- captures -------------------------------------------------------------------------------- */

static void release_capture(struct nvsi_capture *capture)
{
    if (!capture || atomic_fetch_sub(&capture->refs, 1) > 1)
        return;
    nvsx_graph_release(capture->graph);
    free(capture);
}

/* The capture that a queue takes part in; one that is over leaves it now. */
static struct nvsi_capture *capture_of(struct nvsi_queue *queue)
{
    struct nvsi_capture *capture = atomic_load(&queue->capture);
    if (!capture || !capture->over)
        return capture;
    atomic_store(&queue->capture, NULL);
    queue->ntips = 0;
    release_capture(capture);
    return NULL;
}

bool nvsi_queue_captured(struct nvsi_queue *queue)
{
    if (NVSI_LIKELY(!atomic_load_explicit(&queue->capture, memory_order_relaxed)))
        return false;
    pthread_mutex_lock(&nvsi_capture_lock);
    bool captured = capture_of(queue) != NULL;
    pthread_mutex_unlock(&nvsi_capture_lock);
    return captured;
}

static void join_capture(struct nvsi_queue *queue, struct nvsi_capture *capture)
{
    atomic_fetch_add(&capture->refs, 1);
    queue->lane = capture->graph->nlanes++;
    queue->ntips = 0;
    atomic_store(&queue->capture, capture);
}

static struct nvsi_capture *new_capture(struct nvsi_queue *origin)
{
    static uint64_t ids; /* under the lock */
    struct nvsi_capture *capture = calloc(1, sizeof *capture);
    struct nvsi_graph *graph = calloc(1, sizeof *graph);
    if (!capture || !graph) {
        free(capture);
        free(graph);
        no_memory();
        return NULL;
    }
    atomic_store(&graph->refs, 1);
    capture->id = ++ids;
    capture->graph = graph;
    capture->origin = origin;
    return capture;
}

static int begin(struct nvsi_queue *queue)
{
    if (queue == &nvsi_default_queue)
        return NVSX_QUEUE_NO_CAPTURE;
    if (capture_of(queue))
        return NVSX_QUEUE_CAPTURED;
    struct nvsi_capture *capture = new_capture(queue);
    if (!capture)
        return NVS_ERR_MEMORY;
    join_capture(queue, capture);
    return 0;
}

/* Finds the queue and does something with it under the lock of captures. */
static int open_locked(void *stream, struct nvsi_queue **queue)
{
    int status = nvsi_queue_usable();
    if (!status)
        status = nvsi_queue_of(stream, queue);
    if (!status)
        pthread_mutex_lock(&nvsi_capture_lock);
    return status;
}

static void close_locked(struct nvsi_queue *queue)
{
    pthread_mutex_unlock(&nvsi_capture_lock);
    nvsi_queue_unref(queue);
}

int nvsx_capture_begin(void *stream)
{
    struct nvsi_queue *queue;
    int status = open_locked(stream, &queue);
    if (status)
        return status;
    status = begin(queue);
    close_locked(queue);
    return status;
}

/* Whether all nodes come before the queue's tips: then waiting for the queue waits for all. */
static int all_joined(const struct nvsi_queue *queue, const struct nvsi_graph *graph, bool *joined)
{
    bool *before = calloc(graph->nnodes + 1, sizeof *before);
    if (!before)
        return no_memory();
    for (size_t i = 0; i < queue->ntips; i++)
        before[queue->tips[i]] = true;
    *joined = true;
    for (size_t i = graph->nnodes; i-- > 0;) {
        *joined &= before[i];
        for (size_t k = 0; before[i] && k < graph->nodes[i].nafter; k++)
            before[graph->nodes[i].after[k]] = true;
    }
    free(before);
    return 0;
}

/* The queues that took part leave when they are used again. */
static int end(struct nvsi_queue *queue, struct nvsi_graph **graph)
{
    struct nvsi_capture *capture = capture_of(queue);
    if (!capture || capture->origin != queue)
        return NVSX_QUEUE_NO_CAPTURE;
    bool joined = false;
    int status = all_joined(queue, capture->graph, &joined);
    if (!status && !joined)
        status = NVSX_QUEUE_UNJOINED;
    if (!status) {
        *graph = capture->graph;
        atomic_fetch_add(&(*graph)->refs, 1);
    }
    capture->over = true;
    capture_of(queue);
    return status;
}

int nvsx_capture_end(void *stream, struct nvsi_graph **graph)
{
    struct nvsi_queue *queue;
    int status = open_locked(stream, &queue);
    if (status)
        return status;
    status = end(queue, graph);
    close_locked(queue);
    return status;
}

int nvsx_capture_look(void *stream, uint64_t *id)
{
    struct nvsi_queue *queue;
    int status = open_locked(stream, &queue);
    if (status)
        return status;
    struct nvsi_capture *capture = capture_of(queue);
    *id = capture ? capture->id : 0;
    close_locked(queue);
    return 0;
}

/* ---- what queue.c calls ---------------------------------------------------------------------- */

static int capture_task(struct nvsi_queue *queue, struct nvsi_capture *capture,
                        struct nvsi_task *task)
{
    struct nvsi_node node = {.kind = task->kind,
                             .payload = task->payload,
                             .nbytes = task->nbytes,
                             .lane = queue->lane,
                             .after = queue->tips,
                             .nafter = queue->ntips};
    size_t tip = capture->graph->nnodes;
    int status = add_node(capture->graph, &node);
    return status ? status : set_tips(queue, &tip, 1);
}

int nvsi_capture_task(struct nvsi_queue *queue, struct nvsi_task *task)
{
    pthread_mutex_lock(&nvsi_capture_lock);
    struct nvsi_capture *capture = capture_of(queue);
    int status = capture ? capture_task(queue, capture, task) : 0;
    pthread_mutex_unlock(&nvsi_capture_lock);
    if (!capture)
        return nvsi_queue_push(queue, task, NULL);
    nvsi_task_free(task);
    return status;
}

/* Node number i of the graph, as a node of the queue's capture, in which the graph's nodes begin at
 * number `base` and its lanes behind `lanes`. */
static int adopt_node(struct nvsi_queue *queue, struct nvsi_graph *into, struct nvsi_node node,
                      size_t base, size_t lanes)
{
    size_t *after;
    int status = node.nafter ? copy_tips(&after, node.after, node.nafter)
                             : copy_tips(&after, queue->tips, queue->ntips);
    if (status)
        return status;
    for (size_t i = 0; i < node.nafter; i++)
        after[i] += base;
    if (!node.nafter)
        node.nafter = queue->ntips;
    node.after = after;
    node.lane = node.lane ? node.lane + lanes - 1 : queue->lane;
    status = add_node(into, &node);
    free(after);
    return status;
}

/* The queue goes on after all of the graph's nodes that no other of its nodes comes after. */
static int after_graph(struct nvsi_queue *queue, const struct nvsi_graph *graph, size_t base)
{
    bool *inner = calloc(graph->nnodes + 1, sizeof *inner);
    if (!inner)
        return no_memory();
    for (size_t i = 0; i < graph->nnodes; i++)
        for (size_t k = 0; k < graph->nodes[i].nafter; k++)
            inner[graph->nodes[i].after[k]] = true;
    if (graph->nnodes)
        queue->ntips = 0;
    int status = 0;
    for (size_t i = 0; !status && i < graph->nnodes; i++) {
        size_t tip = base + i;
        if (!inner[i])
            status = add_tips(queue, &tip, 1);
    }
    free(inner);
    return status;
}

int nvsi_capture_graph(struct nvsi_queue *queue, const struct nvsi_graph *graph)
{
    pthread_mutex_lock(&nvsi_capture_lock);
    struct nvsi_capture *capture = capture_of(queue);
    int status = capture ? 0 : NVSX_QUEUE_NO_CAPTURE;
    if (!status) {
        size_t base = capture->graph->nnodes, lanes = capture->graph->nlanes;
        capture->graph->nlanes += graph->nlanes - 1;
        for (size_t i = 0; !status && i < graph->nnodes; i++)
            status = adopt_node(queue, capture->graph, graph->nodes[i], base, lanes);
        if (!status)
            status = after_graph(queue, graph, base);
    }
    pthread_mutex_unlock(&nvsi_capture_lock);
    return status;
}

int nvsi_capture_mark(struct nvsi_queue *queue, struct nvsi_mark *mark)
{
    pthread_mutex_lock(&nvsi_capture_lock);
    struct nvsi_capture *capture = capture_of(queue);
    int status = capture ? copy_tips(&mark->tips, queue->tips, queue->ntips) : 0;
    if (capture && !status) {
        mark->ntips = queue->ntips;
        mark->capture = capture;
        atomic_fetch_add(&capture->refs, 1);
    }
    pthread_mutex_unlock(&nvsi_capture_lock);
    return status ? status : capture ? 0 : NVSX_QUEUE_NO_CAPTURE;
}

void nvsi_capture_forget(struct nvsi_mark *mark)
{
    if (!mark->capture)
        return;
    pthread_mutex_lock(&nvsi_capture_lock);
    release_capture(mark->capture);
    pthread_mutex_unlock(&nvsi_capture_lock);
    free(mark->tips);
}

/* A mark of the outside is reached once the graph is launched only if nobody launches it earlier;
 * so a capture must not depend on it, and neither may real work on a mark of a capture. */
static int join(struct nvsi_queue *queue, struct nvsi_mark *mark)
{
    struct nvsi_capture *capture = capture_of(queue);
    if (!mark->capture)
        return capture ? NVSX_QUEUE_FOREIGN : 0;
    if (mark->capture->over || (capture && capture != mark->capture) ||
        queue == &nvsi_default_queue)
        return NVSX_QUEUE_FOREIGN;
    if (!capture)
        join_capture(queue, mark->capture);
    return add_tips(queue, mark->tips, mark->ntips);
}

int nvsi_capture_wait(struct nvsi_queue *queue, struct nvsi_mark *mark, bool *captured)
{
    *captured = mark->capture != NULL;
    if (NVSI_LIKELY(!*captured && !atomic_load(&queue->capture)))
        return 0;
    pthread_mutex_lock(&nvsi_capture_lock);
    int status = join(queue, mark);
    pthread_mutex_unlock(&nvsi_capture_lock);
    return status;
}
