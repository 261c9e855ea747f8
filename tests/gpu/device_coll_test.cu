/*
 * device_coll_test.cu - barriers and collectives in kernels: scopes, teams, sizes on both sides of
 * the border between pushing and pulling, in place or not, types and operations, against a fold on
 * the host.
 */
#include "device_job.h"

enum { THREADS = 96, MOST = 9000 };
enum kind {
    SUM_INT,
    SUM_FLOAT,
    SUM_HALF,
    MAX_BFLOAT,
    MIN_LONG,
    PROD_SHORT,
    XOR_UINT8,
    SCATTER_INT,
    SCATTER_DOUBLE,
    BROADCAST,
    FCOLLECT,
    ALLTOALL,
    MAXLOC,
    NUM_KINDS
};

struct args {
    int kind, scope, root, repeat;
    nvshmem_team_t team;
    void *dst, *src;
    size_t nelems;
    int *status;
};

#define SCOPES(call, ...)                                                                          \
    (args.scope == 0   ? nvshmem_##call(__VA_ARGS__)                                               \
     : args.scope == 1 ? nvshmemx_##call##_warp(__VA_ARGS__)                                       \
                       : nvshmemx_##call##_block(__VA_ARGS__))
#define TYPED(call, type)                                                                          \
    SCOPES(call, args.team, (type *)args.dst, (const type *)args.src, args.nelems)

static
#if defined(__CUDACC__)
    __device__
#endif
    int
    one_collective(const struct args &args)
{
    switch (args.kind) {
    case SUM_INT:
        return TYPED(int_sum_reduce, int);
    case SUM_FLOAT:
        return TYPED(float_sum_reduce, float);
    case SUM_HALF:
        return TYPED(half_sum_reduce, nvshmem_half);
    case MAX_BFLOAT:
        return TYPED(bfloat16_max_reduce, nvshmem_bfloat16);
    case MIN_LONG:
        return TYPED(long_min_reduce, long);
    case PROD_SHORT:
        return TYPED(short_prod_reduce, short);
    case XOR_UINT8:
        return TYPED(uint8_xor_reduce, uint8_t);
    case SCATTER_INT:
        return TYPED(int_sum_reducescatter, int);
    case SCATTER_DOUBLE:
        return TYPED(double_max_reducescatter, double);
    case BROADCAST:
        return SCOPES(short_broadcast, args.team, (short *)args.dst, (const short *)args.src,
                      args.nelems, args.root);
    case FCOLLECT:
        return TYPED(int_fcollect, int);
    case ALLTOALL:
        return TYPED(int_alltoall, int);
    default:
        return nvshmemx_double2_maxloc_reduce_block(args.team, (double2 *)args.dst,
                                                    (const double2 *)args.src, args.nelems);
    }
}

GT_KERNEL(collective, struct args, args)
{
    if ((args.scope == 0 && threadIdx.x != 0) || (args.scope == 1 && threadIdx.x >= 32))
        return;
    int status = 0;
    for (int i = 0; i < args.repeat; i++)
        status |= one_collective(args);
    if (status)
        *args.status = status;
}

/* ---- what they must give --------------------------------------------------------------------- */

static size_t elem_bytes(int kind)
{
    static const unsigned char bytes[NUM_KINDS] = {4, 4, 2, 2, 8, 2, 1, 4, 8, 2, 4, 4, 16};
    return bytes[kind];
}

/* Small whole numbers, so that floats and halves are exact. */
static long number(int pe, size_t i)
{
    return (long)((size_t)pe * 7 + i * 3) % 61 - 30;
}

static uint16_t half_bits(long whole)
{
    uint16_t sign = whole < 0 ? 0x8000 : 0;
    unsigned magnitude = (unsigned)(whole < 0 ? -whole : whole), exponent = 25;
    if (magnitude == 0)
        return 0;
    while (magnitude < 1024)
        magnitude *= 2, exponent--;
    return (uint16_t)(sign | exponent << 10 | (magnitude & 1023));
}

static uint16_t bfloat_bits(long whole)
{
    float value = (float)whole;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Element i with value `whole`, as its kind has it. */
static void put_number(int kind, void *base, size_t i, long whole)
{
    switch (kind) {
    case SUM_FLOAT:
        ((float *)base)[i] = (float)whole;
        break;
    case SUM_HALF:
        ((uint16_t *)base)[i] = half_bits(whole);
        break;
    case MAX_BFLOAT:
        ((uint16_t *)base)[i] = bfloat_bits(whole);
        break;
    case MIN_LONG:
        ((long *)base)[i] = whole;
        break;
    case SCATTER_DOUBLE:
        ((double *)base)[i] = (double)whole;
        break;
    case XOR_UINT8:
        ((uint8_t *)base)[i] = (uint8_t)whole;
        break;
    case PROD_SHORT:
    case BROADCAST:
        ((short *)base)[i] = (short)whole;
        break;
    case MAXLOC:
        ((double *)base)[2 * i] = (double)whole;
        ((double *)base)[2 * i + 1] = (double)(whole * 1000 + (long)i);
        break;
    default:
        ((int *)base)[i] = (int)whole;
    }
}

static long fold(int kind, const int *pes, int npes, size_t i)
{
    long value = number(pes[0], i);
    for (int k = 1; k < npes; k++) {
        long next = number(pes[k], i);
        if (kind == PROD_SHORT)
            value = (short)(value * next);
        else if (kind == XOR_UINT8)
            value ^= next;
        else if (kind == MAX_BFLOAT || kind == SCATTER_DOUBLE || kind == MAXLOC)
            value = next > value ? next : value;
        else if (kind == MIN_LONG)
            value = next < value ? next : value;
        else
            value += next;
    }
    return value;
}

struct group {
    nvshmem_team_t team;
    int npes, me, pes[64];
};

/* Elements of src and dst. */
static size_t src_elems(const struct args *a, const struct group *g)
{
    bool blocks = a->kind == SCATTER_INT || a->kind == SCATTER_DOUBLE || a->kind == ALLTOALL;
    return blocks ? a->nelems * (size_t)g->npes : a->nelems;
}
static size_t dst_elems(const struct args *a, const struct group *g)
{
    bool blocks = a->kind == FCOLLECT || a->kind == ALLTOALL;
    return blocks ? a->nelems * (size_t)g->npes : a->nelems;
}

static long wanted(const struct args *a, const struct group *g, size_t i)
{
    size_t n = a->nelems, block = i / (n ? n : 1), rest = n ? i % n : 0;
    switch (a->kind) {
    case BROADCAST:
        return number(g->pes[a->root], i);
    case FCOLLECT:
        return number(g->pes[block], rest);
    case ALLTOALL:
        return number(g->pes[block], (size_t)g->me * n + rest);
    case SCATTER_INT:
    case SCATTER_DOUBLE:
        return fold(a->kind, g->pes, g->npes, (size_t)g->me * n + i);
    default:
        return fold(a->kind, g->pes, g->npes, i);
    }
}

/* ---- one case -------------------------------------------------------------------------------- */

struct room {
    char *dst, *src; /* symmetric */
    char *host, *right;
    int *status;
    size_t nbytes;
};

/* Bytes before the data, so that vectors are not always aligned: a multiple of the element. */
static size_t skew(int kind, unsigned which)
{
    return which * elem_bytes(kind) % 64;
}

static void run_case(const struct room *room, const struct group *group, struct args a,
                     bool in_place, unsigned dst_skew, unsigned src_skew)
{
    size_t elem = elem_bytes(a.kind), nsrc = src_elems(&a, group), ndst = dst_elems(&a, group);
    char *src = room->src + skew(a.kind, src_skew), *dst = room->dst + skew(a.kind, dst_skew);
    if (in_place)
        dst = src;
    for (size_t i = 0; i < nsrc; i++)
        put_number(a.kind, room->host, i, number(job_me, i));
    gt_copy(src, room->host, nsrc * elem);
    if (!in_place) {
        memset(room->host, 0x5a, ndst * elem + 16);
        gt_copy(dst, room->host, ndst * elem + 16);
    }
    int status = 0;
    gt_copy(room->status, &status, sizeof status);
    nvshmem_barrier(group->team);
    a.team = group->team;
    a.dst = dst;
    a.src = src;
    a.status = room->status;
    GT_LAUNCH(collective, 1, THREADS, NULL, a);
    gt_read(&status, room->status, sizeof status);
    GT_CHECK(status == 0, "kind %d: status %d", a.kind, status);
    gt_read(room->host, dst, ndst * elem + (in_place ? 0 : 16));
    memset(room->right, 0x5a, ndst * elem + 16);
    for (size_t i = 0; i < ndst; i++)
        put_number(a.kind, room->right, i, wanted(&a, group, i));
    size_t nbytes = ndst * elem + (in_place ? 0 : 16);
    if (a.kind == MAXLOC) /* the place is that of the greatest, which number() makes known */
        nbytes = ndst * elem;
    for (size_t i = 0; i < nbytes; i++)
        if (room->host[i] != room->right[i]) {
            GT_CHECK(false,
                     "kind %d scope %d root %d team of %d, me %d, n %zu, in place %d, skews %u %u: "
                     "byte %zu is %02x, not %02x",
                     a.kind, a.scope, a.root, group->npes, group->me, a.nelems, in_place, dst_skew,
                     src_skew, i, room->host[i] & 0xff, room->right[i] & 0xff);
            break;
        }
    nvshmem_barrier(group->team);
}

/* begin: the seed, the same on all members whatever they drew before. */
static void run_group(const struct room *room, const struct group *group, uint64_t begin)
{
    job_seed = begin;
    static const size_t sizes[] = {0, 1, 3, 40, 511, 2050, MOST};
    for (int kind = 0; kind < NUM_KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct args a;
            memset((void *)&a, 0, sizeof a);
            a.kind = kind;
            a.scope = kind == MAXLOC ? 2 : (int)job_below(3);
            a.nelems = sizes[s];
            if (a.scope == 0 && a.nelems > 2050)
                a.scope = 2;
            a.root = (int)job_below((unsigned)group->npes);
            bool may = kind < SCATTER_INT || kind == SCATTER_INT || kind == MAXLOC;
            bool in_place = may && job_below(3) == 0;
            a.repeat = in_place ? 1 : 1 + (int)job_below(6);
            run_case(room, group, a, in_place, job_below(9), job_below(9));
        }
}

/* ---- barriers -------------------------------------------------------------------------------- */

struct barrier_args {
    nvshmem_team_t team;
    int *words; /* symmetric: one for each PE of the world */
    int rounds, scope;
    unsigned *wrong;
};

/* Everybody tells everybody the round's number; after the barrier all of them are there. */
GT_KERNEL(barriers, struct barrier_args, args)
{
    int me = nvshmem_my_pe(), npes = nvshmem_team_n_pes(args.team);
    if ((args.scope == 0 && threadIdx.x != 0) || (args.scope == 1 && threadIdx.x >= 32) ||
        (args.scope == 3 && threadIdx.x >= 128))
        return;
    for (int round = 1; round <= args.rounds; round++) {
        if (threadIdx.x == 0)
            for (int i = 0; i < npes; i++)
                nvshmem_int_p(args.words + me, round,
                              nvshmem_team_translate_pe(args.team, i, NVSHMEM_TEAM_WORLD));
        int status = args.scope == 0   ? nvshmem_barrier(args.team)
                     : args.scope == 1 ? nvshmemx_barrier_warp(args.team)
                     : args.scope == 2 ? nvshmemx_barrier_block(args.team)
                                       : nvshmemx_barrier_warpgroup(args.team);
        if (status)
            atomicAdd(args.wrong, 1u);
        if (threadIdx.x < (unsigned)npes) {
            int pe = nvshmem_team_translate_pe(args.team, (int)threadIdx.x, NVSHMEM_TEAM_WORLD);
            if (*(volatile int *)(args.words + pe) < round)
                atomicAdd(args.wrong, 1u);
        }
        if (args.scope == 0)
            nvshmem_team_sync(args.team);
        else if (args.scope == 1)
            nvshmemx_team_sync_warp(args.team);
        else if (args.scope == 2)
            nvshmemx_team_sync_block(args.team);
        else
            nvshmemx_barrier_warpgroup(args.team);
    }
}

static void test_barriers(const struct group *group)
{
    int *words = (int *)job_malloc((size_t)job_npes * sizeof *words);
    unsigned *wrong = (unsigned *)gt_malloc(sizeof *wrong), count = 0;
    for (int scope = 0; scope < 4; scope++) {
        int zeros[64] = {0};
        gt_copy(words, zeros, (size_t)job_npes * sizeof *words);
        gt_copy(wrong, &count, sizeof count);
        nvshmem_barrier_all();
        struct barrier_args args = {group->team, words, 30, scope, wrong};
        if (group->team != NVSHMEM_TEAM_INVALID)
            GT_LAUNCH(barriers, 1, 160, NULL, args);
        gt_read(&count, wrong, sizeof count);
        GT_CHECK(count == 0, "scope %d: %u times too early", scope, count);
        nvshmem_barrier_all();
    }
    gt_free(wrong);
    nvshmem_free(words);
}

/* ---- queries --------------------------------------------------------------------------------- */

struct query_args {
    nvshmem_team_t team;
    int *object, *answers;
};
GT_KERNEL(queries, struct query_args, args)
{
    int *a = args.answers, right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    a[0] = nvshmem_my_pe();
    a[1] = nvshmem_n_pes();
    a[2] = nvshmem_team_my_pe(args.team);
    a[3] = nvshmem_team_n_pes(args.team);
    a[4] = nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID);
    a[5] = nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, right, args.team);
    a[6] = nvshmem_ptr(args.object, a[0]) == args.object;
    a[7] = nvshmem_ptr(args.object, a[1]) == nullptr && nvshmem_ptr(&a, 0) == nullptr;
    int *there = (int *)nvshmem_ptr(args.object, right);
    a[8] = there && *(volatile int *)there == right + 1000;
    a[9] = nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, args.object) == nullptr;
}

