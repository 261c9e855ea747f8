/*
 * fold_single.inc.c - one type, one element at a time: fold_lanes.inc.c for a vector of one lane.
 *
 * Plain scalars rather than real vectors of one lane, which compilers keep in memory.
 */
#define L(name) FOLD_NAME(TYPE, WIDTH, name)

typedef ACC L(vec);
typedef ELEM L(memory);
typedef uint64_t L(bits); /* so wide that the product of two uint16_t is not one of ints */
enum { L(lanes) = 1 };

FOLD_INLINE L(vec) L(widen)(L(memory) memory)
{
#if FOLD_CLASS == FOLD_FLOAT16
    float value;
    float16_widen(&value, &memory, 1);
    return value;
#elif FOLD_CLASS == FOLD_BFLOAT16
    return nvsi_bfloat_to_float(memory);
#else
    return memory;
#endif
}

FOLD_INLINE L(memory) L(round)(L(vec) vec)
{
#if FOLD_CLASS == FOLD_FLOAT16
    uint16_t half;
    float16_round(&half, &vec, 1);
    return half;
#elif FOLD_CLASS == FOLD_BFLOAT16
    return nvsi_float_to_bfloat(vec);
#else
    return vec;
#endif
}

FOLD_INLINE L(vec) L(select)(int chosen, L(vec) yes, L(vec) no)
{
    return chosen ? yes : no;
}

FOLD_INLINE L(vec) L(divide)(L(vec) acc, int divisor)
{
#if FOLD_CLASS == FOLD_UNSIGNED || FOLD_CLASS == FOLD_SIGNED
    return (ACC)((ACC_QUOTIENT)acc / (ACC_QUOTIENT)divisor);
#else
    return acc / (ACC)divisor;
#endif
}

#include "fold_walk.inc.c"

#undef L
#undef WIDTH
