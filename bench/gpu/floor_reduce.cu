/*
 * floor_reduce.cu - the all-reduce of two GPUs by kernels, three ways; the fastest is the floor.
 *
 *   flag      small. Each PE stores its data into the other's scratch, 4 bytes beside the 4 bytes
 * of an epoch, so that a store of 8 bytes carries its own arrival: no fence sentinel  middle. The
 * same without flags: a word that is not the sentinel has arrived. Three buffers rotate; while one
 * is filled, the one before it is emptied two-shot  large. Each PE adds its half of the elements
 * and stores the sums at both
 *
 * Short cuts: two PEs, float, and all calls of a series have one size. Minus zero, the sentinel, is
 * sent as zero.
 *
 * Why a buffer may be written again. flag: a PE stores for epoch e + 2 into the buffer of epoch e.
 * It has finished e + 1, so it has seen data that the other stored in its kernel e + 1, which began
 * when that PE's kernel e had ended, with all its loads. sentinel: likewise, the buffer of epoch e
 * is emptied by its reader in kernel e + 1 and written in kernel e + 3 of the other, which follows
 * that one's e + 2, which has seen data of the reader's e + 2.
 */
#include "harness.cuh"

constexpr uint32_t SENTINEL = 0x80000000u;
constexpr int FLAG_STRIDE = 32; /* words between flags: a line of their own */
constexpr uint32_t ROUNDS = 4;  /* of checking */

/* Where one PE's kernel finds everything. */
struct Side {
    float *out;
    const float *in;
    char *mine, *theirs; /* scratch */
    uint32_t *flags, *their_flags, *epoch;
    const float *their_in;
    float *their_out;
    int me;
};

static Side side(const Pair &pair, int i)
{
    const Pe &me = pair.pe[i], &other = pair.pe[1 - i];
    return {(float *)me.out, (float *)me.in, me.scratch,        other.scratch,      me.flags,
            other.flags,     me.counters,    (float *)other.in, (float *)other.out, i};
}

/* The last block of a kernel counts the epoch. */
static __device__ void end_epoch(uint32_t *epoch, uint32_t now)
{
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(epoch + 1, 1) == gridDim.x - 1) {
        epoch[1] = 0;
        epoch[0] = now;
    }
}

static __global__ void flag_kernel(Side side, size_t n2, size_t half)
{
    uint32_t now = side.epoch[0] + 1;
    char *mine = side.mine + (now & 1) * half, *theirs = side.theirs + (now & 1) * half;
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n2; i += stride) {
        float2 value = ((const float2 *)side.in)[i];
        uint64_t flag = (uint64_t)now << 32, low, high;
        uint32_t rounds = 0;
        store_pair(theirs + 16 * i, __float_as_uint(value.x) | flag,
                   __float_as_uint(value.y) | flag);
        load_pair(mine + 16 * i, &low, &high);
        while (low >> 32 != now || high >> 32 != now) {
            waited(&rounds);
            load_pair(mine + 16 * i, &low, &high);
        }
        value.x += __uint_as_float((uint32_t)low);
        value.y += __uint_as_float((uint32_t)high);
        ((float2 *)side.out)[i] = value;
    }
    end_epoch(side.epoch, now);
}

static __device__ uint64_t without_sentinel(float low, float high)
{
    uint32_t a = __float_as_uint(low), b = __float_as_uint(high);
    return (a == SENTINEL ? 0 : a) | (uint64_t)(b == SENTINEL ? 0 : b) << 32;
}

static __device__ bool is_there(uint64_t pair)
{
    return (uint32_t)pair != SENTINEL && pair >> 32 != SENTINEL;
}

static __device__ float4 sum_when_there(const char *at, float4 value)
{
    uint64_t low, high;
    uint32_t rounds = 0;
    load_pair(at, &low, &high);
    while (!is_there(low) || !is_there(high)) {
        waited(&rounds);
        load_pair(at, &low, &high);
    }
    value.x += __uint_as_float((uint32_t)low);
    value.y += __uint_as_float((uint32_t)(low >> 32));
    value.z += __uint_as_float((uint32_t)high);
    value.w += __uint_as_float((uint32_t)(high >> 32));
    return value;
}

template <int UNROLL> static __global__ void sentinel_kernel(Side side, size_t n4, size_t third)
{
    uint32_t now = side.epoch[0];
    char *mine = side.mine + now % 3 * third, *theirs = side.theirs + now % 3 * third;
    char *empty = side.mine + (now + 2) % 3 * third;
    const uint64_t nothing = SENTINEL | (uint64_t)SENTINEL << 32;
    size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t i = first; i < n4; i += UNROLL * stride) {
        float4 value[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (i + k * stride < n4) {
                value[k] = ((const float4 *)side.in)[i + k * stride];
                store_pair(theirs + 16 * (i + k * stride), without_sentinel(value[k].x, value[k].y),
                           without_sentinel(value[k].z, value[k].w));
            }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (i + k * stride < n4)
                store_pair(empty + 16 * (i + k * stride), nothing, nothing);
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (i + k * stride < n4)
                ((float4 *)side.out)[i + k * stride] =
                    sum_when_there(mine + 16 * (i + k * stride), value[k]);
    }
    end_epoch(side.epoch, now + 1);
}

static __device__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Block b of one PE meets block b of the other before and after: a release of what it has done, an
 * acquire of what the other has. */
