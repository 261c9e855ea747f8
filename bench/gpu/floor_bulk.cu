/*
 * floor_bulk.cu - copies in a kernel: loops of 16-byte loads and stores against the bulk copies of
 * sm_90 (cp.async.bulk, by the tensor memory accelerator), from one place of this GPU's memory to
 * another. By one warp, by one block, and by a block on each multiprocessor.
 *
 * A bulk copy goes by way of shared memory: one thread asks for chunks of the source, and as they
 * arrive for their way out. What it takes from the caller is that shared memory: STAGES * CHUNK
 * bytes. docs/device-api.md says what follows from the figures.
 *
 * Each copy is completed (the fence of a quiet) before the next one begins.
 */
#include "harness.cuh"

enum { STAGES = 4, AHEAD = 2 }; /* chunks under way; loads that are ahead of the stores */

/* ---- device code ----------------------------------------------------------------------------- */

/* A block's share of nbytes: whole multiples of `unit`. */
static __device__ void share_of(size_t nbytes, size_t unit, size_t *from, size_t *size)
{
    size_t share = (nbytes / unit + gridDim.x - 1) / gridDim.x * unit;
    *from = min(share * blockIdx.x, nbytes);
    *size = min(share, nbytes - *from);
}

template <int unroll> static __device__ void copy_loop(uint4 *dst, const uint4 *src, size_t n16)
{
    uint4 words[unroll];
    size_t i = threadIdx.x, step = blockDim.x;
    for (; i + (unroll - 1) * step < n16; i += unroll * step) {
#pragma unroll
        for (int k = 0; k < unroll; k++)
            words[k] = src[i + k * step];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            dst[i + k * step] = words[k];
    }
    for (; i < n16; i += step)
        dst[i] = src[i];
}

template <int unroll> static __global__ void loops(char *dst, const char *src, size_t nbytes, int n)
{
    size_t from, size;
    share_of(nbytes, 16, &from, &size);
    for (int i = 0; i < n; i++) {
        copy_loop<unroll>((uint4 *)(dst + from), (const uint4 *)(src + from), size / 16);
        __syncthreads();
        if (threadIdx.x == 0)
            __threadfence_system();
        __syncthreads();
    }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define IN_SHARED(ptr) "r"((uint32_t)__cvta_generic_to_shared(ptr))

static __device__ void bulk_load(void *to, const char *from, uint32_t nbytes, uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::IN_SHARED(barrier),
                 "r"(nbytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::IN_SHARED(to),
                 "l"(__cvta_generic_to_global(from)), "r"(nbytes), IN_SHARED(barrier)
                 : "memory");
}

static __device__ void bulk_arrived(uint64_t *barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::IN_SHARED(barrier),
                 "r"(phase)
                 : "memory");
}

static __device__ void bulk_store(char *to, const void *from, uint32_t nbytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 IN_SHARED(from), "r"(nbytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* By one thread. `chunks` counts those that went through the stages before, whose barriers have a
 * phase for each. */
template <unsigned chunk>
static __device__ void copy_bulk(char *dst, const char *src, size_t nbytes, char *stages,
                                 uint64_t *barriers, uint64_t *chunks)
{
    size_t count = (nbytes + chunk - 1) / chunk;
    asm volatile("fence.proxy.async;" ::: "memory"); /* after what others stored in src */
    for (size_t k = 0; k < count + AHEAD; k++) {
        if (k < count) {
            unsigned stage = (*chunks + k) % STAGES;
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGES - AHEAD - 1) : "memory");
            bulk_load(stages + stage * chunk, src + k * chunk,
                      (uint32_t)min((size_t)chunk, nbytes - k * chunk), &barriers[stage]);
        }
        if (k >= AHEAD) {
            size_t done = k - AHEAD;
            uint64_t number = *chunks + done;
            bulk_arrived(&barriers[number % STAGES], number / STAGES & 1);
            bulk_store(dst + done * chunk, stages + number % STAGES * chunk,
                       (uint32_t)min((size_t)chunk, nbytes - done * chunk));
        }
    }
    *chunks += count;
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}
#else
template <unsigned chunk>
static __device__ void copy_bulk(char *, const char *, size_t, char *, uint64_t *, uint64_t *)
{
}
#endif

template <unsigned chunk>
static __global__ void bulks(char *dst, const char *src, size_t nbytes, int n)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ uint64_t barriers[STAGES];
    uint64_t chunks = 0;
    size_t from, size;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x < STAGES)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::IN_SHARED(&barriers[threadIdx.x])
                     : "memory");
#endif
    share_of(nbytes, 16, &from, &size);
    for (int i = 0; i < n; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            copy_bulk<chunk>(dst + from, src + from, size, stages, barriers, &chunks);
            __threadfence_system();
        }
        __syncthreads();
    }
}

/* ---- the way there --------------------------------------------------------------------------- */

struct Way {
    const char *name;
    void (*kernel)(char *dst, const char *src, size_t nbytes, int n);
    unsigned shared; /* bytes for each block */
    int threads;
};

static void measure(Pair &pair, const char *who, const Way &way, int blocks, size_t nbytes)
{
    const int n = nbytes > 16 * MIB ? 10 : 100;
    std::string metric = std::string(who) + "_" + way.name;
    fill(pair, 0, nbytes, 3);
    Timing timing = time_queued(pair, 1, n, [&](int i) {
        Pe &pe = pair.pe[i];
        way.kernel<<<blocks, way.threads, way.shared, pe.stream>>>(pe.out, pe.in, nbytes, n);
    });
    expect(pair, 0, metric.c_str(), 0, nbytes, 3, {0, 0});
    result(metric.c_str(), nbytes, timing);
}

void floor_bulk(Pair &pair)
{
    cudaDeviceProp about;
    MUST(cudaGetDeviceProperties(&about, pair.pe[0].device));
    pair.use(0);
    if (about.major < 9) {
        printf("# no bulk copies: compute capability %d.%d\n", about.major, about.minor);
        return;
    }
    const Way ways[] = {{"loop4", loops<4>, 0, 1024},
                        {"loop8", loops<8>, 0, 1024},
                        {"bulk4k", bulks<4096>, STAGES * 4096, 32},
                        {"bulk8k", bulks<8192>, STAGES * 8192, 32},
                        {"bulk16k", bulks<16384>, STAGES * 16384, 32}};
    for (const Way &way : ways)
        if (way.shared)
            MUST(cudaFuncSetAttribute((const void *)way.kernel,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)way.shared));
    for (size_t nbytes : {KIB, 16 * KIB, 256 * KIB, 4 * MIB})
        for (const Way &way : ways) {
            measure(pair, "copy_block", way, 1, nbytes);
            if (!way.shared)
                measure(pair, "copy_warp", {way.name, way.kernel, 0, 32}, 1, nbytes);
        }
    for (size_t nbytes : {4 * MIB, 64 * MIB, 256 * MIB})
        for (int blocks : {16, 32, about.multiProcessorCount})
            for (const Way &way : ways) {
                std::string who = "copy_grid" + std::to_string(blocks);
                measure(pair, who.c_str(), way, blocks, nbytes);
            }
}
