/*
 * config.h - what the environment says, read once and checked whole.
 *
 * config.def lists the variables. A value that cannot be understood ends the start with a sentence:
 * a typing error that silently meant the default would be found hours later, if ever. Nothing else
 * in the library calls getenv for a variable of the user.
 */
#ifndef NVSI_CONFIG_H
#define NVSI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The values of the enums, in the order of the words in config.def. `log` has enum nvsi_log_level,
 * which belongs to log.c. */
enum nvsi_config_on_error { NVSI_ON_ERROR_END, NVSI_ON_ERROR_RETURN };
enum nvsi_config_transport { NVSI_TRANSPORT_SHM, NVSI_TRANSPORT_CHAOS };
enum nvsi_config_heap_kind { NVSI_MEMORY_AUTO, NVSI_MEMORY_DEVICE, NVSI_MEMORY_SYSMEM };
enum nvsi_config_isa {
    NVSI_ISA_AUTO,
    NVSI_ISA_GENERIC,
    NVSI_ISA_AVX2,
    NVSI_ISA_AVX512,
    NVSI_ISA_NEON
};

/* NVSI_CONFIG_heap_size and so on: the index of each variable in `set_by`. */
enum nvsi_config_index {
#define CONFIG_SIZE(field, ...) NVSI_CONFIG_##field,
#define CONFIG_INT(field, ...) NVSI_CONFIG_##field,
#define CONFIG_SECONDS(field, ...) NVSI_CONFIG_##field,
#define CONFIG_BOOL(field, ...) NVSI_CONFIG_##field,
#define CONFIG_ENUM(field, ...) NVSI_CONFIG_##field,
#define CONFIG_TEXT(field, ...) NVSI_CONFIG_##field,
#include "config.def"
    NVSI_CONFIG_NVARIABLES
};

struct nvsi_config {
#define CONFIG_SIZE(field, ...) uint64_t field; /* bytes */
#define CONFIG_INT(field, ...) long field;
#define CONFIG_SECONDS(field, ...) int64_t field##_ms; /* 0 = off */
#define CONFIG_BOOL(field, ...) bool field;
#define CONFIG_ENUM(field, ...) int field;
#define CONFIG_TEXT(field, ...) const char *field; /* in the environment, or the default */
#include "config.def"
    /* The name in the environment that set each value; NULL = it is the default. */
    const char *set_by[NVSI_CONFIG_NVARIABLES];
};

/* Reads the environment. 0, or -1 with *config untouched and a sentence in message that names the
 * variable, its value and what is allowed. A variable that is set but empty counts as not set. */
int nvsi_config_load(struct nvsi_config *config, char *message, size_t message_size);

/* The same for one variable, number i of the table: sets its field and its set_by, the latter also
 * if the value is refused. */
int nvsi_config_load_variable(struct nvsi_config *config, int i, char *message,
                              size_t message_size);

/* Calls warn with a sentence for each name in the environment that is a mistake: every NVS_
 * variable that does not exist, and every NVSHMEM_, SHMEM_ and SMA_ variable that is close to one
 * that nvs reads, with the name that was probably meant. NVS_JOB_ is the launcher's and never
 * reported. Returns their number. */
int nvsi_config_warn_unknown(void (*warn)(const char *sentence, void *arg), void *arg);

/* The same for the other NVSHMEM_, SHMEM_ and SMA_ variables: other implementations may know them,
 * here they have no effect. */
int nvsi_config_note_theirs(void (*note)(const char *sentence, void *arg), void *arg);

/* Prints each variable with its value, default, aliases and help. */
void nvsi_config_print(FILE *file, const struct nvsi_config *config);

/* The same without values, as the table of docs/environment.md. */
void nvsi_config_print_markdown(FILE *file);

/* ---- between config.c and config_print.c ---- */

enum nvsi_config_kind {
    NVSI_CONFIG_SIZE,
    NVSI_CONFIG_INT,
    NVSI_CONFIG_SECONDS,
    NVSI_CONFIG_BOOL,
    NVSI_CONFIG_ENUM,
    NVSI_CONFIG_TEXT
};

struct nvsi_config_variable {
    const char *name;
    const char *const *aliases; /* up to a NULL */
    enum nvsi_config_kind kind;
    size_t field; /* where in struct nvsi_config */
    const char *standard;
    const char *words; /* SIZE, INT: a word for the least value, or NULL; ENUM: all values */
    long min, max;     /* INT */
    const char *help;
};

extern const struct nvsi_config_variable nvsi_config_variables[NVSI_CONFIG_NVARIABLES];

/* The value in the form in which the variable takes it. */
void nvsi_config_value(const struct nvsi_config *config,
                       const struct nvsi_config_variable *variable, char *text, size_t size);

/* What a variable takes, as words for a sentence: "shm or chaos". */
void nvsi_config_describe(const struct nvsi_config_variable *variable, char *text, size_t size);

#endif
