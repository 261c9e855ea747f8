/*
 * bench.h - what the benchmark programs share: how an operation is timed, and the form of a result.
 *
 * A program is a table of operations for one system (floor, OpenSHMEM, MPI). bench.c takes several
 * batches of each and prints the median and the best of their times per operation:
 *     RESULT <metric> <bytes> <median microseconds> <best>
 * The same metric means the same work in every program. run.py runs the programs in turns and
 * compares them as ratios.
 *
 * Words of the command line choose operations by group or metric; none means all of two PEs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>

#define MAX_BYTES ((size_t)64 << 20)

struct sizes {
    size_t n, bytes[6];
};

/* What the operations of a kind are measured with: nothing moves, one word, and so on. */
extern const struct sizes no_bytes, word_sizes, copy_sizes, reduce_sizes, collective_sizes;

/* What is timed. The figure is the time of one operation: on PE 0, or the largest over the PEs. */
enum timing {
    ON_ONE,     /* PE 0 repeats it, the others wait in a barrier */
    ON_ALL,     /* all repeat it: a barrier, a ping-pong */
    EACH,       /* all, each time after a barrier that is not timed: a collective */
    ONCE,       /* PE 0 does it once, while the others wait in a barrier */
    WHILE_BUSY, /* PE 0 does it once, while the others compute for 20 ms */
};

struct operation {
    const char *group, *metric;
    enum timing timing;
    void (*run)(size_t bytes);
    const struct sizes *sizes;
    int parts;                     /* the figure is that of 1/parts of it; 0 means 1 */
    void (*prepare)(size_t bytes); /* before all batches; may be NULL */
    int (*wrong)(size_t bytes);    /* after the first: is the result wrong? May be NULL */
};

/* What bench.c needs of a system. */
struct side {
    const char *program;
    int me, npes;
    void (*barrier)(void);
    double (*largest)(double value); /* over all PEs, all get it and call it */
};

/* The operation of a table that does the same, or NULL. */
const struct operation *operation_find(const struct operation *table, const char *metric,
                                       size_t bytes);

/* Times the chosen operations of `table`. `beside` is NULL or the table of a second system, whose
 * batches alternate with those of the first: what the machine does to one it then does to both.
 * Their metrics are printed with "beside:" in front. Returns 0, or 1 if a result was wrong. */
int bench_run(const struct side *side, const struct operation *table,
              const struct operation *beside, int argc, char **argv);

/* Is this word on the command line? */
int bench_asked(const char *word, int argc, char **argv);

/* The floats of x become me + 1, those of y zero. Is any float of memory not `value`? */
void bench_fill(void *x, void *y, size_t bytes, int me);
int bench_differs(const void *memory, size_t bytes, float value);

double now_us(void);

/* Before a system is finalized: gives up a real-time priority, since threads of the system that
 * have none may be waited for. */
void bench_end(void);

/* Memory of this process alone, at a fixed place within a huge page. Exits if there is none. */
char *private_memory(size_t bytes);

#endif
