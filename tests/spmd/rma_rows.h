/*
 * rma_rows.h - every put, get, p and g of both APIs behind untyped wrappers, as rows of a table, so
 * that one test serves all.
 */
#ifndef TESTS_SPMD_RMA_ROWS_H
#define TESTS_SPMD_RMA_ROWS_H

#include "spmd.h"
#include "types.h"

#include <nvshmem.h>

/* The context of the functions that take one. */
static shmem_ctx_t ctx;

struct row {
    const char *name;
    size_t bytes, value_bytes; /* of an element; of it that carry the value */
    void (*put)(void *dst, const void *src, size_t nelems, int pe);
    void (*put_nbi)(void *dst, const void *src, size_t nelems, int pe);
    void (*iput)(void *dst, const void *src, ptrdiff_t ds, ptrdiff_t ss, size_t nelems, int pe);
    void (*get)(void *dst, const void *src, size_t nelems, int pe);
    void (*get_nbi)(void *dst, const void *src, size_t nelems, int pe);
    void (*iget)(void *dst, const void *src, ptrdiff_t ds, ptrdiff_t ss, size_t nelems, int pe);
    void (*p)(void *dst, const void *value, int pe); /* NULL: there is none */
    void (*g)(void *value, const void *src, int pe);
};

/* `id` names the wrappers, `fn` the functions; `first` is () or (ctx, ). */
#define NOTHING ()
#define CTX (ctx, )
#define UNWRAP(...) __VA_ARGS__
#define BLOCK_WRAPPERS(id, fn, first)                                                              \
    static void id##_put(void *d, const void *s, size_t n, int pe)                                 \
    {                                                                                              \
        fn##put(UNWRAP first d, s, n, pe);                                                         \
    }                                                                                              \
    static void id##_put_nbi(void *d, const void *s, size_t n, int pe)                             \
    {                                                                                              \
        fn##put_nbi(UNWRAP first d, s, n, pe);                                                     \
    }                                                                                              \
    static void id##_iput(void *d, const void *s, ptrdiff_t ds, ptrdiff_t ss, size_t n, int pe)    \
    {                                                                                              \
        fn##iput(UNWRAP first d, s, ds, ss, n, pe);                                                \
    }                                                                                              \
    static void id##_get(void *d, const void *s, size_t n, int pe)                                 \
    {                                                                                              \
        fn##get(UNWRAP first d, s, n, pe);                                                         \
    }                                                                                              \
    static void id##_get_nbi(void *d, const void *s, size_t n, int pe)                             \
    {                                                                                              \
        fn##get_nbi(UNWRAP first d, s, n, pe);                                                     \
    }                                                                                              \
    static void id##_iget(void *d, const void *s, ptrdiff_t ds, ptrdiff_t ss, size_t n, int pe)    \
    {                                                                                              \
        fn##iget(UNWRAP first d, s, ds, ss, n, pe);                                                \
    }
#define VALUE_WRAPPERS(id, fn, type, first)                                                        \
    static void id##_p(void *d, const void *v, int pe)                                             \
    {                                                                                              \
        fn##p(UNWRAP first d, *(const type *)v, pe);                                               \
    }                                                                                              \
    static void id##_g(void *v, const void *s, int pe)                                             \
    {                                                                                              \
        *(type *)v = fn##g(UNWRAP first s, pe);                                                    \
    }
