/*
 * json.c - the report for programs: one object, a member for each section.
 *
 * A fact is a member of its section: a string, an integer (bytes where it counts memory), true,
 * false, or null where it is not known. A remark is a member beside it, with _note behind its name.
 */
#include "info.h"

#include <stdio.h>
#include <string.h>

/* How many bytes the UTF-8 character at text has; 0 if it is none. */
static size_t utf8_length(const unsigned char *text)
{
    size_t length = *text < 0x80                     ? 1
                    : *text >= 0xc2 && *text <= 0xdf ? 2
                    : *text >= 0xe0 && *text <= 0xef ? 3
                    : *text >= 0xf0 && *text <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* Longer than needed, surrogates, beyond the last character. */
    if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
        (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

/* Text from the environment may hold anything; what is no character becomes U+FFFD. */
static void string_print(const char *string)
{
    if (!string) {
        printf("null");
        return;
    }
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)string; *c;) {
        size_t length = utf8_length(c);
        if (!length)
            printf("\\ufffd");
        else if (*c < ' ' || *c == 0x7f)
            printf("\\u%04x", *c);
        else if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else
            printf("%.*s", (int)length, (const char *)c);
        c += length ? length : 1;
    }
    putchar('"');
}

static void fact_print(const struct nvs_fact *fact)
{
    printf("\"%s\": ", fact->key);
    if (!fact->value)
        printf("null");
    else if (fact->kind == NVS_FACT_TEXT)
        string_print(fact->value);
    else if (fact->kind == NVS_FACT_FLAG)
        printf("%s", strcmp(fact->value, "yes") ? "false" : "true");
    else
        printf("%s", fact->value);
    if (fact->note) {
        printf(", \"%s_note\": ", fact->key);
        string_print(fact->note);
    }
}

/* Begins a member of the outer object. */
static void member_begin(const char *name)
{
    static bool first = true;
    printf("%s  \"%s\": ", first ? "" : ",\n", name);
    first = false;
}

static void facts_print(const struct report *report, unsigned groups)
{
    const char *section = "";
    for (size_t i = 0; i < report->nfacts; i++) {
        const struct nvs_fact *fact = &report->facts[i];
        if (!(report_group(fact->section) & groups))
            continue;
        bool begins = strcmp(fact->section, section) != 0;
        if (begins && *section)
            printf("\n  }");
        if (begins)
            member_begin(fact->section);
        printf(begins ? "{\n    " : ",\n    ");
        section = fact->section;
        fact_print(fact);
    }
    if (*section)
        printf("\n  }");
}

static void places_print(const struct report *report)
{
    member_begin("places");
    printf("[");
    for (int pe = 0; pe < report->nplaces; pe++) {
        const struct place *place = &report->places[pe];
        printf("%s\n    {\"pe\": %d, \"pid\": %d, \"cpu\": %d, \"numa_node\": %d, \"cpus\": ",
               pe ? "," : "", pe, place->pid, place->cpu, place->node);
        string_print(*place->cpus ? place->cpus : NULL);
        printf("}");
    }
    printf("%s]", report->nplaces ? "\n  " : "");
}

static void member_print(const char *name, const char *value)
{
    printf(", \"%s\": ", name);
    string_print(value);
}

static void variable_print(const struct nvs_variable *variable)
{
    printf("{\"name\": ");
    string_print(variable->name);
    member_print("value", variable->value);
    member_print("default", variable->default_value);
    member_print("source", variable->set_by ? "environment" : "default");
    member_print("set_by", variable->set_by);
    member_print("takes", variable->takes);
    member_print("help", variable->help);
    member_print("problem", variable->problem);
    printf(", \"aliases\": [");
    for (const char *const *alias = variable->aliases; *alias; alias++) {
        printf("%s", alias == variable->aliases ? "" : ", ");
        string_print(*alias);
    }
    printf("]}");
}

static void variables_print(const struct report *report)
{
    member_begin("variables");
    printf("[");
    for (size_t i = 0; i < report->nvariables; i++) {
        printf("%s\n    ", i ? "," : "");
        variable_print(&report->variables[i]);
    }
    printf("\n  ]");
}

static void problems_print(const struct report *report)
{
    member_begin("problems");
    printf("[");
    for (size_t i = 0; i < report->nproblems; i++) {
        printf("%s\n    ", i ? "," : "");
        string_print(report->problems[i]);
    }
    printf("%s]", report->nproblems ? "\n  " : "");
}

void json_print(const struct report *report, const struct options *options)
{
    printf("{\n");
    facts_print(report, options->groups);
    if (options->groups & GROUP_START)
        places_print(report);
    if (options->groups & GROUP_VARIABLES)
        variables_print(report);
    problems_print(report);
    printf("\n}\n");
}
