/*
 * queue.c - one queue: tasks, tickets, the worker.
 *
 * A task has a ticket, the number of tasks that were put in until then; it has run when `done` has
 * reached it. Whatever waits, waits for tickets: other tasks through their points, threads in
 * reach(). Since a point always names a task that was put in earlier, waits form no circle.
 *
 * A worker is started by the first task of its queue and sleeps while there is none. It holds a
 * reference on the queue, so that a queue which is destroyed while it has work lives until that is
 * done.
 *
 * Memory order: `done` is stored with the lock held after the task ran (release), and read before
 * what depends on it (acquire).
 */
#include "stream/queues.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors and forks ------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    _Atomic int status; /* of the first task that failed */
    char sentence[768];
} failure = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool forked; /* a child of fork() has its parent's queues, but no workers */

static void in_child(void)
{
    atomic_store(&forked, true);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int nvsi_queue_usable(void)
{
    if (NVSI_LIKELY(!atomic_load_explicit(&forked, memory_order_relaxed)))
        return 0;
    return nvsi_error(NVS_ERR_STATE,
                      "stream: used in a child of fork(), whose parent had streams already");
}

static void note_failure(int status)
{
    pthread_mutex_lock(&failure.lock);
    if (!failure.status) {
        strncpy(failure.sentence, nvsi_error_words(), sizeof failure.sentence - 1);
        atomic_store(&failure.status, status);
    }
    pthread_mutex_unlock(&failure.lock);
}

int nvsx_queue_failure(const char **sentence)
{
    int status = atomic_load(&failure.status);
    if (sentence)
        *sentence = status ? failure.sentence : "";
    return status;
}

int nvsi_queue_result(void)
{
    const char *sentence;
    int status = nvsx_queue_failure(&sentence);
    if (NVSI_UNLIKELY(status))
        nvsi_error_repeat(sentence);
    return status;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

struct nvsi_task *nvsi_task_new(const struct nvsi_task_kind *kind, const void *payload,
                                size_t nbytes)
{
    struct nvsi_task *task = calloc(1, sizeof *task + nbytes);
    if (!task) {
        nvsi_error(NVS_ERR_MEMORY, "stream: no memory for an operation");
        return NULL;
    }
    task->kind = kind;
    task->nbytes = nbytes;
    if (nbytes)
        memcpy(task->payload, payload, nbytes);
    return task;
}

void nvsi_task_free(struct nvsi_task *task)
{
    if (task->kind && task->kind->drop)
        task->kind->drop(task->payload);
    for (size_t i = 0; i < task->nafter; i++)
        nvsi_queue_unref(task->after[i].queue);
    free(task->after);
    free(task);
}

bool nvsi_queue_reached(const struct nvsi_queue *queue, uint64_t ticket)
{
    return atomic_load_explicit(&queue->done, memory_order_acquire) >= ticket;
}

int nvsi_task_after(struct nvsi_task *task, struct nvsi_queue *queue, uint64_t ticket)
{
    if (nvsi_queue_reached(queue, ticket))
        return 0;
    if (task->nafter == task->room) {
        size_t room = task->room ? 2 * task->room : 4;
        struct nvsi_point *after = realloc(task->after, room * sizeof *after);
        if (!after)
            return nvsi_error(NVS_ERR_MEMORY, "stream: no memory for an operation");
        task->after = after;
        task->room = room;
    }
    atomic_fetch_add(&queue->refs, 1);
    task->after[task->nafter++] = (struct nvsi_point){queue, ticket};
    return 0;
}

/* ---- the worker ------------------------------------------------------------------------------ */

/* The queue whose task this thread runs. */
static _Thread_local struct nvsi_queue *inside;

bool nvsi_queue_inside(void)
{
    return inside;
}

void nvsi_queue_reach(struct nvsi_queue *queue, uint64_t ticket)
{
    if (nvsi_queue_reached(queue, ticket))
        return;
    pthread_mutex_lock(&queue->lock);
    queue->waiters++;
    while (!nvsi_queue_reached(queue, ticket))
        pthread_cond_wait(&queue->moved, &queue->lock);
    queue->waiters--;
    pthread_mutex_unlock(&queue->lock);
}

static void run_task(struct nvsi_task *task)
{
    for (size_t i = 0; i < task->nafter; i++)
        nvsi_queue_reach(task->after[i].queue, task->after[i].ticket);
    int status = task->kind ? task->kind->run(task->payload) : 0;
    if (NVSI_UNLIKELY(status))
        note_failure(status);
    nvsi_task_free(task);
}

static struct nvsi_task *next_task(struct nvsi_queue *queue)
{
    while (!queue->first && !queue->closing)
        pthread_cond_wait(&queue->work, &queue->lock);
    struct nvsi_task *task = queue->first;
    if (task && !(queue->first = task->next))
        queue->last = &queue->first;
    return task;
}

static void *worker(void *arg)
{
    struct nvsi_queue *queue = inside = arg;
    struct nvsi_task *task;
    pthread_mutex_lock(&queue->lock);
    while ((task = next_task(queue))) {
        pthread_mutex_unlock(&queue->lock);
        run_task(task);
        pthread_mutex_lock(&queue->lock);
        atomic_fetch_add_explicit(&queue->done, 1, memory_order_release);
        if (queue->waiters)
            pthread_cond_broadcast(&queue->moved);
    }
    pthread_mutex_unlock(&queue->lock);
    nvsi_queue_unref(queue);
    return NULL;
}

/* Detached: nobody waits for the end of a worker. The program's signal handlers are not for it. */
static int start_worker(struct nvsi_queue *queue)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    atomic_store(&nvsi.streams, true);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    atomic_fetch_add(&queue->refs, 1);
    int error = pthread_create(&thread, NULL, worker, queue);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) {
        pthread_detach(thread);
        queue->started = true;
        return 0;
    }
    atomic_fetch_sub(&queue->refs, 1);
    return nvsi_error(NVS_ERR_SYSTEM, "stream: no thread for a stream: %s", strerror(error));
}

