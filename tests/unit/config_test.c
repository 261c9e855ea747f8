/*
 * config_test.c - the environment as users set it, right and wrong.
 *
 * Each case starts from an environment that is empty but for what it sets itself.
 */
#include "check.h"
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char message[512];

static void set_only(const char *name, const char *value)
{
    clearenv();
    if (name)
        setenv(name, value, 1);
}

/* Loads the environment with one variable, which must be accepted. */
static struct nvsi_config load_with(const char *name, const char *value)
{
    struct nvsi_config config = {0};
    set_only(name, value);
    message[0] = '\0';
    int status = nvsi_config_load(&config, message, sizeof(message));
    CHECK(status == 0 && !message[0], "%s=%s: %s", name ? name : "", name ? value : "", message);
    return config;
}

static void test_defaults(void)
{
    struct nvsi_config config = load_with(NULL, NULL);
    CHECK(config.heap_size == 0, "%" PRIu64, config.heap_size);
    CHECK(config.on_error == NVSI_ON_ERROR_END, "%d", config.on_error);
    CHECK(config.log == 1, "warn is the second level, not %d", config.log);
    CHECK(!config.print_version && !config.print_info, "prints");
    CHECK(config.warn_after_ms == 60000, "%" PRId64, config.warn_after_ms);
    CHECK(config.timeout_ms == 0, "%" PRId64, config.timeout_ms);
    CHECK(config.spin == -1, "%ld", config.spin);
    CHECK(config.transport == NVSI_TRANSPORT_SHM, "%d", config.transport);
    CHECK(config.chaos_seed == 0 && config.chaos_delay_us == 200, "chaos");
    CHECK(config.static_symmetric && config.huge_pages, "static data, huge pages");
    CHECK(config.isa == NVSI_ISA_AUTO, "%d", config.isa);
    CHECK(config.stream_threshold == 4 << 20, "%" PRIu64, config.stream_threshold);
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++)
        CHECK(!config.set_by[i], "variable %d is set by %s", i, config.set_by[i]);
}

static void test_own_names(void)
{
    CHECK(load_with("NVS_HEAP_SIZE", "1.5g").heap_size == UINT64_C(3) << 29, "size");
    CHECK(load_with("NVS_HEAP_SIZE", "auto").heap_size == 0, "auto");
    CHECK(load_with("NVS_ON_ERROR", "return").on_error == NVSI_ON_ERROR_RETURN, "on_error");
    CHECK(load_with("NVS_LOG", "error").log == 0, "log");
    CHECK(load_with("NVS_LOG", "debug").log == 3, "log");
    CHECK(load_with("NVS_VERSION", "yes").print_version, "version");
    CHECK(load_with("NVS_INFO", "1").print_info, "info");
    CHECK(load_with("NVS_WARN_AFTER", "500ms").warn_after_ms == 500, "warn_after");
    CHECK(load_with("NVS_TIMEOUT", "2m").timeout_ms == 120000, "timeout");
    CHECK(load_with("NVS_SPIN", "0").spin == 0, "spin");
    CHECK(load_with("NVS_SPIN", "auto").spin == -1, "spin");
    CHECK(load_with("NVS_TRANSPORT", "chaos").transport == NVSI_TRANSPORT_CHAOS, "transport");
    CHECK(load_with("NVS_CHAOS_SEED", "77").chaos_seed == 77, "seed");
    CHECK(load_with("NVS_CHAOS_SEED", "random").chaos_seed == 0, "seed");
    CHECK(load_with("NVS_CHAOS_DELAY_US", "0").chaos_delay_us == 0, "delay");
    CHECK(!load_with("NVS_STATIC", "off").static_symmetric, "static");
    CHECK(load_with("NVS_ISA", "avx512").isa == NVSI_ISA_AVX512, "isa");
    CHECK(load_with("NVS_ISA", "neon").isa == NVSI_ISA_NEON, "isa");
    CHECK(!load_with("NVS_HUGE_PAGES", "no").huge_pages, "huge pages");
    CHECK(load_with("NVS_STREAM_BYTES", "0").stream_threshold == 0, "stream");
    CHECK(load_with("NVS_HEAP_SIZE", "").heap_size == 0, "empty is not set");
    CHECK(!load_with("NVS_HEAP_SIZE", "").set_by[NVSI_CONFIG_heap_size], "empty is not set");
}

