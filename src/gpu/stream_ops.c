/*
 * stream_ops.c - operations on streams of a GPU: what each becomes.
 *
 *  - put, get: the copy engine; a few bytes of memory that the GPU reaches go by a kernel, which is
 *    there sooner
 *  - p: a kernel with the value among its arguments
 *  - put_signal: the same as put, with a signal behind it in the same kernel, or in one of its own
 *  - iput, iget: a kernel
 *  - all of these to a GPU that ours does not reach: copies, which the driver makes by way of the
 *    host; a signal that sets is one, too
 *  - wait: a kernel of one block; where PEs share a GPU, the stream itself (stream_wait.c)
 *  - quiet: nothing. A stream does one thing after the other, and what it has done is visible
 *  - collectives: coll.h
 *
 * Nothing here waits for the GPU but g, which returns a value.
 *
 * Kernels can address symmetric device memory and what CUDA knows. The heap of the host is not
 * among it: a copy gets there, a signal or a wait does not, and says so.
 */
#include <string.h>

#include "gpu/coll.h"
#include "gpu/host_ops.h"

/* Up to here a kernel of one block is done before a copy engine has begun. */
enum { KERNEL_BYTES = 16 << 10 };

static int host_word(const struct nvsi_stream_op *op, const char *what)
{
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: %s is in host memory, which the GPU does not reach: take it from "
                      "nvshmem_malloc or nvs_malloc_device",
                      op->fn, what);
}

static int copy(const struct nvsi_stream_op *op, CUdeviceptr dst, CUdeviceptr src, CUstream stream)
{
    size_t nbytes = op->nelems * op->elem_bytes;
    CUresult result = nbytes ? cu.cuMemcpyAsync(dst, src, nbytes, stream) : CUDA_SUCCESS;
    return result ? nvsi_cuda_error(op->fn, result, "copy %zu bytes", nbytes) : 0;
}

static int check_visible(const struct nvsi_stream_op *op, const struct nvsi_remote *at)
{
    if (at->seg != NVSI_SEG_DEVICE || nvsi_gpu.reach[at->pe] != NVSI_GPU_HIDDEN)
        return 0;
    return nvsi_error(NVS_ERR_UNSUPPORTED,
                      "%s: PE %d does not reach the memory of the GPU of PE %d: "
                      "CUDA_VISIBLE_DEVICES hides it from this process",
                      op->fn, nvsi.me, at->pe);
}

static int locate(const struct nvsi_stream_op *op, const char *what, const void *sym,
                  struct nvsi_remote *at)
{
    int status = nvsi_locate(NULL, op->fn, what, sym, op->nelems, op->elem_bytes, op->pe, at);
    return status ? status : check_visible(op, at);
}

/* ---- put, p, put_signal ------------------------------------------------------------------------
 */

static int no_add(const struct nvsi_stream_op *op, int pe)
{
    return nvsi_error(
        NVS_ERR_UNSUPPORTED,
        "%s: PE %d does not reach the memory of the GPU of PE %d by loads and stores, "
        "which a signal that adds needs: use NVSHMEM_SIGNAL_SET",
        op->fn, nvsi.me, pe);
}

/* by_copy: no kernel of ours gets there. */
static int locate_signal(const struct nvsi_stream_op *op, struct nvsk_signal_op *signal,
                         bool *by_copy)
{
    struct nvsi_remote at;
    int status = nvsi_locate_signal(NULL, op->fn, op->sig, op->sig_op, op->pe, &at);
    if (status)
        return status;
    if (at.seg != NVSI_SEG_DEVICE)
        return host_word(op, "the signal");
    status = check_visible(op, &at);
    if (status)
        return status;
    *by_copy = !nvsi_gpu_is_direct(&at);
    if (*by_copy && op->sig_op == NVSI_SIGNAL_ADD)
        return no_add(op, at.pe);
    *signal = (struct nvsk_signal_op){
        .address = nvsi_gpu_remote(&at), .value = op->value, .add = op->sig_op == NVSI_SIGNAL_ADD};
    return 0;
}