#define TYPED_SHMEM(name, type)                                                                    \
    BLOCK_WRAPPERS(shmem_w_##name, shmem_##name##_, NOTHING)                                       \
    VALUE_WRAPPERS(shmem_w_##name, shmem_##name##_, type, NOTHING)
#define TYPED_CTX(name, type)                                                                      \
    BLOCK_WRAPPERS(ctx_w_##name, shmem_ctx_##name##_, CTX)                                         \
    VALUE_WRAPPERS(ctx_w_##name, shmem_ctx_##name##_, type, CTX)
#define TYPED_NVSHMEM(name, type)                                                                  \
    BLOCK_WRAPPERS(nvshmem_w_##name, nvshmem_##name##_, NOTHING)                                   \
    VALUE_WRAPPERS(nvshmem_w_##name, nvshmem_##name##_, type, NOTHING)
SHMEM_RMA_TYPES(TYPED_SHMEM)
SHMEM_RMA_TYPES(TYPED_CTX)
NVSHMEM_RMA_TYPES(TYPED_NVSHMEM)

/* put64 and the like: the width is at the end of the name, so they are written out once. */
#define SIZED_WRAPPERS(id, api, bits, first)                                                       \
    static void id##bits##_put(void *d, const void *s, size_t n, int pe)                           \
    {                                                                                              \
        api##put##bits(UNWRAP first d, s, n, pe);                                                  \
    }                                                                                              \
    static void id##bits##_put_nbi(void *d, const void *s, size_t n, int pe)                       \
    {                                                                                              \
        api##put##bits##_nbi(UNWRAP first d, s, n, pe);                                            \
    }                                                                                              \
    static void id##bits##_iput(void *d, const void *s, ptrdiff_t ds, ptrdiff_t ss, size_t n,      \
                                int pe)                                                            \
    {                                                                                              \
        api##iput##bits(UNWRAP first d, s, ds, ss, n, pe);                                         \
    }                                                                                              \
    static void id##bits##_get(void *d, const void *s, size_t n, int pe)                           \
    {                                                                                              \
        api##get##bits(UNWRAP first d, s, n, pe);                                                  \
    }                                                                                              \
    static void id##bits##_get_nbi(void *d, const void *s, size_t n, int pe)                       \
    {                                                                                              \
        api##get##bits##_nbi(UNWRAP first d, s, n, pe);                                            \
    }                                                                                              \
    static void id##bits##_iget(void *d, const void *s, ptrdiff_t ds, ptrdiff_t ss, size_t n,      \
                                int pe)                                                            \
    {                                                                                              \
        api##iget##bits(UNWRAP first d, s, ds, ss, n, pe);                                         \
    }
#define WIDTHS(X, id, api, first)                                                                  \
    X(id, api, 8, first)                                                                           \
    X(id, api, 16, first) X(id, api, 32, first) X(id, api, 64, first) X(id, api, 128, first)
WIDTHS(SIZED_WRAPPERS, shmem_s, shmem_, NOTHING)
WIDTHS(SIZED_WRAPPERS, ctx_s, shmem_ctx_, CTX)
WIDTHS(SIZED_WRAPPERS, nvshmem_s, nvshmem_, NOTHING)

#define MEM_WRAPPERS(id, api, first)                                                               \
    static void id##_put(void *d, const void *s, size_t n, int pe)                                 \
    {                                                                                              \
        api##putmem(UNWRAP first d, s, n, pe);                                                     \
    }                                                                                              \
    static void id##_put_nbi(void *d, const void *s, size_t n, int pe)                             \
    {                                                                                              \
        api##putmem_nbi(UNWRAP first d, s, n, pe);                                                 \
    }                                                                                              \
    static void id##_get(void *d, const void *s, size_t n, int pe)                                 \
    {                                                                                              \
        api##getmem(UNWRAP first d, s, n, pe);                                                     \
    }                                                                                              \
    static void id##_get_nbi(void *d, const void *s, size_t n, int pe)                             \
    {                                                                                              \
        api##getmem_nbi(UNWRAP first d, s, n, pe);                                                 \
    }
MEM_WRAPPERS(shmem_m, shmem_, NOTHING)
MEM_WRAPPERS(ctx_m, shmem_ctx_, CTX)
MEM_WRAPPERS(nvshmem_m, nvshmem_, NOTHING)

/* Of a long double's 16 bytes, x86 has 10 of value; the rest is padding. */
static size_t value_bytes(const char *name, size_t bytes)
{
    bool padded = strstr(name, "longdouble") && bytes == 16 && __LDBL_MANT_DIG__ == 64;
    return padded ? 10 : bytes;
}

/* Valgrind computes long doubles as doubles, so one that passes through a register loses bits. */
static bool is_kept(const char *name)
{
    volatile long double one = 1, little = (long double)1 / (UINT64_C(1) << 62);
    return !strstr(name, "longdouble") || __LDBL_MANT_DIG__ < 64 || one + little != one;
}

#define BLOCKS(id) id##_put, id##_put_nbi, id##_iput, id##_get, id##_get_nbi, id##_iget
#define ROW(id, name, type) {name, sizeof(type), 0, BLOCKS(id), id##_p, id##_g},
#define ROW_SHMEM(name, type) ROW(shmem_w_##name, "shmem_" #name, type)
#define ROW_CTX(name, type) ROW(ctx_w_##name, "shmem_ctx_" #name, type)
#define ROW_NVSHMEM(name, type) ROW(nvshmem_w_##name, "nvshmem_" #name, type)
#define ROW_SIZED(id, api, bits, first) {#api #bits, (bits) / 8, 0, BLOCKS(id##bits), NULL, NULL},
#define ROW_MEM(id, api)                                                                           \
    {#api "mem", 1, 0, id##_put, id##_put_nbi, NULL, id##_get, id##_get_nbi, NULL, NULL, NULL},

/* clang-format off */
static struct row rows[] = {
    SHMEM_RMA_TYPES(ROW_SHMEM)
    SHMEM_RMA_TYPES(ROW_CTX)
    NVSHMEM_RMA_TYPES(ROW_NVSHMEM)
    WIDTHS(ROW_SIZED, shmem_s, shmem_, NOTHING)
    WIDTHS(ROW_SIZED, ctx_s, shmem_ctx_, CTX)
    WIDTHS(ROW_SIZED, nvshmem_s, nvshmem_, NOTHING)
    ROW_MEM(shmem_m, shmem_)
    ROW_MEM(ctx_m, shmem_ctx_)
    ROW_MEM(nvshmem_m, nvshmem_)
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof rows[0] };

#endif
