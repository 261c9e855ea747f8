/*
 * kernel.c - a series inside of a kernel (kernels.cuh).
 *
 * A thread, a warp or a block has the loop. Copies of a put or get may be shared out to several
 * blocks (--blocks); everything else is done by one. A block has one thread for each 16 bytes, 32
 * to 1024 of them, and 256 if there is no data.
 */
#include "kernels.h"
#include "perf.h"

static unsigned threads_of(const struct call *call, size_t nbytes)
{
    enum { VECTOR = 16, WARP = 32, MOST = 1024, WITHOUT_DATA = 256 };
    if (call->options->mode == MODE_THREAD)
        return 1;
    if (call->options->mode == MODE_WARP)
        return WARP;
    if (!nbytes)
        return WITHOUT_DATA;
    size_t threads = (nbytes / VECTOR + WARP - 1) / WARP * WARP;
    return (unsigned)(threads < WARP ? WARP : threads > MOST ? MOST : threads);
}

/* A block is worth its start for some kilobytes. */
static unsigned blocks_of_grid(const struct call *call)
{
    enum { LEAST = 4096 };
    bool shared = call->op->kernel >= KERNEL_PUT && call->op->kernel <= KERNEL_GET_NBI;
    size_t blocks = (size_t)call->options->blocks, most = call->nbytes / LEAST;
    if (!shared || call->options->mode != MODE_BLOCK)
        return 1;
    if (blocks == BLOCKS_AUTO)
        blocks = (size_t)gpu_multiprocessors();
    return (unsigned)(blocks < most ? blocks : most ? most : 1);
}

static enum kernel kernel_of(const struct call *call)
{
    if (call->op->by_thread)
        return KERNEL_OF_WORDS;
    return call->options->mode == MODE_THREAD ? KERNEL_OF_THREAD
           : call->options->mode == MODE_WARP ? KERNEL_OF_WARP
                                              : KERNEL_OF_BLOCK;
}

/* Whether this PE has anything to do: the target of a put has not. */
static bool takes_part(const struct call *call)
{
    if (!call->op->routed || call->route.to >= 0)
        return true;
    return call->op->answers && call->route.from >= 0;
}

void kernel_run(struct call *call, size_t first, size_t n)
{
    unsigned blocks = blocks_of_grid(call);
    uint64_t *count =
        call->op->kernel == KERNEL_PING_PONG ? &call->pool->turns : &call->pool->signals;
    struct kernel_args args = {
        .dst = call->dst,
        .src = call->src,
        .nbytes = call->nbytes,
        .count = call->count,
        .stride = call->stride,
        .copies = call->copies,
        .first = first,
        .n = n,
        .signal = &call->board->signal,
        .turn = &call->board->turn,
        .word = &call->board->word,
        .answers = *count,
        .old = call->fetched,
        .result = gpu_result(),
        .op = call->op->kernel,
        .to = call->route.to,
        .from = call->route.from,
        .root = call->root,
        .type = call->type ? (int)call->type->code : 0,
        .elem_bytes = call->type ? (int)call->type->size : 0,
    };
    if (!takes_part(call))
        return;
    gpu_launch(kernel_of(call), blocks, threads_of(call, call->nbytes / blocks), &args);
    gpu_synchronize();
    if (call->op->answers)
        *count += n;
    if (call->op->kernel >= KERNEL_ATOMIC)
        gpu_download(&call->fetched, gpu_result(), sizeof(call->fetched));
}