static __device__ void meet(const Side &side, uint32_t number)
{
    uint32_t rounds = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        store_release(side.their_flags + blockIdx.x * FLAG_STRIDE, number);
        while (load_acquire(side.flags + blockIdx.x * FLAG_STRIDE) < number)
            waited(&rounds);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(512) two_shot_kernel(Side side, size_t n4)
{
    uint32_t *epoch = side.epoch + blockIdx.x * FLAG_STRIDE, now = *epoch;
    size_t half = n4 / 2, offset = side.me * half, stride = (size_t)gridDim.x * blockDim.x;
    const float4 *a = (const float4 *)side.in + offset, *b = (const float4 *)side.their_in + offset;
    float4 *out = (float4 *)side.out + offset, *their_out = (float4 *)side.their_out + offset;
    meet(side, 2 * now + 1);
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < half; i += 4 * stride) {
        float4 mine[4], theirs[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            theirs[k] = b[i + k * stride];
#pragma unroll
        for (int k = 0; k < 4; k++)
            mine[k] = a[i + k * stride];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float4 sum = plus(mine[k], theirs[k]);
            their_out[i + k * stride] = sum;
            out[i + k * stride] = sum;
        }
    }
    for (; i < half; i += stride)
        their_out[i] = out[i] = plus(a[i], b[i]);
    meet(side, 2 * now + 2);
    if (threadIdx.x == 0)
        *epoch = now + 1;
}

/* ---- checking and timing --------------------------------------------------------------------- */

template <class Call>
static Timing checked(Pair &pair, const char *what, size_t nbytes, int calls, Call call)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            fill(pair, i, nbytes, round);
            call(i);
        }
        pair.wait();
        for (int i = 0; i < 2; i++)
            expect(pair, i, what, 0, nbytes, round, {2, 0});
    }
    return time_graph(pair, 2, calls, call);
}

static void flag(Pair &pair, size_t nbytes, Fastest &fastest)
{
    Fastest mine;
    pair.fill_scratch(0);
    for (int threads : {32, 256, 512, 1024}) {
        size_t n2 = nbytes / 8, blocks = (n2 + threads - 1) / threads;
        blocks = std::min<size_t>(blocks, 64);
        if (threads > 32 && n2 <= 32)
            break;
        auto call = [&](int i) {
            flag_kernel<<<blocks, threads, 0, pair.pe[i].stream>>>(side(pair, i), n2,
                                                                   pair.bytes / 2);
        };
        mine.offer("flag " + std::to_string(blocks) + "x" + std::to_string(threads),
                   checked(pair, "all-reduce with flags", nbytes, 100, call));
    }
    mine.print("all_reduce_flag", nbytes);
    fastest.offer(mine.how, mine.timing);
}

template <int UNROLL> static void sentinel(Pair &pair, size_t nbytes, int threads, Fastest &mine)
{
    for (int blocks : {1, 8, 16, 32, 64, 128}) {
        size_t n4 = nbytes / 16, per_thread = n4 / ((size_t)blocks * threads);
        if (per_thread > 64 || (blocks > 1 && n4 * 2 < (size_t)blocks * threads))
            continue;
        auto call = [&](int i) {
            sentinel_kernel<UNROLL>
                <<<blocks, threads, 0, pair.pe[i].stream>>>(side(pair, i), n4, pair.bytes);
        };
        mine.offer(
            "sentinel x" + std::to_string(UNROLL) + " " + std::to_string(blocks) + "x" +
                std::to_string(threads),
            checked(pair, "all-reduce with a sentinel", nbytes, nbytes > MIB ? 20 : 100, call));
    }
}

static void sentinels(Pair &pair, size_t nbytes, Fastest &fastest)
{
    Fastest mine;
    pair.fill_scratch(SENTINEL);
    sentinel<1>(pair, nbytes, nbytes <= 256 * KIB ? 256 : 1024, mine);
    if (nbytes >= MIB)
        sentinel<4>(pair, nbytes, 512, mine);
    mine.print("all_reduce_sentinel", nbytes);
    fastest.offer(mine.how, mine.timing);
}

static void two_shot(Pair &pair, size_t nbytes, Fastest &fastest)
{
    Fastest mine;
    for (int blocks : {16, 32, 64, 128}) {
        pair.reset();
        auto call = [&](int i) {
            two_shot_kernel<<<blocks, 512, 0, pair.pe[i].stream>>>(side(pair, i), nbytes / 16);
        };
        mine.offer("two-shot " + std::to_string(blocks) + "x512",
                   checked(pair, "all-reduce in two shots", nbytes,
                           nbytes >= 64 * MIB  ? 5
                           : nbytes >= 4 * MIB ? 20
                                               : 100,
                           call));
    }
    mine.print("all_reduce_two_shot", nbytes);
    fastest.offer(mine.how, mine.timing);
}

void floor_reduce(Pair &pair)
{
    for (size_t nbytes : {size_t{8}, KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB,
                          64 * MIB, 256 * MIB, GIB}) {
        Fastest fastest;
        if (nbytes > pair.bytes)
            break;
        if (nbytes <= MIB)
            flag(pair, nbytes, fastest);
        if (nbytes >= KIB && nbytes <= 16 * MIB)
            sentinels(pair, nbytes, fastest);
        if (nbytes >= 64 * KIB)
            two_shot(pair, nbytes, fastest);
        fastest.print("all_reduce_kernel", nbytes);
    }
}
