/*
 * json.c - the results for programs. Keys are nccl-tests' where it has them.
 */
#include "perf.h"

#include <errno.h>
#include <string.h>

static void string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        if (letter == '"' || letter == '\\')
            fprintf(file, "\\%c", letter);
        else if (letter < 0x20 || letter >= 0x7f) /* bytes of names that are no ASCII, one by one */
            fprintf(file, "\\u%04x", letter);
        else
            fputc(letter, file);
    }
    fputc('"', file);
}

static void config(FILE *file, const struct run *run)
{
    const struct options *options = run->options;
    fprintf(file, "  \"args\": [");
    for (int i = 0; i < run->argc; i++) {
        fputs(i ? ", " : "", file);
        string(file, run->argv[i]);
    }
    fprintf(file,
            "],\n  \"config\": {\"minbytes\": %zu, \"maxbytes\": %zu, \"stepbytes\": %zu, "
            "\"stepfactor\": %zu, \"warmup_iters\": %ld, \"check\": %ld, \"threads\": %ld, "
            "\"rotate\": %s, \"memory\": \"%s\", \"mode\": \"%s\", \"blocking\": %s},\n",
            options->min_bytes, options->max_bytes, options->factor ? 0 : options->step_bytes,
            options->factor, options->warmup, options->check, options->threads,
            options->rotate ? "true" : "false", options->device ? "device" : "host",
            mode_names[options->mode], options->blocking ? "true" : "false");
}

static void pes(FILE *file, const struct run *run)
{
    fprintf(file, "  \"pes\": [");
    for (int pe = 0; pe < run->npes; pe++) {
        fprintf(file, "%s\n    {\"pe\": %d, \"pid\": %ld, \"cpu\": %d, \"host\": ", pe ? "," : "",
                pe, run->pes[pe].pid, run->pes[pe].cpu);
        string(file, run->pes[pe].host);
        fputc('}', file);
    }
    fprintf(file, "\n  ],\n");
}

static void figures_write(FILE *file, const struct line *line, const struct figures *figures,
                          bool percentiles)
{
    if (!figures->there) {
        fputs("null", file);
        return;
    }
    fprintf(file, "{\"time\": %.9g, \"alg_bw\": %.9g, \"bus_bw\": %.9g", figures->us, figures->alg,
            figures->bus);
    if (figures->wrong >= 0)
        fprintf(file, ", \"nwrong\": %lld", figures->wrong);
    else
        fputs(", \"nwrong\": null", file);
    if (line->op->threaded)
        fprintf(file, ", \"rate\": %.9g", figures->rate);
    for (int i = 0; i < NUM_PERCENTILES && percentiles; i++)
        fprintf(file, ", \"%s\": %.9g", percentile_names[i], figures->percentiles[i]);
    fputc('}', file);
}

static void line_write(FILE *file, const struct line *line, bool percentiles)
{
    fprintf(file,
            "    {\"operation\": \"%s\", \"size\": %zu, \"count\": %zu, \"type\": \"%s\", "
            "\"redop\": \"%s\", \"root\": %d, \"iters\": %ld,\n     \"out_of_place\": ",
            line->op->name, line->size, line->count, line->type, line->redop, line->root,
            line->iters);
    figures_write(file, line, &line->out, percentiles);
    fputs(",\n     \"in_place\": ", file);
    figures_write(file, line, &line->in, percentiles);
    fputc('}', file);
}

bool json_write(const struct run *run)
{
    FILE *file = fopen(run->options->json, "w");
    if (!file)
        return false;
    fprintf(file, "{\n  \"version\": \"%s\",\n", NVS_VERSION_STRING);
    config(file, run);
    pes(file, run);
    fprintf(file, "  \"units\": {\"time\": \"us\", \"alg_bw\": \"GB/s\", \"bus_bw\": \"GB/s\", "
                  "\"rate\": \"M/s\"},\n  \"results\": [\n");
    for (size_t i = 0; i < run->lines.count; i++) {
        line_write(file, &run->lines.line[i], run->options->percentiles);
        fputs(i + 1 < run->lines.count ? ",\n" : "\n", file);
    }
    fprintf(file, "  ],\n  \"out_of_bounds\": %lld,\n  \"avg_bus_bw\": %.9g\n}\n",
            lines_wrong(&run->lines), lines_bandwidth(&run->lines));
    bool failed_to_write = ferror(file);
    return fclose(file) == 0 && !failed_to_write;
}