static void test_queries(const struct group *group)
{
    int answers[10], value = job_me + 1000, right = (job_me + 1) % job_npes;
    struct query_args args = {group->team, (int *)job_malloc(sizeof(int)),
                              (int *)gt_malloc(sizeof answers)};
    gt_copy(args.object, &value, sizeof value);
    nvshmem_barrier_all();
    GT_LAUNCH(queries, 1, 1, NULL, args);
    gt_read(answers, args.answers, sizeof answers);
    const int wanted[10] = {job_me,
                            job_npes,
                            nvshmem_team_my_pe(group->team),
                            nvshmem_team_n_pes(group->team),
                            -1,
                            nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, right, group->team),
                            1,
                            1,
                            1,
                            1};
    for (int i = 0; i < 10; i++)
        GT_CHECK(answers[i] == wanted[i], "answer %d: %d, not %d", i, answers[i], wanted[i]);
    nvshmem_barrier_all();
    gt_free(args.answers);
    nvshmem_free(args.object);
}

/* ---- counters that wrap around --------------------------------------------------------------- */

struct wrap_args {
    nvshmem_team_t team;
    uint64_t round;
};

/* As if the team had had so many collectives and barriers. */
GT_KERNEL(set_round, struct wrap_args, args)
{
    const struct nvsi_dev_team *team = nvsd_get_team(nvsi_device, "set_round", args.team);
    if (threadIdx.x != 0 || !team || team->npes == 1)
        return;
    struct nvsi_channel_kernel *mine = nvsd_channel(nvsi_device, team, team->team_pe);
    mine->data_seq = mine->synced = args.round;
    mine->syncs = (uint32_t)args.round;
    for (int i = 0; i < team->npes; i++)
        mine->flags[i] = (uint32_t)args.round;
}

