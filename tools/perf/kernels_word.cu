/*
 * kernels_word.cu - the ops on one word, which a thread does.
 */
#include "kernels.cuh"

/* ---- one word -------------------------------------------------------------------------------- */

#define BY_SIZE(F)                                                                                 \
    switch (a.elem_bytes) {                                                                        \
    case 1:                                                                                        \
        F(8);                                                                                      \
        break;                                                                                     \
    case 2:                                                                                        \
        F(16);                                                                                     \
        break;                                                                                     \
    case 4:                                                                                        \
        F(32);                                                                                     \
        break;                                                                                     \
    default:                                                                                       \
        F(64);                                                                                     \
    }
#define P_LOOP(bits)                                                                               \
    for (uint64_t i = 0; i < a.n; i++, copy_of.next())                                             \
    nvshmem_uint##bits##_p((uint##bits##_t *)(a.dst + copy_of.at),                                 \
                           *(const uint##bits##_t *)(a.src + copy_of.at), a.to)
#define G_LOOP(bits)                                                                               \
    for (uint64_t i = 0; i < a.n; i++, copy_of.next())                                             \
    *(uint##bits##_t *)(a.dst + copy_of.at) =                                                      \
        nvshmem_uint##bits##_g((const uint##bits##_t *)(a.src + copy_of.at), a.to)

static __device__ void words_out(const args &a)
{
    rotor copy_of(a);
    BY_SIZE(P_LOOP)
    nvshmem_quiet();
}

static __device__ void words_in(const args &a)
{
    rotor copy_of(a);
    BY_SIZE(G_LOOP)
}

/* ---- there and back -------------------------------------------------------------------------- */

static __device__ void signals(const args &a)
{
    answering how = answering_of(a);
    for (uint64_t i = 0; i < a.n; i++) {
        uint64_t value = a.answers + i + 1, set = how.ring ? 1 : value;
        if (how.starts)
            nvshmemx_signal_op(a.signal, set, how.op, how.pe);
        nvshmem_signal_wait_until(a.signal, NVSHMEM_CMP_GE, value);
        if (!how.starts)
            nvshmemx_signal_op(a.signal, set, how.op, how.pe);
    }
    nvshmem_quiet();
}

static __device__ void ping_pongs(const args &a)
{
    answering how = answering_of(a);
    for (uint64_t i = 0; i < a.n; i++) {
        uint64_t value = a.answers + i + 1;
        if (how.starts)
            nvshmem_uint64_p(a.turn, value, how.pe);
        nvshmem_uint64_wait_until(a.turn, NVSHMEM_CMP_GE, value);
        if (!how.starts)
            nvshmem_uint64_p(a.turn, value, how.pe);
    }
    nvshmem_quiet();
}

/* ---- atomics --------------------------------------------------------------------------------- */

/* A loop for each, so that it has no switch in it. `word`, `old`, `i` and `pe` may be used. */
#define ATOMIC(which, statement)                                                                   \
    case which:                                                                                    \
        for (uint64_t i = a.first; i < a.first + a.n; i++)                                         \
            statement;                                                                             \
        break;
#define OPERAND(bits) ((uint##bits##_t)KERNEL_OPERAND(i))
#define FETCHING(bits, name) old = nvshmem_uint##bits##_atomic_##name(word, OPERAND(bits), pe)
#define SILENT(bits, name) nvshmem_uint##bits##_atomic_##name(word, OPERAND(bits), pe)
#define ATOMICS(bits)                                                                              \
    static __device__ void atomics##bits(const args &a)                                            \
    {                                                                                              \
        uint##bits##_t *word = (uint##bits##_t *)a.word, old = (uint##bits##_t)a.old;              \
        int pe = a.to;                                                                             \
        switch (a.op - KERNEL_ATOMIC) {                                                            \
            ATOMIC(ATOMIC_FETCH_ADD, FETCHING(bits, fetch_add))                                    \
            ATOMIC(ATOMIC_ADD, SILENT(bits, add))                                                  \
            ATOMIC(ATOMIC_FETCH_INC, old = nvshmem_uint##bits##_atomic_fetch_inc(word, pe))        \
            ATOMIC(ATOMIC_INC, nvshmem_uint##bits##_atomic_inc(word, pe))                          \
            ATOMIC(ATOMIC_SWAP, FETCHING(bits, swap))                                              \
            ATOMIC(ATOMIC_CSWAP,                                                                   \
                   old = nvshmem_uint##bits##_atomic_compare_swap(word, old, OPERAND(bits), pe))   \
            ATOMIC(ATOMIC_FETCH, old = nvshmem_uint##bits##_atomic_fetch(word, pe))                \
            ATOMIC(ATOMIC_SET, SILENT(bits, set))                                                  \
            ATOMIC(ATOMIC_FETCH_AND, FETCHING(bits, fetch_and))                                    \
            ATOMIC(ATOMIC_AND, SILENT(bits, and))                                                  \
            ATOMIC(ATOMIC_FETCH_OR, FETCHING(bits, fetch_or))                                      \
            ATOMIC(ATOMIC_OR, SILENT(bits, or))                                                    \
            ATOMIC(ATOMIC_FETCH_XOR, FETCHING(bits, fetch_xor))                                    \
            ATOMIC(ATOMIC_XOR, SILENT(bits, xor))                                                  \
        }                                                                                          \
        nvshmem_quiet();                                                                           \
        *a.result = old;                                                                           \
    }
ATOMICS(32)
ATOMICS(64)

static __device__ void run_words(const args &a)
{
    switch (a.op) {
    case KERNEL_SIGNAL:
        signals(a);
        break;
    case KERNEL_PING_PONG:
        ping_pongs(a);
        break;
    case KERNEL_P:
        words_out(a);
        break;
    case KERNEL_G:
        words_in(a);
        break;
    default:
        if (a.elem_bytes == 4)
            atomics32(a);
        else
            atomics64(a);
    }
}

NVSD_KERNEL(perf_word, struct kernel_args, a)
{
    run_words(a);
}
