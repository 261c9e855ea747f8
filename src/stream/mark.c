/*
 * mark.c - marks: what events are made of. A mark is a task that notes the time, and the point
 * behind it, so that whoever holds the mark can wait for all that was in the queue before. Counted,
 * because an event may be recorded anew or destroyed while others wait for what it was.
 */
#include "stream/queues.h"

#include <stdlib.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* What the task of a mark carries. */
struct marking {
    struct nvsi_mark *mark;
};

static int reach_mark(void *payload)
{
    struct nvsi_mark *mark = ((struct marking *)payload)->mark;
    atomic_store(&mark->time_ns, now_ns());
    return 0;
}

static void drop_mark(void *payload)
{
    nvsx_mark_release(((struct marking *)payload)->mark);
}

static const struct nvsi_task_kind mark_kind = {.run = reach_mark, .drop = drop_mark};

void nvsx_mark_retain(struct nvsi_mark *mark)
{
    atomic_fetch_add(&mark->refs, 1);
}

void nvsx_mark_release(struct nvsi_mark *mark)
{
    if (!mark || atomic_fetch_sub(&mark->refs, 1) > 1)
        return;
    if (mark->at.queue)
        nvsi_queue_unref(mark->at.queue);
    nvsi_capture_forget(mark);
    free(mark);
}

static int put_mark(struct nvsi_queue *queue, struct nvsi_mark *mark)
{
    if (NVSI_UNLIKELY(nvsi_queue_captured(queue)))
        return nvsi_capture_mark(queue, mark);
    struct marking marking = {mark};
    struct nvsi_task *task = nvsi_task_new(&mark_kind, &marking, sizeof marking);
    if (!task)
        return NVS_ERR_MEMORY;
    atomic_fetch_add(&mark->refs, 1);
    atomic_fetch_add(&queue->refs, 1);
    mark->at.queue = queue;
    return nvsi_queue_push(queue, task, &mark->at.ticket);
}

int nvsx_mark_put(void *stream, struct nvsi_mark **mark)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_open(stream, &queue);
    if (status)
        return status;
    struct nvsi_mark *made = calloc(1, sizeof *made);
    if (made)
        atomic_store(&made->refs, 1);
    status =
        made ? put_mark(queue, made) : nvsi_error(NVS_ERR_MEMORY, "stream: no memory for an event");
    nvsi_queue_unref(queue);
    if (status)
        nvsx_mark_release(made);
    else
        *mark = made;
    return status;
}

int nvsx_mark_query(const struct nvsi_mark *mark)
{
    if (mark->capture)
        return NVSX_QUEUE_CAPTURED;
    if (!nvsi_queue_reached(mark->at.queue, mark->at.ticket))
        return NVSX_QUEUE_BUSY;
    return nvsi_queue_result();
}

int nvsx_mark_synchronize(struct nvsi_mark *mark)
{
    int status = nvsi_queue_usable();
    if (status)
        return status;
    if (nvsi_queue_inside())
        return NVSX_QUEUE_INSIDE;
    if (mark->capture)
        return NVSX_QUEUE_CAPTURED;
    nvsi_queue_reach(mark->at.queue, mark->at.ticket);
    return nvsi_queue_result();
}

int64_t nvsx_mark_time_ns(const struct nvsi_mark *mark)
{
    return atomic_load(&mark->time_ns);
}

static int wait_mark(struct nvsi_queue *queue, struct nvsi_mark *mark)
{
    bool captured;
    int status = nvsi_capture_wait(queue, mark, &captured);
    if (status || captured || nvsi_queue_reached(mark->at.queue, mark->at.ticket))
        return status;
    struct nvsi_task *task = nvsi_task_new(NULL, NULL, 0);
    if (!task)
        return NVS_ERR_MEMORY;
    status = nvsi_task_after(task, mark->at.queue, mark->at.ticket);
    if (!status)
        return nvsi_queue_push(queue, task, NULL);
    nvsi_task_free(task);
    return status;
}

int nvsx_queue_wait(void *stream, struct nvsi_mark *mark)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_open(stream, &queue);
    if (status)
        return status;
    status = wait_mark(queue, mark);
    nvsi_queue_unref(queue);
    return status;
}
