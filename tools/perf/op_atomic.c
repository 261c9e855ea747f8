/*
 * op_atomic.c - atomics on a word of another PE.
 *
 * What an atomic does depends on the width of the word only, so signed integers use the unsigned
 * functions, and float and double those of their width (OpenSHMEM has fetch, set and swap for
 * them).
 *
 * The check follows a word through a series of operations in a model and compares every value that
 * comes back, the word at its PE, and the bytes beside it.
 */
#include "kernels.h"
#include "perf.h"

enum { SERIES = 100 }; /* operations of a check */

static inline uint64_t operand_of(size_t index)
{
    return KERNEL_OPERAND(index);
}

/* The loop for one width: `word`, `operand` and `pe` may be used; `old` is what came back last. */
#define LOOP(name, bits, statement)                                                                \
    static void name##bits(struct call *call, size_t first, size_t n)                              \
    {                                                                                              \
        uint##bits##_t *word = (uint##bits##_t *)&call->board->word;                               \
        uint##bits##_t old = (uint##bits##_t)call->fetched;                                        \
        int pe = call->route.to;                                                                   \
        for (size_t i = first; i < first + n; i++) {                                               \
            uint##bits##_t operand = (uint##bits##_t)operand_of(i);                                \
            (void)operand;                                                                         \
            statement;                                                                             \
        }                                                                                          \
        call->fetched = old;                                                                       \
    }
#define LOOPS(name, statement32, statement64)                                                      \
    LOOP(name, 32, statement32)                                                                    \
    LOOP(name, 64, statement64)

LOOPS(fetch_add, old = shmem_uint32_atomic_fetch_add(word, operand, pe),
      old = shmem_uint64_atomic_fetch_add(word, operand, pe))
LOOPS(fetch_inc, old = shmem_uint32_atomic_fetch_inc(word, pe),
      old = shmem_uint64_atomic_fetch_inc(word, pe))
LOOPS(fetch_and, old = shmem_uint32_atomic_fetch_and(word, operand, pe),
      old = shmem_uint64_atomic_fetch_and(word, operand, pe))
LOOPS(fetch_or, old = shmem_uint32_atomic_fetch_or(word, operand, pe),
      old = shmem_uint64_atomic_fetch_or(word, operand, pe))
LOOPS(fetch_xor, old = shmem_uint32_atomic_fetch_xor(word, operand, pe),
      old = shmem_uint64_atomic_fetch_xor(word, operand, pe))
LOOPS(add, shmem_uint32_atomic_add(word, operand, pe), shmem_uint64_atomic_add(word, operand, pe))
LOOPS(inc, shmem_uint32_atomic_inc(word, pe), shmem_uint64_atomic_inc(word, pe))
LOOPS(and, shmem_uint32_atomic_and(word, operand, pe), shmem_uint64_atomic_and(word, operand, pe))
LOOPS(or, shmem_uint32_atomic_or(word, operand, pe), shmem_uint64_atomic_or(word, operand, pe))
LOOPS(xor, shmem_uint32_atomic_xor(word, operand, pe), shmem_uint64_atomic_xor(word, operand, pe))
LOOPS(swap, old = shmem_uint32_atomic_swap(word, operand, pe),
      old = shmem_uint64_atomic_swap(word, operand, pe))
/* Expects what the one before has found, so every other one finds it and stores. */
LOOPS(cswap, old = shmem_uint32_atomic_compare_swap(word, old, operand, pe),
      old = shmem_uint64_atomic_compare_swap(word, old, operand, pe))
LOOPS(fetch, old = shmem_uint32_atomic_fetch(word, pe), old = shmem_uint64_atomic_fetch(word, pe))
LOOPS(set, shmem_uint32_atomic_set(word, operand, pe), shmem_uint64_atomic_set(word, operand, pe))

enum effect { ADD, INC, AND, OR, XOR, SET, CSWAP, NOTHING };

static const struct atomic {
    void (*run32)(struct call *call, size_t first, size_t n);
    void (*run64)(struct call *call, size_t first, size_t n);
    enum effect effect;
    bool fetches;
} atomics[] = {
    {fetch_add32, fetch_add64, ADD, true}, {add32, add64, ADD, false},
    {fetch_inc32, fetch_inc64, INC, true}, {inc32, inc64, INC, false},
    {swap32, swap64, SET, true},           {cswap32, cswap64, CSWAP, true},
    {fetch32, fetch64, NOTHING, true},     {set32, set64, SET, false},
    {fetch_and32, fetch_and64, AND, true}, {and32, and64, AND, false},
    {fetch_or32, fetch_or64, OR, true},    {or32, or64, OR, false},
    {fetch_xor32, fetch_xor64, XOR, true}, {xor32, xor64, XOR, false},
};

