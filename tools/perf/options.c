/*
 * options.c - reads the command line. Every PE reads the same one, and only PE 0 may complain, so a
 * mistake is kept as a sentence: which argument, which value, what is allowed.
 */
#include "perf.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_PATTERN = 256, OPT_THREADS, OPT_CONTEXTS, OPT_ROTATE, OPT_PERCENTILES };
enum { OPT_MEMORY = 280, OPT_MODE, OPT_BLOCKING, OPT_BLOCKS };
enum { OPT_JSON = 300, OPT_PLOT, OPT_VERSION };

/* The long names of nccl-tests, where it has the option. */
static const struct option long_options[] = {
    {"minbytes", required_argument, NULL, 'b'},
    {"maxbytes", required_argument, NULL, 'e'},
    {"stepbytes", required_argument, NULL, 'i'},
    {"stepfactor", required_argument, NULL, 'f'},
    {"iters", required_argument, NULL, 'n'},
    {"warmup_iters", required_argument, NULL, 'w'},
    {"check", required_argument, NULL, 'c'},
    {"datatype", required_argument, NULL, 'd'},
    {"op", required_argument, NULL, 'o'},
    {"root", required_argument, NULL, 'r'},
    {"pattern", required_argument, NULL, OPT_PATTERN},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"contexts", required_argument, NULL, OPT_CONTEXTS},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"mode", required_argument, NULL, OPT_MODE},
    {"blocking", no_argument, NULL, OPT_BLOCKING},
    {"blocks", required_argument, NULL, OPT_BLOCKS},
    {"rotate", required_argument, NULL, OPT_ROTATE},
    {"percentiles", no_argument, NULL, OPT_PERCENTILES},
    {"json", required_argument, NULL, OPT_JSON},
    {"plot", required_argument, NULL, OPT_PLOT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

void options_mistake(struct options *options, const char *format, ...)
{
    va_list arguments;
    if (options->error[0])
        return;
    va_start(arguments, format);
    vsnprintf(options->error, sizeof(options->error), format, arguments);
    va_end(arguments);
}

static void take_size(struct options *options, const char *option, size_t *bytes)
{
    if (!word_size(optarg, bytes))
        options_mistake(
            options,
            "%s %s: no size; give bytes, with K, M, G or T for powers of 1024, such as 8, 64K, "
            "1.5M or 4G",
            option, optarg);
    options->sizes_given = true;
}

static void take_number(struct options *options, const char *option, long min, long max,
                        long *number)
{
    if (!word_number(optarg, min, max, number))
        options_mistake(options, "%s %s: allowed are whole numbers from %ld to %ld", option, optarg,
                        min, max);
}

static void take_factor(struct options *options)
{
    long factor = 2;
    take_number(options, "-f", 2, 1 << 30, &factor);
    options->factor = (size_t)factor;
    options->sizes_given = true;
}

static void take_type(struct options *options)
{
    options->all_types = !strcmp(optarg, "all");
    options->type = options->all_types ? NULL : dtype_find(optarg);
    if (!options->type && !options->all_types)
        options_mistake(
            options,
            "-d %s: no type%s; allowed are int8, uint8, int32, uint32, int64, uint64, half "
            "(float16), float (float32), double (float64), bfloat16 and all",
            optarg, word_hint(optarg, dtype_name));
}

static void take_redop(struct options *options)
{
    bool all = !strcmp(optarg, "all");
    options->redop = all ? NUM_REDOPS : redop_find(optarg);
    if (options->redop == REDOP_NONE)
        options_mistake(options,
                        "-o %s: no operator%s; allowed are sum, prod, max, min, avg and all",
                        optarg, word_hint(optarg, redop_name));
}

static void take_root(struct options *options)
{
    long root = ROOT_ALL;
    if (strcmp(optarg, "all") != 0 && !word_number(optarg, 0, INT32_MAX, &root))
        options_mistake(options, "-r %s: allowed are the number of a PE and all", optarg);
    options->root = (int)root;
}

static void take_pattern(struct options *options)
{
    static const char *const names[] = {"one", "pairs", "ring"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(optarg, names[i])) {
            options->pattern = (enum pattern)i;
            return;
        }
    options_mistake(options, "--pattern %s: allowed are one, pairs and ring", optarg);
}

static void take_memory(struct options *options)
{
    options->device = !strcmp(optarg, "device");
    if (!options->device && strcmp(optarg, "host") != 0)
        options_mistake(options, "--memory %s: allowed are host and device", optarg);
}

static void take_mode(struct options *options)
{
    options->given.mode = optarg;
    for (int i = 0; i < NUM_MODES; i++)
        if (!strcmp(optarg, mode_names[i])) {
            options->mode = (enum mode)i;
            return;
        }
    options_mistake(options,
                    "--mode %s: allowed are host, stream, graph, and thread, warp and block for "
                    "kernels",
                    optarg);
}

static void take_blocks(struct options *options)
{
    options->given.blocks = optarg;
    options->blocks = BLOCKS_AUTO;
    if (strcmp(optarg, "auto") != 0 && !word_number(optarg, 1, 65535, &options->blocks))
        options_mistake(options, "--blocks %s: allowed are 1 to 65535 and auto", optarg);
}

static void take_switch(struct options *options, const char *option, bool *on)
{
    if (strcmp(optarg, "0") != 0 && strcmp(optarg, "1") != 0)
        options_mistake(options, "%s %s: allowed are 0 and 1", option, optarg);
    *on = *optarg == '1';
}

static void take_size_option(struct options *options, int option)
{
    switch (option) {
    case 'b':
        take_size(options, "-b", &options->min_bytes);
        options->given.min = optarg;
        break;
    case 'e':
        take_size(options, "-e", &options->max_bytes);
        options->given.max = optarg;
        break;
    case 'i':
        take_size(options, "-i", &options->step_bytes);
        options->given.step = optarg;
        break;
    case 'f':
        take_factor(options);
        options->given.factor = optarg;
        break;
    }
}

static void take_series_option(struct options *options, int option)
{
    switch (option) {
    case 'n':
        if (strcmp(optarg, "auto") != 0)
            take_number(options, "-n", 1, 1000000000, &options->iters);
        break;
    case 'w':
        take_number(options, "-w", 0, 1000000000, &options->warmup);
        break;
    case 'c':
        take_number(options, "-c", 0, 1000000, &options->check);
        break;
    case 'd':
        take_type(options);
        options->given.type = optarg;
        break;
    case 'o':
        take_redop(options);
        options->given.redop = optarg;
        break;
    case 'r':
        take_root(options);
        break;
    }
}

static void take_device_option(struct options *options, int option)
{
    switch (option) {
    case OPT_MEMORY:
        take_memory(options);
        break;
    case OPT_MODE:
        take_mode(options);
        break;
    case OPT_BLOCKING:
        options->blocking = true;
        break;
    case OPT_BLOCKS:
        take_blocks(options);
        break;
    }
}

static void take_own_option(struct options *options, int option)
{
    switch (option) {
    case OPT_PATTERN:
        take_pattern(options);
        break;
    case OPT_THREADS:
        take_number(options, "--threads", 1, MAX_THREADS, &options->threads);
        options->given.threads = optarg;
        break;
    case OPT_CONTEXTS:
        take_number(options, "--contexts", 0, MAX_THREADS, &options->contexts);
        options->given.contexts = optarg;
        break;
    case OPT_ROTATE:
        take_switch(options, "--rotate", &options->rotate);
        break;
    case OPT_PERCENTILES:
        options->percentiles = true;
        break;
    case OPT_JSON:
        options->json = optarg;
        break;
    case OPT_PLOT:
        options->plot = optarg;
        break;
    case 'h':
        options->help = true;
        break;
    case OPT_VERSION:
        options->version = true;
        break;
    }
}

static void add_op(struct options *options, const struct op *op)
{
    for (int i = 0; i < options->num_ops; i++)
        if (options->ops[i] == op)
            return;
    options->ops[options->num_ops++] = op;
}

static const char *op_or_group_name(size_t index)
{
    static const char *const groups[] = {"atomics", "all"};
    size_t ops = 0;
    while (op_name(ops))
        ops++;
    return index < ops ? op_name(index) : index < ops + 2 ? groups[index - ops] : NULL;
}

static void take_op(struct options *options, const char *word)
{
    bool atomics = !strcmp(word, "atomics"), all = !strcmp(word, "all");
    options->ops_by_set |= atomics || all;
    for (size_t i = 0; op_at(i) && (atomics || all); i++)
        if (all || !strcmp(op_at(i)->group, "atomics"))
            add_op(options, op_at(i));
    if (atomics || all)
        return;
    const struct op *op = op_find(word);
    if (op)
        add_op(options, op);
    else
        options_mistake(options, "%s: no operation%s; nvs-perf --help lists them", word,
                        word_hint(word, op_or_group_name));
}

static void take_option(struct options *options, int option, const char *word)
{
    if (option == ':')
        options_mistake(options, "%s: its value is missing; see nvs-perf --help", word);
    else if (option == '?' && optopt && optopt < OPT_PATTERN)
        options_mistake(options, "-%c: no option of nvs-perf; see nvs-perf --help", optopt);
    else if (option == '?')
        options_mistake(options, "%s: no option of nvs-perf; see nvs-perf --help", word);
    else if (option >= OPT_MEMORY && option <= OPT_BLOCKS)
        take_device_option(options, option);
    else if (option >= OPT_PATTERN || option == 'h')
        take_own_option(options, option);
    else if (strchr("beif", option))
        take_size_option(options, option);
    else
        take_series_option(options, option);
}

void options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.max_bytes = 32 << 20,
                                .step_bytes = 1 << 20,
                                .iters = ITERS_AUTO,
                                .warmup = 5,
                                .check = 1,
                                .redop = NVS_SUM,
                                .threads = 1,
                                .contexts = CONTEXTS_AUTO,
                                .blocks = 1,
                                .rotate = true};
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":b:e:i:f:n:w:c:d:o:r:h", long_options, NULL)) != -1;)
        take_option(options, option, argv[optind - 1]);
    for (int i = optind; i < argc; i++)
        take_op(options, argv[i]);
    options_judge(options);
}
