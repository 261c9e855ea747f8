/*
 * nodes.c - graphs as they grow: sets of nodes, and who comes after whom.
 *
 * A node comes after nodes that were there before it, so numbers are an order in which all of them
 * may run, and whoever follows what comes before a node only ever goes to smaller ones.
 */
#include "stream/queues.h"

#include <stdlib.h>
#include <string.h>

int nvsi_nodes_no_memory(void)
{
    return nvsi_error(NVS_ERR_MEMORY, "stream: no memory for a graph");
}

/* ---- sets of nodes --------------------------------------------------------------------------- */

int nvsi_tips_copy(size_t **copy, const size_t *tips, size_t ntips)
{
    *copy = malloc((ntips + 1) * sizeof **copy);
    if (!*copy)
        return nvsi_nodes_no_memory();
    if (ntips)
        memcpy(*copy, tips, ntips * sizeof **copy);
    return 0;
}

int nvsi_tips_set(struct nvsi_queue *queue, const size_t *tips, size_t ntips)
{
    size_t *copy;
    int status = nvsi_tips_copy(&copy, tips, ntips);
    if (status)
        return status;
    free(queue->tips);
    queue->tips = copy;
    queue->ntips = ntips;
    return 0;
}

int nvsi_tips_add(struct nvsi_queue *queue, const size_t *tips, size_t ntips)
{
    size_t *all = realloc(queue->tips, (queue->ntips + ntips + 1) * sizeof *all);
    if (!all)
        return nvsi_nodes_no_memory();
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

int nvsi_graph_add(struct nvsi_graph *graph, const struct nvsi_node *model)
{
    if (graph->nnodes == graph->room) {
        size_t room = graph->room ? 2 * graph->room : 16;
        struct nvsi_node *nodes = realloc(graph->nodes, room * sizeof *nodes);
        if (!nodes)
            return nvsi_nodes_no_memory();
        graph->nodes = nodes;
        graph->room = room;
    }
    struct nvsi_node node = *model;
    node.payload = malloc(node.nbytes + 1);
    if (!node.payload)
        return nvsi_nodes_no_memory();
    memcpy(node.payload, model->payload, node.nbytes);
    if (nvsi_tips_copy(&node.after, model->after, model->nafter)) {
        free(node.payload);
        return NVS_ERR_MEMORY;
    }
    graph->nodes[graph->nnodes++] = node;
    return 0;
}

/* ---- a queue and a whole graph --------------------------------------------------------------- */

int nvsi_graph_all_before(const struct nvsi_queue *queue, const struct nvsi_graph *graph,
                          bool *joined)
{
    bool *before = calloc(graph->nnodes + 1, sizeof *before);
    if (!before)
        return nvsi_nodes_no_memory();
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

/* Node number i of the graph, as a node of `into`, in which the graph's nodes begin at
 * number `base` and its lanes behind `lanes`. */
static int adopt_node(struct nvsi_queue *queue, struct nvsi_graph *into, struct nvsi_node node,
                      size_t base, size_t lanes)
{
    size_t *after;
    int status = node.nafter ? nvsi_tips_copy(&after, node.after, node.nafter)
                             : nvsi_tips_copy(&after, queue->tips, queue->ntips);
    if (status)
        return status;
    for (size_t i = 0; i < node.nafter; i++)
        after[i] += base;
    if (!node.nafter)
        node.nafter = queue->ntips;
    node.after = after;
    node.lane = node.lane ? node.lane + lanes - 1 : queue->lane;
    status = nvsi_graph_add(into, &node);
    free(after);
    return status;
}

/* The queue goes on after all of the graph's nodes that no other of its nodes comes after. */
static int after_graph(struct nvsi_queue *queue, const struct nvsi_graph *graph, size_t base)
{
    bool *inner = calloc(graph->nnodes + 1, sizeof *inner);
    if (!inner)
        return nvsi_nodes_no_memory();
    for (size_t i = 0; i < graph->nnodes; i++)
        for (size_t k = 0; k < graph->nodes[i].nafter; k++)
            inner[graph->nodes[i].after[k]] = true;
    if (graph->nnodes)
        queue->ntips = 0;
    int status = 0;
    for (size_t i = 0; !status && i < graph->nnodes; i++) {
        size_t tip = base + i;
        if (!inner[i])
            status = nvsi_tips_add(queue, &tip, 1);
    }
    free(inner);
    return status;
}

int nvsi_graph_adopt(struct nvsi_graph *into, const struct nvsi_graph *graph,
                     struct nvsi_queue *queue)
{
    size_t base = into->nnodes, lanes = into->nlanes;
    int status = 0;
    into->nlanes += graph->nlanes - 1;
    for (size_t i = 0; !status && i < graph->nnodes; i++)
        status = adopt_node(queue, into, graph->nodes[i], base, lanes);
    return status ? status : after_graph(queue, graph, base);
}