/* ---- queues ---------------------------------------------------------------------------------- */

void nvsi_queue_init(struct nvsi_queue *queue, unsigned flags, int priority)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->moved, NULL);
    queue->last = &queue->first;
    queue->flags = flags;
    queue->priority = priority;
    atomic_store(&queue->refs, 1);
}

struct nvsi_queue *nvsi_queue_new(unsigned flags, int priority)
{
    struct nvsi_queue *queue = calloc(1, sizeof *queue);
    if (queue)
        nvsi_queue_init(queue, flags, priority);
    else
        nvsi_error(NVS_ERR_MEMORY, "stream: no memory for a stream");
    return queue;
}

void nvsi_queue_unref(struct nvsi_queue *queue)
{
    if (atomic_fetch_sub(&queue->refs, 1) > 1)
        return;
    pthread_cond_destroy(&queue->moved);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue->tips);
    free(queue);
}

void nvsi_queue_close(struct nvsi_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    nvsi_queue_unref(queue);
}

int nvsi_queue_push(struct nvsi_queue *queue, struct nvsi_task *task, uint64_t *ticket)
{
    int status = nvsi_queue_order(queue, task);
    pthread_mutex_lock(&queue->lock);
    if (!status && NVSI_UNLIKELY(!queue->started))
        status = start_worker(queue);
    if (!status && task->kind && task->kind->enter)
        status = task->kind->enter(task->payload);
    if (NVSI_LIKELY(!status)) {
        *queue->last = task;
        queue->last = &task->next;
        uint64_t put = atomic_fetch_add_explicit(&queue->put, 1, memory_order_release) + 1;
        if (ticket)
            *ticket = put;
        pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
    if (NVSI_UNLIKELY(status))
        nvsi_task_free(task);
    return status;
}

int nvsi_queue_open(void *stream, struct nvsi_queue **queue)
{
    int status = nvsi_queue_usable();
    return status ? status : nvsi_queue_of(stream, queue);
}

int nvsx_queue_put(void *stream, const struct nvsi_task_kind *kind, const void *payload,
                   size_t nbytes)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_open(stream, &queue);
    if (status)
        return status;
    struct nvsi_task *task = nvsi_task_new(kind, payload, nbytes);
    if (!task)
        status = NVS_ERR_MEMORY;
    else if (NVSI_UNLIKELY(nvsi_queue_captured(queue)))
        status = nvsi_capture_task(queue, task);
    else
        status = nvsi_queue_push(queue, task, NULL);
    nvsi_queue_unref(queue);
    return status;
}

/* A point behind all that the queue's users would expect to be waited for: for the default queue
 * that is the work of the blocking ones too. */
static int last_point(struct nvsi_queue *queue, uint64_t *ticket)
{
    *ticket = atomic_load(&queue->put);
    if (queue != &nvsi_default_queue)
        return 0;
    struct nvsi_task *task = nvsi_task_new(NULL, NULL, 0);
    if (!task)
        return NVS_ERR_MEMORY;
    int status = nvsi_queue_order(queue, task);
    if (status || !task->nafter) {
        nvsi_task_free(task);
        return status;
    }
    return nvsi_queue_push(queue, task, ticket);
}

int nvsx_queue_synchronize(void *stream)
{
    struct nvsi_queue *queue;
    uint64_t ticket;
    int status = nvsi_queue_open(stream, &queue);
    if (status)
        return status;
    if (inside)
        status = NVSX_QUEUE_INSIDE;
    else if (nvsi_queue_captured(queue))
        status = NVSX_QUEUE_CAPTURED;
    if (!status)
        status = last_point(queue, &ticket);
    if (!status) {
        nvsi_queue_reach(queue, ticket);
        status = nvsi_queue_result();
    }
    nvsi_queue_unref(queue);
    return status;
}

int nvsx_queue_query(void *stream)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_open(stream, &queue);
    if (status)
        return status;
    if (nvsi_queue_captured(queue))
        status = NVSX_QUEUE_CAPTURED;
    else if (!nvsi_queue_reached(queue, atomic_load(&queue->put)))
        status = NVSX_QUEUE_BUSY;
    else
        status = nvsi_queue_result();
    nvsi_queue_unref(queue);
    return status;
}
