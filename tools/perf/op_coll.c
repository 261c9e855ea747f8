/*
 * op_coll.c - the collectives of nvs.h.
 *
 * Bus bandwidth is nccl-tests': what each PE's link would carry if links were all there is, so that
 * it can be compared with the speed of the hardware whatever the number of PEs.
 */
#include "kernels.h"
#include "perf.h"

static void all_reduce_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n; n--, rotor_next(&at))
        must(nvs_all_reduce(NVS_TEAM_WORLD, at.dst, at.src, call->count, call->type->code,
                            (enum nvs_op)call->redop, NULL));
}

static void reduce_scatter_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n; n--, rotor_next(&at))
        must(nvs_reduce_scatter(NVS_TEAM_WORLD, at.dst, at.src, call->count, call->type->code,
                                (enum nvs_op)call->redop, NULL));
}

static void broadcast_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n; n--, rotor_next(&at))
        must(nvs_broadcast(NVS_TEAM_WORLD, at.dst, at.src, call->count, call->type->code,
                           call->root, NULL));
}

static void all_gather_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n; n--, rotor_next(&at))
        must(nvs_all_gather(NVS_TEAM_WORLD, at.dst, at.src, call->count, call->type->code, NULL));
}

static void all_to_all_run(struct call *call, size_t first, size_t n)
{
    struct rotor at = rotor_at(call, first);
    for (; n; n--, rotor_next(&at))
        must(nvs_all_to_all(NVS_TEAM_WORLD, at.dst, at.src, call->count, call->type->code, NULL));
}

static struct origin fold_of_block_0(const struct call *call, int block)
{
    (void)call;
    (void)block;
    return (struct origin){.pe = FOLD_OF_ALL};
}

static struct origin fold_of_own_block(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = FOLD_OF_ALL, .index = (size_t)call->me * call->count};
}

static struct origin from_root(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = call->root};
}

static struct origin block_of_its_pe(const struct call *call, int block)
{
    (void)call;
    return (struct origin){.pe = block};
}

static struct origin own_block_of_pe(const struct call *call, int block)
{
    return (struct origin){.pe = block, .index = (size_t)call->me * call->count};
}

static double others(int npes)
{
    return (double)(npes - 1) / npes;
}
static double there_and_back(int npes)
{
    return 2.0 * (npes - 1) / npes;
}

#define COLLECTIVE                                                                                 \
    .group = "collectives", .sized = true, .in_place = true, .default_type = NVS_FLOAT32

const struct op ops_coll[] = {
    {
        .name = "broadcast",
        .help = "the root's elements on every PE",
        .src_shape = SHAPE_ONE,
        .dst_shape = SHAPE_ONE,
        .rooted = true,
        .run = broadcast_run,
        .enqueue = broadcast_enqueue,
        .kernel = KERNEL_BROADCAST,
        .origin = from_root,
        COLLECTIVE,
    },
    {
        .name = "all_reduce",
        .help = "the sum (or -o) of all PEs' elements on every PE",
        .src_shape = SHAPE_ONE,
        .dst_shape = SHAPE_ONE,
        .reduces = true,
        .bus = there_and_back,
        .run = all_reduce_run,
        .enqueue = all_reduce_enqueue,
        .kernel = KERNEL_ALL_REDUCE,
        .origin = fold_of_block_0,
        COLLECTIVE,
    },
    {
        .name = "reduce_scatter",
        .help = "each PE gets its block of the sum (or -o)",
        .src_shape = SHAPE_ALL,
        .dst_shape = SHAPE_ONE,
        .reduces = true,
        .bus = others,
        .run = reduce_scatter_run,
        .enqueue = reduce_scatter_enqueue,
        .kernel = KERNEL_REDUCE_SCATTER,
        .origin = fold_of_own_block,
        COLLECTIVE,
    },
    {
        .name = "all_gather",
        .help = "the blocks of all PEs on every PE",
        .src_shape = SHAPE_ONE,
        .dst_shape = SHAPE_ALL,
        .bus = others,
        .run = all_gather_run,
        .enqueue = all_gather_enqueue,
        .kernel = KERNEL_ALL_GATHER,
        .origin = block_of_its_pe,
        COLLECTIVE,
    },
    {
        .name = "all_to_all",
        .help = "each PE sends a block to every PE",
        .src_shape = SHAPE_ALL,
        .dst_shape = SHAPE_ALL,
        .bus = others,
        .run = all_to_all_run,
        .enqueue = all_to_all_enqueue,
        .kernel = KERNEL_ALL_TO_ALL,
        .origin = own_block_of_pe,
        COLLECTIVE,
    },
    {.name = NULL},
};
