/*
 * fold_lanes.inc.c - one type in vectors: WIDTH names them, WIDTH_BYTES is their size in ACC lanes.
 */
#define L(name) FOLD_NAME(TYPE, WIDTH, name)

typedef ACC L(vec) __attribute__((vector_size(WIDTH_BYTES)));
typedef ACC_MASK L(mask) __attribute__((vector_size(WIDTH_BYTES)));
typedef ACC_BITS L(bits) __attribute__((vector_size(WIDTH_BYTES)));
enum { L(lanes) = WIDTH_BYTES / sizeof(ACC) };

/* As the elements lie in memory. */
typedef ELEM L(memory) __attribute__((vector_size(L(lanes) * sizeof(ELEM))));

#if FOLD_CLASS == FOLD_FLOAT16
FOLD_INLINE L(vec) L(widen)(L(memory) memory)
{
    uint16_t halves[L(lanes)];
    float floats[L(lanes)];
    L(vec) vec;
    memcpy(halves, &memory, sizeof(memory));
    float16_widen(floats, halves, L(lanes));
    memcpy(&vec, floats, sizeof(vec));
    return vec;
}

FOLD_INLINE L(memory) L(round)(L(vec) vec)
{
    uint16_t halves[L(lanes)];
    float floats[L(lanes)];
    L(memory) memory;
    memcpy(floats, &vec, sizeof(vec));
    float16_round(halves, floats, L(lanes));
    memcpy(&memory, halves, sizeof(memory));
    return memory;
}

#elif FOLD_CLASS == FOLD_BFLOAT16
FOLD_INLINE L(vec) L(widen)(L(memory) memory)
{
    L(bits) bits;
    uint16_extend(&bits, &memory, L(lanes));
    return (L(vec))(bits << 16);
}

/* nvsi_float_to_bfloat() of half.h, lane by lane. */
FOLD_INLINE L(memory) L(round)(L(vec) vec)
{
    L(bits) bits = (L(bits))vec;
    L(bits) nearest = bits + 0x7fff + (bits >> 16 & 1);
    L(bits) is_nan = (L(bits))(vec != vec);
    L(bits) rounded = (nearest & ~is_nan) | ((bits | 0x400000) & is_nan);
    L(memory) memory;
    uint32_upper_halves(&memory, &rounded, L(lanes));
    return memory;
}

#else
FOLD_INLINE L(vec) L(widen)(L(memory) memory)
{
    return memory;
}

FOLD_INLINE L(memory) L(round)(L(vec) vec)
{
    return vec;
}
#endif

/* chosen ? yes : no, lane by lane; compilers recognise a blend, a minimum or a maximum. */
FOLD_INLINE L(vec) L(select)(L(mask) chosen, L(vec) yes, L(vec) no)
{
    return (L(vec))(((L(mask))yes & chosen) | ((L(mask))no & ~chosen));
}

#if FOLD_CLASS == FOLD_UNSIGNED || FOLD_CLASS == FOLD_SIGNED
/* Out of line: no vector instruction divides integers, so this is a loop over the lanes, of which
 * the compiler can vectorise those that divide in floating point (ACC_QUOTIENT says why it may). */
static __attribute__((noinline)) L(vec) L(divide)(L(vec) acc, int divisor)
{
    ACC lanes[L(lanes)];
    memcpy(lanes, &acc, sizeof(acc));
    for (int lane = 0; lane < L(lanes); lane++)
        lanes[lane] = (ACC)((ACC_QUOTIENT)lanes[lane] / (ACC_QUOTIENT)divisor);
    memcpy(&acc, lanes, sizeof(acc));
    return acc;
}
#else
FOLD_INLINE L(vec) L(divide)(L(vec) acc, int divisor)
{
    return acc / (ACC)divisor;
}
#endif

#include "fold_walk.inc.c"

#undef L
#undef WIDTH
#undef WIDTH_BYTES
