/*
 * fold_type.inc.c - the kernels of one type; see fold_kernels.inc.c for its parameters.
 *
 * The bulk goes in tiles of four vectors, whose accumulators stay in registers while the sources
 * pass by. What is left over (or all, when there is little) goes in pairs of vectors, the first of
 * which overlap by as much as the count is no multiple of a vector. That is right in place too,
 * because a pair loads all its inputs before it stores anything, and it leaves no scalar tail.
 * Counts below one vector do the same with a 16-byte vector, and below that with single elements.
 */
#define T(name) FOLD_NAME(TYPE, name, )
#define KERNEL(op) FOLD_KERNEL_(TYPE, op)
#define FOLD_KERNEL_(type, op) FOLD_KERNEL__(type, op)
#define FOLD_KERNEL__(type, op) type##_##op

#define WIDTH wide
#define WIDTH_BYTES FOLD_BYTES
#include "fold_lanes.inc.c"

#if FOLD_BYTES > 16
#define WIDTH few
#define WIDTH_BYTES 16
#include "fold_lanes.inc.c"
#endif

#define WIDTH single
#include "fold_single.inc.c"

#define VEC FOLD_NAME(TYPE, wide, vec)
#define WIDE(name) FOLD_NAME(TYPE, wide, name)

/* Stores four consecutive vectors, around the caches where dst is aligned as around_mask asks. */
FOLD_INLINE void T(tile_store)(ELEM *dst, const VEC *acc, uintptr_t around_mask)
{
    if (((uintptr_t)dst & around_mask) == 0) {
        WIDE(store_around)(dst, acc[0]);
        WIDE(store_around)(dst + WIDE(lanes), acc[1]);
        WIDE(store_around)(dst + 2 * WIDE(lanes), acc[2]);
        WIDE(store_around)(dst + 3 * WIDE(lanes), acc[3]);
    } else {
        WIDE(store)(dst, acc[0]);
        WIDE(store)(dst + WIDE(lanes), acc[1]);
        WIDE(store)(dst + 2 * WIDE(lanes), acc[2]);
        WIDE(store)(dst + 3 * WIDE(lanes), acc[3]);
    }
}

/* Folds the four vectors that start at element i. */
FOLD_INLINE void T(tile)(const struct nvsi_fold *fold, int op, size_t i, uintptr_t around_mask)
{
    const ELEM *src = (const ELEM *)fold->src[0] + i;
    VEC a = WIDE(load)(src), b = WIDE(load)(src + WIDE(lanes));
    VEC c = WIDE(load)(src + 2 * WIDE(lanes)), d = WIDE(load)(src + 3 * WIDE(lanes));

    for (int s = 1; s < fold->nsrc; s++) {
        src = (const ELEM *)fold->src[s] + i;
        a = WIDE(combine)(op, a, WIDE(load)(src));
        b = WIDE(combine)(op, b, WIDE(load)(src + WIDE(lanes)));
        c = WIDE(combine)(op, c, WIDE(load)(src + 2 * WIDE(lanes)));
        d = WIDE(combine)(op, d, WIDE(load)(src + 3 * WIDE(lanes)));
    }
    const VEC acc[4] = {
        WIDE(finish)(op, a, fold->divisor),
        WIDE(finish)(op, b, fold->divisor),
        WIDE(finish)(op, c, fold->divisor),
        WIDE(finish)(op, d, fold->divisor),
    };
    for (int k = 0; k < fold->ndst; k++)
        T(tile_store)((ELEM *)fold->dst[k] + i, acc, around_mask);
}

/* Tiles from element i on for two inputs and two outputs, which is what two PEs have: without loops
 * over them, more of the memory's latency overlaps. Returns the first element not done. */
FOLD_INLINE size_t T(tiles_of_two)(const struct nvsi_fold *fold, int op, size_t i,
                                   uintptr_t around_mask)
{
    const ELEM *left = fold->src[0], *right = fold->src[1];
    ELEM *dst[2] = {fold->dst[0], fold->dst[1]};

    for (; fold->nelems - i >= 5 * WIDE(lanes); i += 4 * WIDE(lanes)) {
        VEC acc[4];
        for (size_t k = 0; k < 4; k++)
            acc[k] = WIDE(finish)(op,
                                  WIDE(combine)(op, WIDE(load)(left + i + k * WIDE(lanes)),
                                                WIDE(load)(right + i + k * WIDE(lanes))),
                                  fold->divisor);
        T(tile_store)(dst[0] + i, acc, around_mask);
        T(tile_store)(dst[1] + i, acc, around_mask);
    }
    return i;
}

/* Brings dst[0] to the alignment that stores around the caches need: folds the first vector and,
 * overlapping it, the one at the first aligned element. Returns the first element not yet done. */
FOLD_INLINE size_t T(align)(const struct nvsi_fold *fold, int op)
{
    size_t skew_bytes = -(uintptr_t)fold->dst[0] & (sizeof(WIDE(memory)) - 1);
    if (skew_bytes == 0 || skew_bytes % sizeof(ELEM) != 0)
        return 0;
    size_t aligned = skew_bytes / sizeof(ELEM);
    WIDE(pair)(fold, op, 0, aligned);
    return aligned + WIDE(lanes);
}

/* At least one vector of elements. */
FOLD_INLINE void T(fold_many)(const struct nvsi_fold *call, int op)
{
    /* A copy that no store can change, so that its fields stay in registers. */
    const struct nvsi_fold local = *call, *fold = &local;
    size_t i = 0;
    uintptr_t around_mask = UINTPTR_MAX; /* no address fits: all stores are ordinary */

    if (fold->stream && fold->nelems >= 8 * WIDE(lanes)) {
        around_mask = sizeof(WIDE(memory)) - 1;
        i = T(align)(fold, op);
    }
    if (fold->nsrc == 2 && fold->ndst == 2)
        i = T(tiles_of_two)(fold, op, i, around_mask);
    for (; fold->nelems - i >= 5 * WIDE(lanes); i += 4 * WIDE(lanes))
        T(tile)(fold, op, i, around_mask);
    WIDE(pairs)(fold, op, i);
}

FOLD_INLINE void T(fold)(const struct nvsi_fold *fold, int op)
{
    if (fold->nelems >= WIDE(lanes))
        T(fold_many)(fold, op);
#if FOLD_BYTES > 16
    else if (fold->nelems >= FOLD_NAME(TYPE, few, lanes))
        FOLD_NAME(TYPE, few, pairs)(fold, op, 0);
#endif
    else if (fold->nelems > 0)
        FOLD_NAME(TYPE, single, pairs)(fold, op, 0);
}

#if FOLD_CLASS != FOLD_SIGNED
static void KERNEL(sum)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_SUM);
}

static void KERNEL(prod)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_PROD);
}
#endif

static void KERNEL(max)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_MAX);
}

static void KERNEL(min)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_MIN);
}

static void KERNEL(avg)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_AVG);
}

#if FOLD_CLASS == FOLD_UNSIGNED
static void KERNEL (and)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_AND);
}

static void KERNEL(or)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_OR);
}

static void KERNEL (xor)(const struct nvsi_fold *fold)
{
    T(fold)(fold, NVSI_XOR);
}
#endif

#undef T
#undef KERNEL
#undef FOLD_KERNEL_
#undef FOLD_KERNEL__
#undef VEC
#undef WIDE
#undef TYPE
#undef ELEM
#undef ACC
#undef ACC_MASK
#undef ACC_BITS
#undef ACC_QUOTIENT
#undef FOLD_CLASS
