/*
 * matmul.c - a blocked matrix product in plain C with GCC's vector extension.
 *
 * The result is computed in tiles of 6 x 16 that stay in registers (12 of the 16 vector registers
 * of AVX2) while the inner dimension runs: each step loads 16 elements of b and 6 of a, and does 96
 * multiply-adds. For this both inputs are first copied ("packed") block by block into the order in
 * which the tiles read them, padded with zeros at the edges. Packing also absorbs transposition,
 * and the blocks are sized for the caches: a tile's strip of b (16 KiB) fits in the first level,
 * the packed blocks (96 and 256 KiB) in the second.
 */
#include "matmul.h"

enum {
    LANES = 8,
    TILE_ROWS = 6,
    TILE_COLS = 2 * LANES,
    BLOCK_ROWS = 16 * TILE_ROWS,
    BLOCK_COLS = 16 * TILE_COLS,
    BLOCK_DEPTH = 256
};

/* Eight numbers at any address. */
typedef real vec
    __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real)), may_alias));

static _Alignas(64) real packed_a[BLOCK_ROWS * BLOCK_DEPTH];
static _Alignas(64) real packed_b[BLOCK_COLS * BLOCK_DEPTH];

static ALWAYS_INLINE int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Packs `depth` steps of `width` lines (rows of a, or columns of b), of which `count` exist: step k
 * of all lines comes before step k + 1. */
static ALWAYS_INLINE void strip_pack(real *dst, int width, const real *src, int line_stride,
                                     int depth_stride, int count, int depth)
{
    if (count == width && line_stride == 1) {
        for (int k = 0; k < depth; k++)
            for (int i = 0; i < width; i++)
                dst[k * width + i] = src[k * depth_stride + i];
        return;
    }
    for (int i = 0; i < width; i++)
        for (int k = 0; k < depth; k++)
            dst[k * width + i] = i < count ? src[i * line_stride + k * depth_stride] : 0;
}

/* Packs a whole block as consecutive strips. */
static ALWAYS_INLINE void block_pack(real *dst, int width, const real *src, int line_stride,
                                     int depth_stride, int lines, int depth)
{
    for (int i = 0; i < lines; i += width)
        strip_pack(dst + i * depth, width, src + i * line_stride, line_stride, depth_stride,
                   smaller(width, lines - i), depth);
}

/* One full tile of the result, from two packed strips. */
static ALWAYS_INLINE void tile_multiply(real *c, int stride, const real *a, const real *b,
                                        int depth, bool add)
{
    vec sum[TILE_ROWS][2] = {{{0}}};
    for (int k = 0; k < depth; k++, a += TILE_ROWS, b += TILE_COLS) {
        vec left = *(const vec *)b, right = *(const vec *)(b + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < TILE_ROWS; r++) {
            sum[r][0] += a[r] * left;
            sum[r][1] += a[r] * right;
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < TILE_ROWS; r++) {
        vec *out = (vec *)(c + (long)r * stride);
        if (add) {
            sum[r][0] += out[0];
            sum[r][1] += out[1];
        }
        out[0] = sum[r][0];
        out[1] = sum[r][1];
    }
}

/* A tile that sticks out of the result: computed aside, then the part that exists is copied. */
static ALWAYS_INLINE void edge_multiply(struct matrix c, const real *a, const real *b, int depth,
                                        bool add)
{
    real tile[TILE_ROWS * TILE_COLS];
    tile_multiply(tile, TILE_COLS, a, b, depth, false);
    for (int r = 0; r < c.rows; r++)
        for (int j = 0; j < c.cols; j++) {
            real *out = c.at + (long)r * c.row_stride + j;
            *out = (add ? *out : 0) + tile[r * TILE_COLS + j];
        }
}

/* c (+)= packed_a packed_b for one pair of blocks. */
static ALWAYS_INLINE void block_multiply_body(struct matrix c, int depth, bool add)
{
    for (int j = 0; j < c.cols; j += TILE_COLS)
        for (int i = 0; i < c.rows; i += TILE_ROWS) {
            const real *a = packed_a + i * depth, *b = packed_b + j * depth;
            struct matrix tile =
                matrix_view(c.at + (long)i * c.row_stride + j, smaller(TILE_ROWS, c.rows - i),
                            smaller(TILE_COLS, c.cols - j), c.row_stride);
            if (tile.rows == TILE_ROWS && tile.cols == TILE_COLS)
                tile_multiply(tile.at, tile.row_stride, a, b, depth, add);
            else
                edge_multiply(tile, a, b, depth, add);
        }
}

static ALWAYS_INLINE void matmul_body(struct matrix c, struct matrix a, struct matrix b, bool add)
{
    for (int j = 0; j < c.cols; j += BLOCK_COLS)
        for (int k = 0; k < a.cols; k += BLOCK_DEPTH) {
            int cols = smaller(BLOCK_COLS, c.cols - j), depth = smaller(BLOCK_DEPTH, a.cols - k);
            block_pack(packed_b, TILE_COLS, b.at + (long)k * b.row_stride + (long)j * b.col_stride,
                       b.col_stride, b.row_stride, cols, depth);
            for (int i = 0; i < c.rows; i += BLOCK_ROWS) {
                int rows = smaller(BLOCK_ROWS, c.rows - i);
                block_pack(packed_a, TILE_ROWS,
                           a.at + (long)i * a.row_stride + (long)k * a.col_stride, a.row_stride,
                           a.col_stride, rows, depth);
                block_multiply_body(
                    matrix_view(c.at + (long)i * c.row_stride + j, rows, cols, c.row_stride), depth,
                    add || k > 0);
            }
        }
}

SIMD_FUNCTION(extern, matmul, (struct matrix c, struct matrix a, struct matrix b, bool add),
              (c, a, b, add))
