/*
 * buffers.c - the pool: symmetric memory in which source and destination lie, guarded, several
 * times.
 *
 *   copy 0                                          copy 1
 *   guard | source | guard | destination | guard || guard | ...
 *
 * In place there is one area, which is both. All copies that an iteration may use are filled, and
 * touched by the other PEs, before the clock starts: no page is seen for the first time while it
 * runs.
 *
 * Copies take turns so that an operation does not find its data in the cache because it moved the
 * same data just before; together they are at least twice as large as the last-level cache, if the
 * iterations of a line use that many.
 *
 * Device memory is not touched by the host: data is made and compared in an image, host memory of
 * the same layout, and copied.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 64, ALIGN = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int blocks_of(int shape, int npes)
{
    return shape == SHAPE_ALL ? npes : shape == SHAPE_ONE ? 1 : 0;
}

/* In place: a PE's single block is its own among those of all (NCCL's form). */
static void place_in_place(struct call *call, int num_src, int num_dst)
{
    struct area *area = &call->areas[0];
    int blocks = num_src > num_dst ? num_src : num_dst;
    *area = (struct area){.blocks = blocks, .num_src = num_src, .num_dst = num_dst};
    if (num_src < blocks)
        area->src_first = call->me;
    if (num_dst < blocks)
        area->dst_first = call->me;
    call->num_areas = 1;
}

static void place_areas(struct call *call)
{
    int num_src = blocks_of(call->op->src_shape, call->npes);
    int num_dst = blocks_of(call->op->dst_shape, call->npes);
    if (call->in_place) {
        place_in_place(call, num_src, num_dst);
    } else {
        call->areas[0] = (struct area){.blocks = num_src, .num_src = num_src};
        call->areas[1] = (struct area){.blocks = num_dst, .num_dst = num_dst};
        call->num_areas = 2;
    }
    size_t at = 0;
    for (int i = 0; i < call->num_areas; i++) {
        call->areas[i].at = aligned(at + GUARD);
        at = call->areas[i].at + (size_t)call->areas[i].blocks * call->nbytes;
    }
    call->stride = aligned(at + GUARD);
}

void call_place(struct call *call, struct pool *pool, size_t max_copies)
{
    size_t threads = call->op->threaded ? (size_t)call->options->threads : 1;
    place_areas(call);
    call->copies = pool->bytes / call->stride;
    if (!pool->rotates || max_copies < threads)
        max_copies = threads;
    if (call->copies > max_copies)
        call->copies = max_copies;
    const struct area *src = &call->areas[0], *dst = &call->areas[call->num_areas - 1];
    call->pool = pool;
    call->board = pool->board;
    call->src = pool->base + src->at + (size_t)src->src_first * call->nbytes;
    call->dst = pool->base + dst->at + (size_t)dst->dst_first * call->nbytes;
}

void call_touch(const struct call *call)
{
    enum { PAGE = 4096 };
    struct pool *pool = call->pool;
    size_t end = call->copies * call->stride;
    for (int pe = 0; pe < call->npes && end > pool->touched && !call->options->device; pe++) {
        volatile const char *theirs = shmem_ptr(pool->base, pe);
        for (size_t at = pool->touched; theirs && at < end; at += PAGE)
            (void)theirs[at];
    }
    if (end > pool->touched)
        pool->touched = end;
}

void copy_fill(const struct call *call, size_t copy, const struct data *data)
{
    size_t start = copy * call->stride;
    canary_fill(call->pool->image, start, start + call->stride);
    for (int i = 0; i < call->num_areas; i++) {
        const struct area *area = &call->areas[i];
        char *src = call->pool->image + start + area->at + (size_t)area->src_first * call->nbytes;
        data_fill(data, call->me, 0, (size_t)area->num_src * call->count, src);
    }
    if (call->options->device)
        gpu_upload(call->pool->base + start, call->pool->image + start, call->stride);
}

void copies_fill(const struct call *call, const struct data *data)
{
    size_t each = call->options->device ? 1 : call->copies;
    for (size_t copy = 0; copy < each; copy++)
        copy_fill(call, copy, data);
    for (size_t copy = each; copy < call->copies; copy++)
        gpu_copy(call->pool->base + copy * call->stride, call->pool->base, call->stride);
    if (call->options->device)
        gpu_synchronize();
}

/* Wrong elements of a block that was to be written, or wrong bytes of one that was not. */
static size_t block_wrong(const struct call *call, size_t at, const struct area *area, int block,
                          const struct data *data)
{
    const char *elems = call->pool->image + at;
    struct origin origin = {.pe = NOT_WRITTEN};
    if (block >= area->dst_first && block < area->dst_first + area->num_dst)
        origin = call->op->origin(call, block - area->dst_first);
    if (origin.pe == FOLD_OF_ALL)
        return data_wrong_fold(data, origin.index, call->count, elems);
    if (origin.pe >= 0)
        return data_wrong_copy(data, origin.pe, origin.index, call->count, elems);
    if (block >= area->src_first && block < area->src_first + area->num_src)
        return data_wrong_copy(data, call->me, (size_t)(block - area->src_first) * call->count,
                               call->count, elems);
    return canary_wrong(call->pool->image, at, at + call->nbytes);
}

