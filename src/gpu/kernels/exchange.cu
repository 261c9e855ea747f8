/*
 * exchange.cu - broadcast, all-gather and all-to-all of little data: push.h, and what arrives goes
 * to dst.
 *
 * dst may be src: a thread reads the vectors of all blocks that it later overwrites before it
 * stores the first.
 */
#include "push.h"

enum { BATCH = 4 };

NVSD_FN uint64_t dst_of(const struct nvsk_push_args &args, int from)
{
    return args.dst + (uint64_t)from * args.dst_step;
}

/* Stores what members around - n have sent, for BATCH values of n. */
NVSD_FN bool receive(const struct nvsk_push &push, int n, int nsenders, uint64_t at, unsigned unit)
{
    const struct nvsk_push_args &args = push.args;
    struct nvsk_wait wait = nvsk_wait_begin();
    struct nvsd_vec4 vecs[BATCH];
    int from[BATCH];
    unsigned missing = 0;
    NVSD_UNROLL
    for (int k = 0; k < BATCH; k++) {
        if (n + k >= nsenders)
            continue;
        from[k] = args.root >= 0 ? args.root : args.team.team_pe - 1 - (n + k);
        from[k] += from[k] < 0 ? args.team.npes : 0;
        vecs[k] = nvsk_push_peek(push, from[k], at);
        missing |= 1u << k;
    }
    for (;;) {
        int absent = -1;
        NVSD_UNROLL
        for (int k = 0; k < BATCH; k++) {
            if (!(missing >> k & 1))
                continue;
            struct nvsd_vec4 data;
            if (nvsk_push_take(push, from[k], at, vecs[k], &data)) {
                missing &= ~(1u << k);
                nvsk_store(dst_of(args, from[k]) + at, data, args.nbytes - at, unit);
            } else {
                vecs[k] = nvsk_push_peek(push, from[k], at);
                absent = from[k];
            }
        }
        if (!missing)
            break;
        if (!nvsk_push_wait(push, &wait, absent, at))
            return false;
    }
    nvsk_done(&wait, args.team.page);
    return true;
}

/* This PE's own block, before anything is stored that might be in its place. */
NVSD_FN void copy_own(const struct nvsk_push_args &args, uint64_t at, unsigned src_unit,
                      unsigned dst_unit)
{
    int me = args.team.team_pe;
    uint64_t src = nvsk_block_for(args, me), dst = dst_of(args, me);
    if (src != dst)
        nvsk_store(dst + at, nvsk_load(src + at, args.nbytes - at, src_unit), args.nbytes - at,
                   dst_unit);
}

NVSD_KERNEL(nvsk_exchange, struct nvsk_push_args, args)
{
    struct nvsk_push push = {args, nvsk_own(args.team), 0, 0};
    bool rooted = args.root >= 0, sends = !rooted || args.root == args.team.team_pe;
    int nsenders = !rooted ? args.team.npes - 1 : sends ? 0 : 1;
    if (!nvsk_push_begin(&push, rooted, sends))
        return;
    unsigned src_unit = nvsk_unit(args.src | args.src_step);
    unsigned dst_unit = nvsk_unit(args.dst | args.dst_step);
    for (uint64_t at = (uint64_t)nvsk_thread() * 16; at < args.nbytes;
         at += (uint64_t)nvsk_threads() * 16) {
        if (sends)
            copy_own(args, at, src_unit, dst_unit);
        for (int n = 0; n < nsenders; n += BATCH)
            if (!receive(push, n, nsenders, at, dst_unit))
                return;
    }
}