static void go_to_round(const struct group *group, uint64_t round)
{
    struct wrap_args args = {group->team, round};
    nvshmem_barrier(group->team);
    GT_LAUNCH(set_round, 1, 32, NULL, args);
    gt_sync_all();
    nvshmem_barrier(group->team);
}

struct stale_args {
    nvshmem_team_t team;
    int *dst, *src;
    size_t nelems;
    int times;
    unsigned delay;
};

GT_KERNEL(sum_late, struct stale_args, args)
{
    for (int i = 0; i < args.times; i++) {
        for (unsigned rounds = 0; rounds < args.delay;)
            nvsd_relax(&rounds);
        nvshmemx_int_sum_reduce_block(args.team, args.dst, args.src, args.nelems);
    }
}

static void sum_late_of(const struct room *room, const struct group *group, size_t nelems,
                        int times, int value)
{
    struct stale_args args = {group->team, (int *)room->dst, (int *)room->src, nelems, times, 0};
    int *host = (int *)room->host;
    for (size_t i = 0; i < nelems; i++)
        host[i] = value;
    gt_copy(args.src, host, nelems * sizeof *host);
    if (group->me == group->npes - 1)
        args.delay = 300;
    nvshmem_barrier(group->team);
    GT_LAUNCH(sum_late, 1, THREADS, NULL, args);
    gt_read(host, args.dst, nelems * sizeof *host);
    for (size_t i = 0; i < nelems; i++)
        GT_CHECK(host[i] == value * group->npes, "element %zu of %zu: %d", i, nelems, host[i]);
}

