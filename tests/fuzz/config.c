/*
 * config.c - an environment of any lines: the configuration is read whole or refused with a
 * sentence that names the variable; every value is in range; the table can be printed.
 */
#include "config.h"

#include "fuzz.h"

extern char **environ;

enum { MOST_LINES = 40 };

static int sentences;

static void count_sentence(const char *sentence, void *arg)
{
    PROMISE(arg == &sentences && strlen(sentence) > 10, "'%s'", sentence);
    sentences++;
}

/* Every line is a variable. The texts that the code may point into stay until the end. */
static void read_environment(struct reader *reader, char *lines[MOST_LINES + 1])
{
    int n = 0;
    while (reader->left && n < MOST_LINES)
        lines[n++] = read_text(reader);
    lines[n] = NULL;
}

static void check_values(const struct nvsi_config *config)
{
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        const struct nvsi_config_variable *variable = &nvsi_config_variables[i];
        const char *field = (const char *)config + variable->field;
        char words[128];
        nvsi_config_describe(variable, words, sizeof words);
        PROMISE(*words, "%s: nothing is said to be allowed", variable->name);
        if (variable->kind == NVSI_CONFIG_INT) {
            long value = *(const long *)field;
            PROMISE(value >= variable->min && value <= variable->max, "%s is %ld", variable->name,
                    value);
        } else if (variable->kind == NVSI_CONFIG_SECONDS) {
            PROMISE(*(const int64_t *)field >= 0, "%s is negative", variable->name);
        } else if (variable->kind == NVSI_CONFIG_ENUM) {
            int value = *(const int *)field, bars = 0;
            for (const char *c = variable->words; *c; c++)
                bars += *c == '|';
            PROMISE(value >= 0 && value <= bars, "%s is %d", variable->name, value);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct reader reader = {data, size};
    char *lines[MOST_LINES + 1], **before = environ, message[512];
    struct nvsi_config config, untouched;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    memset(&config, 0x5a, sizeof config);
    untouched = config;
    read_environment(&reader, lines);
    environ = lines;
    memset(message, 1, sizeof message);
    if (nvsi_config_load(&config, message, sizeof message) == 0) {
        check_values(&config);
        if (nowhere)
            nvsi_config_print(nowhere, &config);
    } else {
        PROMISE(memchr(message, 0, sizeof message) && strstr(message, " is '"),
                "no sentence for a refused value");
        PROMISE(memcmp(&config, &untouched, sizeof config) == 0,
                "a refused environment changes the configuration");
    }
    sentences = 0;
    int unknown = nvsi_config_warn_unknown(count_sentence, &sentences);
    PROMISE(unknown == sentences, "%d unknown, %d sentences", unknown, sentences);
    environ = before;
    for (int i = 0; lines[i]; i++)
        free(lines[i]);
    return 0;
}
