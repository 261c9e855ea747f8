/*
 * execute.c - a series of iterations, in the mode of the options.
 *
 *   host     the op's own loop
 *   stream   all iterations are put into a stream, then the host waits for it
 *   graph    a graph of up to GRAPH_ITERS iterations is replayed, a second one is the rest
 *   kernel   one kernel has the loop (kernel.c)
 *
 * With --blocking each iteration is waited for before the next one is begun.
 *
 * What waits for a word of the other PE compares with a count that grows for ever, except in a
 * graph, where values stay the same at every replay: there they are 1 and 2 in turns. A graph has
 * an even number of iterations, or is not replayed, so that the turns go on, and the words are 0
 * when a series begins. A PE sends 2 when it has seen the answer to 1, so no value is overtaken.
 */
#include "perf.h"

enum { GRAPH_ITERS = 100 };

const char *const mode_names[NUM_MODES] = {"host", "stream", "graph", "thread", "warp", "block"};

struct answer answer_of(struct call *call, uint64_t *count, size_t turn)
{
    bool ring = call->route.to >= 0 && call->route.from >= 0;
    uint64_t value = 1 + turn % 2;
    if (call->options->mode == MODE_GRAPH)
        return (struct answer){value, value, SHMEM_SIGNAL_SET, SHMEM_CMP_EQ};
    value = ++*count;
    if (ring)
        return (struct answer){1, value, SHMEM_SIGNAL_ADD, SHMEM_CMP_GE};
    return (struct answer){value, value, SHMEM_SIGNAL_SET, SHMEM_CMP_GE};
}

void board_set(struct call *call, uint64_t *word, uint64_t value)
{
    shmem_uint64_p(word, value, call->me);
    shmem_quiet();
}

uint64_t board_get(struct call *call, const uint64_t *word)
{
    return shmem_uint64_g(word, call->me);
}

/* Streams of host memory are queues of nvs; a g waits for all that is before it. */
static cudaStream_t stream_of(const struct call *call)
{
    return call->options->device ? gpu_stream() : NULL;
}

static void synchronize(const struct call *call)
{
    if (call->options->device)
        gpu_synchronize();
    else
        (void)nvshmemx_uint64_g_on_stream(&call->board->word, call->me, NULL);
}

/* ---- streams and graphs ---------------------------------------------------------------------- */

static void enqueue(struct call *call, size_t first, size_t n, size_t turn)
{
    struct rotor at = rotor_at(call, first);
    cudaStream_t stream = stream_of(call);
    for (size_t i = 0; i < n; i++, rotor_next(&at))
        call->op->enqueue(call, &at, turn + i, stream);
    if (call->op->quiet_last)
        nvshmemx_quiet_on_stream(stream);
}

static void run_stream(struct call *call, size_t first, size_t n)
{
    size_t at_once = call->options->blocking ? 1 : n;
    for (size_t i = 0; i < n; i += at_once) {
        enqueue(call, first + i, at_once, i);
        synchronize(call);
    }
}

static void *capture(struct call *call, size_t first, size_t n, size_t turn)
{
    if (!n)
        return NULL;
    gpu_graph_begin();
    enqueue(call, first, n, turn);
    return gpu_graph_end();
}

static void prepare_graphs(struct call *call, size_t first, size_t n)
{
    if (call->graphs.n == n && call->graphs.first == first)
        return;
    call_release(call);
    size_t many = n < GRAPH_ITERS ? n : GRAPH_ITERS;
    size_t iters[2] = {many, n % many};
    if (call->options->blocking)
        iters[0] = iters[1] = 1;
    for (size_t i = 0; i < 2; i++) {
        call->graphs.iters[i] = iters[i];
        call->graphs.graph[i] = capture(call, first + i * iters[0], iters[i], i * iters[0]);
    }
    call->graphs.n = n;
    call->graphs.first = first;
    gpu_synchronize();
}

static void run_graphs(struct call *call, size_t n)
{
    if (call->options->blocking) {
        for (size_t i = 0; i < n; i++) {
            gpu_graph_launch(call->graphs.graph[i % 2]);
            gpu_synchronize();
        }
        return;
    }
    for (size_t i = 0; i < n / call->graphs.iters[0]; i++)
        gpu_graph_launch(call->graphs.graph[0]);
    if (call->graphs.iters[1])
        gpu_graph_launch(call->graphs.graph[1]);
    gpu_synchronize();
}

void call_release(struct call *call)
{
    for (int i = 0; i < 2; i++) {
        if (call->graphs.graph[i])
            gpu_graph_drop(call->graphs.graph[i]);
        call->graphs.graph[i] = NULL;
    }
    call->graphs.n = 0;
}

/* ---- all modes ------------------------------------------------------------------------------- */

void call_prepare(struct call *call, size_t first, size_t n)
{
    call->prepared = true;
    if (call->options->mode != MODE_GRAPH)
        return;
    prepare_graphs(call, first, n);
    if (call->op->answers) {
        board_set(call, &call->board->signal, 0);
        board_set(call, &call->board->turn, 0);
        shmem_barrier_all();
    }
}

static void run_each(struct call *call, size_t first, size_t n,
                     void (*run)(struct call *call, size_t first, size_t n))
{
    size_t at_once = call->options->blocking ? 1 : n;
    for (size_t i = 0; i < n; i += at_once)
        run(call, first + i, at_once);
}

void call_run(struct call *call, size_t first, size_t n)
{
    enum mode mode = call->options->mode;
    if (!call->prepared)
        call_prepare(call, first, n);
    call->prepared = false;
    if (mode == MODE_HOST)
        run_each(call, first, n, call->op->run);
    else if (mode == MODE_STREAM)
        run_stream(call, first, n);
    else if (mode == MODE_GRAPH)
        run_graphs(call, n);
    else
        run_each(call, first, n, kernel_run);
}
