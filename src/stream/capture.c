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

pthread_mutex_t nvsi_capture_lock = PTHREAD_MUTEX_INITIALIZER;

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
        nvsi_nodes_no_memory();
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

/* The queues that took part leave when they are used again. */
static int end(struct nvsi_queue *queue, struct nvsi_graph **graph)
{
    struct nvsi_capture *capture = capture_of(queue);
    if (!capture || capture->origin != queue)
        return NVSX_QUEUE_NO_CAPTURE;
    bool joined = false;
    int status = nvsi_graph_all_before(queue, capture->graph, &joined);
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
    int status = nvsi_graph_add(capture->graph, &node);
    return status ? status : nvsi_tips_set(queue, &tip, 1);
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

int nvsi_capture_graph(struct nvsi_queue *queue, const struct nvsi_graph *graph)
{
    pthread_mutex_lock(&nvsi_capture_lock);
    struct nvsi_capture *capture = capture_of(queue);
    int status = capture ? 0 : NVSX_QUEUE_NO_CAPTURE;
    if (!status)
        status = nvsi_graph_adopt(capture->graph, graph, queue);
    pthread_mutex_unlock(&nvsi_capture_lock);
    return status;
}

int nvsi_capture_mark(struct nvsi_queue *queue, struct nvsi_mark *mark)
{
    pthread_mutex_lock(&nvsi_capture_lock);
    struct nvsi_capture *capture = capture_of(queue);
    int status = capture ? nvsi_tips_copy(&mark->tips, queue->tips, queue->ntips) : 0;
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
    return nvsi_tips_add(queue, mark->tips, mark->ntips);
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
