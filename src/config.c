/*
 * config.c - reads the environment by the table that config.def describes; see config.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

#define PREFIX "NVS_"
/* Not ours to know: what the launcher sets, what our own tests and libnvs_cudart read. */
static const char *const other_prefixes[] = {"NVS_JOB_", "NVS_TEST_", "NVS_STRESS_", "NVS_CUDART_"};

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
#define CONFIG_TEXT(field, name, aliases, standard, help)                                          \
    {ROW(field, TEXT, name, aliases, standard, help)},
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
    case NVSI_CONFIG_TEXT:
        *(const char **)field = text;
        return 0;
    }
    return -1;
}

/* What the value of an alias says in our words. OpenSHMEM's switches count as on whatever they are
 * set to; only a clear no is taken as one. The log level is the one enum whose aliases have words
 * of their own. */
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
        if (variable->field != offsetof(struct nvsi_config, log))
            return text;
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

int nvsi_config_load_variable(struct nvsi_config *config, int i, char *message, size_t message_size)
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
        if (nvsi_config_load_variable(&loaded, i, message, message_size) != 0)
            return -1;
    }
    *config = loaded;
    return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* The beginnings of the names that we read: our own, and those of the standards. */
static const char *const prefixes[] = {PREFIX, "NVSHMEM_", "SHMEM_", "SMA_"};

static const char *prefix_of(const char *entry)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (starts_with(entry, prefixes[i]))
            return prefixes[i];
    return NULL;
}

enum { MAX_NAMES = 8 * NVSI_CONFIG_NVARIABLES };

/* What follows the prefix in all names that have it. Only that is compared: the prefix, which all
 * share, would make all of them close. */
static int rests_of(const char *prefix, const char **rests)
{
    int count = 0;
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        const struct nvsi_config_variable *variable = &nvsi_config_variables[i];
        if (starts_with(variable->name, prefix))
            rests[count++] = variable->name + strlen(prefix);
        for (const char *const *alias = variable->aliases; *alias && count < MAX_NAMES; alias++)
            if (starts_with(*alias, prefix))
                rests[count++] = *alias + strlen(prefix);
    }
    return count;
}

static bool is_foreign(const char *entry)
{
    for (size_t i = 0; i < sizeof(other_prefixes) / sizeof(*other_prefixes); i++)
        if (starts_with(entry, other_prefixes[i]))
            return true;
    return false;
}

/* What a name in the environment is. */
enum name_kind { NAME_OTHER, NAME_KNOWN, NAME_MISSPELT, NAME_UNKNOWN };

static enum name_kind judge(const char *name, const char **prefix, const char **meant)
{
    const char *rests[MAX_NAMES];
    *prefix = prefix_of(name);
    if (!*prefix || is_foreign(name))
        return NAME_OTHER;
    int count = rests_of(*prefix, rests);
    for (int i = 0; i < count; i++)
        if (!strcmp(name + strlen(*prefix), rests[i]))
            return NAME_KNOWN;
    *meant = nvsi_closest(name + strlen(*prefix), rests, count);
    return *meant ? NAME_MISSPELT : NAME_UNKNOWN;
}

/* The standards have implementations with names of their own, which we cannot know; what is not a
 * slip of the pen is theirs. */
static bool is_theirs(enum name_kind kind, const char *prefix)
{
    return kind == NAME_UNKNOWN && strcmp(prefix, PREFIX) != 0;
}

static int each_name(void (*tell)(const char *sentence, void *arg), void *arg, bool theirs)
{
    int count = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        char name[96], sentence[256];
        const char *prefix, *meant = NULL;
        size_t length = strcspn(*entry, "=");
        snprintf(name, sizeof(name), "%.*s", (int)(length < 95 ? length : 95), *entry);
        enum name_kind kind = judge(name, &prefix, &meant);
        if (kind == NAME_OTHER || kind == NAME_KNOWN || is_theirs(kind, prefix) != theirs)
            continue;
        if (meant)
            snprintf(sentence, sizeof(sentence),
                     "%s is set, but nvs has no such variable. Did you mean %s%s?", name, prefix,
                     meant);
        else if (theirs)
            snprintf(sentence, sizeof(sentence), "%s is set, but has no effect in nvs.", name);
        else
            snprintf(sentence, sizeof(sentence),
                     "%s is set, but nvs has no such variable; NVS_INFO=1 lists them.", name);
        tell(sentence, arg);
        count++;
    }
    return count;
}

int nvsi_config_warn_unknown(void (*warn)(const char *sentence, void *arg), void *arg)
{
    return each_name(warn, arg, false);
}

int nvsi_config_note_theirs(void (*note)(const char *sentence, void *arg), void *arg)
{
    return each_name(note, arg, true);
}
