/*
 * pool.c - threads for blocks and for branches of graphs. One more whenever all are busy, since any
 * of them may wait for any other; idle ones are kept.
 */
#include <stdlib.h>

#include "fake.h"

struct job {
    void (*fn)(void *);
    void *arg;
    struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static unsigned idle, waiting;

static void *serve(void *unused)
{
    (void)unused;
    fake_allow_device_memory(true);
    pthread_mutex_lock(&lock);
    for (;;) {
        idle++;
        while (!jobs)
            pthread_cond_wait(&work, &lock);
        idle--;
        waiting--;
        struct job *job = jobs;
        jobs = job->next;
        pthread_mutex_unlock(&lock);
        job->fn(job->arg);
        free(job);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, serve, NULL) != 0)
        abort();
    pthread_attr_destroy(&attr);
}

void fake_pool_run(void (*fn)(void *), void *arg)
{
    struct job *job = malloc(sizeof *job);
    if (!job)
        abort();
    *job = (struct job){fn, arg, NULL};
    pthread_mutex_lock(&lock);
    struct job **link = &jobs;
    while (*link)
        link = &(*link)->next;
    *link = job;
    bool more = ++waiting > idle;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    if (more)
        start();
}
