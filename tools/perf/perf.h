/*
 * perf.h - the words and the functions of nvs-perf.
 *
 * Glossary
 *   op        an operation that is measured: a row of the tables in op_*.c
 *   redop     a reduction operator (sum, prod, ...), as nccl-tests calls it
 *   block     `count` elements, the unit of a collective: a source or destination has one block, or
 *             one for each PE
 *   area      a buffer inside of a copy, with the blocks that are its source and its destination
 *   copy      one set of areas with guards around them. The pool has several, which take turns, so
 *             that the caches do not flatter
 *   canary    what a byte holds that nobody may write; depends on its place
 *   route     whom this PE sends to and receives from in an op between two PEs
 *   image     the pool as the host can read and write it: the pool itself, or host memory that
 *             stands for device memory
 *   mode      who executes an op: the host, a stream, a CUDA graph, or a kernel
 *   series    iterations that are started together
 *   call      everything that one line of the table is about
 *
 * All PEs do the same in the same order; PE 0 prints. Only public headers of nvs are used.
 */
#ifndef PERF_H
#define PERF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nvs.h"
#include "nvshmemx.h"
#include "shmem.h"

/* ---- words.c: numbers, sizes and names as people write them ---------------------------------- */

/* "8", "1.5M", "4G", "64KiB": bytes, in powers of 1024. False if it is no size. */
bool word_size(const char *text, size_t *bytes);
/* A whole number in min .. max. */
bool word_number(const char *text, long min, long max, long *number);
/* A size for people: "64 MiB". Four texts may be in use at a time. */
const char *word_bytes(size_t bytes);
/* How many letters must change to make b from a; case, - and _ do not count. */
unsigned word_distance(const char *a, const char *b);
/* ", did you mean NAME?" for the name that is closest to text, or "". */
const char *word_hint(const char *text, const char *(*name)(size_t index));

/* ---- dtype.c: element types ------------------------------------------------------------------ */

enum kind { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };

/* An element in the widest form of its kind. */
union value {
    int64_t i;
    uint64_t u;
    double f;
};

struct dtype {
    const char *name;  /* nccl-tests' */
    const char *alias; /* nvs.h's, where it is another */
    enum nvs_dtype code;
    enum kind kind;
    size_t size;
    int digits;     /* of the significand, in bits; the width of integers */
    int sum_digits; /* of the type that sums are taken in */
    double tiny;    /* the largest error by rounding to a subnormal number */
    void (*encode)(const union value *values, size_t count, void *elems);
    void (*decode)(const void *elems, size_t count, union value *values);
};

enum { NUM_DTYPES = 10 };
extern const struct dtype dtypes[NUM_DTYPES];
const struct dtype *dtype_find(const char *name); /* NULL if there is none */
const char *dtype_name(size_t index);             /* NULL behind the last one */

enum { NUM_REDOPS = 5, REDOP_NONE = -1 };
extern const char *const redop_names[NUM_REDOPS + 1]; /* in the order of enum nvs_op */
int redop_find(const char *name);                     /* REDOP_NONE if there is none */
const char *redop_name(size_t index);                 /* NULL behind the last one */

/* ---- data.c: what is sent ----------------------------------------------------------------------
 */

struct data {
    const struct dtype *type;
    int redop;     /* enum nvs_op, or REDOP_NONE: bits are moved */
    bool rounding; /* reductions of floating point: sums that round; otherwise exact ones */
    uint64_t seed;
    int npes;
};

/* Element `index` of what PE pe sends depends on nothing else. Writes `count` of them. */
void data_fill(const struct data *data, int pe, size_t index, size_t count, void *elems);
/* Elements that differ in a bit from those of PE pe. */
size_t data_wrong_copy(const struct data *data, int pe, size_t index, size_t count,
                       const void *elems);
/* The same as wide values, at most a chunk of them. */
enum { DATA_CHUNK = 256 };
static inline size_t data_chunk(size_t left)
{
    return left < DATA_CHUNK ? left : DATA_CHUNK;
}
void data_make(const struct data *data, int pe, size_t index, size_t count, union value *values);
/* The low bits that an integer type has, extended to 64 as C would. */
uint64_t data_narrow(const struct dtype *type, uint64_t bits);

/* ---- fold.c: what a reduction must give; canary.c: what must stay -------------------------------
 */

/* Elements that are not the reduction of those of all PEs, within what rounding allows. */
size_t data_wrong_fold(const struct data *data, size_t index, size_t count, const void *elems);

void canary_fill(char *base, size_t from, size_t to);
size_t canary_wrong(const char *base, size_t from, size_t to); /* bytes that changed */

/* ---- options.c, judge.c, help.c
 * ------------------------------------------------------------------------
 */

