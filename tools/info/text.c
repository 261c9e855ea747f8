/*
 * text.c - the report for people: a line for each fact, its remark behind it.
 */
#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH 96

/* "1536" as "1.5 KiB". */
static void bytes_describe(const char *digits, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t value = strtoull(digits, NULL, 10);
    double scaled = (double)value;
    size_t unit = 0;
    while (scaled >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
        scaled /= 1024;
        unit++;
    }
    snprintf(text, size, scaled == (double)(uint64_t)scaled ? "%.0f %s" : "%.1f %s", scaled,
             units[unit]);
}

/* Breaks a text into lines at blanks; all but the first are indented. */
static void wrapped_print(const char *text, int indent, int column)
{
    size_t room = LINE_WIDTH > column ? (size_t)(LINE_WIDTH - column) : 1;
    for (;;) {
        size_t length = strlen(text);
        if (length > room) {
            length = room;
            while (length > 0 && text[length] != ' ')
                length--;
            if (!length)
                length = strcspn(text, " ");
        }
        printf("%.*s\n", (int)length, text);
        text += length;
        text += strspn(text, " ");
        if (!*text)
            return;
        printf("%*s", indent, "");
        room = (size_t)(LINE_WIDTH - indent);
    }
}

static void fact_print(const struct nvs_fact *fact)
{
    enum { KEY_WIDTH = 20, INDENT = 2 + KEY_WIDTH + 1 };
    char key[64], human[64], line[2048];
    const char *value = fact->value;
    snprintf(key, sizeof(key), "%s", fact->key);
    for (char *c = key; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    if (value && fact->kind == NVS_FACT_BYTES) {
        bytes_describe(value, human, sizeof(human));
        value = human;
    }
    if (value)
        snprintf(line, sizeof(line), "%s%s%s%s", value, fact->note ? "  (" : "",
                 fact->note ? fact->note : "", fact->note ? ")" : "");
    else
        snprintf(line, sizeof(line), "%s", fact->note ? fact->note : "not known");
    printf("  %-*s ", KEY_WIDTH, key);
    wrapped_print(line, INDENT, INDENT);
}

static void group_print(const struct report *report, unsigned group)
{
    const char *section = "";
    for (size_t i = 0; i < report->nfacts; i++) {
        const struct nvs_fact *fact = &report->facts[i];
        if (report_group(fact->section) != group)
            continue;
        if (strcmp(fact->section, section) != 0)
            printf("%s\n", fact->section);
        section = fact->section;
        fact_print(fact);
    }
}

static void places_print(const struct report *report)
{
    if (!report->places)
        return;
    printf("places\n");
    for (int pe = 0; pe < report->nplaces; pe++) {
        const struct place *place = &report->places[pe];
        printf("  PE %-4d pid %-8d on CPU %-4d NUMA node %-3d may use CPUs %s\n", pe, place->pid,
               place->cpu, place->node, *place->cpus ? place->cpus : "-");
    }
}

static void variable_print(const struct nvs_variable *variable)
{
    enum { INDENT = 6 };
    printf("  %s=%s", variable->name, variable->value ? variable->value : "?");
    if (variable->set_by)
        printf("  (%s by %s; default %s)\n", variable->value ? "set" : "refused", variable->set_by,
               variable->default_value);
    else
        printf("  (default)\n");
    printf("%*s", INDENT, "");
    wrapped_print(variable->help, INDENT, INDENT);
    printf("%*sTakes %s.\n", INDENT, "", variable->takes);
    for (const char *const *alias = variable->aliases; *alias; alias++)
        printf("%*s%s%s%s", alias == variable->aliases ? INDENT : 0, "",
               alias == variable->aliases ? "Also " : ", ", *alias, alias[1] ? "" : ".\n");
}

void text_print(const struct report *report, const struct options *options)
{
    static const unsigned groups[] = {GROUP_LIBRARY, GROUP_SYSTEM, GROUP_START};
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        if (options->groups & groups[i])
            group_print(report, groups[i]);
    if (options->groups & GROUP_START)
        places_print(report);
    if (options->groups & GROUP_VARIABLES)
        printf("variables\n");
    for (size_t i = 0; options->groups & GROUP_VARIABLES && i < report->nvariables; i++)
        variable_print(&report->variables[i]);
    if (report->nproblems)
        printf("problems\n");
    for (size_t i = 0; i < report->nproblems; i++) {
        printf("  ");
        wrapped_print(report->problems[i], 4, 2);
    }
}
