/*
 * mixed.c - random operations of all kinds against a model of memory. Every PE keeps a model of
 * what all PEs' memory must hold, since the shared seed tells it what everybody does.
 *
 * In a round each PE makes a few operations, each on cells that nobody else touches in that round.
 * After a barrier the whole own memory is compared with the model. Two areas, on the heap and in
 * static data; the heap object moves now and then.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>

enum { MAX_PES = 8, CELLS = 512, LANE = 16, OPS = 12 };

/* Cells of an area: lanes of LANE cells; lane l of a round belongs to one caller. */
struct area {
    long cells[CELLS];
    uint64_t signal;
};

static struct area static_area;
static struct area *areas[2];         /* static, heap */
static struct area model[2][MAX_PES]; /* by area and PE */
static long lock;

enum op { PUT, P, PUT_NBI, IPUT, GET, IGET, ADD, FETCH_ADD, SWAP, CSWAP, XOR, SIGNAL, OP_KINDS };

struct call {
    enum op op;
    int area, pe;
    size_t at, nelems, stride;
    long value;
};

/* The calls of one PE in one round: OPS of them, each in a lane of its own. The lanes of the PEs
 * are interleaved, and shift from round to round. */
static struct call draw(uint64_t round, int caller, int number)
{
    struct rng rng = rng_of(round * OPS + (uint64_t)number, (uint64_t)caller);
    size_t lanes = CELLS / LANE / MAX_PES; /* per caller */
    size_t lane = ((size_t)number % lanes) * MAX_PES + ((size_t)caller + round) % MAX_PES;
    struct call call = {.op = (enum op)rng_below(&rng, OP_KINDS),
                        .area = (int)rng_below(&rng, 2),
                        .pe = (int)rng_below(&rng, (size_t)spmd_npes),
                        .stride = 1 + rng_below(&rng, 3),
                        .value = (long)rng_next(&rng)};
    call.nelems = 1 + rng_below(&rng, LANE / call.stride);
    size_t span = (call.nelems - 1) * call.stride + 1;
    call.at = lane * LANE + rng_below(&rng, LANE - span + 1);
    return call;
}

static long value_of(const struct call *call, size_t i)
{
    return call->value + (long)(i * i);
}

static bool strided(enum op op)
{
    return op == IPUT || op == IGET;
}

/* What the call does to the model. */
static void apply(const struct call *call)
{
    struct area *area = &model[call->area][call->pe];
    long *cell = &area->cells[call->at];
    size_t stride = strided(call->op) ? call->stride : 1;
    switch (call->op) {
    case PUT:
    case PUT_NBI:
    case IPUT:
    case SIGNAL:
        for (size_t i = 0; i < call->nelems; i++)
            cell[i * stride] = value_of(call, i);
        area->signal += call->op == SIGNAL;
        break;
    case P:
    case SWAP:
    case CSWAP: /* drawn so that it succeeds */
        *cell = call->value;
        break;
    case ADD:
    case FETCH_ADD:
        *cell = (long)((unsigned long)*cell + (unsigned long)call->value);
        break;
    case XOR:
        *cell ^= call->value;
        break;
    default:
        break;
    }
}

static void check_old(const struct call *call, long have, long want)
{
    CHECK(have == want, "operation %d on cell %zu of PE %d: %lx before it, expected %lx", call->op,
          call->at, call->pe, (unsigned long)have, (unsigned long)want);
}

static void fetch(const struct call *call, long *cells, const long *want)
{
    long got[LANE * 3] = {0};
    size_t stride = strided(call->op) ? call->stride : 1;
    if (stride > 1 || call->op == IGET)
        shmem_long_iget(got, cells, 2, (ptrdiff_t)stride, call->nelems, call->pe);
    else
        nvshmem_long_get(got, cells, call->nelems, call->pe);
    for (size_t i = 0; i < call->nelems; i++) {
        long have = got[call->op == IGET ? 2 * i : i];
        CHECK(have == want[i * stride], "get of cell %zu + %zu of PE %d: %lx, expected %lx",
              call->at, i * stride, call->pe, (unsigned long)have, (unsigned long)want[i * stride]);
    }
}

