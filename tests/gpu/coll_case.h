/*
 * coll_case.h - one collective on a stream of a GPU, and what must come of it: for coll_stream.c.
 *
 * The inputs of all PEs are random numbers that each PE can make, so each computes the results of
 * all with the host's fold, and compares bit for bit (but for which NaN a NaN is). Internal
 * functions, as the tests of api/ leave to them: nvsi_on_stream() takes any type and operator.
 */
#ifndef COLL_CASE_H
#define COLL_CASE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/fold.h"
#include "gpu/gpu.h"
#include "nvshmem.h"
#include "stream/stream.h"

enum { EDGE = 64, MAX_TEAM = 16 };

static uint64_t seed, failures;

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t random_of(uint64_t *state, uint64_t limit)
{
    *state = mix(*state);
    return *state % limit;
}

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "PE %d, %s:%d: not so: %s (%s)\n", nvsi.me, __FILE__, __LINE__,        \
                    #condition, nvsi_error_words());                                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What a case is; the same on all members of the team. */
struct coll_case {
    enum nvsi_sop op;
    int dtype, redop, root;
    size_t nelems;
    struct nvsi_team *team;
    int place;     /* 0: dst and src apart, 1: dst == src, 2: NCCL's form */
    size_t offset; /* of dst and src, in elements */
    size_t skew;   /* of src alone */
    bool ordinary; /* not symmetric memory */
    uint64_t number;
};

/* Memory of this PE for one case after the other. */
struct memory {
    char *dst, *src; /* symmetric */
    CUdeviceptr other_dst, other_src;
    size_t nbytes;
    char *image; /* of the host */
};

/* ---- inputs ------------------------------------------------------------------------------------
 */

/* Small whole numbers for floats now and then, else any bits; some that cells cannot carry. */
static inline void fill(const struct coll_case *c, int team_pe, void *at, size_t nbytes)
{
    uint64_t state = mix(seed ^ (c->number * 131 + (uint64_t)team_pe));
    uint32_t *words = at;
    for (size_t i = 0; i < (nbytes + 3) / 4; i++) {
        uint64_t bits = mix(state + i);
        uint32_t word = (uint32_t)bits;
        if (bits >> 60 == 0)
            word = 0xffb1ffd3u ^ (uint32_t)(bits >> 40 & 1);
        else if (bits >> 62 == 1)
            word = 0x3f803c00u | (word & 0x00070007u);
        memcpy(&words[i], &word, nbytes - i * 4 < 4 ? nbytes - i * 4 : 4);
    }
}

static inline size_t elem_bytes(const struct coll_case *c)
{
    return nvsi_dtype_size(c->dtype);
}
static inline size_t block_of(const struct coll_case *c)
{
    return c->nelems * elem_bytes(c);
}
static inline size_t src_bytes(const struct coll_case *c)
{
    bool many = c->op == NVSI_SOP_ALL_TO_ALL || c->op == NVSI_SOP_REDUCE_SCATTER;
    return block_of(c) * (many ? (size_t)c->team->npes : 1);
}
static inline size_t dst_bytes(const struct coll_case *c)
{
    bool many = c->op == NVSI_SOP_ALL_TO_ALL || c->op == NVSI_SOP_ALL_GATHER;
    return block_of(c) * (many ? (size_t)c->team->npes : 1);
}

/* ---- what must come of it
 * ------------------------------------------------------------------------ */

static inline void expect_fold(const struct coll_case *c, char *want, size_t skip)
{
    void *inputs[MAX_TEAM], *dst = want;
    for (int i = 0; i < c->team->npes; i++) {
        char *input = malloc(src_bytes(c) + 16);
        NEED(input);
        fill(c, i, input, src_bytes(c));
        memmove(input, input + skip, block_of(c));
        inputs[i] = input;
    }
    struct nvsi_fold fold = {.dst = &dst,
                             .src = (const void *const *)inputs,
                             .ndst = 1,
                             .nsrc = c->team->npes,
                             .nelems = c->nelems,
                             .dtype = c->dtype,
                             .op = c->redop,
                             .divisor = c->team->npes};
    nvsi_fold(&fold);
    for (int i = 0; i < c->team->npes; i++)
        free(inputs[i]);
}

