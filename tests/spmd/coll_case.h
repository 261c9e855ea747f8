/*
 * coll_case.h - runs one collective and compares every byte with what must be there.
 *
 * dst and src lie in pools between guard bytes. Before the call an image of them is taken, the
 * expected result is written into the image, and afterwards memory and image must be equal: that is
 * the result, the untouched gaps of strided calls, src, and the guards in one comparison. There is
 * no barrier between calls: no PE may write the dst of a PE that has not entered.
 */
#ifndef TESTS_SPMD_COLL_CASE_H
#define TESTS_SPMD_COLL_CASE_H

#include "coll_calls.h"

enum memory { HEAP, STATIC, ORDINARY, NUM_MEMORIES };

enum { GUARD_BYTES = 64, POOL_BYTES = 5 << 20, MAX_TEAM_PES = 64 };
/* What a buffer may have, so that a shift and the guards fit in as well. */
#define MAX_BUFFER_BYTES ((size_t)POOL_BYTES - 2 * GUARD_BYTES - 32 * MAX_ELEM_BYTES)

static _Alignas(64) char static_pools[2][POOL_BYTES];
static char *pools[NUM_MEMORIES][2], *images[2];

static inline void pools_open(void)
{
    for (int k = 0; k < 2; k++) {
        pools[HEAP][k] = nvs_malloc(POOL_BYTES);
        pools[STATIC][k] = static_pools[k];
        pools[ORDINARY][k] = aligned_alloc(64, POOL_BYTES);
        images[k] = aligned_alloc(64, POOL_BYTES);
        if (!pools[HEAP][k] || !pools[ORDINARY][k] || !images[k])
            abort();
    }
}

static inline void pools_close(void)
{
    for (int k = 0; k < 2; k++) {
        CHECK(nvs_free(pools[HEAP][k]) == 0, "%s", nvs_last_error());
        free(pools[ORDINARY][k]);
        free(images[k]);
    }
}

/* A team as the test knows it. */
struct coll_team {
    int handle;
    int npes, me; /* me is this PE's number in it */
    int pes[MAX_TEAM_PES];
    int start, log_stride; /* an active set */
};

/* src of an in-place call: dst itself, or NCCL's form, this PE's block of the larger buffer. */
enum in_place { NOT_IN_PLACE, SAME_ADDRESS, OWN_BLOCK };

struct coll_case {
    const struct coll_fn *fn;
    const struct coll_team *team;
    uint64_t round;
    size_t nelems;        /* of this PE */
    const size_t *counts; /* collect: of each PE */
    int root;
    ptrdiff_t dst_stride, src_stride;
    enum in_place in_place;
    enum memory dst_memory, src_memory;
    size_t dst_shift, src_shift; /* in elements */
    long *sync;
    void *work;
};

/* ---- sizes ----------------------------------------------------------------------------------- */

static inline size_t strided_elems(size_t nelems, ptrdiff_t stride)
{
    return nelems ? (nelems - 1) * (size_t)stride + 1 : 0;
}

static inline size_t dst_elems(const struct coll_case *k)
{
    size_t all = k->nelems * (size_t)k->team->npes, sum = 0;
    switch (k->fn->kind) {
    case GATHER:
    case ALL_TO_ALL:
        return all;
    case ALL_TO_ALL_STRIDED:
        return strided_elems(all, k->dst_stride);
    case COLLECT:
        for (int p = 0; p < k->team->npes; p++)
            sum += k->counts[p];
        return sum;
    default:
        return k->nelems;
    }
}

static inline size_t src_elems(const struct coll_case *k)
{
    size_t all = k->nelems * (size_t)k->team->npes;
    switch (k->fn->kind) {
    case ALL_TO_ALL:
    case REDUCE_SCATTER:
        return all;
    case ALL_TO_ALL_STRIDED:
        return strided_elems(all, k->src_stride);
    default:
        return k->nelems;
    }
}

/* ---- what must be there ---------------------------------------------------------------------- */

static inline void input(const struct coll_case *k, void *out, int team_pe, size_t i)
{
    coll_input(out, k->fn->type, k->fn->op, k->round, k->team->pes[team_pe], i);
}

/* Element i of what this PE receives, gaps not counted. */
static inline void expected(const struct coll_case *k, void *out, size_t i)
{
    const struct coll_team *team = k->team;
    size_t n = k->nelems, mine = (size_t)team->me * n;
    int p = 0;
    switch (k->fn->kind) {
    case BROADCAST:
        input(k, out, k->root, i);
        break;
    case GATHER:
        input(k, out, (int)(i / n), i % n);
        break;
    case COLLECT:
        for (; i >= k->counts[p]; p++)
            i -= k->counts[p];
        input(k, out, p, i);
        break;
    case ALL_TO_ALL:
    case ALL_TO_ALL_STRIDED:
        input(k, out, (int)(i / n), mine + i % n);
        break;
    case REDUCE:
        coll_fold(out, k->fn->type, k->fn->op, k->round, team->pes, team->npes, i);
        break;
    default:
        coll_fold(out, k->fn->type, k->fn->op, k->round, team->pes, team->npes, mine + i);
    }
}

/* The bytes of a long double that have a meaning; the others may be anything after a fold. */
static inline size_t value_bytes(int type)
{
    return type == T_LONGDOUBLE ? 10 : type_bytes(type);
}