static const struct atomic *atomic_of(const struct call *call)
{
    return &atomics[call->op - ops_atomic];
}

static void atomic_run(struct call *call, size_t first, size_t n)
{
    if (call->route.to < 0)
        return;
    const struct atomic *atomic = atomic_of(call);
    (call->type->size == 4 ? atomic->run32 : atomic->run64)(call, first, n);
    shmem_quiet();
}

static uint64_t effect_of(enum effect effect, uint64_t word, uint64_t operand, uint64_t expected)
{
    switch (effect) {
    case ADD:
        return word + operand;
    case INC:
        return word + 1;
    case AND:
        return word & operand;
    case OR:
        return word | operand;
    case XOR:
        return word ^ operand;
    case SET:
        return operand;
    case CSWAP:
        return word == expected ? operand : word;
    case NOTHING:
        break;
    }
    return word;
}

/* A word of the board as the model and the PEs see it: the part that an atomic changes and, for the
 * narrow types, four bytes beside it. */
struct model {
    uint64_t word, fetched, mask, start;
    uint64_t beside;
};

static struct model model_start(const struct call *call, uint64_t round)
{
    uint64_t mask = call->type->size == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t bits = (round + 1) * 0xd6e8feb86659fd93u;
    return (struct model){.start = bits, .word = bits & mask, .mask = mask, .beside = bits & ~mask};
}

static void model_step(struct model *model, enum effect effect, size_t index)
{
    uint64_t before = model->word, operand = operand_of(index) & model->mask;
    model->word = effect_of(effect, before, operand, model->fetched) & model->mask;
    model->fetched = before;
}

/* Sender and target both follow the model; the target looks at its word when all is done. */
static size_t atomic_wrong(struct call *call, uint64_t round)
{
    const struct atomic *atomic = atomic_of(call);
    struct model model = model_start(call, round);
    size_t wrong = 0;
    board_set(call, &call->board->word, model.start);
    call->fetched = 0;
    shmem_barrier_all();
    for (size_t i = 0; i < SERIES; i++) {
        call_run(call, i, 1);
        model_step(&model, atomic->effect, i);
        if (atomic->fetches && call->route.to >= 0)
            wrong += call->fetched != model.fetched;
    }
    shmem_barrier_all();
    uint64_t expected = call->route.from >= 0 ? model.word | model.beside : model.start;
    wrong += board_get(call, &call->board->word) != expected;
    shmem_barrier_all();
    return wrong;
}

enum {
    INTEGERS = 1 << NVS_INT32 | 1 << NVS_UINT32 | 1 << NVS_INT64 | 1 << NVS_UINT64,
    WORDS = INTEGERS | 1 << NVS_FLOAT32 | 1 << NVS_FLOAT64,
};

#define ATOMIC(op_name, op_kernel, op_help, op_types)                                              \
    {                                                                                              \
        .name = op_name, .help = op_help, .group = "atomics", .src_shape = SHAPE_ONE,              \
        .dst_shape = SHAPE_ONE, .routed = true, .default_type = NVS_UINT64, .types = op_types,     \
        .run = atomic_run, .kernel = KERNEL_ATOMIC + op_kernel, .by_thread = true,                 \
        .wrong = atomic_wrong                                                                      \
    }

const struct op ops_atomic[] = {
    ATOMIC("fetch_add", ATOMIC_FETCH_ADD, "add to a word, get what was there", INTEGERS),
    ATOMIC("add", ATOMIC_ADD, "add to a word", INTEGERS),
    ATOMIC("fetch_inc", ATOMIC_FETCH_INC, "add 1, get what was there", INTEGERS),
    ATOMIC("inc", ATOMIC_INC, "add 1", INTEGERS),
    ATOMIC("swap", ATOMIC_SWAP, "store, get what was there", WORDS),
    ATOMIC("cswap", ATOMIC_CSWAP, "compare and swap, get what was there", INTEGERS),
    ATOMIC("fetch", ATOMIC_FETCH, "an atomic load", WORDS),
    ATOMIC("set", ATOMIC_SET, "an atomic store", WORDS),
    ATOMIC("fetch_and", ATOMIC_FETCH_AND, "bitwise and, get what was there", INTEGERS),
    ATOMIC("and", ATOMIC_AND, "bitwise and", INTEGERS),
    ATOMIC("fetch_or", ATOMIC_FETCH_OR, "bitwise or, get what was there", INTEGERS),
    ATOMIC("or", ATOMIC_OR, "bitwise or", INTEGERS),
    ATOMIC("fetch_xor", ATOMIC_FETCH_XOR, "bitwise exclusive or, get what was there", INTEGERS),
    ATOMIC("xor", ATOMIC_XOR, "bitwise exclusive or", INTEGERS),
    {.name = NULL},
};
