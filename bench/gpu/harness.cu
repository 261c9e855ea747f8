/*
 * harness.cu - the two PEs, their gate, and the checks.
 */
#include "harness.cuh"

#include <unistd.h>

void failed(const char *file, int line, const char *what, const char *why)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, why);
    _exit(1);
}

/* ---- the PEs --------------------------------------------------------------------------------- */

static void open_peers(const Pair &pair)
{
    for (int i = 0; i < 2 && pair.apart; i++) {
        int can = 0;
        pair.use(i);
        MUST(cudaDeviceCanAccessPeer(&can, i, 1 - i));
        if (!can)
            failed(__FILE__, __LINE__, "the two GPUs", "cannot reach each other's memory");
        MUST(cudaDeviceEnablePeerAccess(1 - i, 0));
    }
}

static void open_pe(Pe &pe, size_t bytes)
{
    MUST(cudaMalloc(&pe.in, bytes));
    MUST(cudaMalloc(&pe.out, bytes));
    MUST(cudaMalloc(&pe.scratch, 3 * bytes));
    MUST(cudaMalloc(&pe.flags, FLAG_BYTES));
    MUST(cudaMalloc(&pe.counters, FLAG_BYTES));
    MUST(cudaMalloc(&pe.wrong, sizeof(*pe.wrong)));
    MUST(cudaStreamCreateWithFlags(&pe.stream, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&pe.copies, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&pe.begin));
    MUST(cudaEventCreate(&pe.end));
    MUST(cudaMemset(pe.in, 0, bytes));
}

Pair::Pair(size_t capacity) : pe(), bytes(capacity), gates(0)
{
    int devices = 0;
    MUST(cudaGetDeviceCount(&devices));
    apart = devices > 1;
    for (int i = 0; i < 2; i++)
        pe[i].device = apart ? i : 0;
    open_peers(*this);
    for (int i = 0; i < 2; i++) {
        use(i);
        open_pe(pe[i], bytes);
    }
    MUST(cudaHostAlloc(&gate, sizeof(*gate), cudaHostAllocMapped | cudaHostAllocPortable));
    *gate = 0;
    gate_at = (CUdeviceptr)gate;
    fill_scratch(0);
}

void Pair::wait() const
{
    for (int i = 0; i < 2; i++) {
        use(i);
        MUST(cudaDeviceSynchronize());
    }
}

void Pair::reset()
{
    wait();
    for (int i = 0; i < 2; i++) {
        use(i);
        MUST(cudaMemset(pe[i].flags, 0, FLAG_BYTES));
        MUST(cudaMemset(pe[i].counters, 0, FLAG_BYTES));
    }
    wait();
}

void Pair::fill_scratch(uint32_t word)
{
    wait();
    for (int i = 0; i < 2; i++) {
        use(i);
        MUST_DRIVER(cuMemsetD32((CUdeviceptr)pe[i].scratch, word, 3 * bytes / 4));
    }
    reset();
}

void Pair::close_gate()
{
    gates++;
    for (int i = 0; i < 2; i++) {
        use(i);
        MUST_DRIVER(cuStreamWaitValue32(pe[i].stream, gate_at, gates, CU_STREAM_WAIT_VALUE_GEQ));
    }
}

void Pair::open_gate()
{
    __atomic_store_n(gate, gates, __ATOMIC_RELEASE);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static __global__ void fill_kernel(float *in, size_t n, uint32_t round, int pe)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        in[i] = element(round, pe, i);
}

static __global__ void check_kernel(const float *out, size_t n, uint32_t round, Expect expect,
                                    unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        float want = 0;
        for (int pe = 0; pe < 2; pe++)
            if (expect.from == pe || expect.from == 2)
                want += element(round, pe, expect.first + i);
        if (out[i] != want)
            atomicAdd(wrong, 1ull);
    }
}

void fill(Pair &pair, int i, size_t nbytes, uint32_t round)
{
    pair.use(i);
    MUST(cudaMemsetAsync(pair.pe[i].out, 0xff, nbytes, pair.pe[i].stream));
    fill_kernel<<<64, 512, 0, pair.pe[i].stream>>>((float *)pair.pe[i].in, nbytes / 4, round, i);
    MUST(cudaGetLastError());
}

void expect(Pair &pair, int i, const char *what, size_t at, size_t nbytes, uint32_t round,
            Expect expected)
{
    Pe &pe = pair.pe[i];
    unsigned long long wrong = 0;
    pair.use(i);
    MUST(cudaMemset(pe.wrong, 0, sizeof(*pe.wrong)));
    check_kernel<<<64, 512>>>((const float *)(pe.out + at), nbytes / 4, round, expected, pe.wrong);
    MUST(cudaMemcpy(&wrong, pe.wrong, sizeof(wrong), cudaMemcpyDeviceToHost));
    if (wrong) {
        fflush(stdout);
        fprintf(stderr, "%s of %zu bytes, round %u: %llu wrong elements at PE %d\n", what, nbytes,
                round, wrong, i);
        _exit(1);
    }
}
