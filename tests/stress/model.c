/*
 * model.c - the random program: epochs until the time is over or a difference is found.
 *
 *     nvsrun -n 4 model [SEED]
 *
 * NVS_STRESS_SECONDS says how long (2 seconds if it is not set), NVS_TEST_SEED repeats a run.
 * NVS_TEST_CORRUPT=1 changes one byte of PE 0 in secret in epoch 20, which must be found.
 */
#include "model.h"

#include <stdarg.h>

enum { CORRUPT_EPOCH = 20 };

struct world world;

_Noreturn void give_up(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "PE %d of %d (seed %llu, epoch %llu): %s\n", world.me, world.npes,
            (unsigned long long)world.seed, (unsigned long long)world.epoch, text);
    shmem_global_exit(1);
    abort();
}

static void perform(const struct op *op)
{
    if (op->kind >= OP_COLLECTIVE)
        together_perform(op);
    else if (op->kind >= OP_ATOMIC)
        words_perform(op);
    else
        onesided_perform(op);
}

static void apply(const struct op *op)
{
    if (op->kind >= OP_COLLECTIVE)
        together_apply(op);
    else if (op->kind >= OP_ATOMIC)
        words_apply(op);
    else
        onesided_apply(op);
    history_add(op);
}

static void run_epoch(void)
{
    struct rng rng = draw_from(world.epoch, 1000004);
    int nops = 1 + (int)rng_below(&rng, MAX_OPS);
    struct op op;
    objects_change();
    groups_change();
    objects_forget_claims();
    shmem_barrier_all();
    for (int number = 0; number < nops; number++) {
        if (!op_draw(&op, world.epoch, number))
            continue;
        perform(&op);
        apply(&op);
        world.nops++;
    }
    contexts_quiet();
    if (rng_below(&rng, 2)) {
        shmem_barrier_all();
    } else {
        nvshmem_quiet();
        shmem_sync_all();
    }
    onesided_finish();
}

static bool go_on(double stop)
{
    int more = spmd_seconds() < stop;
    if (nvs_broadcast(NVS_TEAM_WORLD, &more, &more, 1, NVS_INT32, 0, NULL))
        give_up("broadcast: %s", nvs_last_error());
    return more;
}

int main(int argc, char **argv)
{
    const char *corrupt = getenv("NVS_TEST_CORRUPT");
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    world.seed = spmd_seed;
    world.me = spmd_me;
    world.npes = spmd_npes;
    objects_open();
    groups_open();
    double stop = spmd_seconds() + spmd_stress_seconds(2);
    do {
        world.epoch++;
        run_epoch();
        if (corrupt && *corrupt && world.epoch == CORRUPT_EPOCH && world.me == 0)
            objects_corrupt();
        objects_compare();
    } while (go_on(stop));
    CHECK(world.epoch > 0, "nothing was done");
    if (world.me == 0)
        printf("%llu epochs, %llu operations, %llu collectives, %llu objects\n",
               (unsigned long long)world.epoch, (unsigned long long)world.nops,
               (unsigned long long)world.ncollectives, (unsigned long long)world.nobjects);
    return spmd_end();
}
