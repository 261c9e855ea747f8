/*
 * product.cu - tiled matrix products.
 *
 * A block computes one tile of the result. It walks along the inner dimension: while its engine
 * multiplies the tiles in shared memory, its threads already hold the next ones in registers, so
 * that the way from global memory is hidden behind the arithmetic. What sticks out of a matrix is
 * read as zeros.
 */
#include "engine.h"
#include "product.h"

/* Part of a matrix on its way to shared memory: vectors of 16 bytes, several for each thread. */
template <typename T, typename shape, int THREADS> struct carrier {
    static const int LANES = 16 / sizeof(T), PER_LINE = shape::LENGTH / LANES;
    static const int EACH = shape::LINES * PER_LINE / THREADS;
    union vector {
        uint4 whole;
        unsigned char bytes[16];
    };
    vector held[EACH];

    /* `lines` and `length` say how much of the matrix there is from src on; `whole`: its lines are
     * aligned to 16 bytes. */
    __device__ void fetch(const T *src, long stride, int lines, int length, bool whole)
    {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int v = (int)threadIdx.x + i * THREADS, line = v / PER_LINE, at = v % PER_LINE * LANES;
            const T *from = src + line * stride + at;
            if (whole && line < lines && at + LANES <= length)
                held[i].whole = *(const uint4 *)from;
            else
                fetch_edge(held[i], from, line < lines ? length - at : 0);
        }
    }
    static __device__ void fetch_edge(vector &v, const T *from, int count)
    {
        v.whole = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int lane = 0; lane < LANES; lane++)
            if (lane < count)
                memcpy(v.bytes + lane * sizeof(T), from + lane, sizeof(T));
    }
    __device__ void put(T *tile)
    {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int v = (int)threadIdx.x + i * THREADS;
            *(uint4 *)(tile + v / PER_LINE * shape::STRIDE + v % PER_LINE * LANES) = held[i].whole;
        }
    }
};

/* One operand as a block sees it: its tile moves along the inner dimension. */
template <typename T> struct walker {
    const T *at; /* of the whole matrix, for this number of the batch */
    long stride;
    int first, end; /* along the outer dimension: of this tile, and of the matrix */
    bool whole;

    __device__ walker(const operand<const T> &o, long offset, int first, int end)
        : at(o.at + offset), stride(o.stride), first(first), end(end)
    {
        whole = ((size_t)at | (size_t)stride * sizeof(T)) % 16 == 0;
    }
    /* along_lines: the inner dimension runs along the lines of the matrix. */
    template <bool along_lines, typename Carrier>
    __device__ void fetch(Carrier &carrier, int depth, int depth_end) const
    {
        if (along_lines)
            carrier.fetch(at + first * stride + depth, stride, end - first, depth_end - depth,
                          whole);
        else
            carrier.fetch(at + depth * stride + first, stride, depth_end - depth, end - first,
                          whole);
    }
};

template <typename T, typename Out>
static __device__ void outputs_write(const product<T, Out> &p, const float *tile, long offset,
                                     int first_row, int first_col, int threads)
{
    for (int i = (int)threadIdx.x; i < PRODUCT_TILE * PRODUCT_TILE; i += threads) {
        int row = first_row + i / PRODUCT_TILE, col = first_col + i % PRODUCT_TILE;
        if (row >= p.rows || col >= p.cols)
            continue;
        long at = offset + row * p.c.stride + col;
        float value = tile[i];
        if (p.bias)
            value += p.bias[col];
        if (p.residual)
            value += p.residual[at];
        if (p.add)
            value += to_float(p.c.at[at]);
        store(p.c.at + at, value);
    }
}

static __device__ __forceinline__ long batch_offset(int inner_count, long outer, long inner, int z)
{
    return z / inner_count * outer + z % inner_count * inner;
}

