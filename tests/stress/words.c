/*
 * words.c - what PEs do to single words: atomics by one or all of them, signals, and a counter
 * under a lock.
 */
#include "model.h"

/* ---- atomics by one PE, whose result is known -------------------------------------------------
 */

#define ATOMICS(X)                                                                                 \
    X(set)                                                                                         \
    X(fetch)                                                                                       \
    X(add)                                                                                         \
    X(fetch_add)                                                                                   \
    X(inc)                                                                                         \
    X(fetch_inc)                                                                                   \
    X(and)                                                                                         \
    X(fetch_and)                                                                                   \
    X(or) X(fetch_or) X(xor) X(fetch_xor) X(swap) X(compare_swap) X(failing_compare_swap)
enum {
#define X(name) ATOMIC_##name,
    ATOMICS(X)
#undef X
        NUM_ATOMICS
};
const char *const atomic_names[] = {
#define X(name) #name,
    ATOMICS(X)
#undef X
};

int atomic_count(void)
{
    return NUM_ATOMICS;
}

/* By either name of the function. */
#define DO(bits, name, ...)                                                                        \
    (op->nvshmem                                                                                   \
         ? nvshmem_uint##bits##_atomic_##name(word, ##__VA_ARGS__, op->target)                     \
         : shmem_ctx_uint##bits##_atomic_##name(ctx_of(op), word, ##__VA_ARGS__, pe_of(op)))

/* Does it; returns the word before it, which is `before` where the function does not tell. */
#define PERFORM_ATOMIC(bits)                                                                       \
    static uint64_t perform_atomic##bits(const struct op *op, uint##bits##_t before)               \
    {                                                                                              \
        uint##bits##_t *word = (uint##bits##_t *)part_here(&op->dst);                              \
        uint##bits##_t value = (uint##bits##_t)op->value, wrong = (uint##bits##_t) ~before;        \
        switch (op->fn) {                                                                          \
        case ATOMIC_set:                                                                           \
            return DO(bits, set, value), before;                                                   \
        case ATOMIC_fetch:                                                                         \
            return DO(bits, fetch);                                                                \
        case ATOMIC_add:                                                                           \
            return DO(bits, add, value), before;                                                   \
        case ATOMIC_fetch_add:                                                                     \
            return DO(bits, fetch_add, value);                                                     \
        case ATOMIC_inc:                                                                           \
            return DO(bits, inc), before;                                                          \
        case ATOMIC_fetch_inc:                                                                     \
            return DO(bits, fetch_inc);                                                            \
        case ATOMIC_and:                                                                           \
            return DO(bits, and, value), before;                                                   \
        case ATOMIC_fetch_and:                                                                     \
            return DO(bits, fetch_and, value);                                                     \
        case ATOMIC_or:                                                                            \
            return DO(bits, or, value), before;                                                    \
        case ATOMIC_fetch_or:                                                                      \
            return DO(bits, fetch_or, value);                                                      \
        case ATOMIC_xor:                                                                           \
            return DO(bits, xor, value), before;                                                   \
        case ATOMIC_fetch_xor:                                                                     \
            return DO(bits, fetch_xor, value);                                                     \
        case ATOMIC_swap:                                                                          \
            return DO(bits, swap, value);                                                          \
        case ATOMIC_compare_swap:                                                                  \
            return DO(bits, compare_swap, before, value);                                          \
        default:                                                                                   \
            return DO(bits, compare_swap, wrong, value);                                           \
        }                                                                                          \
    }
PERFORM_ATOMIC(32)
PERFORM_ATOMIC(64)

static uint64_t after_atomic(const struct op *op, uint64_t before)
{
    switch (op->fn) {
    case ATOMIC_fetch:
    case ATOMIC_failing_compare_swap:
        return before;
    case ATOMIC_add:
    case ATOMIC_fetch_add:
        return before + op->value;
    case ATOMIC_inc:
    case ATOMIC_fetch_inc:
        return before + 1;
    case ATOMIC_and:
    case ATOMIC_fetch_and:
        return before & op->value;
    case ATOMIC_or:
    case ATOMIC_fetch_or:
        return before | op->value;
    case ATOMIC_xor:
    case ATOMIC_fetch_xor:
        return before ^ op->value;
    default:
        return op->value;
    }
}

/* The word of the model: little-endian, as all machines are that this runs on. */
static uint64_t model_word(const struct part *part, int pe)
{
    uint64_t word = 0;
    memcpy(&word, part_model(part, pe), part->nbytes);
    return word;
}

static void set_model_word(const struct part *part, int pe, uint64_t word)
{
    memcpy(part_model(part, pe), &word, part->nbytes);
}

static void perform_atomic(const struct op *op)
{
    uint64_t want = model_word(&op->dst, op->target);
    uint64_t got =
        op->elem_bytes == 4 ? perform_atomic32(op, (uint32_t)want) : perform_atomic64(op, want);
    expect(op, (unsigned char *)&got, (unsigned char *)&want, sizeof want);
}

/* ---- several PEs at once ----------------------------------------------------------------------
 */

static uint64_t next_signal(const struct op *op)
{
    uint64_t now = model_word(&op->src, op->target);
    return op->value & 1 ? now + 1 : op->value == now ? now + 2 : op->value;
}

static void perform_signal(const struct op *op)
{
    bool add = op->value & 1;
    uint64_t *sig = (uint64_t *)part_here(&op->src), value = add ? 1 : next_signal(op);
    char *dst = part_here(&op->dst);
    if (world.me == op->actor) {
        const unsigned char *data = data_of(op, op->dst.nbytes);
        int how = add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
        if (op->nvshmem)
            nvshmem_putmem_signal(dst, data, op->dst.nbytes, sig, value, how, op->target);
        else
            shmem_ctx_putmem_signal(ctx_of(op), dst, data, op->dst.nbytes, sig, value, how,
                                    pe_of(op));
    }
    if (world.me != op->target)
        return;
    if (op->nvshmem)
        nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, next_signal(op));
    else
        shmem_signal_wait_until(sig, SHMEM_CMP_EQ, next_signal(op));
    expect(op, (unsigned char *)dst, data_of(op, op->dst.nbytes), op->dst.nbytes);
}

