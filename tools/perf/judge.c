/*
 * judge.c - whether what was asked for fits together, and the defaults that depend on other
 * options.
 */
#include "perf.h"

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
            options_mistake(options, "-d %s: %s takes %s", given->type, op->name,
                            op_takes(op, &dtypes[NVS_FLOAT32])
                                ? "int32, uint32, int64, uint64, float and double"
                                : "int32, uint32, int64 and uint64");
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
    judge_sizes(options);
}

void options_judge_pes(struct options *options, int npes)
{
    if (options->root >= npes)
        options_mistake(options, "-r %d: there is no such PE; allowed are 0 to %d and all",
                        options->root, npes - 1);
}
