/*
 * capture.c - streams whose operations are recorded instead of done.
 *
 * A stream that captures has a frontier: the nodes after which its next one comes. An event
 * recorded in it is a copy of the frontier; a stream that waits for such an event joins the
 * capture. The rules about what else may be called meanwhile are the real driver's, since they are
 * what programs trip over.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct fake_capture {
    uint64_t id;
    struct CUgraph_st *graph;
    struct CUstream_st *origin;
    const void *owner; /* the thread that began it */
    int mode;
    bool spoiled;
    struct fake_capture *next;
};

static struct fake_capture *captures;
static uint64_t last_id;
static __thread int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static __thread char this_thread;

static CUresult state_of(const struct fake_capture *capture)
{
    return capture->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult fake_capture_spoil_locked(struct fake_capture *capture, CUresult result)
{
    capture->spoiled = true;
    return result;
}

static void set_frontier(struct CUstream_st *stream, const unsigned *nodes, unsigned nnodes)
{
    unsigned *copy = malloc((nnodes + 1) * sizeof *copy);
    if (!copy)
        abort();
    if (nnodes)
        memcpy(copy, nodes, nnodes * sizeof *copy);
    free(stream->frontier);
    stream->frontier = copy;
    stream->nfrontier = nnodes;
}

CUresult fake_capture_add_locked(struct CUstream_st *stream, struct fake_op *op)
{
    CUresult result = state_of(stream->capture);
    if (result)
        return result;
    unsigned node = fake_graph_add(stream->capture->graph, op, stream->frontier, stream->nfrontier);
    set_frontier(stream, &node, 1);
    return CUDA_SUCCESS;
}

/* ---- calls that do not go with a capture ----------------------------------------------------- */

/* Relaxed threads may do anything; others must leave alone their own captures, and in mode global
 * those of other threads that are global, too. */
CUresult fake_unsafe_locked(void)
{
    CUresult result = CUDA_SUCCESS;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (struct fake_capture *capture = captures; capture; capture = capture->next) {
        bool mine = capture->owner == &this_thread;
        bool disturbed = mine ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                              : thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                    capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (disturbed)
            result = fake_capture_spoil_locked(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return result;
}

CUresult fake_unsafe(void)
{
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_unsafe_locked();
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult fake_implicit_locked(struct CUctx_st *context, bool spoil)
{
    CUresult result = CUDA_SUCCESS;
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next) {
        if (!stream->capture || stream->context != context || !stream->blocking)
            continue;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        stream->capture->spoiled |= spoil;
    }
    return result;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
    ENTER();
    if (!mode || *mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- events ---------------------------------------------------------------------------------- */

CUresult fake_capture_mark_locked(struct CUstream_st *stream, struct fake_capture_point *point)
{
    CUresult result = state_of(stream->capture);
    if (result)
        return result;
    unsigned *nodes = malloc((stream->nfrontier + 1) * sizeof *nodes);
    if (!nodes)
        abort();
    memcpy(nodes, stream->frontier, stream->nfrontier * sizeof *nodes);
    free(point->nodes);
    *point =
        (struct fake_capture_point){stream->capture, stream->capture->id, nodes, stream->nfrontier};
    return CUDA_SUCCESS;
}

static struct fake_capture *capture_of_locked(const struct fake_capture_point *point)
{
    for (struct fake_capture *capture = captures; capture; capture = capture->next)
        if (capture == point->capture && capture->id == point->id)
            return capture;
    return NULL;
}

CUresult fake_capture_join_locked(struct CUstream_st *stream,
                                  const struct fake_capture_point *point)
{
    struct fake_capture *capture = capture_of_locked(point);
    if (!capture)
        return CUDA_ERROR_CAPTURED_EVENT; /* that capture has ended */
    CUresult result = state_of(capture);
    if (result)
        return result;
    if (stream->legacy)
        return fake_capture_spoil_locked(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream->capture && stream->capture != capture)
        return fake_capture_spoil_locked(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    unsigned old = stream->capture ? stream->nfrontier : 0, total = old + point->nnodes;
    unsigned *both = malloc((total + 1) * sizeof *both);
    if (!both)
        abort();
    if (old)
        memcpy(both, stream->frontier, old * sizeof *both);
    memcpy(both + old, point->nodes, point->nnodes * sizeof *both);
    set_frontier(stream, both, total);
    free(both);
    stream->capture = capture;
    return CUDA_SUCCESS;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static struct fake_capture *begin_locked(struct CUstream_st *stream, int mode)
{
    struct fake_capture *capture = calloc(1, sizeof *capture);
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (!capture || !graph)
        abort();
    graph->refs = 1;
    *capture = (struct fake_capture){.id = ++last_id,
                                     .graph = graph,
                                     .origin = stream,
                                     .owner = &this_thread,
                                     .mode = mode,
                                     .next = captures};
    captures = capture;
    return capture;
}

CUresult cuStreamBeginCapture(CUstream handle, int mode)
{
    ENTER_CONTEXT(context);
    struct CUstream_st *stream;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result && stream->legacy)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!result && (stream->capture || mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        stream->capture = begin_locked(stream, mode);
        set_frontier(stream, NULL, 0);
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

static void mark_ancestors(const struct CUgraph_st *graph, unsigned node, char *marks)
{
    if (marks[node])
        return;
    marks[node] = 1;
    for (unsigned i = 0; i < graph->nodes[node].nbefore; i++)
        mark_ancestors(graph, graph->nodes[node].before[i], marks);
}

/* Whether the origin comes after all that the other streams have added. */
static bool all_joined_locked(const struct fake_capture *capture)
{
    const struct CUgraph_st *graph = capture->graph;
    char *marks = calloc(graph->nnodes + 1, 1);
    bool joined = true;
    if (!marks)
        abort();
    for (unsigned i = 0; i < capture->origin->nfrontier; i++)
        mark_ancestors(graph, capture->origin->frontier[i], marks);
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next)
        for (unsigned i = 0; stream->capture == capture && i < stream->nfrontier; i++)
            joined = joined && marks[stream->frontier[i]];
    free(marks);
    return joined;
}

static void end_locked(struct fake_capture *capture)
{
    for (struct CUstream_st *stream = fake.streams; stream; stream = stream->next) {
        if (stream->capture != capture)
            continue;
        stream->capture = NULL;
        free(stream->frontier);
        stream->frontier = NULL;
        stream->nfrontier = 0;
    }
    struct fake_capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    free(capture);
}

static CUresult finish_locked(struct CUstream_st *stream, struct CUgraph_st **graph)
{
    struct fake_capture *capture = stream->capture;
    if (!capture)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->owner != &this_thread)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = state_of(capture);
    if (!result && !all_joined_locked(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = capture->graph;
    end_locked(capture);
    return result;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    ENTER_CONTEXT(context);
    struct CUstream_st *stream;
    struct CUgraph_st *graph = NULL;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result)
        result = finish_locked(stream, &graph);
    pthread_mutex_unlock(&fake.lock);
    if (result && graph) {
        fake_graph_release(graph);
        graph = NULL;
    }
    if (out)
        *out = graph;
    return result;
}

static int status_of(const struct fake_capture *capture)
{
    if (!capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->spoiled ? 2 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult ask(CUstream handle, int *status, uint64_t *id)
{
    ENTER_CONTEXT(context);
    struct CUstream_st *stream;
    pthread_mutex_lock(&fake.lock);
    CUresult result = fake_stream_find_locked(context, handle, &stream);
    if (!result && stream->legacy)
        result = fake_implicit_locked(context, false); /* a question does no harm */
    if (!result) {
        *status = status_of(stream->capture);
        *id = stream->capture ? stream->capture->id : 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuStreamIsCapturing(CUstream handle, int *status)
{
    uint64_t id;
    return ask(handle, status, &id);
}

/* Only what nvs asks: the graph and its nodes are not told. */
CUresult cuStreamGetCaptureInfo(CUstream handle, int *status, uint64_t *id, void **graph,
                                const void **nodes, size_t *nnodes)
{
    uint64_t found;
    if (graph || nodes || nnodes)
        return CUDA_ERROR_INVALID_VALUE;
    return ask(handle, status, id ? id : &found);
}
