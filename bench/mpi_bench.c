/*
 * mpi_bench.c - the operations of shmem_bench.c through MPI: one-sided ones on a window that is
 * locked once, put_ping_pong by send and receive, which is what MPI programs have for it.
 *
 *     mpi_bench [start] [GROUP | METRIC]...
 *
 * start: only initialise and finalize.
 */
#include "bench.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

#define PAGE 4096ul

static char *x, *y, *own;
static unsigned long page; /* the first in PE 1's window */
static int me, npes;
static MPI_Win window;

static void all_barrier(void)
{
    MPI_Barrier(WORLD);
}

static double largest(double value)
{
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, WORLD);
    return result;
}

/* ---- one word -------------------------------------------------------------------------------- */

static void ping_pong(size_t bytes)
{
    static long value;
    if (me == 0)
        MPI_Send(&value, (int)bytes, MPI_BYTE, 1, 0, WORLD);
    MPI_Recv(&value, (int)bytes, MPI_BYTE, !me, 0, WORLD, MPI_STATUS_IGNORE);
    if (me == 1)
        MPI_Send(&value, (int)bytes, MPI_BYTE, 0, 0, WORLD);
}

static void fetch_add(size_t bytes)
{
    long one = 1, before;
    (void)bytes;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, (MPI_Aint)page, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void put_at(const char *from, size_t to, size_t bytes)
{
    MPI_Put(from, (int)bytes, MPI_BYTE, 1, (MPI_Aint)(page + to), (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void get_at(char *to, size_t bytes)
{
    MPI_Get(to, (int)bytes, MPI_BYTE, 1, (MPI_Aint)page, (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void barrier(size_t bytes)
{
    (void)bytes;
    MPI_Barrier(WORLD);
}

static void put(size_t bytes)
{
    put_at(own, 0, bytes);
}

static void get(size_t bytes)
{
    get_at(own, bytes);
}

static void put_misaligned(size_t bytes)
{
    put_at(own, 4, bytes);
}

static void get_misaligned(size_t bytes)
{
    get_at(own + 4, bytes);
}

/* ---- collectives: `bytes` are those of one PE's block ------------------------------------------
 */

static void all_reduce(size_t bytes)
{
    MPI_Allreduce(x, y, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, WORLD);
}

static void reduce_scatter(size_t bytes)
{
    MPI_Reduce_scatter_block(x, y, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, WORLD);
}

/* MPI has one buffer for it. */
static void broadcast(size_t bytes)
{
    MPI_Bcast(x, (int)bytes, MPI_BYTE, 0, WORLD);
}

static void all_gather(size_t bytes)
{
    MPI_Allgather(x, (int)bytes, MPI_BYTE, y, (int)bytes, MPI_BYTE, WORLD);
}

static void all_to_all(size_t bytes)
{
    MPI_Alltoall(x, (int)bytes, MPI_BYTE, y, (int)bytes, MPI_BYTE, WORLD);
}

static void fill(size_t bytes)
{
    bench_fill(x, y, bytes, me);
}

static int sum_is_wrong(size_t bytes)
{
    return bench_differs(y, bytes, (float)(npes * (npes + 1) / 2));
}

static int copied_is_wrong(size_t bytes)
{
    return bench_differs(x, bytes, 1);
}

static void fill_blocks(size_t bytes)
{
    fill(bytes * (size_t)npes);
}

static int gathered_is_wrong(size_t bytes)
{
    for (int pe = 0; pe < npes; pe++) {
        if (bench_differs(y + (size_t)pe * bytes, bytes, (float)(pe + 1)))
            return 1;
    }
    return 0;
}

static const struct operation operations[] = {
    {"small", "put_ping_pong", ON_ALL, ping_pong, .sizes = &word_sizes, .parts = 2},
    {"small", "fetch_add", ON_ONE, fetch_add, .sizes = &word_sizes},
    {"small", "put_quiet", ON_ONE, put, .sizes = &word_sizes},
    {"small", "get_word", ON_ONE, get, .sizes = &word_sizes},
    {"small", "barrier", ON_ALL, barrier, .sizes = &no_bytes},
    {"busy", "fetch_add_idle", ONCE, fetch_add, .sizes = &word_sizes},
    {"busy", "fetch_add_busy", WHILE_BUSY, fetch_add, .sizes = &word_sizes},
    {"copy", "put", ON_ONE, put, .sizes = &copy_sizes},
    {"copy", "get", ON_ONE, get, .sizes = &copy_sizes},
    {"copy", "put_misaligned", ON_ONE, put_misaligned, .sizes = &copy_sizes},
    {"copy", "get_misaligned", ON_ONE, get_misaligned, .sizes = &copy_sizes},
    {"reduce", "all_reduce", EACH, all_reduce, .sizes = &reduce_sizes, .prepare = fill,
     .wrong = sum_is_wrong},
    {"collective", "broadcast", EACH, broadcast, .sizes = &collective_sizes, .prepare = fill,
     .wrong = copied_is_wrong},
    {"collective", "all_gather", EACH, all_gather, .sizes = &collective_sizes,
     .prepare = fill_blocks, .wrong = gathered_is_wrong},
    {"collective", "all_to_all", EACH, all_to_all, .sizes = &collective_sizes,
     .prepare = fill_blocks, .wrong = gathered_is_wrong},
    {"collective", "reduce_scatter", EACH, reduce_scatter, .sizes = &collective_sizes,
     .prepare = fill_blocks, .wrong = sum_is_wrong},
    {"crowd", "barrier_crowd", ON_ALL, barrier, .sizes = &no_bytes},
    {0},
};

/* MPI chooses where a window begins; we begin at the first page in it, as the others do. */
static void open_window(void)
{
    char *base;
    MPI_Win_allocate(MAX_BYTES + 2 * PAGE, 1, MPI_INFO_NULL, WORLD, &base, &window);
    memset(base, 0, MAX_BYTES + 2 * PAGE);
    page = (PAGE - (uintptr_t)base % PAGE) % PAGE;
    MPI_Bcast(&page, 1, MPI_UNSIGNED_LONG, 1, WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (bench_asked("start", argc, argv)) {
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &npes);
    x = private_memory(MAX_BYTES + 4096);
    y = private_memory(MAX_BYTES + 4096);
    own = private_memory(MAX_BYTES + 4096);
    open_window();
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    struct side side = {"mpi_bench", me, npes, all_barrier, largest};
    int wrong = bench_run(&side, operations, NULL, argc, argv);
    bench_end();
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    if (wrong)
        MPI_Abort(WORLD, 1);
    MPI_Finalize();
    return 0;
}
