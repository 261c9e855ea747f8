/*
 * linear.cu - the fully connected layer, and sums of columns.
 *
 * Columns are summed in two steps: blocks add up pieces of the rows, then the pieces are added in
 * order. One step would leave most of the GPU idle, since matrices have many rows and few columns.
 */
#include "columns.h"
#include "layers.h"

template <typename T, typename Out>
void linear_forward(Out *y, const T *x, const T *w, const float *b, const float *residual, int rows,
                    int in, int out, cudaStream_t stream)
{
    product<T, Out> p = {rows,  out, in, plain(x, in), plain(w, out), plain(y, out), b, residual,
                         false, 1,   1};
    multiply(p, stream);
}

template <typename T>
void linear_backward(T *d_x, float *d_w, float *d_b, const T *d_y, const T *x, const T *w, int rows,
                     int in, int out, struct scratch s, cudaStream_t stream)
{
    product<T, T> inputs = {
        rows,  in, out, plain(d_y, out), transposed(w, out), plain(d_x, in), NULL, NULL,
        false, 1,  1};
    product<T, float> weights = {
        in, out, rows, transposed(x, in), plain(d_y, out), plain(d_w, out), NULL, NULL, true, 1, 1};
    multiply(inputs, stream);
    multiply_long(weights, s.partials, stream);
    columns_add(d_b, d_y, rows, out, s, stream);
}

template <typename T> struct element_term {
    const T *x;
    int cols;
    __device__ float operator()(long row, int col) const { return to_float(x[row * cols + col]); }
};

template <typename T>
void columns_add(float *d, const T *x, int rows, int cols, struct scratch s, cudaStream_t stream)
{
    columns_fold(d, element_term<T>{x, cols}, rows, cols, s, stream);
}

template void columns_add(float *, const float *, int, int, struct scratch, cudaStream_t);
template void columns_add(float *, const bfloat16 *, int, int, struct scratch, cudaStream_t);
template void linear_forward(float *, const float *, const float *, const float *, const float *,
                             int, int, int, cudaStream_t);
template void linear_forward(bfloat16 *, const bfloat16 *, const bfloat16 *, const float *,
                             const float *, int, int, int, cudaStream_t);
template void linear_forward(float *, const bfloat16 *, const bfloat16 *, const float *,
                             const float *, int, int, int, cudaStream_t);
template void linear_backward(float *, float *, float *, const float *, const float *,
                              const float *, int, int, int, struct scratch, cudaStream_t);
template void linear_backward(bfloat16 *, float *, float *, const bfloat16 *, const bfloat16 *,
                              const bfloat16 *, int, int, int, struct scratch, cudaStream_t);