/* piece: the part of the inner dimension that one block does; batches are not cut. */
template <typename T, typename Out, bool A_TRANSPOSED, bool B_TRANSPOSED>
__global__ void __launch_bounds__(engine<T, A_TRANSPOSED, B_TRANSPOSED>::THREADS)
    product_kernel(product<T, Out> p, int piece)
{
    typedef engine<T, A_TRANSPOSED, B_TRANSPOSED> E;
    __shared__ __align__(128) T a_tile[E::a_shape::NELEMS];
    __shared__ __align__(128) T b_tile[E::b_shape::NELEMS];
    __shared__ __align__(128) float out_tile[E::ROWS * E::COLS];
    carrier<T, typename E::a_shape, E::THREADS> a_carrier;
    carrier<T, typename E::b_shape, E::THREADS> b_carrier;
    E sums;

    int z = (int)blockIdx.z, in = p.inner_count;
    int row = (int)blockIdx.y * E::ROWS, col = (int)blockIdx.x * E::COLS;
    int depth = p.count > 1 ? 0 : z * piece, end = p.count > 1 ? p.depth : depth + piece;
    int member = p.count > 1 ? z : 0;
    end = end < p.depth ? end : p.depth;
    walker<T> a(p.a, batch_offset(in, p.a.outer, p.a.inner, member), row, p.rows);
    walker<T> b(p.b, batch_offset(in, p.b.outer, p.b.inner, member), col, p.cols);

    sums.clear();
    a.template fetch<!A_TRANSPOSED>(a_carrier, depth, end);
    b.template fetch<B_TRANSPOSED>(b_carrier, depth, end);
    for (; depth < end; depth += E::DEPTH) {
        __syncthreads(); /* the tiles before were read by all */
        a_carrier.put(a_tile);
        b_carrier.put(b_tile);
        __syncthreads();
        if (depth + E::DEPTH < end) {
            a.template fetch<!A_TRANSPOSED>(a_carrier, depth + E::DEPTH, end);
            b.template fetch<B_TRANSPOSED>(b_carrier, depth + E::DEPTH, end);
        }
        sums.multiply(a_tile, b_tile);
    }
    sums.finish(out_tile);
    __syncthreads();
    outputs_write(p, out_tile, batch_offset(in, p.c.outer, p.c.inner, z), row, col, E::THREADS);
}

template <typename T, typename Out, bool A_TRANSPOSED, bool B_TRANSPOSED>
static void product_launch(const product<T, Out> &p, int pieces, int piece, cudaStream_t stream)
{
    typedef engine<T, A_TRANSPOSED, B_TRANSPOSED> E;
    static_assert(E::ROWS == PRODUCT_TILE && E::COLS == PRODUCT_TILE, "one size of tiles");
    dim3 grid((unsigned)blocks_for(p.cols, E::COLS), (unsigned)blocks_for(p.rows, E::ROWS),
              (unsigned)(p.count * pieces));
    LAUNCH((product_kernel<T, Out, A_TRANSPOSED, B_TRANSPOSED>), grid, E::THREADS, stream, p,
           piece);
}

template <typename T, typename Out>
static void product_choose(const product<T, Out> &p, int pieces, int piece, cudaStream_t stream)
{
    if (p.a.transposed && p.b.transposed)
        product_launch<T, Out, true, true>(p, pieces, piece, stream);
    else if (p.a.transposed)
        product_launch<T, Out, true, false>(p, pieces, piece, stream);
    else if (p.b.transposed)
        product_launch<T, Out, false, true>(p, pieces, piece, stream);
    else
        product_launch<T, Out, false, false>(p, pieces, piece, stream);
}

template <typename T, typename Out> void multiply(const product<T, Out> &p, cudaStream_t stream)
{
    product_choose(p, 1, p.depth, stream);
}

static __global__ void pieces_add(float *c, long stride, const float *partials, int rows, int cols,
                                  int pieces)
{
    long n = (long)rows * cols, i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int k = 0; k < pieces; k++)
        sum += partials[k * n + i];
    c[i / cols * stride + i % cols] += sum;
}

template <typename T>
void multiply_long(const product<T, float> &p, float *partials, cudaStream_t stream)
{
    enum { MIN_PIECE = 128 };
    long tiles = blocks_for(p.rows, PRODUCT_TILE) * blocks_for(p.cols, PRODUCT_TILE);
    long pieces = PRODUCT_MAX_BLOCKS / tiles;
    if (pieces > blocks_for(p.depth, MIN_PIECE))
        pieces = blocks_for(p.depth, MIN_PIECE);
    if (pieces <= 1) {
        multiply(p, stream);
        return;
    }
    /* A whole number of steps, so that only the last piece ends inside one. */
    int piece = (int)(blocks_for(blocks_for(p.depth, pieces), 32) * 32);
    pieces = blocks_for(p.depth, piece);
    product<T, float> part = p;
    part.add = false;
    part.c = plain(partials, p.cols);
    part.c.outer = (long)p.rows * p.cols; /* piece z writes its own copy */
    product_choose(part, (int)pieces, piece, stream);
    LAUNCH(pieces_add, (unsigned)blocks_for((long)p.rows * p.cols, 256), 256, stream, p.c.at,
           p.c.stride, partials, p.rows, p.cols, (int)pieces);
}

template void multiply(const product<float, float> &, cudaStream_t);
template void multiply(const product<bfloat16, bfloat16> &, cudaStream_t);
template void multiply(const product<bfloat16, float> &, cudaStream_t);
template void multiply_long(const product<float, float> &, float *, cudaStream_t);
template void multiply_long(const product<bfloat16, float> &, float *, cudaStream_t);
