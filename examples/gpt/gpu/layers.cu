/*
 * layers.cu - GELU, embedding and cross-entropy.
 */
#include "layers.h"

static const float GELU_SLOPE = 1.5957691216057308f; /* 2 sqrt(2 / pi) */
static const float GELU_CUBE = 0.044715f;

static inline unsigned blocks_of(long n)
{
    return (unsigned)blocks_for(n, BLOCK_THREADS);
}
static __device__ __forceinline__ long thread_index(void)
{
    return (long)blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- GELU ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float gelu_gate(float x)
{
    float u = GELU_SLOPE * (x + GELU_CUBE * x * x * x);
    return 1 / (1 + expf(-u));
}

template <typename T> static __global__ void gelu_forward_kernel(T *y, const T *x, long n)
{
    long i = thread_index();
    if (i < n)
        store(y + i, to_float(x[i]) * gelu_gate(to_float(x[i])));
}

template <typename T> void gelu_forward(T *y, const T *x, long n, cudaStream_t stream)
{
    LAUNCH(gelu_forward_kernel<T>, blocks_of(n), BLOCK_THREADS, stream, y, x, n);
}

template <typename T> static __global__ void gelu_backward_kernel(T *d, const T *inputs, long n)
{
    long i = thread_index();
    if (i >= n)
        return;
    float x = to_float(inputs[i]), gate = gelu_gate(x);
    float slope = GELU_SLOPE * (1 + 3 * GELU_CUBE * x * x);
    store(d + i, to_float(d[i]) * (gate + x * gate * (1 - gate) * slope));
}

template <typename T> void gelu_backward(T *d, const T *x, long n, cudaStream_t stream)
{
    LAUNCH(gelu_backward_kernel<T>, blocks_of(n), BLOCK_THREADS, stream, d, x, n);
}

/* ---- embedding ------------------------------------------------------------------------------- */

static __global__ void embed_forward_kernel(float *y, const unsigned char *bytes,
                                            const float *token, const float *position, long rows,
                                            int context, int width)
{
    long i = thread_index(), row = i / width;
    int col = (int)(i % width);
    if (row < rows)
        y[i] = token[bytes[row] * width + col] + position[row % context * width + col];
}

void embed_forward(float *y, const unsigned char *bytes, const float *token, const float *position,
                   int sequences, int context, int width, cudaStream_t stream)
{
    long rows = (long)sequences * context;
    LAUNCH(embed_forward_kernel, blocks_of(rows * width), BLOCK_THREADS, stream, y, bytes, token,
           position, rows, context, width);
}

/*
 * A block adds up the rows of one byte, for some of the columns; that byte stands anywhere in the
 * text. So the block looks at as many rows as it has threads, lists those that have its byte, in
 * order, and then all its threads go through the list, each for its own column.
 */
static __global__ void token_backward_kernel(float *d_token, const float *d_y,
                                             const unsigned char *bytes, long rows, int width)
{
    __shared__ int found[BLOCK_THREADS];
    __shared__ int warp_found[BLOCK_WARPS];
    int byte = (int)blockIdx.x, col = (int)(blockIdx.y * blockDim.x + threadIdx.x);
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    float sum = 0;
    for (long first = 0; first < rows; first += BLOCK_THREADS) {
        long row = first + threadIdx.x;
        bool mine = row < rows && bytes[row] == byte;
        unsigned votes = __ballot_sync(~0u, mine);
        if (lane == 0)
            warp_found[warp] = __popc(votes);
        __syncthreads();
        int before = __popc(votes & ((1u << lane) - 1)), count = 0;
        for (int i = 0; i < BLOCK_WARPS; i++) {
            before += i < warp ? warp_found[i] : 0;
            count += warp_found[i];
        }
        if (mine)
            found[before] = (int)threadIdx.x;
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < count; i++)
            sum += col < width ? d_y[(first + found[i]) * width + col] : 0;
    }
    if (col < width)
        d_token[byte * width + col] += sum;
}