static inline char *expected(const struct coll_case *c)
{
    size_t block = block_of(c), me = (size_t)c->team->team_pe;
    char *want = malloc(dst_bytes(c) + 16), *input = malloc(src_bytes(c) + 16);
    NEED(want && input);
    switch (c->op) {
    case NVSI_SOP_ALL_REDUCE:
        expect_fold(c, want, 0);
        break;
    case NVSI_SOP_REDUCE_SCATTER:
        expect_fold(c, want, me * block);
        break;
    case NVSI_SOP_BROADCAST:
        fill(c, c->root, want, block);
        break;
    default:
        for (int i = 0; i < c->team->npes; i++) {
            fill(c, i, input, src_bytes(c));
            memcpy(want + (size_t)i * block,
                   c->op == NVSI_SOP_ALL_TO_ALL ? input + me * block : input, block);
        }
    }
    free(input);
    return want;
}

static inline bool nan16(uint16_t x, bool bfloat)
{
    return (x & 0x7fff) > (bfloat ? 0x7f80 : 0x7c00);
}

/* NaNs that were computed are NaNs; everything else has the same bits. */
static inline bool same_part(const char *a, const char *b, int dtype)
{
    uint64_t x = 0, y = 0;
    switch (dtype) {
    case NVSI_FLOAT16:
    case NVSI_BFLOAT16:
        memcpy(&x, a, 2);
        memcpy(&y, b, 2);
        return x == y || (nan16((uint16_t)x, dtype == NVSI_BFLOAT16) &&
                          nan16((uint16_t)y, dtype == NVSI_BFLOAT16));
    case NVSI_FLOAT32:
    case NVSI_COMPLEXF:
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        return x == y || ((x & INT32_MAX) > 0x7f800000 && (y & INT32_MAX) > 0x7f800000);
    default:
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        return x == y ||
               ((x & INT64_MAX) > 0x7ff0000000000000 && (y & INT64_MAX) > 0x7ff0000000000000);
    }
}

static inline bool same(const struct coll_case *c, const char *a, const char *b, size_t nbytes)
{
    bool computed = c->op == NVSI_SOP_ALL_REDUCE || c->op == NVSI_SOP_REDUCE_SCATTER;
    size_t part =
        c->dtype == NVSI_COMPLEXF || c->dtype == NVSI_COMPLEXD ? elem_bytes(c) / 2 : elem_bytes(c);
    bool floats = c->dtype == NVSI_FLOAT16 || c->dtype == NVSI_BFLOAT16 ||
                  c->dtype == NVSI_FLOAT32 || c->dtype == NVSI_FLOAT64 ||
                  c->dtype == NVSI_COMPLEXF || c->dtype == NVSI_COMPLEXD;
    if (!computed || !floats)
        return memcmp(a, b, nbytes) == 0;
    for (size_t i = 0; i < nbytes; i += part)
        if (!same_part(a + i, b + i, c->dtype))
            return false;
    return true;
}

/* ---- running it
 * ---------------------------------------------------------------------------------- */

static inline void words_of(const struct coll_case *c, char *text, size_t size)
{
    static const char *const names[] = {[NVSI_SOP_BARRIER] = "barrier",
                                        [NVSI_SOP_SYNC] = "sync",
                                        [NVSI_SOP_BROADCAST] = "broadcast",
                                        [NVSI_SOP_ALL_GATHER] = "all_gather",
                                        [NVSI_SOP_ALL_TO_ALL] = "all_to_all",
                                        [NVSI_SOP_ALL_REDUCE] = "all_reduce",
                                        [NVSI_SOP_REDUCE_SCATTER] = "reduce_scatter"};
    snprintf(text, size,
             "case %llu of seed %llu: %s %s %s of %zu, root %d, team of %d, place %d, offset %zu, "
             "skew %zu, %s",
             (unsigned long long)c->number, (unsigned long long)seed, names[c->op],
             nvsi_dtype_name(c->dtype), nvsi_op_name(c->redop), c->nelems, c->root, c->team->npes,
             c->place, c->offset, c->skew, c->ordinary ? "ordinary" : "symmetric");
}

static inline char *dst_at(const struct coll_case *c, const struct memory *memory)
{
    char *base = c->ordinary ? (char *)(uintptr_t)memory->other_dst : memory->dst;
    return base + EDGE + c->offset * elem_bytes(c);
}

