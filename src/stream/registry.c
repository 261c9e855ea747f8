/*
 * registry.c - which queues there are: handles, the default queue, those of threads, and the order
 * between the default queue and the blocking ones.
 *
 * A handle is looked up before it is used, so that a stream that was destroyed, or one of another
 * library, is an error with a name and not a crash. There are few queues: a list will do.
 */
#include "stream/queues.h"

#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    struct nvsi_queue *queues; /* but for the default one */
    _Atomic bool any;          /* there were some */
    pthread_once_t once;
    pthread_key_t of_thread;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

struct nvsi_queue nvsi_default_queue;

static void remove_queue(struct nvsi_queue *queue)
{
    pthread_mutex_lock(&registry.lock);
    struct nvsi_queue **link = &registry.queues;
    while (*link && *link != queue)
        link = &(*link)->next;
    if (*link)
        *link = queue->next;
    pthread_mutex_unlock(&registry.lock);
}

static void add_queue(struct nvsi_queue *queue)
{
    pthread_mutex_lock(&registry.lock);
    queue->next = registry.queues;
    registry.queues = queue;
    atomic_store(&registry.any, true);
    pthread_mutex_unlock(&registry.lock);
}

/* A thread has ended: what it put into its own queue still runs. */
static void thread_ended(void *queue)
{
    if (nvsi_queue_usable()) /* the lock may be that of a thread which fork() did not take along */
        return;
    remove_queue(queue);
    nvsi_queue_close(queue);
}

static void open_registry(void)
{
    nvsi_queue_init(&nvsi_default_queue, 0, 0);
    pthread_key_create(&registry.of_thread, thread_ended);
}

static struct nvsi_queue *queue_of_thread(void)
{
    struct nvsi_queue *queue = pthread_getspecific(registry.of_thread);
    if (queue)
        return queue;
    queue = nvsi_queue_new(0, 0);
    if (!queue)
        return NULL;
    if (pthread_setspecific(registry.of_thread, queue)) {
        nvsi_error(NVS_ERR_MEMORY, "stream: no memory for the stream of a thread");
        nvsi_queue_unref(queue);
        return NULL;
    }
    add_queue(queue);
    return queue;
}

int nvsi_queue_of(void *stream, struct nvsi_queue **queue)
{
    pthread_once(&registry.once, open_registry);
    uintptr_t handle = (uintptr_t)stream;
    if (handle <= 2) {
        *queue = handle < 2 ? &nvsi_default_queue : queue_of_thread();
        if (!*queue)
            return NVS_ERR_MEMORY;
        atomic_fetch_add(&(*queue)->refs, 1);
        return 0;
    }
    pthread_mutex_lock(&registry.lock);
    struct nvsi_queue *found = registry.queues;
    while (found && found != stream)
        found = found->next;
    if (found)
        atomic_fetch_add(&found->refs, 1);
    pthread_mutex_unlock(&registry.lock);
    *queue = found;
    return found ? 0 : NVSX_QUEUE_UNKNOWN;
}

bool nvsi_queue_exists(const void *stream)
{
    if ((uintptr_t)stream <= 2 || !atomic_load_explicit(&registry.any, memory_order_acquire))
        return false;
    pthread_mutex_lock(&registry.lock);
    const struct nvsi_queue *found = registry.queues;
    while (found && found != stream)
        found = found->next;
    pthread_mutex_unlock(&registry.lock);
    return found;
}

int nvsx_queue_create(unsigned flags, int priority, struct nvsi_queue **queue)
{
    int status = nvsi_queue_usable();
    if (status)
        return status;
    pthread_once(&registry.once, open_registry);
    *queue = nvsi_queue_new(flags, priority);
    if (!*queue)
        return NVS_ERR_MEMORY;
    add_queue(*queue);
    return 0;
}

int nvsx_queue_destroy(void *stream)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_usable();
    if (!status && (uintptr_t)stream <= 2)
        return NVSX_QUEUE_UNKNOWN;
    if (!status)
        status = nvsi_queue_of(stream, &queue);
    if (status)
        return status;
    if (nvsi_queue_captured(queue)) {
        nvsi_queue_unref(queue);
        return NVSX_QUEUE_CAPTURED;
    }
    remove_queue(queue);
    nvsi_queue_unref(queue);
    nvsi_queue_close(queue);
    return 0;
}

int nvsx_queue_look(void *stream, unsigned *flags, int *priority)
{
    struct nvsi_queue *queue;
    int status = nvsi_queue_usable();
    if (!status)
        status = nvsi_queue_of(stream, &queue);
    if (status)
        return status;
    *flags = queue->flags;
    *priority = queue->priority;
    nvsi_queue_unref(queue);
    return 0;
}

/* Other threads may put tasks into queues meanwhile. Whichever comes first, no circle arises: a
 * task waits only for what was in the other queue before it was in its own. */
int nvsi_queue_order(struct nvsi_queue *queue, struct nvsi_task *task)
{
    if (queue->flags & NVSX_QUEUE_NON_BLOCKING)
        return 0;
    if (queue != &nvsi_default_queue)
        return nvsi_task_after(task, &nvsi_default_queue, atomic_load(&nvsi_default_queue.put));
    int status = 0;
    pthread_mutex_lock(&registry.lock);
    for (struct nvsi_queue *other = registry.queues; other && !status; other = other->next)
        if (!(other->flags & NVSX_QUEUE_NON_BLOCKING))
            status = nvsi_task_after(task, other, atomic_load(&other->put));
    pthread_mutex_unlock(&registry.lock);
    return status;
}

/* The queues of now, with references; the last one is the default queue. */
static struct nvsi_queue **all_queues(size_t *count)
{
    pthread_mutex_lock(&registry.lock);
    *count = 1;
    for (struct nvsi_queue *queue = registry.queues; queue; queue = queue->next)
        ++*count;
    struct nvsi_queue **all = malloc(*count * sizeof(void *));
    size_t i = 0;
    for (struct nvsi_queue *queue = registry.queues; all && queue; queue = queue->next)
        all[i++] = queue;
    if (all)
        all[i] = &nvsi_default_queue;
    for (i = 0; all && i < *count; i++)
        atomic_fetch_add(&all[i]->refs, 1);
    pthread_mutex_unlock(&registry.lock);
    return all;
}

int nvsx_queue_synchronize_all(void)
{
    size_t count;
    int status = nvsi_queue_usable();
    if (status)
        return status;
    if (nvsi_queue_inside())
        return NVSX_QUEUE_INSIDE;
    pthread_once(&registry.once, open_registry);
    struct nvsi_queue **all = all_queues(&count);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "stream: no memory to wait for %zu streams", count);
    for (size_t i = 0; i < count; i++)
        if (nvsi_queue_captured(all[i]))
            status = NVSX_QUEUE_CAPTURED;
    for (size_t i = 0; i < count && !status; i++)
        nvsi_queue_reach(all[i], atomic_load(&all[i]->put));
    for (size_t i = 0; i < count; i++)
        nvsi_queue_unref(all[i]);
    free(all);
    return status ? status : nvsx_queue_synchronize(NULL);
}