/* A copy comes after the copy of the data, in the order of the stream, and a word is never torn. */
static int signal(const struct nvsi_stream_op *op, const struct nvsk_signal_op *what, bool by_copy,
                  CUstream stream)
{
    if (by_copy)
        return nvsi_gpu_copy_value(op->fn, what->address, &what->value, sizeof what->value, stream);
    struct nvsk_signal_args args = {.signal = *what, .gate = nvsi_gpu_gate()};
    return nvsi_gpu_launch(op->fn, NVSI_KERNEL_nvsk_signal, 1, 32, stream, &args);
}

static bool by_kernel(const struct nvsi_stream_op *op, const struct nvsi_remote *at)
{
    if (!nvsi_gpu_is_direct(at))
        return false;
    if (op->immediate)
        return true;
    return op->nelems * op->elem_bytes <= KERNEL_BYTES && nvsi_gpu_kernels_reach(op->src);
}

/* One block, since the signal comes after its barrier. */
static int put_by_kernel(const struct nvsi_stream_op *op, CUdeviceptr dst,
                         const struct nvsk_signal_op *what, CUstream stream)
{
    size_t nbytes = op->nelems * op->elem_bytes;
    uint64_t src = op->immediate ? 0 : (uint64_t)(uintptr_t)op->src;
    struct nvsk_put_args args = {.dst = dst, .src = src, .signal = *what, .gate = nvsi_gpu_gate()};
    args.view = nvsi_gpu_view(dst, op->immediate ? dst : src, nbytes, 1);
    if (op->immediate) {
        args.view.head = 0;
        args.view.unit = args.view.head_unit;
        memcpy(args.value, op->value_bytes, nbytes);
    }
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(nbytes / 16 + 2, 1, &nblocks, &nthreads);
    return nvsi_gpu_launch(op->fn, NVSI_KERNEL_nvsk_put, nblocks, nthreads, stream, &args);
}

static int put_by_copy(const struct nvsi_stream_op *op, CUdeviceptr dst, CUstream stream)
{
    if (op->immediate)
        return nvsi_gpu_copy_value(op->fn, dst, op->value_bytes, op->elem_bytes, stream);
    return copy(op, dst, (CUdeviceptr)(uintptr_t)op->src, stream);
}

static int put(const struct nvsi_stream_op *op, CUstream stream)
{
    struct nvsi_remote at;
    struct nvsk_signal_op what = {0};
    bool by_copy = false;
    int status = locate(op, "dst", op->dst, &at);
    if (!status && op->op == NVSI_SOP_PUT_SIGNAL)
        status = locate_signal(op, &what, &by_copy);
    if (status)
        return status;
    if (op->nelems && by_kernel(op, &at))
        return put_by_kernel(op, nvsi_gpu_remote(&at), &what, stream);
    status = put_by_copy(op, nvsi_gpu_remote(&at), stream);
    return status || !what.address ? status : signal(op, &what, by_copy, stream);
}

static int get(const struct nvsi_stream_op *op, CUstream stream)
{
    struct nvsi_remote at;
    int status = locate(op, "src", op->src, &at);
    if (status)
        return status;
    return copy(op, (CUdeviceptr)(uintptr_t)op->dst, nvsi_gpu_remote(&at), stream);
}

static int get_now(const struct nvsi_stream_op *op, CUstream stream)
{
    int capturing = 0, status;
    if (!cu.cuStreamIsCapturing(stream, &capturing) && capturing)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: the stream is being captured: a call that returns a value cannot be "
                          "part of a graph",
                          op->fn);
    status = get(op, stream);
    return status ? status : nvsi_gpu_synchronize(op->fn, stream);
}

static int put_word(const struct nvsi_stream_op *op, CUstream stream)
{
    struct nvsk_signal_op what = {0};
    bool by_copy = false;
    int status = locate_signal(op, &what, &by_copy);
    return status ? status : signal(op, &what, by_copy, stream);
}

/* ---- strided -----------------------------------------------------------------------------------
 */

