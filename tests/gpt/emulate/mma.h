/*
 * mma.h - the tensor cores of a warp, as far as examples/gpt uses them: tiles of 16 x 16.
 *
 * Lane 0 has the whole tile and computes; the other lanes have nothing. As on a GPU the program has
 * to see to it that shared memory is complete before a tile is loaded.
 */
#ifndef GPT_EMULATE_MMA_H
#define GPT_EMULATE_MMA_H

#include <stdint.h>
#include <stdlib.h>

#include "cuda_bf16.h"
#include "cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major };

template <typename Use, int M, int N, int K, typename T, typename Layout = void> struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "the one shape that is emulated");
    float at[16][16];
};

static inline bool absent(void)
{
    return threadIdx.x % 32 != 0;
}

/* What the hardware requires of addresses; `each`: elements in 16 bytes. */
static inline void check_alignment(const void *ptr, unsigned stride, unsigned each)
{
    if ((uintptr_t)ptr % 32 != 0 || stride % each != 0)
        abort();
}

template <int M, int N, int K>
void fill_fragment(fragment<accumulator, M, N, K, float> &f, float value)
{
    for (int i = 0; i < M * N && !absent(); i++)
        f.at[i / N][i % N] = value;
}

template <typename Use, int M, int N, int K, typename Layout>
void load_matrix_sync(fragment<Use, M, N, K, __nv_bfloat16, Layout> &f, const __nv_bfloat16 *ptr,
                      unsigned stride)
{
    bool rows = std::is_same<Layout, row_major>::value;
    check_alignment(ptr, stride, 8);
    for (unsigned i = 0; i < 256 && !absent(); i++) {
        unsigned row = i / 16, col = i % 16;
        f.at[row][col] = __bfloat162float(ptr[rows ? row * stride + col : col * stride + row]);
    }
}

template <int M, int N, int K, typename A, typename B>
void mma_sync(fragment<accumulator, M, N, K, float> &d,
              const fragment<matrix_a, M, N, K, __nv_bfloat16, A> &a,
              const fragment<matrix_b, M, N, K, __nv_bfloat16, B> &b,
              const fragment<accumulator, M, N, K, float> &c)
{
    if (absent())
        return;
    d = c;
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++)
                d.at[i][j] += a.at[i][k] * b.at[k][j];
}

template <int M, int N, int K>
void store_matrix_sync(float *ptr, const fragment<accumulator, M, N, K, float> &f, unsigned stride,
                       layout_t)
{
    check_alignment(ptr, stride, 4);
    for (unsigned i = 0; i < 256 && !absent(); i++)
        ptr[i / 16 * stride + i % 16] = f.at[i / 16][i % 16];
}

} // namespace wmma
} // namespace nvcuda

#endif