enum mode { MODE_HOST, MODE_STREAM, MODE_GRAPH, MODE_THREAD, MODE_WARP, MODE_BLOCK, NUM_MODES };
extern const char *const mode_names[NUM_MODES];
static inline bool mode_is_kernel(enum mode mode)
{
    return mode >= MODE_THREAD;
}

enum pattern { PATTERN_ONE, PATTERN_PAIRS, PATTERN_RING };
enum {
    ROOT_ALL = -1,
    ITERS_AUTO = 0,
    CONTEXTS_AUTO = -1,
    BLOCKS_AUTO = 0,
    MAX_THREADS = 256,
    MAX_OPS = 64
};

/* Values as they were given, for the sentences about them; NULL: not given. */
struct given {
    const char *min, *max, *step, *factor, *type, *threads, *contexts, *redop, *mode, *blocks;
};

struct options {
    const struct op *ops[MAX_OPS];
    int num_ops;
    size_t min_bytes, max_bytes, step_bytes;
    size_t factor;    /* 0: add step_bytes */
    bool sizes_given; /* -b, -e, -i or -f */
    long iters, warmup, check;
    const struct dtype *type; /* NULL: each op's own default */
    bool all_types;
    int redop; /* NUM_REDOPS: all */
    int root;
    enum pattern pattern;
    long threads, contexts;
    bool rotate, percentiles;
    bool device; /* the pool is device memory */
    enum mode mode;
    bool blocking;   /* each iteration ends before the next begins */
    bool ops_by_set; /* `all` or `atomics` was among them */
    long blocks;     /* of a kernel's grid */
    const char *json, *plot;
    bool help, version;
    struct given given;
    char error[600]; /* what is wrong with the command line, or "" */
};