/* ---- performing, as one of several ----------------------------------------------------------- */

static void perform_add_all(const struct op *op)
{
    uint64_t *word = (uint64_t *)part_here(&op->dst), value = op->value + (uint64_t)world.me;
    if (op->value & 2)
        (void)shmem_uint64_atomic_fetch_add(word, value, op->target);
    else if (op->nvshmem)
        nvshmem_uint64_atomic_add(word, value, op->target);
    else
        shmem_uint64_atomic_add(word, value, op->target);
}

/* Bit pe of the value says whether that PE adds 1 under the lock, without an atomic. */
static void perform_locked(const struct op *op)
{
    static long lock;
    uint64_t *word = (uint64_t *)part_here(&op->dst);
    if (!(op->value >> world.me & 1))
        return;
    if (op->nvshmem)
        while (shmem_test_lock(&lock))
            ;
    else
        shmem_set_lock(&lock);
    shmem_uint64_p(word, shmem_uint64_g(word, op->target) + 1, op->target);
    shmem_clear_lock(&lock);
}

void words_perform(const struct op *op)
{
    if (op->kind == OP_ADD_ALL)
        perform_add_all(op);
    else if (op->kind == OP_LOCKED)
        perform_locked(op);
    else if (op->kind == OP_SIGNAL)
        perform_signal(op);
    else if (world.me == op->actor)
        perform_atomic(op);
}

/* ---- the model ------------------------------------------------------------------------------- */

void words_apply(const struct op *op)
{
    uint64_t n = (uint64_t)world.npes;
    if (op->kind == OP_SIGNAL) {
        set_model_word(&op->src, op->target, next_signal(op));
        data_fill(part_model(&op->dst, op->target), op->value, op->dst.nbytes);
        return;
    }
    uint64_t word = model_word(&op->dst, op->target);
    if (op->kind == OP_ADD_ALL)
        word += n * op->value + n * (n - 1) / 2;
    else if (op->kind == OP_LOCKED)
        word += (uint64_t)__builtin_popcountll(op->value & ((UINT64_C(1) << n) - 1));
    else
        word = after_atomic(op, word);
    set_model_word(&op->dst, op->target, word);
}