static __global__ void position_backward_kernel(float *d_position, const float *d_y, int sequences,
                                                int context, int width)
{
    long i = thread_index(), each = (long)context * width;
    if (i >= each)
        return;
    float sum = 0;
    for (int s = 0; s < sequences; s++)
        sum += d_y[s * each + i];
    d_position[i] += sum;
}

void embed_backward(float *d_token, float *d_position, const float *d_y, const unsigned char *bytes,
                    int sequences, int context, int width, cudaStream_t stream)
{
    dim3 grid(256, blocks_of(width));
    LAUNCH(token_backward_kernel, grid, BLOCK_THREADS, stream, d_token, d_y, bytes,
           (long)sequences * context, width);
    LAUNCH(position_backward_kernel, blocks_of((long)context * width), BLOCK_THREADS, stream,
           d_position, d_y, sequences, context, width);
}

/* ---- cross-entropy --------------------------------------------------------------------------- */

template <typename T>
static __global__ void cross_entropy_kernel(T *d_logits, float *row_losses, const float *logits,
                                            const unsigned char *targets, int rows, int classes,
                                            float scale)
{
    long row = warp_row();
    if (row >= rows)
        return;
    logits += row * classes;
    d_logits += row * classes;
    float top = -INFINITY, sum = 0, target = logits[targets[row]];
    for (int i = warp_lane(); i < classes; i += WARP)
        top = fmaxf(top, logits[i]);
    top = warp_max(top);
    for (int i = warp_lane(); i < classes; i += WARP)
        sum += expf(logits[i] - top);
    sum = warp_sum(sum);
    for (int i = warp_lane(); i < classes; i += WARP) {
        float part = expf(logits[i] - top) / sum;
        store(d_logits + i, scale * (part - (i == targets[row] ? 1.0f : 0.0f)));
    }
    if (warp_lane() == 0)
        row_losses[row] = logf(sum) - (target - top);
}

/* One block, in double: many small numbers. */
static __global__ void losses_add(float *loss, const float *row_losses, int rows, float scale)
{
    __shared__ double sums[BLOCK_THREADS];
    double sum = 0;
    for (int i = (int)threadIdx.x; i < rows; i += BLOCK_THREADS)
        sum += (double)row_losses[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < BLOCK_THREADS; i++)
        sum += sums[i];
    *loss += (float)(sum * (double)scale);
}

template <typename T>
void cross_entropy(T *d_logits, float *row_losses, float *loss, const float *logits,
                   const unsigned char *targets, int rows, int classes, float scale,
                   float loss_scale, cudaStream_t stream)
{
    LAUNCH(cross_entropy_kernel<T>, (unsigned)blocks_for(rows, BLOCK_WARPS), BLOCK_THREADS, stream,
           d_logits, row_losses, logits, targets, rows, classes, scale);
    LAUNCH(losses_add, 1, BLOCK_THREADS, stream, loss, row_losses, rows, loss_scale);
}

/* ---- conversion ------------------------------------------------------------------------------ */

template <typename From, typename To>
static __global__ void convert_kernel(To *dst, const From *src, long n)
{
    long i = thread_index();
    if (i < n)
        store(dst + i, to_float(src[i]));
}

template <typename From, typename To>
void convert(To *dst, const From *src, long n, cudaStream_t stream)
{
    LAUNCH((convert_kernel<From, To>), blocks_of(n), BLOCK_THREADS, stream, dst, src, n);
}

template void gelu_forward(float *, const float *, long, cudaStream_t);
template void gelu_forward(bfloat16 *, const bfloat16 *, long, cudaStream_t);
template void gelu_backward(float *, const float *, long, cudaStream_t);
template void gelu_backward(bfloat16 *, const bfloat16 *, long, cudaStream_t);
template void cross_entropy(float *, float *, float *, const float *, const unsigned char *, int,
                            int, float, float, cudaStream_t);
template void cross_entropy(bfloat16 *, float *, float *, const float *, const unsigned char *, int,
                            int, float, float, cudaStream_t);
template void convert(bfloat16 *, const float *, long, cudaStream_t);
template void convert(float *, const bfloat16 *, long, cudaStream_t);
