/*
 * memory.cu - the kernels behind single operations: atomics, small puts, strided copies, signals.
 *
 * Bulk goes by the copy engines; what is here is what they cannot do, or where a launch of theirs
 * costs more than the copy.
 */
#include "kernel.h"

/* ---- atomics --------------------------------------------------------------------------------- */

/* The order of enum nvsi_amo_code. */
enum { AMO_FETCH, AMO_SET, AMO_ADD, AMO_AND, AMO_OR, AMO_XOR, AMO_SWAP, AMO_CSWAP };

NVSD_FN uint32_t amo32(const struct nvsk_amo_args &args)
{
    uint32_t *word = nvsk_at<uint32_t>(args.word), operand = (uint32_t)args.operand;
    switch (args.code) {
    case AMO_FETCH:
        return nvsd_ld_relaxed32(word);
    case AMO_ADD:
        return nvsd_atomic_add32(word, operand);
    case AMO_AND:
        return nvsd_atomic_and32(word, operand);
    case AMO_OR:
        return nvsd_atomic_or32(word, operand);
    case AMO_XOR:
        return nvsd_atomic_xor32(word, operand);
    case AMO_CSWAP:
        return nvsd_atomic_cas32(word, (uint32_t)args.compare, operand);
    default:
        return nvsd_atomic_swap32(word, operand);
    }
}

NVSD_FN uint64_t amo64(const struct nvsk_amo_args &args)
{
    uint64_t *word = nvsk_at<uint64_t>(args.word), operand = args.operand;
    switch (args.code) {
    case AMO_FETCH:
        return nvsd_ld_relaxed64(word);
    case AMO_ADD:
        return nvsd_atomic_add64(word, operand);
    case AMO_AND:
        return nvsd_atomic_and64(word, operand);
    case AMO_OR:
        return nvsd_atomic_or64(word, operand);
    case AMO_XOR:
        return nvsd_atomic_xor64(word, operand);
    case AMO_CSWAP:
        return nvsd_atomic_cas64(word, args.compare, operand);
    default:
        return nvsd_atomic_swap64(word, operand);
    }
}

NVSD_KERNEL(nvsk_amo, struct nvsk_amo_args, args)
{
    if (nvsk_thread() != 0)
        return;
    uint64_t old = args.nbytes == 4 ? amo32(args) : amo64(args);
    if (args.result && args.nbytes == 4)
        nvsd_st_relaxed32(nvsk_at<uint32_t>(args.result), (uint32_t)old);
    else if (args.result)
        nvsd_st_relaxed64(nvsk_at<uint64_t>(args.result), old);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* A release: what this thread did, or was ordered after, comes before the signal. */
NVSD_FN void send(const struct nvsk_signal_op &op)
{
    if (op.add)
        nvsd_add_release64(nvsk_at<uint64_t>(op.address), op.value);
    else
        nvsd_st_release64(nvsk_at<uint64_t>(op.address), op.value);
}

NVSD_KERNEL(nvsk_signal, struct nvsk_signal_args, args)
{
    if (nvsk_thread() == 0 && nvsk_gate_open(args.gate))
        send(args.signal);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* Vectors that start at a vector of this thread and are a grid apart: four loads in flight. */
NVSD_FN void put_vectors(const struct nvsk_put_args &args)
{
    const uint64_t step = nvsk_threads(), count = nvsk_view_count(args.view);
    for (uint64_t v = nvsk_thread(); v < count; v += 4 * step) {
        struct nvsd_vec4 vecs[4];
        NVSD_UNROLL
        for (unsigned k = 0; k < 4; k++) {
            uint64_t w = v + k * step;
            if (w < count && nvsk_view_bytes(args.view, w))
                vecs[k] = nvsk_load(args.src + nvsk_view_at(args.view, w),
                                    nvsk_view_bytes(args.view, w), nvsk_view_unit(args.view, w));
        }
        NVSD_UNROLL
        for (unsigned k = 0; k < 4; k++) {
            uint64_t w = v + k * step;
            if (w < count && nvsk_view_bytes(args.view, w))
                nvsk_store(args.dst + nvsk_view_at(args.view, w), vecs[k],
                           nvsk_view_bytes(args.view, w), nvsk_view_unit(args.view, w));
        }
    }
}

/* The block's stores come before its barrier, and that before thread 0's release. */
NVSD_KERNEL(nvsk_put, struct nvsk_put_args, args)
{
    if (!nvsk_gate_open(args.gate))
        return;
    if (args.src) {
        put_vectors(args);
    } else if (nvsk_thread() == 0) {
        struct nvsd_vec4 value = {args.value[0], args.value[1], args.value[2], args.value[3]};
        nvsk_store(args.dst, value, args.view.nbytes, args.view.unit);
    }
    if (!args.signal.address)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        send(args.signal);
}

/* ---- strided --------------------------------------------------------------------------------- */

template <class T> NVSD_FN void strided(const struct nvsk_strided_args &args)
{
    const uint64_t parts = args.elem_bytes / sizeof(T), count = args.nelems * parts;
    for (uint64_t n = nvsk_thread(); n < count; n += nvsk_threads()) {
        int64_t i = (int64_t)(parts == 1 ? n : n / parts);
        uint64_t within = parts == 1 ? 0 : n % parts * sizeof(T);
        *nvsk_at<T>(args.dst + (uint64_t)(i * args.dst_stride) + within) =
            *nvsk_at<const T>(args.src + (uint64_t)(i * args.src_stride) + within);
    }
}

NVSD_KERNEL(nvsk_strided, struct nvsk_strided_args, args)
{
    if (!nvsk_gate_open(args.gate))
        return;
    switch (args.unit) {
    case 8:
        strided<uint64_t>(args);
        break;
    case 4:
        strided<uint32_t>(args);
        break;
    case 2:
        strided<uint16_t>(args);
        break;
    default:
        strided<uint8_t>(args);
        break;
    }
}
