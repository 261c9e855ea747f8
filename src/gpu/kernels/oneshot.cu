/*
 * oneshot.cu - all-reduce and reduce-scatter of little data: push.h, and a fold of what arrives.
 *
 * All-reduce: everybody gets all data of all and folds for itself, in the order of the PEs, so all
 * get the same bits. (npes - 1) * nbytes leave each GPU. Reduce-scatter: each block goes to whom it
 * is for.
 */
#include "nvshmem/device/fold.h"

#include "push.h"

enum { BATCH = 4 }; /* members whose cells are loaded at once */

struct batch {
    struct nvsd_vec4 vecs[BATCH];
};

/* The vector at `at` of members first .. first + BATCH - 1, as far as there are so many. */
NVSD_FN bool receive(const struct nvsk_push &push, int first, uint64_t at, unsigned unit,
                     struct batch *batch)
{
    const struct nvsk_push_args &args = push.args;
    const struct nvsk_team &team = args.team;
    struct nvsk_wait wait = nvsk_wait_begin();
    unsigned missing = 0;
    NVSD_UNROLL
    for (int k = 0; k < BATCH; k++) {
        if (first + k == team.team_pe) {
            batch->vecs[k] =
                nvsk_load(nvsk_block_for(args, team.team_pe) + at, args.nbytes - at, unit);
        } else if (first + k < team.npes) {
            batch->vecs[k] = nvsk_push_peek(push, first + k, at);
            missing |= 1u << k;
        }
    }
    for (;;) {
        int absent = -1;
        NVSD_UNROLL
        for (int k = 0; k < BATCH; k++) {
            if (!(missing >> k & 1))
                continue;
            struct nvsd_vec4 arrived = batch->vecs[k];
            if (nvsk_push_take(push, first + k, at, arrived, &batch->vecs[k])) {
                missing &= ~(1u << k);
            } else {
                batch->vecs[k] = nvsk_push_peek(push, first + k, at);
                absent = first + k;
            }
        }
        if (!missing)
            break;
        if (!nvsk_push_wait(push, &wait, absent, at))
            return false;
    }
    nvsk_done(&wait, team.page);
    return true;
}

/* One vector of the result. The members of a batch are folded one by one, the first moving up, so
 * that the code for all types is there once. */
NVSD_FN bool reduce(const struct nvsk_push &push, uint64_t at, unsigned src_unit, unsigned dst_unit)
{
    const struct nvsk_push_args &args = push.args;
    struct nvsd_fold_acc acc[1];
    for (int first = 0; first < args.team.npes; first += BATCH) {
        struct batch batch;
        if (!receive(push, first, at, src_unit, &batch))
            return false;
        int last = first + BATCH < args.team.npes ? first + BATCH : args.team.npes;
        NVSD_NO_UNROLL
        for (int i = first; i < last; i++) {
            const struct nvsd_vec4 next[1] = {batch.vecs[0]};
            if (i == 0)
                nvsd_fold_begin<1>(args.code, acc, next);
            else
                nvsd_fold_next<1>(args.code, acc, next);
            batch.vecs[0] = batch.vecs[1], batch.vecs[1] = batch.vecs[2];
            batch.vecs[2] = batch.vecs[3];
        }
    }
    struct nvsd_vec4 result[1];
    nvsd_fold_end<1>(args.code, args.divisor, acc, result);
    nvsk_store(args.dst + at, result[0], args.nbytes - at, dst_unit);
    return true;
}

NVSD_KERNEL(nvsk_reduce_oneshot, struct nvsk_push_args, args)
{
    struct nvsk_push push = {args, nvsk_own(args.team), 0, 0};
    if (!nvsk_push_begin(&push, false, true))
        return;
    unsigned src_unit = nvsk_unit(args.src | args.src_step), dst_unit = nvsk_unit(args.dst);
    for (uint64_t at = (uint64_t)nvsk_thread() * 16; at < args.nbytes;
         at += (uint64_t)nvsk_threads() * 16)
        if (!reduce(push, at, src_unit, dst_unit))
            return;
}
