/*
 * options.c - the command line: one table gives names, types, limits and the help.
 */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

enum kind { KIND_INT, KIND_LONG, KIND_REAL, KIND_STRING, KIND_TEXT, KIND_CHOICE };

struct option {
    const char *name, *value, *help;
    enum kind kind;
    size_t offset; /* of the field in struct options */
    double min, max;
    const char *choices; /* names between bars; the field is an int, the number of one */
};

#define FIELD(name) offsetof(struct options, name)

static const struct option table[] = {
    {"--text", "PATH", "train on this file, or the files of this folder; may be repeated",
     KIND_TEXT, FIELD(texts), 0, 0, NULL},
    {"--device", "NAME",
     "auto, cpu or gpu: where to compute; auto: GPUs if all PEs have one (auto)", KIND_CHOICE,
     FIELD(device), 0, 0, "auto|cpu|gpu"},
    {"--precision", "TYPE", "auto, float32 or bfloat16 (GPUs only); auto: bfloat16 on GPUs (auto)",
     KIND_CHOICE, FIELD(precision), 0, 0, "auto|float32|bfloat16"},
    {"--grads", "TYPE", "float32 or bfloat16: what GPUs send each other (float32)", KIND_CHOICE,
     FIELD(bfloat16_grads), 0, 0, "float32|bfloat16"},
    {"--graph", "WHEN", "yes or no: record a step as a CUDA graph and replay it (yes)", KIND_CHOICE,
     FIELD(no_graph), 0, 0, "yes|no"},
    {"--seconds", "S", "stop after this time (45, unless --steps is given)", KIND_REAL,
     FIELD(seconds), 0.01, 1e6, NULL},
    {"--steps", "N", "stop after this many steps", KIND_LONG, FIELD(steps), 1, 1e9, NULL},
    {"--batch", "N", "sequences of the global batch, shared out to the PEs (16)", KIND_LONG,
     FIELD(batch), 1, 1e5, NULL},
    {"--layers", "N", "layers of the model (4)", KIND_INT, FIELD(model.layers), 1, 64, NULL},
    {"--width", "N", "numbers for each position; a multiple of --heads (128)", KIND_INT,
     FIELD(model.width), 8, 2048, NULL},
    {"--heads", "N", "attention heads (4)", KIND_INT, FIELD(model.heads), 1, 64, NULL},
    {"--context", "N", "bytes of a sequence (64)", KIND_INT, FIELD(model.context), 2, 2048, NULL},
    {"--lr", "X", "highest learning rate (0.003)", KIND_REAL, FIELD(lr), 1e-8, 1, NULL},
    {"--seed", "N", "chooses initial parameters, batches and the sample (1)", KIND_LONG,
     FIELD(seed), 0, 1e15, NULL},
    {"--sample", "N", "bytes of text to generate at the end (400)", KIND_LONG, FIELD(sample), 0,
     1e6, NULL},
    {"--svg", "FILE", "where to draw the loss curve (gpt-loss.svg)", KIND_STRING, FIELD(svg), 0, 0,
     NULL},
};

enum { NOPTIONS = sizeof(table) / sizeof(table[0]) };

struct message {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static enum options_result refuse(struct message error,
                                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, error.size, format, args);
    va_end(args);
    return OPTIONS_ERROR;
}

static enum options_result whole_parse(const struct option *option, const char *value, void *field,
                                       struct message error)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || (double)number < option->min ||
        (double)number > option->max)
        return refuse(error, "%s '%s': a whole number from %.0f to %.0f is allowed", option->name,
                      value, option->min, option->max);
    if (option->kind == KIND_INT)
        *(int *)field = (int)number;
    else
        *(long *)field = number;
    return OPTIONS_RUN;
}

static enum options_result real_parse(const struct option *option, const char *value, void *field,
                                      struct message error)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !(number >= option->min && number <= option->max))
        return refuse(error, "%s '%s': a number from %g to %g is allowed", option->name, value,
                      option->min, option->max);
    *(double *)field = number;
    return OPTIONS_RUN;
}

