/*
 * report.c - collects what is to be printed. The report lives as long as the process: nothing is
 * freed.
 */
#include "info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("nvs-info: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(status);
}

static char *copy(const char *text)
{
    char *copied = text ? strdup(text) : NULL;
    if (text && !copied)
        die(STATUS_REFUSED, "out of memory");
    return copied;
}

/* Room for one more in an array that grows one by one: there are about a hundred facts. */
static void *grow(void *array, size_t *n, size_t bytes)
{
    char *grown = realloc(array, (*n + 1) * bytes);
    if (!grown)
        die(STATUS_REFUSED, "out of memory");
    memset(grown + *n * bytes, 0, bytes);
    ++*n;
    return grown;
}

void report_fact(const struct nvs_fact *fact, void *arg)
{
    struct report *report = arg;
    report->facts = grow(report->facts, &report->nfacts, sizeof(*report->facts));
    report->facts[report->nfacts - 1] = (struct nvs_fact){.section = copy(fact->section),
                                                          .key = copy(fact->key),
                                                          .kind = fact->kind,
                                                          .value = copy(fact->value),
                                                          .note = copy(fact->note)};
}

void report_problem(struct report *report, const char *sentence)
{
    report->problems = grow(report->problems, &report->nproblems, sizeof(*report->problems));
    report->problems[report->nproblems - 1] = copy(sentence);
}

static const char *const *copy_names(const char *const *names)
{
    size_t n = 0;
    const char **copied = grow(NULL, &n, sizeof(*copied));
    for (size_t i = 0; names && names[i]; i++) {
        copied[i] = copy(names[i]);
        copied = grow(copied, &n, sizeof(*copied));
    }
    return copied;
}

void report_variable(const struct nvs_variable *variable, void *arg)
{
    struct report *report = arg;
    if (variable->problem)
        report_problem(report, variable->problem);
    if (!variable->name)
        return;
    report->refused |= variable->problem != NULL;
    report->variables = grow(report->variables, &report->nvariables, sizeof(*report->variables));
    report->variables[report->nvariables - 1] =
        (struct nvs_variable){.name = copy(variable->name),
                              .aliases = copy_names(variable->aliases),
                              .value = copy(variable->value),
                              .default_value = copy(variable->default_value),
                              .set_by = copy(variable->set_by),
                              .takes = copy(variable->takes),
                              .help = copy(variable->help),
                              .problem = copy(variable->problem)};
}

static void add(struct report *report, const char *key, enum nvs_fact_kind kind, const char *value,
                const char *note)
{
    struct nvs_fact fact = {
        .section = report->section, .key = key, .kind = kind, .value = value, .note = note};
    report_fact(&fact, report);
}

static void add_integer(struct report *report, const char *key, enum nvs_fact_kind kind,
                        uint64_t value, const char *note)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    add(report, key, kind, text, note);
}

void fact_text(struct report *report, const char *key, const char *value, const char *note)
{
    add(report, key, NVS_FACT_TEXT, value, note);
}

void fact_number(struct report *report, const char *key, uint64_t value, const char *note)
{
    add_integer(report, key, NVS_FACT_NUMBER, value, note);
}

void fact_bytes(struct report *report, const char *key, uint64_t value, const char *note)
{
    add_integer(report, key, NVS_FACT_BYTES, value, note);
}

void fact_flag(struct report *report, const char *key, bool value, const char *note)
{
    add(report, key, NVS_FACT_FLAG, value ? "yes" : "no", note);
}

void fact_unknown(struct report *report, const char *key, enum nvs_fact_kind kind, const char *note)
{
    add(report, key, kind, NULL, note);
}

/* Sections that are not listed come from the library. */
unsigned report_group(const char *section)
{
    static const struct {
        const char *section;
        unsigned group;
    } groups[] = {{"cpu", GROUP_SYSTEM},    {"memory", GROUP_SYSTEM}, {"limits", GROUP_SYSTEM},
                  {"kernel", GROUP_SYSTEM}, {"heap", GROUP_START},    {"start", GROUP_START},
                  {"job", GROUP_START}};
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        if (!strcmp(groups[i].section, section))
            return groups[i].group;
    return GROUP_LIBRARY;
}
