/*
 * engine.h - what a block of threads does with two tiles in shared memory: the arithmetic of
 * product.cu, in float and on tensor cores.
 *
 * An engine computes ROWS x COLS outputs, DEPTH steps of the inner dimension at a time. Tiles lie
 * in shared memory as they lay in global memory, transposed or not, so that both are moved in whole
 * lines of 16 bytes. PAD elements behind each line spread columns over the banks.
 */
#ifndef GPT_GPU_ENGINE_H
#define GPT_GPU_ENGINE_H

#include <mma.h>

#include "number.h"

/* The shape of a tile of `rows` x `cols` in shared memory. */
template <int rows, int cols, bool transposed, int pad> struct tile_shape {
    static const int LINES = transposed ? cols : rows, LENGTH = transposed ? rows : cols;
    static const int STRIDE = LENGTH + pad, NELEMS = LINES * STRIDE;
    static __device__ __forceinline__ int at(int row, int col)
    {
        return transposed ? col * STRIDE + row : row * STRIDE + col;
    }
};

template <typename T, bool A_TRANSPOSED, bool B_TRANSPOSED> struct engine;

/* float: each of 256 threads computes 4 x 4 outputs, 16 rows and 16 columns apart. */
template <bool A_TRANSPOSED, bool B_TRANSPOSED> struct engine<float, A_TRANSPOSED, B_TRANSPOSED> {
    static const int ROWS = 64, COLS = 64, DEPTH = 16, THREADS = 256, EACH = 4, APART = 16;
    typedef tile_shape<ROWS, DEPTH, A_TRANSPOSED, 4> a_shape;
    typedef tile_shape<DEPTH, COLS, B_TRANSPOSED, 4> b_shape;

    float sums[EACH][EACH];

    __device__ void clear()
    {
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                sums[i][j] = 0;
    }
    __device__ void multiply(const float *a_tile, const float *b_tile)
    {
        int row = (int)threadIdx.x / APART, col = (int)threadIdx.x % APART;
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float a[EACH], b[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                a[i] = a_tile[a_shape::at(row + i * APART, k)];
                b[i] = b_tile[b_shape::at(k, col + i * APART)];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
    }
    /* Hands over all outputs: out[row * COLS + col]. */
    __device__ void finish(float *out)
    {
        int row = (int)threadIdx.x / APART, col = (int)threadIdx.x % APART;
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                out[(row + i * APART) * COLS + col + j * APART] = sums[i][j];
    }
};

/* bfloat16: four warps of 32 x 32 outputs each, on tensor cores, summed in float. */
template <bool A_TRANSPOSED, bool B_TRANSPOSED>
struct engine<bfloat16, A_TRANSPOSED, B_TRANSPOSED> {
    static const int ROWS = 64, COLS = 64, DEPTH = 32, THREADS = 128, EACH = 2, SIDE = 16;
    typedef tile_shape<ROWS, DEPTH, A_TRANSPOSED, 8> a_shape;
    typedef tile_shape<DEPTH, COLS, B_TRANSPOSED, 8> b_shape;
    template <bool transposed>
    using layout = std::conditional_t<transposed, nvcuda::wmma::col_major, nvcuda::wmma::row_major>;
    typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, SIDE, SIDE, SIDE, bfloat16,
                                   layout<A_TRANSPOSED>>
        a_fragment;
    typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, SIDE, SIDE, SIDE, bfloat16,
                                   layout<B_TRANSPOSED>>
        b_fragment;

    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, SIDE, SIDE, SIDE, float> sums[EACH][EACH];

    static __device__ int row_of(int i) { return ((int)threadIdx.x / WARP / 2 * EACH + i) * SIDE; }
    static __device__ int col_of(int j) { return ((int)threadIdx.x / WARP % 2 * EACH + j) * SIDE; }
    __device__ void clear()
    {
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
    }
    __device__ void multiply(const bfloat16 *a_tile, const bfloat16 *b_tile)
    {
        a_fragment a[EACH];
        b_fragment b[EACH];
#pragma unroll
        for (int k = 0; k < DEPTH; k += SIDE) {
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                load_matrix_sync(a[i], a_tile + a_shape::at(row_of(i), k), a_shape::STRIDE);
                load_matrix_sync(b[i], b_tile + b_shape::at(k, col_of(i)), b_shape::STRIDE);
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
        }
    }
    __device__ void finish(float *out)
    {
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                store_matrix_sync(out + row_of(i) * COLS + col_of(j), sums[i][j], COLS,
                                  nvcuda::wmma::mem_row_major);
    }
};

#endif