static void test_aliases(void)
{
    CHECK(load_with("NVSHMEM_SYMMETRIC_SIZE", "2G").heap_size == UINT64_C(2) << 30, "size");
    CHECK(load_with("SHMEM_SYMMETRIC_SIZE", "0.5m").heap_size == 512 << 10, "size");
    CHECK(load_with("SMA_SYMMETRIC_SIZE", "64").heap_size == 64, "size");
    CHECK(load_with("SHMEM_VERSION", "whatever").print_version, "set to anything");
    CHECK(!load_with("SHMEM_VERSION", "0").print_version, "a clear no");
    CHECK(load_with("NVSHMEM_INFO", "true").print_info, "info");

    static const struct {
        const char *name, *value;
        int level;
    } levels[] = {
        {"NVSHMEM_DEBUG", "VERSION", 1}, {"NVSHMEM_DEBUG", "WARN", 1},
        {"NVSHMEM_DEBUG", "INFO", 2},    {"NVSHMEM_DEBUG", "ABORT", 2},
        {"NVSHMEM_DEBUG", "trace", 3},   {"SHMEM_DEBUG", "1", 2},
        {"SHMEM_DEBUG", "anything", 2},  {"SHMEM_DEBUG", "0", 1},
    };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        int level = load_with(levels[i].name, levels[i].value).log;
        CHECK(level == levels[i].level, "%s=%s: %d", levels[i].name, levels[i].value, level);
    }
}

static void test_precedence(void)
{
    struct nvsi_config config = {0};
    clearenv();
    setenv("SMA_SYMMETRIC_SIZE", "1m", 1);
    setenv("SHMEM_SYMMETRIC_SIZE", "2m", 1);
    CHECK(nvsi_config_load(&config, message, sizeof(message)) == 0, "%s", message);
    CHECK(config.heap_size == 2 << 20, "the first alias counts: %" PRIu64, config.heap_size);
    const char *set_by = config.set_by[NVSI_CONFIG_heap_size];
    CHECK(set_by && !strcmp(set_by, "SHMEM_SYMMETRIC_SIZE"), "%s", set_by);
    setenv("NVS_HEAP_SIZE", "3m", 1);
    CHECK(nvsi_config_load(&config, message, sizeof(message)) == 0, "%s", message);
    CHECK(config.heap_size == 3 << 20, "our name wins: %" PRIu64, config.heap_size);
}

