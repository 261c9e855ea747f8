/*
 * columns.h - d[col] += the sum over rows of term(row, col), in an order that depends on the shape
 * only.
 */
#ifndef GPT_GPU_COLUMNS_H
#define GPT_GPU_COLUMNS_H

#include "layers.h"

enum { COLUMN_LANES = 8 }; /* rows that a block adds at once */

template <typename Term>
static __global__ void columns_partial(float *partials, Term term, int rows, int cols, int piece)
{
    __shared__ float sums[COLUMN_LANES][WARP];
    int lane = (int)threadIdx.x % WARP, line = (int)threadIdx.x / WARP;
    int col = (int)blockIdx.x * WARP + lane;
    int first = (int)blockIdx.y * piece, end = first + piece < rows ? first + piece : rows;
    float sum = 0;
    if (col < cols)
        for (int row = first + line; row < end; row += COLUMN_LANES)
            sum += term(row, col);
    sums[line][lane] = sum;
    __syncthreads();
    if (line > 0 || col >= cols)
        return;
    for (int i = 1; i < COLUMN_LANES; i++)
        sum += sums[i][lane];
    partials[(long)blockIdx.y * cols + col] = sum;
}

static __global__ void columns_finish(float *d, const float *partials, int cols, int pieces)
{
    int col = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (col >= cols)
        return;
    float sum = 0;
    for (int i = 0; i < pieces; i++)
        sum += partials[(long)i * cols + col];
    d[col] += sum;
}

template <typename Term>
static void columns_fold(float *d, Term term, int rows, int cols, struct scratch s,
                         cudaStream_t stream)
{
    const long min_piece = 4 * COLUMN_LANES;
    long piece = blocks_for(rows, COLUMN_PIECES);
    piece = piece < min_piece ? min_piece : piece;
    long pieces = blocks_for(rows, piece);
    dim3 grid((unsigned)blocks_for(cols, WARP), (unsigned)pieces);
    LAUNCH(columns_partial<Term>, grid, COLUMN_LANES * WARP, stream, s.partials, term, rows, cols,
           (int)piece);
    LAUNCH(columns_finish, (unsigned)blocks_for(cols, BLOCK_THREADS), BLOCK_THREADS, stream, d,
           s.partials, cols, (int)pieces);
}

#endif
