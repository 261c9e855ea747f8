/*
 * queues.h - what queue.c, mark.c, registry.c, capture.c, nodes.c and graph.c share.
 *
 * Locks: the registry's, then one queue's. A worker holds none while it waits for another queue or
 * runs a task. Captures have a lock of their own, which is taken before all others.
 */
#ifndef NVSI_QUEUES_H
#define NVSI_QUEUES_H

#include <pthread.h>
#include <stdatomic.h>

#include "nvs_internal.h"
#include "stream/queue.h"

struct nvsi_point {
    struct nvsi_queue *queue; /* with a reference */
    uint64_t ticket;
};

struct nvsi_task {
    struct nvsi_task *next;
    const struct nvsi_task_kind *kind; /* NULL: only waits for its points */
    struct nvsi_point *after;          /* it runs when these are reached */
    size_t nafter, room, nbytes;
    _Alignas(16) char payload[];
};

struct nvsi_capture;

struct nvsi_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, moved; /* a task came, or the end; a task has run */
    struct nvsi_task *first, **last;
    _Atomic uint64_t put, done; /* tasks put in; tasks run. Changed with the lock held */
    int waiters;                /* threads that wait for `moved` */
    bool started, closing;
    unsigned flags;
    int priority;
    _Atomic int refs;
    struct nvsi_queue *next; /* in the registry */
    /* Under the lock of captures, but for the look whether there is one. */
    struct nvsi_capture *_Atomic capture;
    size_t lane, *tips, ntips; /* the nodes that its next node comes after */
};

/* ---- queue.c ---- */

void nvsi_queue_init(struct nvsi_queue *queue, unsigned flags, int priority);
struct nvsi_queue *nvsi_queue_new(unsigned flags, int priority);
void nvsi_queue_unref(struct nvsi_queue *queue);
/* No task comes any more; the worker ends when it has run all. Drops the caller's reference. */
void nvsi_queue_close(struct nvsi_queue *queue);
struct nvsi_task *nvsi_task_new(const struct nvsi_task_kind *kind, const void *payload,
                                size_t nbytes);
void nvsi_task_free(struct nvsi_task *task);
/* The task waits for this point, unless that is reached or in its own queue. */
int nvsi_task_after(struct nvsi_task *task, struct nvsi_queue *queue, uint64_t ticket);
/* Enters the task and puts it into the queue. The task is the queue's, or freed on an error. */
int nvsi_queue_push(struct nvsi_queue *queue, struct nvsi_task *task, uint64_t *ticket);
bool nvsi_queue_reached(const struct nvsi_queue *queue, uint64_t ticket);
void nvsi_queue_reach(struct nvsi_queue *queue, uint64_t ticket);
/* Whether this thread is a worker. */
bool nvsi_queue_inside(void);
/* The queue of a stream that is about to be used, with a reference. */
int nvsi_queue_open(void *stream, struct nvsi_queue **queue);
/* The result of a call that has synchronised: 0, or the error of a task, with its sentence. */
int nvsi_queue_result(void);
/* 0, or the error of a call in a child of fork(). */
int nvsi_queue_usable(void);

/* ---- registry.c ---- */

extern struct nvsi_queue nvsi_default_queue __attribute__((visibility("hidden")));
/* The queue of a stream, with a reference; or NVSX_QUEUE_UNKNOWN. */
int nvsi_queue_of(void *stream, struct nvsi_queue **queue);
/* The default queue and the blocking ones wait for each other: the points for a task of `queue`. */
int nvsi_queue_order(struct nvsi_queue *queue, struct nvsi_task *task);

/* ---- nodes.c ---- */

/* A step of a graph. */
struct nvsi_node {
    const struct nvsi_task_kind *kind;
    void *payload;
    size_t nbytes;
    size_t lane;           /* which of the captured queues; 0: the one in which the capture began */
    size_t *after, nafter; /* nodes, all of them earlier ones */
};

struct nvsi_graph {
    _Atomic int refs;
    struct nvsi_node *nodes;
    size_t nnodes, room, nlanes;
};

int nvsi_nodes_no_memory(void); /* the error */
/* A set of nodes, copied; *copy is for the caller to free. */
int nvsi_tips_copy(size_t **copy, const size_t *tips, size_t ntips);
/* What a queue's next node comes after: this alone; this, too. */
int nvsi_tips_set(struct nvsi_queue *queue, const size_t *tips, size_t ntips);
int nvsi_tips_add(struct nvsi_queue *queue, const size_t *tips, size_t ntips);
/* A copy of the node and of its payload. */
int nvsi_graph_add(struct nvsi_graph *graph, const struct nvsi_node *model);
/* Whether all nodes come before the queue's tips: then waiting for the queue waits for all. */
int nvsi_graph_all_before(const struct nvsi_queue *queue, const struct nvsi_graph *graph,
                          bool *joined);
/* All of `graph` behind the queue's tips, as nodes of `into`; the queue goes on after them. */
int nvsi_graph_adopt(struct nvsi_graph *into, const struct nvsi_graph *graph,
                     struct nvsi_queue *queue);

/* ---- capture.c ---- */

struct nvsi_capture {
    _Atomic int refs;
    uint64_t id;
    bool over;
    struct nvsi_queue *origin;
    struct nvsi_graph *graph;
};

/* Captures are rare and short: one lock for all of them. */
extern pthread_mutex_t nvsi_capture_lock __attribute__((visibility("hidden")));

/* Whether the queue takes part in a capture that is not over. */
bool nvsi_queue_captured(struct nvsi_queue *queue);
/* A task of a captured queue becomes a node. Consumes the task. */
int nvsi_capture_task(struct nvsi_queue *queue, struct nvsi_task *task);
/* All of another graph as nodes of the queue's capture. */
int nvsi_capture_graph(struct nvsi_queue *queue, const struct nvsi_graph *graph);
int nvsi_capture_mark(struct nvsi_queue *queue, struct nvsi_mark *mark);
/* What the queue does next comes after the mark, which may bring the queue into a capture.
 * *captured: that was all there is to do. */
int nvsi_capture_wait(struct nvsi_queue *queue, struct nvsi_mark *mark, bool *captured);
void nvsi_capture_forget(struct nvsi_mark *mark);

struct nvsi_mark {
    _Atomic int refs;
    struct nvsi_point at;    /* queue NULL: of a capture */
    _Atomic int64_t time_ns; /* 0: not reached */
    struct nvsi_capture *capture;
    size_t *tips, ntips;
};

#endif
