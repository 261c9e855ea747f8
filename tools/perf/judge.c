/*
 * judge.c - whether what was asked for fits together, and the defaults that depend on other
 * options.
 */
#include "perf.h"

static const char *types_text(const struct op *op)
{
    if (op_takes(op, &dtypes[NVS_FLOAT32]))
        return "int32, uint32, int64, uint64, float and double";
    return op_takes(op, &dtypes[NVS_INT32]) ? "int32, uint32, int64 and uint64" : "uint64";
}

/* Each op must have a type, and --threads a use. */
static void judge_ops(struct options *options)
{
    const struct given *given = &options->given;
    bool threaded = false, sized = false;
    for (int i = 0; i < options->num_ops; i++) {
        const struct op *op = options->ops[i];
        threaded |= op->threaded;
        sized |= op->sized;
        if (options->type && op->types && !op_takes(op, options->type))
            options_mistake(options, "-d %s: %s takes %s", given->type, op->name, types_text(op));
    }
    if (!options->num_ops)
        options_mistake(options, "which operation? For example: nvsrun -n 2 nvs-perf all_reduce; "
                                 "nvs-perf --help lists them");
    if (!threaded && (given->threads || given->contexts))
        options_mistake(options, "--%s %s: only the operation rate has it",
                        given->threads ? "threads" : "contexts",
                        given->threads ? given->threads : given->contexts);
    if (options->plot && !sized)
        options_mistake(options, "--plot %s: %s has no sizes to draw a line over", options->plot,
                        options->num_ops ? options->ops[0]->name : "");
}

/* Why an op cannot be measured in the mode asked for; NULL: it can. */
static const char *obstacle(const struct options *options, const struct op *op)
{
    bool in_kernel = mode_is_kernel(options->mode);
    if (options->mode == MODE_HOST)
        return options->device && op->threaded ? "is for host memory" : NULL;
    if (in_kernel && !op->kernel)
        return "is not for kernels";
    if (in_kernel && op->by_thread && options->mode != MODE_THREAD)
        return "is done by one thread: --mode thread";
    if (!in_kernel && !op->enqueue)
        return "is not for streams: --mode host, or thread for a kernel";
    if (options->mode == MODE_GRAPH && op->returns)
        return "returns a value to the host, which a graph cannot: --mode stream";
    if (options->mode == MODE_GRAPH && op->answers && options->pattern == PATTERN_RING)
        return "of a ring counts on for ever, which a graph cannot: --mode stream";
    return NULL;
}

/* all and atomics mean those that there are. */
static void judge_mode_of_ops(struct options *options)
{
    int kept = 0;
    for (int i = 0; i < options->num_ops; i++) {
        const char *why = obstacle(options, options->ops[i]);
        if (!why)
            options->ops[kept++] = options->ops[i];
        else if (!options->ops_by_set)
            options_mistake(options, "--mode %s: %s %s", mode_names[options->mode],
                            options->ops[i]->name, why);
    }
    if (!kept && options->num_ops)
        options_mistake(options, "--mode %s: none of these operations can be measured in it",
                        mode_names[options->mode]);
    options->num_ops = kept;
}

/* The calls on streams and in kernels are NVSHMEM's. */
static void judge_reductions(struct options *options)
{
    const struct given *given = &options->given;
    bool reduces = false, avg = options->redop == NVS_AVG || options->redop == NUM_REDOPS;
    for (int i = 0; i < options->num_ops; i++)
        reduces |= options->ops[i]->reduces;
    if (!reduces || options->mode == MODE_HOST)
        return;
    if (avg)
        options_mistake(options, "-o %s: --mode %s has sum, prod, max and min", given->redop,
                        mode_names[options->mode]);
    if (mode_is_kernel(options->mode) && (options->redop != NVS_SUM || options->all_types ||
                                          (options->type && options->type->code != NVS_FLOAT32)))
        options_mistake(options, "%s %s: in kernels nvs-perf reduces float with sum",
                        given->type ? "-d" : "-o", given->type ? given->type : given->redop);
}

static void judge_mode(struct options *options)
{
    const struct given *given = &options->given;
    if (!options->device && options->mode > MODE_STREAM)
        options_mistake(options, "--mode %s: needs --memory device", given->mode);
    if (given->blocks && options->mode != MODE_BLOCK)
        options_mistake(options, "--blocks %s: only --mode block has it", given->blocks);
    judge_mode_of_ops(options);
    judge_reductions(options);
}

/* Without any size a sweep that shows the whole curve; what is given is read as nccl-tests does. */
static void judge_sizes(struct options *options)
{
    const struct given *given = &options->given;
    bool rate_only = options->num_ops == 1 && options->ops[0]->threaded;
    if (given->factor && given->step)
        options_mistake(options, "-f %s and -i %s: give one of them", given->factor, given->step);
    if (given->step && !options->step_bytes)
        options_mistake(options, "-i %s: the step must be at least one byte", given->step);
    if (!given->step && !given->factor && !given->min)
        options->factor = 2;
    if (!given->min)
        options->min_bytes = options->max_bytes < 8 ? options->max_bytes : 8;
    if (!given->max && rate_only)
        options->max_bytes = options->min_bytes;
    if (!given->max && options->min_bytes > options->max_bytes)
        options->max_bytes = options->min_bytes;
    if (options->min_bytes > options->max_bytes)
        options_mistake(options, "-b %s: more than -e %s", given->min, given->max);
}

void options_judge(struct options *options)
{
    judge_ops(options);
    judge_mode(options);
    judge_sizes(options);
}

void options_judge_pes(struct options *options, int npes)
{
    if (options->root >= npes)
        options_mistake(options, "-r %d: there is no such PE; allowed are 0 to %d and all",
                        options->root, npes - 1);
}