/* Never prints or exits: which PE this is, is not known yet. */
void options_parse(struct options *options, int argc, char **argv);
/* Keeps a sentence about a mistake; the first one counts. */
void options_mistake(struct options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether the options fit together, and the defaults that depend on others. */
void options_judge(struct options *options);
/* What can be judged only with the number of PEs at hand. */
void options_judge_pes(struct options *options, int npes);
void help_print(void);

/* ---- ops.c, op_*.c: the operations -------------------------------------------------------------
 */

enum { SHAPE_NONE, SHAPE_ONE, SHAPE_ALL }; /* no block, one, one for each PE */
enum { NOT_WRITTEN = -1, FOLD_OF_ALL = -2 };

/* What a block of the destination holds afterwards: elements [index, index + count) of a PE. */
struct origin {
    int pe; /* or NOT_WRITTEN, FOLD_OF_ALL */
    size_t index;
};

struct call;
struct pool;
struct rotor;
struct run;

struct op {
    const char *name;
    const char *help; /* one line for --help */
    const char *group;
    int src_shape, dst_shape;
    bool sized;      /* the sizes of -b and -e apply; otherwise it is always one element, or none */
    bool reduces;    /* has a redop */
    bool rooted;     /* has a root */
    bool in_place;   /* is measured in place, too */
    bool routed;     /* between pairs of PEs: --pattern applies */
    bool threaded;   /* --threads and --contexts apply */
    bool ping_pong;  /* an iteration between two PEs is two messages, there and back */
    bool returns;    /* the value comes back to the host: not in a graph */
    bool quiet_last; /* one quiet completes a series */
    bool answers;    /* each side waits for a word that the other one sets */
    bool by_thread;  /* in a kernel: by a thread only */
    int kernel;      /* enum kernel_op of kernels.h; 0: none */
    unsigned types;  /* bits of dtypes[]; 0: all */
    int default_type;
    double (*bus)(int npes); /* bus bandwidth / algorithm bandwidth; NULL: 1 */
    /* Iterations first .. first + n - 1, back to back; complete on return. */
    void (*run)(struct call *call, size_t first, size_t n);
    /* Puts an iteration, the turn-th of its series, into the stream. NULL: not on streams. */
    void (*enqueue)(struct call *call, const struct rotor *at, size_t turn, cudaStream_t stream);
    /* The time that n iterations take on this PE; NULL: that of run. */
    double (*seconds)(struct call *call, size_t n);
    struct origin (*origin)(const struct call *call, int block);
    /* Runs it and returns the number of wrong values on this PE; NULL: by origin. */
    size_t (*wrong)(struct call *call, uint64_t round);
};

const struct op *op_at(size_t index); /* NULL behind the last one */
const struct op *op_find(const char *name);
const char *op_name(size_t index);
/* The first type of an op that allows it by -d, or NULL. */
bool op_takes(const struct op *op, const struct dtype *type);

extern const struct op ops_p2p[], ops_atomic[], ops_sync[], ops_coll[],
    ops_rate[]; /* name NULL ends */

/* ---- buffers.c: the pool and its copies --------------------------------------------------------
 */

struct area {
    size_t at; /* bytes from the start of a copy */
    int blocks;
    int src_first, num_src, dst_first, num_dst; /* which of them are source and destination */
};

/* Words that PEs share besides the pool. */
struct board {
    uint64_t signal, word, turn;
    uint64_t entered[]; /* one for each PE: op_sync.c */
};

struct route {
    int to, from; /* PEs, or -1 */
};

struct call {
    const struct op *op;
    const struct options *options;
    const struct dtype *type;
    int redop, root, me, npes;
    struct route route;
    bool in_place;
    size_t count;  /* elements of a block */
    size_t nbytes; /* of a block */
    size_t size;   /* as the table says: of the larger side */
    struct area areas[2];
    int num_areas;
    size_t stride, copies; /* bytes of a copy; how many take turns */
    struct pool *pool;
    char *src, *dst; /* in copy 0 */
    struct board *board;
    uint64_t fetched; /* atomics: the last value that came back */
    bool checking;    /* values are looked at afterwards */
    bool prepared;    /* call_prepare() was called for the next call_run() */
    struct {
        void *graph[2]; /* many iterations, and the rest; or one each, in turns */
        size_t iters[2], first, n;
    } graphs;
};

struct pool {
    char *base;
    char *image; /* base, or host memory of the same size */
    size_t bytes;
    size_t cache;   /* bytes of the last-level cache */
    bool rotates;   /* there was memory for more than one copy */
    size_t touched; /* bytes from its start that are mapped from all PEs */
    struct board *board;
    uint64_t signals, turns; /* answers that this PE has waited for, by word of the board */
};

/* The memory for all lines of a run. False: its options->error says what is missing. */
bool pool_open(struct run *run);
void pool_close(struct run *run);
/* Fills in areas, stride, copies, src and dst from op, type, count and in_place. */
void call_place(struct call *call, struct pool *pool, size_t max_copies);
/* Brings the copies of all PEs into this PE's page tables. All have filled theirs. */
void call_touch(const struct call *call);
void copy_fill(const struct call *call, size_t copy, const struct data *data);
/* All copies. Those of device memory are copies of the first one, with its canaries. */
void copies_fill(const struct call *call, const struct data *data);
size_t copy_wrong(const struct call *call, size_t copy, const struct data *data);

/* Goes round the copies. */
struct rotor {
    char *src, *dst;
    size_t left, copies, stride;
};
static inline struct rotor rotor_at(const struct call *call, size_t first)
{
    size_t copy = first % call->copies;
    return (struct rotor){.src = call->src + copy * call->stride,
                          .dst = call->dst + copy * call->stride,
                          .left = call->copies - copy,
                          .copies = call->copies,
                          .stride = call->stride};
}
static inline void rotor_next(struct rotor *rotor)
{
    rotor->src += rotor->stride;
    rotor->dst += rotor->stride;
    if (--rotor->left == 0) {
        rotor->src -= rotor->copies * rotor->stride;
        rotor->dst -= rotor->copies * rotor->stride;
        rotor->left = rotor->copies;
    }
}

/* ---- gpu.c: the GPU, through libcuda opened at run time. A call that fails ends the job -------
 */

/* Selects a device for this PE. False: options->error says why. */
bool gpu_open(struct options *options);
bool gpu_holds(const void *ptr); /* whether it is device memory */
size_t gpu_cache_bytes(void);
int gpu_multiprocessors(void);
const char *gpu_name(void);
cudaStream_t gpu_stream(void);
void gpu_synchronize(void);
void gpu_upload(void *device, const void *host, size_t nbytes);
void gpu_download(void *host, const void *device, size_t nbytes);
void gpu_copy(void *dst, const void *src, size_t nbytes);
/* What the stream is given between begin and end becomes a graph. */
void gpu_graph_begin(void);
void *gpu_graph_end(void);
void gpu_graph_launch(void *graph);
void gpu_graph_drop(void *graph);
/* kernel_image.c, kernel.c: the kernels, and one series of an op. */
enum kernel { KERNEL_OF_WORDS, KERNEL_OF_THREAD, KERNEL_OF_WARP, KERNEL_OF_BLOCK, NUM_KERNELS };
extern const void *const kernel_images[NUM_KERNELS];
extern const bool kernels_compiled; /* there was an nvcc */
/* Those of the mode. False: options->error says why. */
bool gpu_load_kernels(struct options *options);
struct kernel_args;
void gpu_launch(enum kernel kernel, unsigned blocks, unsigned threads, struct kernel_args *args);
void kernel_run(struct call *call, size_t first, size_t n);
/* The word of the job that kernels write what came back into. */
uint64_t *gpu_result(void);

/* ---- execute.c: a series, in the mode of the options ------------------------------------------
 */

/* What need not be timed; all PEs call it, then call_run() with the same iterations. */
void call_prepare(struct call *call, size_t first, size_t n);
/* Iterations first .. first + n - 1; complete on return. Prepares, if nobody has. */
void call_run(struct call *call, size_t first, size_t n);
void call_release(struct call *call);
/* The value that answer number `turn` of this series carries, by signal or p, and how to wait. */
struct answer {
    uint64_t set, wanted;
    int op, cmp;
};
struct answer answer_of(struct call *call, uint64_t *count, size_t turn);
/* A word of the board of this PE, in whatever memory. */
void board_set(struct call *call, uint64_t *word, uint64_t value);
uint64_t board_get(struct call *call, const uint64_t *word);

/* ---- op_stream.c: ops on streams ------------------------------------------------------------- */

#define ENQUEUE(name)                                                                              \
    void name##_enqueue(struct call *call, const struct rotor *at, size_t turn, cudaStream_t stream)
ENQUEUE(put);
ENQUEUE(put_nbi);
ENQUEUE(get);
ENQUEUE(get_nbi);
ENQUEUE(put_signal);
ENQUEUE(signal);
ENQUEUE(ping_pong);
ENQUEUE(p);
ENQUEUE(g);
ENQUEUE(barrier);
ENQUEUE(sync);
ENQUEUE(broadcast);
ENQUEUE(all_reduce);
ENQUEUE(reduce_scatter);
ENQUEUE(all_gather);
ENQUEUE(all_to_all);

/* ---- measure.c, check.c ------------------------------------------------------------------------
 */

enum { NUM_PERCENTILES = 5 };
extern const char *const percentile_names[NUM_PERCENTILES];

struct figures {
    bool there;      /* measured at all */
    double us;       /* one iteration; the slowest PE counts */
    double alg, bus; /* GB/s */
    double rate;     /* million messages per second, all PEs; rate only */
    long long wrong; /* on all PEs; -1: not checked */
    double percentiles[NUM_PERCENTILES];
};

double now(void); /* seconds */
void measure(struct call *call, long iters, struct figures *figures);
/* The number of iterations for a line: that of -n, or as many as take a while. */
long measure_iters(struct call *call);
void check(struct call *call, struct figures *figures);

/* ---- pes.c: what PEs tell each other
 * -------------------------------------------------------------- */

double max_of_all(double value);
long long sum_of_all(long long value);
/* Ends the job because a call of nvs.h has failed. */
_Noreturn void failed(int status);
static inline void must(int status)
{
    if (__builtin_expect(status < 0, 0))
        failed(status);
}

struct pe_info {
    char host[64];
    long pid;
    int cpu, cpus; /* where it ran when asked; how many it may run on, 0: unknown */
};
/* One for each PE, in order; the caller frees it. */
struct pe_info *pes_gather(void);

/* ---- lines.c, table.c, json.c, svg.c, plot.c, progress.c: what is shown
 * -------------------------------- */

struct line {
    const struct op *op;
    size_t size, count;
    const char *type, *redop;
    int root; /* -1: none */
    long iters;
    struct figures out, in;
};

struct lines {
    struct line *line;
    size_t count, room;
};
void lines_add(struct lines *lines, const struct line *line);
double lines_bandwidth(const struct lines *lines); /* the average bus bandwidth, as nccl-tests */
long long lines_wrong(const struct lines *lines);

/* All that one start of nvs-perf is about. */
struct run {
    struct options *options;
    struct pool pool;
    struct pe_info *pes;
    struct lines lines;
    int me, npes;
    int argc;
    char **argv;
};

void table_start(const struct run *run);
void table_op(const struct run *run, const struct op *op);
void table_line(const struct run *run, const struct line *line);
void table_end(const struct run *run);

/* False, with errno set, if not everything could be written. */
bool json_write(const struct run *run);
bool plot_write(const struct run *run);

/* A bar on stderr, if that is a terminal. */
void progress_open(size_t total);
void progress_show(size_t done, const char *op, size_t size);
void progress_clear(void);

/* ---- run.c ------------------------------------------------------------------------------- */

/* Measures all that the options ask for, and prints it. */
void run_all(struct run *run);

/* Calls `each` for every line of an op, in order, without figures. */
struct plan {
    const struct options *options;
    const struct op *op;
    int me, npes;
    void (*each)(const struct plan *plan, const struct call *call);
    void *context;
};
void plan_op(const struct plan *plan);

#endif