/* The call itself. The model still holds the state before it. */
static void perform(const struct call *call, long *src)
{
    long *cells = &areas[call->area]->cells[call->at];
    const long *want = &model[call->area][call->pe].cells[call->at];
    uint64_t *signal = &areas[call->area]->signal;
    for (size_t i = 0; i < LANE * 3; i++)
        src[i] = value_of(call, i);
    switch (call->op) {
    case PUT:
        shmem_long_put(cells, src, call->nelems, call->pe);
        break;
    case P:
        nvshmem_long_p(cells, call->value, call->pe);
        break;
    case PUT_NBI:
        shmem_putmem_nbi(cells, src, call->nelems * sizeof *src, call->pe);
        break;
    case IPUT:
        shmem_long_iput(cells, src, (ptrdiff_t)call->stride, 1, call->nelems, call->pe);
        break;
    case GET:
    case IGET:
        fetch(call, cells, want);
        break;
    case ADD:
        shmem_long_atomic_add(cells, call->value, call->pe);
        break;
    case FETCH_ADD:
        check_old(call, nvshmem_long_atomic_fetch_add(cells, call->value, call->pe), *want);
        break;
    case SWAP:
        check_old(call, shmem_long_atomic_swap(cells, call->value, call->pe), *want);
        break;
    case CSWAP:
        check_old(call, shmem_long_atomic_compare_swap(cells, *want, call->value, call->pe), *want);
        break;
    case XOR:
        shmem_uint64_atomic_xor((uint64_t *)cells, (uint64_t)call->value, call->pe);
        break;
    default:
        shmem_long_put_signal(cells, src, call->nelems, signal, 1, SHMEM_SIGNAL_ADD, call->pe);
    }
}

static void compare(uint64_t round)
{
    for (int a = 0; a < 2; a++) {
        const struct area *want = &model[a][spmd_me];
        for (size_t i = 0; i < CELLS; i++)
            CHECK(areas[a]->cells[i] == want->cells[i],
                  "round %llu: cell %zu of area %d is %lx, expected %lx", (unsigned long long)round,
                  i, a, (unsigned long)areas[a]->cells[i], (unsigned long)want->cells[i]);
        CHECK(areas[a]->signal == want->signal, "round %llu: area %d: %llu signals, expected %llu",
              (unsigned long long)round, a, (unsigned long long)areas[a]->signal,
              (unsigned long long)want->signal);
    }
}

/* Between rounds, sometimes, the heap moves under the data. */
static void shake_heap(uint64_t round)
{
    struct rng rng = rng_of(round, 999);
    if (rng_below(&rng, 10))
        return;
    if (rng_below(&rng, 2)) {
        areas[1] = shmem_realloc(areas[1], sizeof *areas[1] + rng_below(&rng, 100000));
    } else {
        struct area *moved = nvshmem_malloc(sizeof *moved);
        memcpy(moved, areas[1], sizeof *moved);
        nvshmem_free(areas[1]);
        areas[1] = moved;
    }
    CHECK(areas[1], "no memory");
}

static bool go_on(double stop, uint64_t round)
{
    static long word;
    if (spmd_me == 0 && round % 8 == 0)
        for (int pe = 0; pe < spmd_npes; pe++)
            shmem_long_p(&word, spmd_seconds() < stop, pe);
    shmem_barrier_all();
    return word;
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    areas[0] = &static_area;
    areas[1] = shmem_calloc(1, sizeof *areas[1]);
    static long sources[OPS][LANE * 3];
    double stop = spmd_seconds() + spmd_stress_seconds(1.0);
    uint64_t round = 0;
    while (go_on(stop, round) && !spmd_failures) {
        for (int number = 0; number < OPS; number++) {
            struct call mine = draw(round, spmd_me, number);
            if (number >= CELLS / LANE / MAX_PES)
                shmem_quiet(); /* the lanes begin again: in order, please */
            perform(&mine, sources[number]);
            apply(&mine);
        }
        for (int pe = 0; pe < spmd_npes; pe++)
            for (int number = 0; pe != spmd_me && number < OPS; number++) {
                struct call call = draw(round, pe, number);
                apply(&call);
            }
        if (round % 5 == 0) {
            shmem_set_lock(&lock);
            shmem_clear_lock(&lock);
        }
        shmem_barrier_all();
        compare(round);
        shmem_barrier_all();
        shake_heap(round++);
    }
    if (spmd_me == 0)
        printf("%llu rounds\n", (unsigned long long)round);
    if (spmd_failures)
        shmem_global_exit(1); /* the others would wait for this PE */
    return spmd_end();
}