/* Flags that were used 2^32 rounds ago lie where nothing has arrived since; the member who is late
 * must not be taken to have sent what lies there. */
static void test_stale_flags(const struct room *room, const struct group *group)
{
    go_to_round(group, (uint64_t)1 << 32);
    sum_late_of(room, group, 1000, 4, 1);
    go_to_round(group, ((uint64_t)2 << 32) - 4);
    sum_late_of(room, group, 1, 3, 5);
    sum_late_of(room, group, 1000, 4, 2);
}

/* Every other PE, beginning with the second, if there are that many. */
static struct group split(void)
{
    struct group g;
    memset(&g, 0, sizeof g);
    int size = job_npes / 2;
    g.team = NVSHMEM_TEAM_INVALID;
    if (size > 0)
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 2, size, NULL, 0, &g.team);
    if (g.team == NVSHMEM_TEAM_INVALID)
        return g;
    g.npes = nvshmem_team_n_pes(g.team);
    g.me = nvshmem_team_my_pe(g.team);
    for (int i = 0; i < g.npes; i++)
        g.pes[i] = nvshmem_team_translate_pe(g.team, i, NVSHMEM_TEAM_WORLD);
    return g;
}

int main(void)
{
    job_begin();
    struct group world;
    memset(&world, 0, sizeof world);
    world.team = NVSHMEM_TEAM_WORLD;
    world.npes = job_npes;
    world.me = job_me;
    for (int i = 0; i < job_npes; i++)
        world.pes[i] = i;
    struct room room;
    room.nbytes = (size_t)MOST * 16 * (size_t)job_npes + 128;
    room.dst = (char *)job_malloc(room.nbytes);
    room.src = (char *)job_malloc(room.nbytes);
    room.host = (char *)malloc(room.nbytes);
    room.right = (char *)malloc(room.nbytes);
    room.status = (int *)gt_malloc(sizeof *room.status);

    struct group odd = split();
    test_queries(&world);
    test_queries(&odd);
    test_barriers(&world);
    test_barriers(&odd);
    uint64_t seed = job_seed;
    run_group(&room, &world, seed + 1);
    if (odd.team != NVSHMEM_TEAM_INVALID)
        run_group(&room, &odd, seed + 2);
    go_to_round(&world, 0xffffffffu - 20);
    run_group(&room, &world, seed + 3);
    test_barriers(&world);
    test_stale_flags(&room, &world);
    return job_end();
}
