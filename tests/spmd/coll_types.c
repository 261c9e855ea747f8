/*
 * coll_types.c - every typed collective of the three APIs, with all its operators, on a few small
 * counts. A wrong row in the library's table of types or operators is found here.
 */
#include "coll_case.h"

static void run_row(const struct coll_fn *fn, const struct coll_team *world, uint64_t *round)
{
    static const size_t some_counts[] = {1, 5, 40};
    size_t counts[MAX_TEAM_PES];
    for (size_t n = 0; n < sizeof some_counts / sizeof some_counts[0]; n++) {
        bool strided = fn->kind == ALL_TO_ALL_STRIDED;
        for (int p = 0; p < world->npes; p++)
            counts[p] = some_counts[n] + (size_t)(p % 3) - 1;
        struct coll_case k = {.fn = fn,
                              .team = world,
                              .round = ++*round,
                              .counts = counts,
                              .nelems = fn->kind == COLLECT ? counts[world->me] : some_counts[n],
                              .root = (int)(*round % (uint64_t)world->npes),
                              .dst_stride = strided ? 2 : 1,
                              .src_stride = strided ? 3 : 1,
                              .dst_memory = (enum memory)(*round % 2),
                              .src_memory = (enum memory)(*round / 2 % 2)};
        run_case(&k);
    }
}

int main(int argc, char **argv)
{
    static struct coll_team world;
    uint64_t round = 0;
    spmd_begin(argc, argv);
    pools_open();
    world = (struct coll_team){.npes = spmd_npes, .me = spmd_me};
    for (int p = 0; p < spmd_npes; p++)
        world.pes[p] = p;
    CHECK(coll_fns[NUM_NVS_FNS - 1].any_memory && !coll_fns[NUM_NVS_FNS].any_memory,
          "rows of nvs.h are not the first %d", NUM_NVS_FNS);
    for (int row = 0; row < NUM_COLL_FNS; row++)
        run_row(&coll_fns[row], &world, &round);
    if (spmd_me == 0)
        printf("%d functions, %llu calls\n", NUM_COLL_FNS, (unsigned long long)round);
    pools_close();
    return spmd_end();
}
