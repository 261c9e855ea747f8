/*
 * run.c - which lines there are: for each op its types, operators, roots and sizes, in nccl-tests'
 * order; and what is done for each.
 */
#include "perf.h"

#include <stdint.h>

/* The next size, or 0 after the last. */
static size_t size_after(const struct options *options, size_t size, const struct dtype *type)
{
    size_t next = size + options->step_bytes;
    if (options->factor)
        next = size ? size * options->factor : type->size;
    bool overflow = options->factor ? size > SIZE_MAX / options->factor : next < size;
    return overflow || next <= size || next > options->max_bytes ? 0 : next;
}

/* nccl-tests: of the bytes asked for every PE's block gets the same whole number of elements. */
static void call_size(struct call *call, size_t bytes)
{
    bool all = call->op->src_shape == SHAPE_ALL || call->op->dst_shape == SHAPE_ALL;
    size_t blocks = all ? (size_t)call->npes : 1;
    call->count = call->op->sized ? bytes / call->type->size / blocks : 1;
    call->nbytes = call->count * call->type->size;
    call->size = call->nbytes * blocks;
}

static void plan_sizes(const struct plan *plan, struct call *call)
{
    const struct options *options = plan->options;
    if (!call->op->sized) {
        if (call->type)
            call_size(call, call->type->size);
        plan->each(plan, call);
        return;
    }
    size_t bytes = options->min_bytes;
    do {
        call_size(call, bytes);
        plan->each(plan, call);
        bytes = size_after(options, bytes, call->type);
    } while (bytes);
}

static void plan_roots(const struct plan *plan, struct call *call)
{
    if (!call->op->rooted) {
        call->root = -1;
        plan_sizes(plan, call);
        return;
    }
    bool all = plan->options->root == ROOT_ALL;
    int first = all ? 0 : plan->options->root, last = all ? plan->npes - 1 : plan->options->root;
    for (call->root = first; call->root <= last; call->root++)
        plan_sizes(plan, call);
}

static void plan_redops(const struct plan *plan, struct call *call)
{
    if (!call->op->reduces) {
        call->redop = REDOP_NONE;
        plan_roots(plan, call);
        return;
    }
    for (int redop = 0; redop < NUM_REDOPS; redop++)
        if (plan->options->redop == redop || plan->options->redop == NUM_REDOPS) {
            call->redop = redop;
            plan_roots(plan, call);
        }
}

static struct route route_of(enum pattern pattern, int me, int npes)
{
    if (npes == 1)
        return (struct route){0, 0};
    if (pattern == PATTERN_RING)
        return (struct route){(me + 1) % npes, (me + npes - 1) % npes};
    int partner = me ^ 1;
    if (partner >= npes || (pattern == PATTERN_ONE && me > 1))
        return (struct route){-1, -1};
    return me & 1 ? (struct route){-1, partner} : (struct route){partner, -1};
}

void plan_op(const struct plan *plan)
{
    const struct options *options = plan->options;
    struct call call = {.op = plan->op,
                        .options = options,
                        .me = plan->me,
                        .npes = plan->npes,
                        .route = route_of(options->pattern, plan->me, plan->npes)};
    if (call.op->src_shape == SHAPE_NONE) {
        plan_redops(plan, &call);
        return;
    }
    const struct dtype *only = options->type ? options->type : &dtypes[call.op->default_type];
    for (int i = 0; i < NUM_DTYPES; i++) {
        call.type = &dtypes[i];
        if (options->all_types ? op_takes(call.op, call.type) : call.type == only)
            plan_redops(plan, &call);
    }
}

struct work {
    struct run *run;
    size_t done;
};

static void measure_and_check(struct call *call, struct pool *pool, bool in_place,
                              struct line *line)
{
    long threads = call->op->threaded ? call->options->threads : 1;
    struct figures *figures = in_place ? &line->in : &line->out;
    call->in_place = in_place;
    if (!line->iters) {
        call_place(call, pool, 1024); /* enough for an estimate */
        line->iters = measure_iters(call);
    }
    long most = line->iters > call->options->warmup ? line->iters : call->options->warmup;
    call_place(call, pool, (size_t)most * (size_t)threads);
    measure(call, line->iters, figures);
    check(call, figures);
    call_release(call);
}

/* The calls on streams and in kernels are NVSHMEM's, which has no blocks in place. */
static bool measured_in_place(const struct call *call)
{
    bool one = call->op->src_shape == SHAPE_ONE && call->op->dst_shape == SHAPE_ONE;
    return call->op->in_place && (call->options->mode == MODE_HOST || one);
}

static void do_line(const struct plan *plan, const struct call *planned)
{
    struct work *work = plan->context;
    struct run *run = work->run;
    struct call call = *planned;
    struct line line = {.op = call.op,
                        .size = call.size,
                        .count = call.count,
                        .type = call.type ? call.type->name : "none",
                        .redop = call.redop == REDOP_NONE ? "none" : redop_names[call.redop],
                        .root = call.root};
    if (call.me == 0)
        progress_show(work->done, call.op->name, call.size);
    measure_and_check(&call, &run->pool, false, &line);
    if (measured_in_place(&call))
        measure_and_check(&call, &run->pool, true, &line);
    work->done++;
    lines_add(&run->lines, &line);
    if (call.me == 0) {
        progress_clear();
        table_line(run, &line);
    }
}

static void count_line(const struct plan *plan, const struct call *call)
{
    (void)call;
    ++*(size_t *)plan->context;
}

static void plan_ops(const struct run *run, const struct op *op, void *context,
                     void (*each)(const struct plan *plan, const struct call *call))
{
    plan_op(&(struct plan){run->options, op, run->me, run->npes, each, context});
}

void run_all(struct run *run)
{
    const struct options *options = run->options;
    struct work work = {.run = run};
    size_t total = 0;
    for (int i = 0; i < options->num_ops; i++)
        plan_ops(run, options->ops[i], &total, count_line);
    if (run->me == 0)
        progress_open(total);
    for (int i = 0; i < options->num_ops; i++) {
        if (run->me == 0)
            table_op(run, options->ops[i]);
        plan_ops(run, options->ops[i], &work, do_line);
    }
}