/* A refused value: the sentence has the name, the value and what is allowed. */
static void test_bad_values(void)
{
    static const struct {
        const char *name, *value, *allowed;
    } rows[] = {
        {"NVS_HEAP_SIZE", "12q", "a size such as 64m, 1.5g or 4096, or auto"},
        {"NVS_HEAP_SIZE", "-1", "a size"},
        {"SHMEM_SYMMETRIC_SIZE", "lots", "a size"},
        {"NVS_ON_ERROR", "ignore", "end or return"},
        {"NVS_LOG", "loud", "error, warn, info or debug"},
        {"NVS_VERSION", "maybe", "yes or no"},
        {"NVS_TIMEOUT", "soon", "seconds, or a time such as 500ms, 2m or off"},
        {"NVS_SPIN", "-2", "an integer from -1 to 1000000000, or auto"},
        {"NVS_CHAOS_DELAY_US", "1000001", "an integer from 0 to 1000000."},
        {"NVS_STREAM_BYTES", "auto", "a size such as 64m, 1.5g or 4096."},
        {"NVS_ISA", "sse", "auto, generic, avx2, avx512 or neon"},
        {"NVS_TRANSPORT", "shm|chaos", "shm or chaos"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nvsi_config config = {.heap_size = 4711};
        set_only(rows[i].name, rows[i].value);
        message[0] = '\0';
        CHECK(nvsi_config_load(&config, message, sizeof(message)) == -1, "%s=%s was taken",
              rows[i].name, rows[i].value);
        CHECK(strstr(message, rows[i].name) && strstr(message, rows[i].value), "%s", message);
        CHECK(strstr(message, rows[i].allowed), "%s", message);
        CHECK(config.heap_size == 4711, "a failed load touched its result");
    }
}

static void test_short_message(void)
{
    char small[8];
    struct nvsi_config config;
    memset(small, 'x', sizeof(small));
    set_only("NVS_ISA", "sse");
    CHECK(nvsi_config_load(&config, small, 4) == -1, "sse was taken");
    CHECK(small[3] == '\0' && small[4] == 'x', "wrote over the end");
}

struct warnings {
    int count;
    char last[256];
};

static void note(const char *sentence, void *arg)
{
    struct warnings *warnings = arg;
    warnings->count++;
    snprintf(warnings->last, sizeof(warnings->last), "%s", sentence);
}

static void test_unknown(void)
{
    static const struct {
        const char *name, *meant;
    } rows[] = {
        {"NVS_HEAPSIZE", "Did you mean NVS_HEAP_SIZE?"},
        {"NVS_TIEMOUT", "Did you mean NVS_TIMEOUT?"},
        {"NVS_heap_size", "Did you mean NVS_HEAP_SIZE?"},
        {"NVSHMEM_SYMETRIC_SIZE", "Did you mean NVSHMEM_SYMMETRIC_SIZE?"},
        {"SHMEM_SYMMETRIC_HEAP_SIZE", "Did you mean SHMEM_SYMMETRIC_SIZE?"},
        {"SMA_SYMMETRIC_SIZ", "Did you mean SMA_SYMMETRIC_SIZE?"},
        {"NVS_COLOUR", "NVS_INFO=1 lists them"},
        {"NVS_", "NVS_INFO=1 lists them"},
        {"NVS_A_NAME_THAT_IS_LONGER_THAN_ANY_THAT_WE_OURSELVES_WOULD_EVER_THINK_OF_GIVING_TO_A_"
         "VARIABLE_OF_THE_ENVIRONMENT",
         "NVS_INFO=1 lists them"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct warnings warnings = {0};
        set_only(rows[i].name, "1");
        CHECK(nvsi_config_warn_unknown(note, &warnings) == 1 && warnings.count == 1, "%s: %d",
              rows[i].name, warnings.count);
        CHECK(strstr(warnings.last, rows[i].meant), "%s", warnings.last);
        CHECK(!strncmp(warnings.last, rows[i].name, 60) || strlen(rows[i].name) < 60, "%s",
              warnings.last);
    }
}

static void test_not_unknown(void)
{
    struct warnings warnings = {0};
    clearenv();
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++)
        setenv(nvsi_config_variables[i].name, "1", 1);
    setenv("NVS_JOB_ANYTHING", "1", 1);
    setenv("NVSHMEM_ANYTHING", "1", 1);
    setenv("MY_NVS_HEAPSIZE", "1", 1);
    CHECK(nvsi_config_warn_unknown(note, &warnings) == 0 && warnings.count == 0, "%s",
          warnings.last);
    clearenv();
    CHECK(nvsi_config_warn_unknown(note, &warnings) == 0, "nothing is set");
}

/* What other implementations know is no mistake, but worth a line for who looks for one. */
static void test_theirs(void)
{
    static const char *const names[] = {"NVSHMEM_BOOTSTRAP", "NVSHMEM_DEBUG_FILE", "SHMEM_HOME",
                                        "SMA_BOUNCE_SIZE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct warnings warnings = {0}, notes = {0};
        set_only(names[i], "1");
        CHECK(nvsi_config_warn_unknown(note, &warnings) == 0, "%s", warnings.last);
        CHECK(nvsi_config_note_theirs(note, &notes) == 1 && strstr(notes.last, names[i]),
              "%s: '%s'", names[i], notes.last);
        CHECK(strstr(notes.last, "no effect"), "%s", notes.last);
    }
}

static char *printed(const struct nvsi_config *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (config)
        nvsi_config_print(file, config);
    else
        nvsi_config_print_markdown(file);
    fclose(file);
    return text;
}

/* What is printed as the value can be set again and means the same. */
static void test_print(void)
{
    struct nvsi_config config = {0};
    clearenv();
    setenv("SHMEM_SYMMETRIC_SIZE", "1.5g", 1);
    setenv("NVS_WARN_AFTER", "1.5", 1);
    setenv("NVS_ISA", "generic", 1);
    setenv("NVS_CHAOS_SEED", "12", 1);
    CHECK(nvsi_config_load(&config, message, sizeof(message)) == 0, "%s", message);
    char *text = printed(&config);
    static const char *const expected[] = {
        "NVS_HEAP_SIZE=1536m  (set by SHMEM_SYMMETRIC_SIZE; default auto)\n",
        "NVS_WARN_AFTER=1500ms  (set by NVS_WARN_AFTER; default 60)\n",
        "NVS_ISA=generic  (set by NVS_ISA; default auto)\n",
        "NVS_CHAOS_SEED=12  (set by NVS_CHAOS_SEED; default random)\n",
        "NVS_SPIN=auto  (default)\n",
        "NVS_TIMEOUT=off  (default)\n",
        "NVS_STREAM_BYTES=4m  (default)\n",
        "NVS_STATIC=yes  (default)\n",
        "NVS_CHAOS_DELAY_US=200  (default)\n",
        "Also NVSHMEM_VERSION, SHMEM_VERSION.\n",
        "Takes shm or chaos.\n",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CHECK(strstr(text, expected[i]), "'%s' is missing", expected[i]);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 100, "a long line: %s", line);
    free(text);
}

static void test_print_markdown(void)
{
    char *text = printed(NULL);
    int nlines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        int nbars = 0;
        for (const char *c = line; *c != '\n'; c++)
            nbars += *c == '|';
        CHECK(nbars == 5, "%d bars in line %d", nbars, nlines);
        nlines++;
    }
    CHECK(nlines == NVSI_CONFIG_NVARIABLES + 2, "%d lines", nlines);
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++) {
        CHECK(strstr(text, nvsi_config_variables[i].name), "%s", nvsi_config_variables[i].name);
        CHECK(strstr(text, nvsi_config_variables[i].help), "%s", nvsi_config_variables[i].help);
    }
    free(text);
}

int main(void)
{
    test_defaults();
    test_own_names();
    test_aliases();
    test_precedence();
    test_bad_values();
    test_short_message();
    test_unknown();
    test_not_unknown();
    test_theirs();
    test_print();
    test_print_markdown();
    return check_result();
}
