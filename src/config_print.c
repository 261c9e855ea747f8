/*
 * config_print.c - the variables as people read them: the table of NVS_INFO, the page
 * in docs/, and what is allowed when a value was refused.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#define LINE_WIDTH 78

/* "a|b|c" as "a, b or c". */
static void describe_words(const char *words, char *text, size_t size)
{
    size_t used = 0;
    while (*words && used + 1 < size) {
        size_t length = strcspn(words, "|");
        const char *rest = words + length + (words[length] == '|');
        const char *glue = !*rest ? "" : strchr(rest, '|') ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%.*s%s", (int)length, words, glue);
        words = rest;
    }
}

void nvsi_config_describe(const struct nvsi_config_variable *variable, char *text, size_t size)
{
    const char *glue = variable->words ? ", or " : "";
    const char *word = variable->words ? variable->words : "";
    switch (variable->kind) {
    case NVSI_CONFIG_SIZE:
        snprintf(text, size, "a size such as 64m, 1.5g or 4096%s%s", glue, word);
        break;
    case NVSI_CONFIG_INT:
        snprintf(text, size, "an integer from %ld to %ld%s%s", variable->min, variable->max, glue,
                 word);
        break;
    case NVSI_CONFIG_SECONDS:
        snprintf(text, size, "seconds, or a time such as 500ms, 2m or off");
        break;
    case NVSI_CONFIG_BOOL:
        snprintf(text, size, "yes or no");
        break;
    case NVSI_CONFIG_ENUM:
        describe_words(word, text, size);
        break;
    case NVSI_CONFIG_TEXT:
        snprintf(text, size, "a path, or a name that the dynamic linker finds");
        break;
    }
}

/* The largest unit that divides the size, so that what is printed can be typed in again. */
static void print_size(uint64_t nbytes, char *text, size_t size)
{
    static const char units[] = {'\0', 'k', 'm', 'g', 't'};
    size_t unit = 0;
    while (nbytes && nbytes % 1024 == 0 && unit + 1 < sizeof(units)) {
        nbytes /= 1024;
        unit++;
    }
    snprintf(text, size, "%" PRIu64 "%.*s", nbytes, units[unit] != 0, &units[unit]);
}

static void print_seconds(int64_t ms, char *text, size_t size)
{
    if (!ms)
        snprintf(text, size, "off");
    else if (ms % 1000)
        snprintf(text, size, "%" PRId64 "ms", ms);
    else
        snprintf(text, size, "%" PRId64, ms / 1000);
}

static void print_word(const char *words, int index, char *text, size_t size)
{
    for (; index > 0; index--)
        words += strcspn(words, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}

void nvsi_config_value(const struct nvsi_config *config,
                       const struct nvsi_config_variable *variable, char *text, size_t size)
{
    const void *field = (const char *)config + variable->field;
    switch (variable->kind) {
    case NVSI_CONFIG_SIZE:
        if (variable->words && !*(const uint64_t *)field)
            snprintf(text, size, "%s", variable->words);
        else
            print_size(*(const uint64_t *)field, text, size);
        break;
    case NVSI_CONFIG_INT:
        if (variable->words && *(const long *)field == variable->min)
            snprintf(text, size, "%s", variable->words);
        else
            snprintf(text, size, "%ld", *(const long *)field);
        break;
    case NVSI_CONFIG_SECONDS:
        print_seconds(*(const int64_t *)field, text, size);
        break;
    case NVSI_CONFIG_BOOL:
        snprintf(text, size, "%s", *(const bool *)field ? "yes" : "no");
        break;
    case NVSI_CONFIG_ENUM:
        print_word(variable->words, *(const int *)field, text, size);
        break;
    case NVSI_CONFIG_TEXT:
        snprintf(text, size, "%s", *(const char *const *)field);
        break;
    }
}

/* Breaks a text into lines at blanks. */
static void print_wrapped(FILE *file, const char *text, int indent)
{
    const size_t width = LINE_WIDTH - (size_t)indent;
    while (*text) {
        size_t length = strlen(text);
        if (length > width) {
            length = width;
            while (length > 1 && text[length] != ' ')
                length--;
        }
        fprintf(file, "%*s%.*s\n", indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static void print_aliases(FILE *file, const struct nvsi_config_variable *variable,
                          const char *separator)
{
    for (const char *const *alias = variable->aliases; *alias; alias++)
        fprintf(file, "%s%s", alias == variable->aliases ? "" : separator, *alias);
}

void nvsi_config_print(FILE *file, const struct nvsi_config *config)
{
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        const struct nvsi_config_variable *variable = &nvsi_config_variables[i];
        char value[256], allowed[128];
        nvsi_config_value(config, variable, value, sizeof(value));
        nvsi_config_describe(variable, allowed, sizeof(allowed));
        fprintf(file, "%s=%s", variable->name, value);
        if (config->set_by[i])
            fprintf(file, "  (set by %s; default %s)\n", config->set_by[i], variable->standard);
        else
            fprintf(file, "  (default)\n");
        print_wrapped(file, variable->help, 4);
        fprintf(file, "    Takes %s.\n", allowed);
        if (variable->aliases[0]) {
            fprintf(file, "    Also ");
            print_aliases(file, variable, ", ");
            fprintf(file, ".\n");
        }
    }
}

void nvsi_config_print_markdown(FILE *file)
{
    fprintf(file, "| variable | takes | default | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        const struct nvsi_config_variable *variable = &nvsi_config_variables[i];
        char allowed[128];
        nvsi_config_describe(variable, allowed, sizeof(allowed));
        fprintf(file, "| `%s`", variable->name);
        if (variable->aliases[0]) {
            fprintf(file, "<br>`");
            print_aliases(file, variable, "`<br>`");
            fprintf(file, "`");
        }
        fprintf(file, " | %s | `%s` | %s |\n", allowed, variable->standard, variable->help);
    }
}
