/*
 * table.c - what people read, and scripts that know nccl-tests: its columns, in its order and
 * widths. Columns of our own (percentiles, message rate) come on request only, or in the one table
 * that is about them. Lines that begin with # are no data.
 */
#include "perf.h"

#include <string.h>

/* As many decimals as tell something and fit. */
static const char *fitted(double value, int width)
{
    static char texts[16][32];
    static unsigned next;
    char *text = texts[next++ % 16];
    int decimals = value < 1 ? 4 : value < 10 ? 3 : 2;
    while (snprintf(text, sizeof(texts[0]), "%.*f", decimals, value) > width && decimals > 0)
        decimals--;
    if ((int)strlen(text) > width)
        snprintf(text, sizeof(texts[0]), "%.0e", value);
    return text;
}

static void print_sizes(const struct options *options)
{
    printf("# minBytes %zu maxBytes %zu step: ", options->min_bytes, options->max_bytes);
    if (options->factor)
        printf("%zu(factor) ", options->factor);
    else
        printf("%zu(bytes) ", options->step_bytes);
    if (options->iters == ITERS_AUTO)
        printf("warmup iters: %ld iters: auto validation: %ld\n", options->warmup, options->check);
    else
        printf("warmup iters: %ld iters: %ld validation: %ld\n", options->warmup, options->iters,
               options->check);
}

static void print_mode(const struct options *options)
{
    static const char *const texts[] = {"called by the host",
                                        "on a stream",
                                        "on a stream, as a graph that is replayed",
                                        "in a kernel of one thread",
                                        "in a kernel of one warp",
                                        "in a kernel of blocks"};
    if (options->device)
        printf("# memory: device, %s on PE 0\n", gpu_name());
    if (options->device || options->mode != MODE_HOST)
        printf("# mode: %s; %s\n", texts[options->mode],
               options->blocking ? "each iteration is waited for"
                                 : "a series is started at once, then waited for");
}

static void print_buffers(const struct options *options, const struct pool *pool)
{
    if (pool->rotates)
        printf("# buffers: iterations take turns in %s on each PE (last-level cache: %s)\n",
               word_bytes(pool->bytes), word_bytes(pool->cache));
    else
        printf("# buffers: always the same, %s on each PE%s\n", word_bytes(pool->bytes),
               options->rotate ? "; no memory for more" : "");
}

void table_start(const struct run *run)
{
    const struct pe_info *pes = run->pes;
    printf("# nvs-perf %s nPEs %d\n", NVS_VERSION_STRING, run->npes);
    print_sizes(run->options);
    print_mode(run->options);
    print_buffers(run->options, &run->pool);
    printf("# time: that of the slowest PE, mean of the iterations\n#\n# Using PEs\n");
    for (int pe = 0; pe < run->npes; pe++)
        printf("#  PE %3d Pid %7ld on %10s cpu %3d of %d\n", pe, pes[pe].pid, pes[pe].host,
               pes[pe].cpu, pes[pe].cpus);
}

static const char *pattern_text(const struct run *run)
{
    static const char *const texts[] = {"PE 0 calls, PE 1 is the target",
                                        "even PEs call, the next one is the target",
                                        "every PE calls, the next one is the target"};
    if (run->npes == 1)
        return "PE 0 is its own target, since there is no other: nvsrun -n 2 starts two";
    return texts[run->options->pattern];
}

static void print_threads(const struct run *run)
{
    const struct options *options = run->options;
    int cpus = run->pes[0].cpus;
    printf("# threads %ld contexts %ld", options->threads,
           options->contexts == CONTEXTS_AUTO ? options->threads : options->contexts);
    if (cpus && options->threads > cpus)
        printf("; PE 0 may use %d CPU%s (nvsrun --bind none: all)", cpus, cpus == 1 ? "" : "s");
    putchar('\n');
}

static void print_columns(const struct options *options, const struct op *op, bool units)
{
    static const char *const names[] = {"size", "count", "type", "redop", "root"};
    static const char *const unit[] = {"(B)", "(elements)", "", "", ""};
    const char *const *words = units ? unit : names;
    printf("# %10s  %12s  %8s  %6s  %6s", words[0], words[1], words[2], words[3], words[4]);
    for (int half = 0; half < 2; half++) {
        printf("  %7s  %6s  %6s  %6s", units ? "(us)" : "time", units ? "(GB/s)" : "algbw",
               units ? "(GB/s)" : "busbw", units ? "" : "#wrong");
        for (int i = 0; i < NUM_PERCENTILES && options->percentiles; i++)
            printf("  %7s", units ? "(us)" : percentile_names[i]);
    }
    if (op->threaded)
        printf("  %7s", units ? "(M/s)" : "rate");
    putchar('\n');
}

void table_op(const struct run *run, const struct op *op)
{
    const struct options *options = run->options;
    int half = 31 + (options->percentiles ? 9 * NUM_PERCENTILES : 0);
    printf("#\n# %s: %s\n", op->name, op->help);
    if (op->routed)
        printf("# %s\n", pattern_text(run));
    if (op->threaded)
        print_threads(run);
    if (!op->sized && options->sizes_given)
        printf("# %s; -b, -e, -i and -f do not apply\n",
               op->src_shape == SHAPE_NONE ? "no data" : "one element");
    printf("#\n# %52s  %*s  %*s\n", "", half / 2 + 6, "out-of-place", half, "in-place");
    print_columns(options, op, false);
    print_columns(options, op, true);
}

static void print_percentiles(const struct options *options, const struct figures *figures)
{
    for (int i = 0; i < NUM_PERCENTILES && options->percentiles; i++)
        printf("  %7s", figures->there ? fitted(figures->percentiles[i], 7) : "N/A");
}

static void print_figures(const struct options *options, const struct figures *figures)
{
    char wrong[32] = "N/A";
    if (figures->there && figures->wrong >= 0)
        snprintf(wrong, sizeof(wrong), "%lld", figures->wrong);
    if (figures->there)
        printf("  %7s  %6s  %6s  %6s", fitted(figures->us, 7), fitted(figures->alg, 6),
               fitted(figures->bus, 6), wrong);
    else
        printf("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
    print_percentiles(options, figures);
}

void table_line(const struct run *run, const struct line *line)
{
    const struct options *options = run->options;
    printf("%12zu  %12zu  %8s  %6s  %6d", line->size, line->count, line->type, line->redop,
           line->root);
    print_figures(options, &line->out);
    print_figures(options, &line->in);
    if (line->op->threaded)
        printf("  %7s", fitted(line->out.rate, 7));
    putchar('\n');
}

void table_end(const struct run *run)
{
    long long wrong = lines_wrong(&run->lines);
    if (run->options->check)
        printf("# Out of bounds values : %lld %s\n", wrong, wrong ? "FAILED" : "OK");
    else
        printf("# Out of bounds values : not checked (-c 0)\n");
    printf("# Avg bus bandwidth    : %g\n#\n", lines_bandwidth(&run->lines));
}
