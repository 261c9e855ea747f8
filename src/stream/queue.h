/*
 * queue.h - streams of a process without a GPU: in-order queues of tasks, each with a worker
 * thread.
 *
 * Words
 *   queue    what a cudaStream_t points to here. The numbers 0, 1 and 2 are streams as well, as in
 *            CUDA: the default one (0 and 1), and that of the calling thread (2)
 *   task     a function and a copy of its argument. Tasks of a queue run one after the other, on
 *            the queue's worker; a worker that waits inside of a task holds up nobody else
 *   point    a place in a queue: reached when all tasks up to it have run
 *   capture  while a queue is captured its tasks become nodes of a graph instead (capture.c)
 *
 * The default queue and the blocking ones wait for each other, as in CUDA: a task of the default
 * queue runs when all that was put into blocking queues before it has run, and tasks of blocking
 * queues run when what was put into the default queue before them has run.
 *
 * Exported, because the stand-in for the CUDA runtime (src/standin) is made of these; not an
 * interface for programs. They return 0, a negative NVS_ERR_* with a sentence, or one of
 * NVSX_QUEUE_*. Any thread may call them, also before nvs is initialised.
 */
#ifndef NVSI_QUEUE_H
#define NVSI_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvshmem/visibility.h"

struct nvsi_queue;
struct nvsi_graph;
struct nvsi_runner;
struct nvsi_mark;

enum {
    NVSX_QUEUE_BUSY = 1,     /* not reached yet */
    NVSX_QUEUE_CAPTURED = 2, /* not allowed while the queue is captured */
    NVSX_QUEUE_UNKNOWN = 3,  /* no such queue */
    NVSX_QUEUE_INSIDE = 4,   /* called from a task, which would wait for itself */
    NVSX_QUEUE_UNJOINED = 5, /* the end of a capture: work that the origin does not wait for */
    NVSX_QUEUE_FOREIGN = 6, /* a capture would depend on what is outside of it, or on another one */
    NVSX_QUEUE_NO_CAPTURE = 7
};

/* What a task is. */
struct nvsi_task_kind {
    /* Called when the task is put into a queue, and for each launch of a graph: on the caller's
     * thread, in the order of the calls. An error: nothing was put. NULL: nothing to do. */
    int (*enter)(void *payload);
    int (*run)(void *payload);   /* on the worker: 0, or a negative NVS_ERR_* */
    void (*drop)(void *payload); /* the payload is not needed any more, run or not. NULL: nothing;
                                  * a payload that needs it cannot be captured */
};

/* ---- queues ---------------------------------------------------------------------------------- */

enum { NVSX_QUEUE_NON_BLOCKING = 1 }; /* takes no part in what the default queue waits for */

NVS_API int nvsx_queue_create(unsigned flags, int priority, struct nvsi_queue **queue);
/* Returns at once; what is in it still runs. */
NVS_API int nvsx_queue_destroy(void *stream);
NVS_API int nvsx_queue_look(void *stream, unsigned *flags, int *priority);

/* Copies the payload and puts the task at the end of the queue. */
NVS_API int nvsx_queue_put(void *stream, const struct nvsi_task_kind *kind, const void *payload,
                           size_t nbytes);
/* Returns when all that was put in before has run. An error of a task, of any queue, is returned by
 * the first call of these after it, with its sentence. */
NVS_API int nvsx_queue_synchronize(void *stream);
NVS_API int nvsx_queue_synchronize_all(void);
NVS_API int nvsx_queue_query(void *stream); /* 0, or NVSX_QUEUE_BUSY */
/* The first error of a task in this process: stays, and also its sentence. */
NVS_API int nvsx_queue_failure(const char **sentence);

/* ---- marks: points that others can wait for, with the time at which they were reached -------- */

/* Puts a mark into the queue; a reference for the caller. While the queue is captured the mark
 * stands for the nodes that the queue would go on from. */
NVS_API int nvsx_mark_put(void *stream, struct nvsi_mark **mark);
NVS_API void nvsx_mark_retain(struct nvsi_mark *mark);
NVS_API void nvsx_mark_release(struct nvsi_mark *mark);
NVS_API int nvsx_mark_query(const struct nvsi_mark *mark); /* 0, or NVSX_QUEUE_BUSY */
NVS_API int nvsx_mark_synchronize(struct nvsi_mark *mark);
NVS_API int64_t nvsx_mark_time_ns(const struct nvsi_mark *mark);
/* What is put into the queue from now on waits for the mark. */
NVS_API int nvsx_queue_wait(void *stream, struct nvsi_mark *mark);

/* ---- capture and replay: capture.c, graph.c -------------------------------------------------- */

NVS_API int nvsx_capture_begin(void *stream);
/* The graph; a reference for the caller. */
NVS_API int nvsx_capture_end(void *stream, struct nvsi_graph **graph);
/* *id: a number of this capture, 0 when the queue is not captured. */
NVS_API int nvsx_capture_look(void *stream, uint64_t *id);
NVS_API void nvsx_graph_release(struct nvsi_graph *graph);
NVS_API size_t nvsx_graph_nodes(const struct nvsi_graph *graph);
/* What launches a graph: has queues of its own for the branches. */
NVS_API int nvsx_runner_create(struct nvsi_graph *graph, struct nvsi_runner **runner);
NVS_API int nvsx_runner_launch(struct nvsi_runner *runner, void *stream);
NVS_API void nvsx_runner_release(struct nvsi_runner *runner);

#endif