static enum options_result choice_parse(const struct option *option, const char *value, int *field,
                                        struct message error)
{
    size_t length = strlen(value);
    int number = 0;
    for (const char *at = option->choices; at; number++) {
        const char *bar = strchr(at, '|');
        size_t size = bar ? (size_t)(bar - at) : strlen(at);
        if (size == length && !memcmp(at, value, length)) {
            *field = number;
            return OPTIONS_RUN;
        }
        at = bar ? bar + 1 : NULL;
    }
    return refuse(error, "%s '%s': one of %s is allowed", option->name, value, option->choices);
}

static enum options_result value_parse(const struct option *option, const char *value,
                                       struct options *o, struct message error)
{
    void *field = (char *)o + option->offset;
    if (option->kind == KIND_INT || option->kind == KIND_LONG)
        return whole_parse(option, value, field, error);
    if (option->kind == KIND_REAL)
        return real_parse(option, value, field, error);
    if (option->kind == KIND_CHOICE)
        return choice_parse(option, value, field, error);
    if (!*value)
        return refuse(error, "%s '': the name of a file is allowed", option->name);
    if (option->kind == KIND_STRING) {
        *(const char **)field = value;
        return OPTIONS_RUN;
    }
    if (o->ntexts == OPTIONS_MAX_TEXTS)
        return refuse(error, "%s '%s': at most %d times is allowed", option->name, value,
                      OPTIONS_MAX_TEXTS);
    o->texts[o->ntexts++] = value;
    return OPTIONS_RUN;
}

static const struct option *option_find(const char *name, size_t length)
{
    for (int i = 0; i < NOPTIONS; i++)
        if (strlen(table[i].name) == length && !strncmp(table[i].name, name, length))
            return &table[i];
    return NULL;
}

/* What no single option can know. */
static enum options_result options_check(const struct options *o, struct message error)
{
    if (o->model.width % o->model.heads)
        return refuse(error, "--width '%d': a multiple of --heads (%d) is allowed", o->model.width,
                      o->model.heads);
    if (o->precision == PRECISION_BFLOAT16 && o->device == DEVICE_CPU)
        return refuse(error, "--precision 'bfloat16': CPUs compute in float32; --device gpu does");
    return OPTIONS_RUN;
}

enum options_result options_parse(int argc, char **argv, struct options *o, char *text, size_t size)
{
    struct message error = {text, size};
    *o = (struct options){.model = {.layers = 4, .heads = 4, .width = 128, .context = 64},
                          .batch = 16,
                          .lr = 0.003,
                          .seed = 1,
                          .sample = 400,
                          .svg = "gpt-loss.svg"};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return OPTIONS_HELP;
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const struct option *option = option_find(argv[i], length);
        if (!option)
            return refuse(error, "unknown option '%s'; --help lists all", argv[i]);
        if (!equals && i + 1 == argc)
            return refuse(error, "%s: a value is missing (%s)", option->name, option->value);
        enum options_result result = value_parse(option, equals ? equals + 1 : argv[++i], o, error);
        if (result != OPTIONS_RUN)
            return result;
    }
    if (o->steps == 0 && o->seconds == 0)
        o->seconds = 45;
    if (o->ntexts == 0)
        o->texts[o->ntexts++] = "/usr/share/common-licenses";
    return options_check(o, error);
}

void options_print_help(FILE *out)
{
    fprintf(out, "Usage: nvsrun -n PES gpt [OPTION VALUE]...\n"
                 "Trains a byte-level GPT on text, data-parallel over all PEs.\n\n");
    for (int i = 0; i < NOPTIONS; i++)
        fprintf(out, "  %-11s %-5s %s\n", table[i].name, table[i].value, table[i].help);
    fprintf(out, "  %-17s %s\n\n", "--help", "show this and exit");
    fprintf(out, "Without --text: the licence texts in /usr/share/common-licenses.\n");
}
