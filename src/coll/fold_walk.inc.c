/*
 * fold_walk.inc.c - one type at one width: loads, stores, operators, and pairs of vectors.
 *
 * What fold_lanes.inc.c and fold_single.inc.c share. They define L(), the types L(vec), L(bits) and
 * L(memory), and L(widen), L(round), L(select) and L(divide).
 */
FOLD_INLINE L(vec) L(load)(const ELEM *src)
{
    L(memory) memory;
    memcpy(&memory, src, sizeof(memory));
    return L(widen)(memory);
}

FOLD_INLINE void L(store)(ELEM *dst, L(vec) vec)
{
    L(memory) memory = L(round)(vec);
    memcpy(dst, &memory, sizeof(memory));
}

FOLD_INLINE void L(store_around)(ELEM *dst, L(vec) vec)
{
    L(memory) memory = L(round)(vec);
    store_around(dst, &memory, sizeof(memory));
}

/* Integers are added as unsigned ones, which wrap. */
#if FOLD_CLASS == FOLD_UNSIGNED || FOLD_CLASS == FOLD_SIGNED
#define ARITHMETIC(a, operator, b) ((L(vec))((L(bits))(a) operator(L(bits))(b)))
#else
#define ARITHMETIC(a, operator, b) ((a) operator(b))
#endif

FOLD_INLINE L(vec) L(combine)(int op, L(vec) acc, L(vec) next)
{
    switch (op) {
    case NVSI_PROD:
        return ARITHMETIC(acc, *, next);
    case NVSI_MAX:
        return L(select)(next > acc, next, acc);
    case NVSI_MIN:
        return L(select)(next < acc, next, acc);
#if FOLD_CLASS == FOLD_UNSIGNED
    case NVSI_AND:
        return acc & next;
    case NVSI_OR:
        return acc | next;
    case NVSI_XOR:
        return acc ^ next;
#endif
    default: /* NVSI_SUM, NVSI_AVG */
        return ARITHMETIC(acc, +, next);
    }
}
#undef ARITHMETIC

/* After the last source. */
FOLD_INLINE L(vec) L(finish)(int op, L(vec) acc, int divisor)
{
    return op == NVSI_AVG ? L(divide)(acc, divisor) : acc;
}

/* Folds the vectors at elements i and j, which may overlap: all loads come before the stores. */
FOLD_INLINE void L(pair)(const struct nvsi_fold *fold, int op, size_t i, size_t j)
{
    const ELEM *src = fold->src[0];
    L(vec) a = L(load)(src + i), b = L(load)(src + j);

    for (int s = 1; s < fold->nsrc; s++) {
        src = fold->src[s];
        a = L(combine)(op, a, L(load)(src + i));
        b = L(combine)(op, b, L(load)(src + j));
    }
    a = L(finish)(op, a, fold->divisor);
    b = L(finish)(op, b, fold->divisor);
    for (int d = 0; d < fold->ndst; d++) {
        ELEM *dst = fold->dst[d];
        L(store)(dst + i, a);
        L(store)(dst + j, b);
    }
}

/* Folds elements from i to the end, at least one vector of them. The first pair overlaps by as much
 * as makes the rest a multiple of a vector: nothing that is stored is loaded again. */
FOLD_INLINE void L(pairs)(const struct nvsi_fold *fold, int op, size_t i)
{
    size_t last = fold->nelems - L(lanes); /* where the vector that ends the array begins */
    size_t step = (last - i) % L(lanes);
    if (step == 0)
        step = L(lanes);

    while (i <= last) {
        size_t j = i + step <= last ? i + step : last;
        L(pair)(fold, op, i, j);
        i = j + L(lanes);
        step = L(lanes);
    }
}