static inline void expect_result(const struct coll_case *k, char *dst)
{
    char elem[MAX_ELEM_BYTES];
    size_t size = type_bytes(k->fn->type), received = dst_elems(k);
    size_t stride = k->fn->kind == ALL_TO_ALL_STRIDED ? (size_t)k->dst_stride : 1;
    if (k->fn->root_keeps && k->fn->kind == BROADCAST && k->team->me == k->root)
        return;
    for (size_t at = 0; at < received; at += stride) {
        expected(k, elem, at / stride);
        memcpy(dst + at * size, elem, value_bytes(k->fn->type));
    }
}

static inline void fill_src(const struct coll_case *k, char *src)
{
    size_t size = type_bytes(k->fn->type), elems = src_elems(k);
    size_t stride = k->fn->kind == ALL_TO_ALL_STRIDED ? (size_t)k->src_stride : 1;
    for (size_t at = 0; at < elems; at += stride)
        input(k, src + at * size, k->team->me, at / stride);
}

/* ---- one call -------------------------------------------------------------------------------- */

/* A range in a pool, with guards, and its image. */
struct region {
    char *memory, *image; /* from the first guard byte */
    size_t bytes;         /* with both guards */
};

static inline struct region region_make(enum memory memory, int pool, size_t shift_bytes,
                                        size_t nbytes, uint64_t round)
{
    struct region region = {pools[memory][pool] + shift_bytes, images[pool] + shift_bytes,
                            nbytes + 2 * GUARD_BYTES};
    memset(region.memory, (int)(round * 7 + (uint64_t)pool * 101 + 1) & 0xff, region.bytes);
    return region;
}

/* Where memory and image differ: an offset from the first byte of data, negative before it. */
static inline long region_difference(const struct region *region, const struct coll_case *k)
{
    bool padded = k->fn->type == T_LONGDOUBLE;
    if (!padded && memcmp(region->memory, region->image, region->bytes) == 0)
        return 0;
    long data = (long)(region->bytes - 2 * GUARD_BYTES);
    for (long i = 0; i < (long)region->bytes; i++) {
        long at = i - GUARD_BYTES;
        bool padding = padded && at >= 0 && at < data && at % 16 >= 10;
        if (!padding && region->memory[i] != region->image[i])
            return at ? at : -GUARD_BYTES - 1; /* 0 would say that all is well */
    }
    return 0;
}

static inline void describe(const struct coll_case *k, char *text, size_t size)
{
    snprintf(text, size,
             "%s (type %d, op %d) #%llu: %zu elements, root %d, strides %td %td, in place %d, "
             "memory %d %d, shifts %zu %zu, team of %d from PE %d, me %d",
             k->fn->name, k->fn->type, k->fn->op, (unsigned long long)k->round, k->nelems, k->root,
             k->dst_stride, k->src_stride, k->in_place, k->dst_memory, k->src_memory, k->dst_shift,
             k->src_shift, k->team->npes, k->team->pes[0], k->team->me);
}

/* The memory of both buffers. In place there is one region, the larger of the two. */
static inline void place(const struct coll_case *k, struct region regions[2], char **dst,
                         char **src)
{
    size_t size = type_bytes(k->fn->type), dst_bytes = dst_elems(k) * size;
    size_t src_bytes = src_elems(k) * size, block = k->nelems * size;
    if (k->in_place == NOT_IN_PLACE) {
        regions[0] = region_make(k->dst_memory, 0, k->dst_shift * size, dst_bytes, k->round);
        regions[1] = region_make(k->src_memory, 1, k->src_shift * size, src_bytes, k->round);
        *dst = regions[0].memory + GUARD_BYTES;
        *src = regions[1].memory + GUARD_BYTES;
        return;
    }
    size_t larger = dst_bytes > src_bytes ? dst_bytes : src_bytes;
    size_t mine = k->in_place == OWN_BLOCK ? (size_t)k->team->me * block : 0;
    regions[0] = region_make(k->dst_memory, 0, k->dst_shift * size, larger, k->round);
    *dst = regions[0].memory + GUARD_BYTES + (dst_bytes < src_bytes ? mine : 0);
    *src = regions[0].memory + GUARD_BYTES + (src_bytes < dst_bytes ? mine : 0);
}

static inline void run_case(const struct coll_case *k)
{
    struct region regions[2];
    char *dst, *src, text[300];
    int nregions = k->in_place == NOT_IN_PLACE ? 2 : 1;
    place(k, regions, &dst, &src);
    fill_src(k, src);
    for (int r = 0; r < nregions; r++)
        memcpy(regions[r].image, regions[r].memory, regions[r].bytes);
    expect_result(k, regions[0].image + (dst - regions[0].memory));

    struct coll_call call = {.fn = k->fn,
                             .team = k->team->handle,
                             .dst = dst,
                             .src = src,
                             .nelems = k->nelems,
                             .root = k->root,
                             .dst_stride = k->dst_stride,
                             .src_stride = k->src_stride,
                             .start = k->team->start,
                             .log_stride = k->team->log_stride,
                             .size = k->team->npes,
                             .sync = k->sync,
                             .work = k->work};
    int status = k->fn->call(&call);
    describe(k, text, sizeof text);
    CHECK(status == 0, "%s: %d %s", text, status, nvs_last_error());
    for (int r = 0; r < nregions; r++) {
        long at = region_difference(&regions[r], k);
        CHECK(at == 0, "%s: byte %ld of %s is wrong (below 0: guard)", text, at, r ? "src" : "dst");
    }
}

#endif