/* In place the place is that of the larger side. */
static inline void places(const struct coll_case *c, const struct memory *memory, char **dst,
                          char **src)
{
    char *other = c->ordinary ? (char *)(uintptr_t)memory->other_src : memory->src;
    size_t own = (size_t)c->team->team_pe * block_of(c);
    *dst = dst_at(c, memory);
    *src = other + EDGE + (c->offset + c->skew) * elem_bytes(c);
    if (c->place)
        *src = *dst;
    if (c->place == 2 && c->op == NVSI_SOP_ALL_GATHER)
        *src = *dst + own;
    if (c->place == 2 && c->op == NVSI_SOP_REDUCE_SCATTER)
        *dst = *src + own;
}

static inline void to_device(void *dst, const void *src, size_t nbytes)
{
    NEED(nbytes == 0 || !cu.cuMemcpyHtoD((CUdeviceptr)(uintptr_t)dst, src, nbytes));
    NEED(!cu.cuStreamSynchronize(CU_STREAM_LEGACY)); /* it may return before it is done */
}
static inline void to_host(void *dst, const void *src, size_t nbytes)
{
    NEED(nbytes == 0 || !cu.cuMemcpyDtoH(dst, (CUdeviceptr)(uintptr_t)src, nbytes));
}

/* Puts the inputs where they belong, and marks all around dst. */
static inline void prepare(const struct coll_case *c, struct memory *memory)
{
    char *dst, *src;
    places(c, memory, &dst, &src);
    memset(memory->image, 0xa5, dst_bytes(c) + 2 * EDGE);
    to_device(dst - EDGE, memory->image, dst_bytes(c) + 2 * EDGE);
    fill(c, c->team->team_pe, memory->image, src_bytes(c));
    if (c->op != NVSI_SOP_BROADCAST || c->team->team_pe == c->root)
        to_device(src, memory->image, src_bytes(c));
}

static inline void enqueue(const struct coll_case *c, const struct memory *memory, CUstream stream)
{
    char *dst, *src;
    places(c, memory, &dst, &src);
    struct nvsi_stream_op op = {.op = c->op,
                                .fn = "test",
                                .dst = dst,
                                .src = src,
                                .nelems = c->nelems,
                                .elem_bytes = elem_bytes(c),
                                .pe = -1,
                                .team = c->team,
                                .dtype = c->dtype,
                                .redop = c->redop,
                                .root = c->root,
                                .symmetric = !c->ordinary};
    NEED(nvsi_on_stream(&op, stream) == 0);
}

static inline void complain(const struct coll_case *c, const char *what)
{
    char words[256];
    words_of(c, words, sizeof words);
    if (failures++ < 10)
        fprintf(stderr, "PE %d: %s: %s\n", nvsi.me, what, words);
}

static inline void check_marks(const struct coll_case *c, const char *at)
{
    char marks[EDGE], edge[EDGE];
    bool inside = c->place != 0; /* of src, which has no marks */
    memset(marks, 0xa5, EDGE);
    to_host(edge, at, EDGE);
    if (!inside && memcmp(edge, marks, EDGE) != 0)
        complain(c, "wrote outside of dst");
}

static inline void check(const struct coll_case *c, struct memory *memory)
{
    char *dst, *src, *want = expected(c);
    places(c, memory, &dst, &src);
    to_host(memory->image, dst, dst_bytes(c));
    if (!same(c, memory->image, want, dst_bytes(c)))
        complain(c, "wrong result");
    check_marks(c, dst - EDGE);
    check_marks(c, dst + dst_bytes(c));
    fill(c, c->team->team_pe, want, dst_bytes(c) < src_bytes(c) ? dst_bytes(c) : src_bytes(c));
    to_host(memory->image, src, dst_bytes(c) < src_bytes(c) ? dst_bytes(c) : src_bytes(c));
    if (!c->place && (c->op != NVSI_SOP_BROADCAST || c->team->team_pe == c->root) &&
        memcmp(memory->image, want, dst_bytes(c) < src_bytes(c) ? dst_bytes(c) : src_bytes(c)))
        complain(c, "src has changed");
    free(want);
}

#endif