size_t copy_wrong(const struct call *call, size_t copy, const struct data *data)
{
    const char *image = call->pool->image;
    size_t start = copy * call->stride, at = start, wrong = 0;
    if (call->options->device)
        gpu_download(call->pool->image + start, call->pool->base + start, call->stride);
    for (int i = 0; i < call->num_areas; i++) {
        const struct area *area = &call->areas[i];
        wrong += canary_wrong(image, at, start + area->at);
        at = start + area->at;
        for (int block = 0; block < area->blocks; block++, at += call->nbytes)
            wrong += block_wrong(call, at, area, block, data);
    }
    return wrong + canary_wrong(image, at, start + call->stride);
}

/* ---- the memory ---------------------------------------------------------------------------------
 */

struct need {
    size_t bytes;
    const char *op; /* that needs most */
    size_t size;
};

static void need_of(const struct plan *plan, const struct call *planned)
{
    struct need *need = plan->context;
    struct call call = *planned;
    place_areas(&call);
    size_t threads = call.op->threaded ? (size_t)plan->options->threads : 1;
    if (call.stride * threads > need->bytes)
        *need = (struct need){call.stride * threads, call.op->name, call.size};
}

/* The kernel knows what shares a cache; what libc makes of the processor's tables is a guess, which
 * on some machines is the sum of several caches. */
static size_t cache_bytes(void)
{
    char text[32] = "";
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    size_t bytes = 0;
    if (file && fgets(text, sizeof(text), file)) {
        text[strcspn(text, "\n")] = 0;
        word_size(text, &bytes);
    }
    if (file)
        fclose(file);
    long guess = bytes ? 0 : sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (guess > 0)
        bytes = (size_t)guess;
    return bytes ? bytes : (size_t)32 << 20;
}

static void *allocate(const struct options *options, size_t nbytes)
{
    return options->device ? nvshmem_malloc(nbytes) : nvs_malloc(nbytes);
}

static void release(const struct options *options, void *ptr)
{
    if (options->device)
        nvshmem_free(ptr);
    else
        nvs_free(ptr);
}

/* More copies only where there is room: without them the figures are still right for a warm cache.
 */
static bool pool_allocate(struct pool *pool, size_t least, const struct options *options)
{
    pool->rotates = options->rotate;
    pool->bytes = pool->rotates && 2 * pool->cache > least ? 2 * pool->cache : least;
    pool->base = allocate(options, pool->bytes);
    if (!pool->base && pool->bytes > least) {
        pool->rotates = false;
        pool->bytes = least;
        pool->base = allocate(options, least);
    }
    pool->image = options->device && pool->base ? malloc(pool->bytes + 1) : pool->base;
    return pool->image;
}

/* All words 0. Host memory, and device memory by puts to oneself. */
static void board_clear(struct run *run, size_t nbytes)
{
    uint64_t *words = (uint64_t *)run->pool.board;
    for (size_t i = 0; i < nbytes / sizeof(*words); i++)
        shmem_uint64_p(&words[i], 0, run->me);
    shmem_barrier_all();
}

static bool is_where_it_should_be(struct options *options, const struct pool *pool)
{
    if (options->device && !gpu_holds(pool->base))
        options_mistake(options, "--memory device: nvshmem_malloc gives host memory here: "
                                 "NVSHMEM_HEAP_KIND, or the GPUs of other PEs (nvs-info)");
    return !options->error[0];
}

bool pool_open(struct run *run)
{
    struct options *options = run->options;
    struct pool *pool = &run->pool;
    struct need need = {0};
    for (int i = 0; i < options->num_ops; i++)
        plan_op(&(struct plan){options, options->ops[i], run->me, run->npes, need_of, &need});
    size_t board = sizeof(struct board) + (size_t)run->npes * sizeof(uint64_t);
    pool->cache = options->device ? gpu_cache_bytes() : cache_bytes();
    pool->board = allocate(options, board);
    if (pool->board && pool_allocate(pool, need.bytes, options)) {
        board_clear(run, board);
        return is_where_it_should_be(options, pool);
    }
    snprintf(options->error, sizeof(options->error),
             "%s of %s needs %s of symmetric memory on each of %d PE%s, %s in all: %s", need.op,
             word_bytes(need.size), word_bytes(need.bytes), run->npes, run->npes == 1 ? "" : "s",
             word_bytes(need.bytes * (size_t)run->npes), nvs_last_error());
    return false;
}

void pool_close(struct run *run)
{
    struct pool *pool = &run->pool;
    if (pool->image != pool->base)
        free(pool->image);
    release(run->options, pool->base);
    release(run->options, pool->board);
}
