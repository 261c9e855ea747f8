/*
 * graph.c - what a capture has recorded, and its replay.
 *
 * Branches of a graph run at the same time, since one may wait for another. A node begins when all
 * before it have ended: on the thread that ended the last of them, or on one of the pool.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct CUgraphExec_st {
    atomic_uint refs;
    struct CUgraph_st *graph;
    struct fake_moment last; /* two launches of one of them follow each other */
};

/* ---- graphs ---------------------------------------------------------------------------------- */

unsigned fake_graph_add(struct CUgraph_st *graph, struct fake_op *op, const unsigned *before,
                        unsigned nbefore)
{
    graph->nodes = realloc(graph->nodes, (graph->nnodes + 1) * sizeof *graph->nodes);
    struct fake_node node = {.op = op, .nbefore = nbefore};
    node.before = malloc((nbefore + 1) * sizeof *node.before);
    if (!graph->nodes || !node.before)
        abort();
    if (nbefore)
        memcpy(node.before, before, nbefore * sizeof *before);
    graph->nodes[graph->nnodes] = node;
    return graph->nnodes++;
}

void fake_graph_release(struct CUgraph_st *graph)
{
    if (atomic_fetch_sub(&graph->refs, 1) != 1)
        return;
    for (unsigned i = 0; i < graph->nnodes; i++) {
        fake_op_free(graph->nodes[i].op);
        free(graph->nodes[i].before);
    }
    free(graph->nodes);
    free(graph);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    ENTER();
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    fake_graph_release(graph);
    return CUDA_SUCCESS;
}

/* ---- replay ---------------------------------------------------------------------------------- */

struct replay {
    struct CUgraph_st *graph;
    unsigned *missing; /* of the nodes before each */
    unsigned left;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

struct branch {
    struct replay *replay;
    unsigned node;
};

static void run_branch(void *arg);

static void start_branch(struct replay *replay, unsigned node)
{
    struct branch *branch = malloc(sizeof *branch);
    if (!branch)
        abort();
    *branch = (struct branch){replay, node};
    fake_pool_run(run_branch, branch);
}

/* Node `ended` is done: the first of those that may begin now is returned, the others get a thread;
 * -1: none. */
static long go_on(struct replay *replay, unsigned ended)
{
    long next = -1;
    pthread_mutex_lock(&replay->lock);
    for (unsigned i = ended + 1; i < replay->graph->nnodes; i++) {
        const struct fake_node *node = &replay->graph->nodes[i];
        for (unsigned k = 0; k < node->nbefore; k++) {
            if (node->before[k] != ended || --replay->missing[i])
                continue;
            if (next < 0)
                next = i;
            else
                start_branch(replay, i);
        }
    }
    if (--replay->left == 0)
        pthread_cond_signal(&replay->ended);
    pthread_mutex_unlock(&replay->lock);
    return next;
}

static void run_branch(void *arg)
{
    struct branch branch = *(struct branch *)arg;
    free(arg);
    long node = branch.node;
    while (node >= 0) {
        struct fake_op *op = branch.replay->graph->nodes[node].op;
        if (op->run)
            op->run(op);
        node = go_on(branch.replay, (unsigned)node);
    }
}

static void replay(struct CUgraph_st *graph)
{
    struct replay replay = {.graph = graph,
                            .missing = calloc(graph->nnodes + 1, sizeof *replay.missing),
                            .left = graph->nnodes,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .ended = PTHREAD_COND_INITIALIZER};
    if (!replay.missing)
        abort();
    for (unsigned i = 0; i < graph->nnodes; i++)
        replay.missing[i] = graph->nodes[i].nbefore;
    for (unsigned i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i].nbefore == 0)
            start_branch(&replay, i);
    pthread_mutex_lock(&replay.lock);
    while (replay.left)
        pthread_cond_wait(&replay.ended, &replay.lock);
    pthread_mutex_unlock(&replay.lock);
    free(replay.missing);
}

/* ---- executable graphs ----------------------------------------------------------------------- */

static void exec_release(CUgraphExec exec)
{
    if (atomic_fetch_sub(&exec->refs, 1) != 1)
        return;
    fake_graph_release(exec->graph);
    free(exec);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    ENTER_CONTEXT(context);
    if (!exec || !graph || flags || !context)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphExec made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->refs = 1;
    made->graph = graph;
    atomic_fetch_add(&graph->refs, 1);
    *exec = made;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    ENTER();
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    exec_release(exec);
    return CUDA_SUCCESS;
}

static void run_graph(struct fake_op *op)
{
    replay((*(CUgraphExec *)(void *)op->payload)->graph);
}

static void drop_graph(struct fake_op *op)
{
    exec_release(*(CUgraphExec *)(void *)op->payload);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER_CONTEXT(context);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op = fake_op_new(run_graph, drop_graph, sizeof exec);
    *(CUgraphExec *)(void *)op->payload = exec;
    atomic_fetch_add(&exec->refs, 1);
    pthread_mutex_lock(&fake.lock);
    if (exec->last.stream)
        fake_op_after_locked(op, exec->last);
    pthread_mutex_unlock(&fake.lock);
    struct fake_moment moment;
    CUresult result = fake_submit(context, stream, op, &moment);
    if (!result && moment.stream)
        exec->last = moment;
    return result;
}