static uint32_t unit_of(uint64_t bits)
{
    return (uint32_t)((bits | 8) & (0 - (bits | 8)));
}

/* A copy for each element: there is no other way to memory that no kernel reaches. */
static int one_by_one(const struct nvsi_stream_op *op, uint64_t dst, uint64_t src, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; !result && i < op->nelems; i++) {
        result = cu.cuMemcpyAsync(dst, src, op->elem_bytes, stream);
        dst += (uint64_t)(op->dst_stride * (ptrdiff_t)op->elem_bytes);
        src += (uint64_t)(op->src_stride * (ptrdiff_t)op->elem_bytes);
    }
    return result ? nvsi_cuda_error(op->fn, result, "copy %zu elements one by one", op->nelems) : 0;
}

static int strided(const struct nvsi_stream_op *op, CUstream stream)
{
    bool is_put = op->op == NVSI_SOP_IPUT;
    const void *sym = is_put ? op->dst : op->src, *local = is_put ? op->src : op->dst;
    struct nvsi_strided shape = {op->dst_stride, op->src_stride, op->nelems, op->elem_bytes};
    struct nvsi_remote at;
    int status =
        nvsi_locate_strided(NULL, op->fn, is_put ? "dst" : "src", sym, &shape, op->pe, &at);
    if (!status)
        status = check_visible(op, &at);
    if (status || !op->nelems)
        return status;
    uint64_t there = nvsi_gpu_remote(&at), here = (uint64_t)(uintptr_t)local;
    if (at.seg == NVSI_SEG_DEVICE && !nvsi_gpu_is_direct(&at))
        return one_by_one(op, is_put ? there : here, is_put ? here : there, stream);
    if (!nvsi_gpu_is_direct(&at) || !nvsi_gpu_kernels_reach(local))
        return host_word(op, nvsi_gpu_is_direct(&at) == is_put ? "src" : "dst");
    struct nvsk_strided_args args = {.dst = is_put ? there : here,
                                     .src = is_put ? here : there,
                                     .nelems = op->nelems,
                                     .dst_stride = op->dst_stride * (int64_t)op->elem_bytes,
                                     .src_stride = op->src_stride * (int64_t)op->elem_bytes,
                                     .elem_bytes = op->elem_bytes,
                                     .gate = nvsi_gpu_gate(),
                                     .unit = unit_of(there | here | op->elem_bytes)};
    unsigned nblocks, nthreads;
    nvsi_gpu_grid(op->nelems * (op->elem_bytes / args.unit), nvsi_gpu.sm_limit, &nblocks,
                  &nthreads);
    return nvsi_gpu_launch(op->fn, NVSI_KERNEL_nvsk_strided, nblocks, nthreads, stream, &args);
}

/* ---- wait --------------------------------------------------------------------------------------
 */

static size_t word_bytes(enum nvsi_word word)
{
    return word <= NVSI_WU16 ? 2 : word <= NVSI_WU32 ? 4 : 8;
}

/* Elements [first, first + args->nelems): what only the host can read is copied into the arguments
 * now. */
static void fill_wait(const struct nvsi_stream_op *op, struct nvsk_wait_args *args, size_t first)
{
    size_t size = word_bytes(op->word);
    const char *values = (const char *)op->values;
    args->words = (uint64_t)(uintptr_t)op->dst + first * size;
    if (args->values)
        args->values = (uint64_t)(uintptr_t)(values + first * size);
    else if (args->vector)
        memcpy(args->inlined, values + first * size, args->nelems * size);
    if (args->status)
        args->status = (uint64_t)(uintptr_t)(op->status + first);
    else if (op->status)
        memset(args->excluded, 0, sizeof args->excluded);
    for (size_t i = 0; op->status && !args->status && i < args->nelems; i++)
        if (op->status[first + i])
            args->excluded[i / 8] |= (unsigned char)(1u << i % 8);
}

