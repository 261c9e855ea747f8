/*
 * config.c - reads the environment by the table that config.def describes; see config.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

#define PREFIX "NVS_"
/* Not ours to know: what the launcher sets, and what our own tests read. */
static const char *const other_prefixes[] = {"NVS_JOB_", "NVS_TEST_", "NVS_STRESS_"};

extern char **environ;

#define ALIASES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ALIASES ((const char *const[]){NULL})
#define ROW(field_, kind_, name_, aliases_, standard_, help_)                                      \
    .name = (name_), .aliases = (aliases_), .kind = NVSI_CONFIG_##kind_,                           \
    .field = offsetof(struct nvsi_config, field_), .standard = (standard_), .help = (help_)

const struct nvsi_config_variable nvsi_config_variables[NVSI_CONFIG_NVARIABLES] = {
#define CONFIG_SIZE(field, name, aliases, standard, word_, help)                                   \
    {ROW(field, SIZE, name, aliases, standard, help), .words = (word_)},
#define CONFIG_INT(field, name, aliases, standard, word_, min_, max_, help)                        \
    {ROW(field, INT, name, aliases, standard, help), .words = (word_), .min = (min_),              \
     .max = (max_)},
#define CONFIG_SECONDS(field, name, aliases, standard, help)                                       \
    {ROW(field##_ms, SECONDS, name, aliases, standard, help)},
#define CONFIG_BOOL(field, name, aliases, standard, help)                                          \
    {ROW(field, BOOL, name, aliases, standard, help)},
#define CONFIG_ENUM(field, name, aliases, standard, words_, help)                                  \
    {ROW(field, ENUM, name, aliases, standard, help), .words = (words_)},
#include "config.def"
};

static bool is_word_for_least(const struct nvsi_config_variable *variable, const char *text)
{
    int index;
    return variable->words && nvsi_parse_choice(text, variable->words, &index) == 0;
}

static int set(struct nvsi_config *config, const struct nvsi_config_variable *variable,
               const char *text)
{
    void *field = (char *)config + variable->field;
    switch (variable->kind) {
    case NVSI_CONFIG_SIZE:
        if (is_word_for_least(variable, text))
            text = "0";
        return nvsi_parse_size(text, field);
    case NVSI_CONFIG_INT:
        if (is_word_for_least(variable, text)) {
            *(long *)field = variable->min;
            return 0;
        }
        return nvsi_parse_int(text, variable->min, variable->max, field);
    case NVSI_CONFIG_SECONDS:
        return nvsi_parse_seconds(text, field);
    case NVSI_CONFIG_BOOL:
        return nvsi_parse_bool(text, field);
    case NVSI_CONFIG_ENUM:
        return nvsi_parse_choice(text, variable->words, field);
    }
    return -1;
}

/* What the value of an alias says in our words. OpenSHMEM's switches count as on whatever they are
 * set to; only a clear no is taken as one. The log level is the one enum that has aliases. */
static const char *translate(const struct nvsi_config_variable *variable, const char *text)
{
    static const char *const levels[] = {"warn", "warn", "info", "info", "debug"};
    bool yes = true;
    int level;
    switch (variable->kind) {
    case NVSI_CONFIG_BOOL:
        (void)nvsi_parse_bool(text, &yes);
        return yes ? "yes" : "no";
    case NVSI_CONFIG_ENUM:
        if (nvsi_parse_choice(text, "version|warn|info|abort|trace", &level) == 0)
            return levels[level];
        (void)nvsi_parse_bool(text, &yes);
        return yes ? "info" : variable->standard;
    default:
        return text;
    }
}

/* An empty value is how a shell script says "not set". */
static const char *value_of(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static int load_variable(struct nvsi_config *config, int i, char *message, size_t message_size)
{
    const struct nvsi_config_variable *variable = &nvsi_config_variables[i];
    const char *name = variable->name;
    const char *value = value_of(name), *meaning = value;
    for (const char *const *alias = variable->aliases; !value && *alias; alias++) {
        name = *alias;
        value = value_of(name);
        meaning = value ? translate(variable, value) : NULL;
    }
    config->set_by[i] = value ? name : NULL;
    if (set(config, variable, value ? meaning : variable->standard) == 0)
        return 0;
    char allowed[128];
    nvsi_config_describe(variable, allowed, sizeof(allowed));
    snprintf(message, message_size, "%s is '%s', but it must be %s.", name,
             value ? value : variable->standard, allowed);
    return -1;
}

int nvsi_config_load(struct nvsi_config *config, char *message, size_t message_size)
{
    struct nvsi_config loaded = {0};
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        if (load_variable(&loaded, i, message, message_size) != 0)
            return -1;
    }
    *config = loaded;
    return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_known(const char *name, size_t length)
{
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        const char *known = nvsi_config_variables[i].name;
        if (strlen(known) == length && !strncmp(known, name, length))
            return true;
    }
    return false;
}

/* Compares what follows the prefix, which all names share and which would make all of them close.
 */
static const char *meant(const char *name)
{
    const char *rests[NVSI_CONFIG_NVARIABLES];
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++)
        rests[i] = nvsi_config_variables[i].name + strlen(PREFIX);
    return nvsi_closest(name + strlen(PREFIX), rests, NVSI_CONFIG_NVARIABLES);
}

static bool is_foreign(const char *entry)
{
    for (size_t i = 0; i < sizeof(other_prefixes) / sizeof(*other_prefixes); i++)
        if (starts_with(entry, other_prefixes[i]))
            return true;
    return false;
}

int nvsi_config_warn_unknown(void (*warn)(const char *sentence, void *arg), void *arg)
{
    int nunknown = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (!starts_with(*entry, PREFIX) || is_foreign(*entry) || is_known(*entry, length))
            continue;
        char name[96], sentence[256];
        snprintf(name, sizeof(name), "%.*s", (int)(length < 95 ? length : 95), *entry);
        const char *rest = meant(name);
        if (rest)
            snprintf(sentence, sizeof(sentence),
                     "%s is set, but nvs has no such variable. Did you mean " PREFIX "%s?", name,
                     rest);
        else
            snprintf(sentence, sizeof(sentence),
                     "%s is set, but nvs has no such variable; NVS_INFO=1 lists them.", name);
        warn(sentence, arg);
        nunknown++;
    }
    return nunknown;
}
