/*
 * reduce.h - folding whole ranges: what the two-shot kernel and the fold between copies share.
 *
 * A thread takes four vectors at a time, a grid apart, from each input in turn: the loads of the
 * next input are under way while the one before is folded.
 */
#ifndef NVSI_GPU_KERNELS_REDUCE_H
#define NVSI_GPU_KERNELS_REDUCE_H

#include "nvshmem/device/fold.h"

#include "kernel.h"

enum { NVSK_UNROLL = 4 };

/* Vectors v, v + step, ... of an input; those from `end` on are not there. */
NVSD_FN void nvsk_load_some(uint64_t src, const struct nvsk_view &view, uint64_t v, uint64_t step,
                            uint64_t end, struct nvsd_vec4 (&vecs)[NVSK_UNROLL])
{
    NVSD_UNROLL
    for (unsigned k = 0; k < NVSK_UNROLL; k++) {
        uint64_t w = v + k * step;
        vecs[k] = nvsd_vec4_zero();
        if (w < end && nvsk_view_bytes(view, w))
            vecs[k] = nvsk_load(src + nvsk_view_at(view, w), nvsk_view_bytes(view, w),
                                nvsk_view_unit(view, w));
    }
}

NVSD_FN void nvsk_store_some(uint64_t dst, const struct nvsk_view &view, uint64_t v, uint64_t step,
                             uint64_t end, const struct nvsd_vec4 (&vecs)[NVSK_UNROLL])
{
    NVSD_UNROLL
    for (unsigned k = 0; k < NVSK_UNROLL; k++) {
        uint64_t w = v + k * step;
        if (w < end && nvsk_view_bytes(view, w))
            nvsk_store(dst + nvsk_view_at(view, w), vecs[k], nvsk_view_bytes(view, w),
                       nvsk_view_unit(view, w));
    }
}

/* The fold of vectors v, v + step, ... of nsrc inputs; input(i) is the address of number i. */
template <class Input>
NVSD_FN void nvsk_fold_some(Input input, int nsrc, unsigned code, int divisor,
                            const struct nvsk_view &view, uint64_t v, uint64_t step, uint64_t end,
                            struct nvsd_vec4 (&result)[NVSK_UNROLL])
{
    struct nvsd_fold_acc acc[NVSK_UNROLL];
    struct nvsd_vec4 next[NVSK_UNROLL];
    nvsk_load_some(input(0), view, v, step, end, result);
    if (nsrc > 1)
        nvsk_load_some(input(1), view, v, step, end, next);
    nvsd_fold_begin<NVSK_UNROLL>(code, acc, result);
    NVSD_NO_UNROLL
    for (int i = 1; i < nsrc; i++) {
        struct nvsd_vec4 after[NVSK_UNROLL];
        if (i + 1 < nsrc)
            nvsk_load_some(input(i + 1), view, v, step, end, after);
        nvsd_fold_next<NVSK_UNROLL>(code, acc, next);
        if (i + 1 < nsrc) {
            NVSD_UNROLL
            for (unsigned k = 0; k < NVSK_UNROLL; k++)
                next[k] = after[k];
        }
    }
    nvsd_fold_end<NVSK_UNROLL>(code, divisor, acc, result);
}

#endif
