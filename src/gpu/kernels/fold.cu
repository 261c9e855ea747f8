/*
 * fold.cu - the arithmetic between two copies: folds inputs that are all in this GPU's reach.
 *
 * Launch shape: any; few blocks keep up with the copy engines, since they read at the speed of
 * local memory. Waits for nobody.
 */
#include "reduce.h"

NVSD_FN uint64_t input(const struct nvsk_fold_args &args, int i)
{
    if (args.by_team)
        return args.inputs + nvsk_away(args.team, i);
    return i == args.own ? args.src : args.inputs + (uint64_t)(i - (i > args.own)) * args.step;
}

NVSD_KERNEL(nvsk_fold, struct nvsk_fold_args, args)
{
    const uint64_t step = nvsk_threads(), count = nvsk_view_count(args.view);
    for (uint64_t v = nvsk_thread(); v < count; v += NVSK_UNROLL * step) {
        struct nvsd_vec4 result[NVSK_UNROLL];
        nvsk_fold_some([&](int i) { return input(args, i); }, args.nsrc, args.code, args.divisor,
                       args.view, v, step, count, result);
        nvsk_store_some(args.dst, args.view, v, step, count, result);
    }
}
