/*
 * floor_move.cu - how fast bytes go from one GPU to the other: by copy engine and by stores of a
 * kernel, in one direction and in both at once.
 */
#include "harness.cuh"

static __global__ void __launch_bounds__(512) store_kernel(uint4 *dst, const uint4 *src, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 a = src[i], b = src[i + stride], c = src[i + 2 * stride], d = src[i + 3 * stride];
        dst[i] = a;
        dst[i + stride] = b;
        dst[i + 2 * stride] = c;
        dst[i + 3 * stride] = d;
    }
    for (; i < n; i += stride)
        dst[i] = src[i];
}

template <class Call>
static Timing moved(Pair &pair, int npes, size_t nbytes, const char *what, Call call)
{
    static uint32_t round;
    round++;
    for (int i = 0; i < 2; i++)
        fill(pair, i, nbytes, round);
    pair.wait();
    for (int i = 0; i < npes; i++)
        call(i);
    pair.wait();
    for (int i = 0; i < npes; i++)
        expect(pair, 1 - i, what, 0, nbytes, round, {i, 0});
    return time_graph(pair, npes, nbytes >= 64 * MIB ? 5 : 20, call);
}

static void by_engine(Pair &pair, int npes, size_t nbytes)
{
    auto call = [&](int i) {
        pair.use(i);
        MUST(cudaMemcpyAsync(pair.pe[1 - i].out, pair.pe[i].in, nbytes, cudaMemcpyDeviceToDevice,
                             pair.pe[i].stream));
    };
    result(npes == 1 ? "put_stream" : "put_stream_both", nbytes,
           moved(pair, npes, nbytes, "a copy by engine", call));
}

static void by_stores(Pair &pair, int npes, size_t nbytes)
{
    Fastest fastest;
    for (int blocks : {1, 16, 32, 64, 132}) {
        if (nbytes / 16 < (size_t)blocks * 512 / 2 || nbytes / blocks > 32 * MIB)
            continue;
        auto call = [&](int i) {
            pair.use(i);
            store_kernel<<<blocks, 512, 0, pair.pe[i].stream>>>(
                (uint4 *)pair.pe[1 - i].out, (uint4 *)pair.pe[i].in, nbytes / 16);
        };
        fastest.offer(std::to_string(blocks) + " blocks",
                      moved(pair, npes, nbytes, "a copy by stores", call));
    }
    fastest.print(npes == 1 ? "put_kernel" : "put_kernel_both", nbytes);
}

void floor_move(Pair &pair)
{
    for (size_t nbytes : {64 * KIB, MIB, 16 * MIB, 256 * MIB})
        for (int npes = 1; npes <= 2; npes++) {
            by_engine(pair, npes, nbytes);
            by_stores(pair, npes, nbytes);
        }
}