/* Elements [first, first + nelems) of the words of a wait. */
static struct nvsi_words words_of(const struct nvsi_stream_op *op, size_t first, size_t nelems)
{
    size_t size = word_bytes(op->word);
    return (struct nvsi_words){.ivars = (const char *)op->dst + first * size,
                               .nelems = nelems,
                               .status = op->status ? op->status + first : NULL,
                               .word = op->word,
                               .cmp = op->cmp,
                               .values = op->values ? (const char *)op->values + first * size
                                                    : (const void *)&op->value,
                               .vector = op->values != NULL};
}

/* Without a kernel that waits, if possible; *kernel: one has to. */
static int wait_on_stream(const struct nvsi_stream_op *op, CUstream stream, bool *kernel)
{
    struct nvsi_words all = words_of(op, 0, op->nelems);
    size_t size = word_bytes(op->word), most = nvsi_gpu_stream_wait_most();
    int status = 0;
    *kernel = !nvsi_gpu_stream_waits(&all, size);
    if (*kernel)
        return 0;
    for (size_t first = 0; !status && first < op->nelems; first += most) {
        bool again;
        size_t rest = op->nelems - first;
        struct nvsi_words words = words_of(op, first, rest < most ? rest : most);
        status = nvsi_gpu_stream_wait(op->fn, &words, size, stream, &again);
        *kernel |= again;
    }
    return status;
}

static int wait(const struct nvsi_stream_op *op, CUstream stream)
{
    bool kernel;
    if (!op->nelems)
        return 0;
    if (!nvsi_gpu_kernels_reach(op->dst))
        return host_word(op, "the word");
    int status = wait_on_stream(op, stream, &kernel);
    if (status || !kernel)
        return status;
    struct nvsk_wait_args args = {.value = op->value,
                                  .page = (uint64_t)(uintptr_t)nvsi_gpu.state.page,
                                  .gate = nvsi_gpu_gate(),
                                  .word = op->word,
                                  .cmp = op->cmp,
                                  .vector = op->values != NULL,
                                  .masked = op->status != NULL,
                                  .values = op->values && nvsi_gpu_kernels_reach(op->values),
                                  .status = op->status && nvsi_gpu_kernels_reach(op->status)};
    bool inlined = (args.vector && !args.values) || (args.masked && !args.status);
    size_t most = inlined ? NVSK_WAIT_ELEMS : op->nelems;
    /* One kernel after the other waits as well as one for all. */
    for (size_t first = 0; !status && first < op->nelems; first += most) {
        unsigned nblocks, nthreads;
        args.nelems = op->nelems - first < most ? op->nelems - first : most;
        fill_wait(op, &args, first);
        nvsi_gpu_grid(args.nelems, 1, &nblocks, &nthreads);
        status = nvsi_gpu_launch(op->fn, NVSI_KERNEL_nvsk_wait, nblocks, nthreads, stream, &args);
    }
    return status;
}

/* ---- the way in --------------------------------------------------------------------------------
 */

static int dispatch(const struct nvsi_stream_op *op, CUstream stream)
{
    switch (op->op) {
    case NVSI_SOP_PUT:
    case NVSI_SOP_PUT_SIGNAL:
        return put(op, stream);
    case NVSI_SOP_GET:
        return get(op, stream);
    case NVSI_SOP_G:
        return get_now(op, stream);
    case NVSI_SOP_IPUT:
    case NVSI_SOP_IGET:
        return strided(op, stream);
    case NVSI_SOP_SIGNAL:
        return put_word(op, stream);
    case NVSI_SOP_WAIT:
        return wait(op, stream);
    case NVSI_SOP_QUIET:
        return 0;
    default:
        return nvsi_gpu_coll(op, stream);
    }
}

int nvsi_gpu_on_stream(const struct nvsi_stream_op *op, CUstream stream)
{
    CUcontext before;
    int status = nvsi_gpu_reported(op->fn);
    if (!status)
        status = nvsi_gpu_enter(op->fn, &before);
    if (status)
        return status;
    status = dispatch(op, stream);
    nvsi_gpu_leave(before);
    return status;
}
