/*
 * info.h - nvs-info: what this nvs is, and what it finds on this machine.
 *
 * Everything is collected into one report first and printed at the end, as text or as JSON. What
 * the library knows comes through nvs_info_facts() and nvs_info_variables(); what the machine says
 * is read from /proc and /sys. Both are facts of one kind, so the printers need not know any of
 * them by name, and a newer library shows more without a newer nvs-info.
 */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvs.h"

/* Parts of the output that can be asked for. */
enum { GROUP_LIBRARY = 1, GROUP_SYSTEM = 2, GROUP_START = 4, GROUP_VARIABLES = 8, GROUP_ALL = 15 };

struct options {
    unsigned groups;
    bool json;
    const char *sysroot; /* "" = this machine */
};

/* Where a PE runs; all PEs send theirs to PE 0. */
struct place {
    int32_t pid;
    int32_t cpu, node; /* that it was on when it looked; -1: not known */
    char cpus[116];    /* that it may use: "0-3,8" */
};

struct report {
    struct nvs_fact *facts;
    size_t nfacts;
    struct nvs_variable *variables;
    size_t nvariables;
    char **problems;
    size_t nproblems;
    struct place *places; /* one for each PE; NULL: the library did not start */
    int nplaces;
    bool refused;        /* the library does not start with this environment */
    const char *section; /* of the facts that are added */
};

/* ---- options.c, help.c ---------------------------------------------------------------------- */
/* Reads the command line; returns, or exits after --help, --version or a mistake. */
void options_parse(struct options *options, int argc, char **argv);
void help_print(void);

/* Exit statuses. */
enum { STATUS_REFUSED = 1, STATUS_USAGE = 2 };

/* ---- report.c: adding to the report; all strings are copied ---------------------------------- */
void report_fact(const struct nvs_fact *fact, void *report);
void report_variable(const struct nvs_variable *variable, void *report);
void report_problem(struct report *report, const char *sentence);
/* Facts of report->section. A value or a note may be NULL. */
void fact_text(struct report *report, const char *key, const char *value, const char *note);
void fact_number(struct report *report, const char *key, uint64_t value, const char *note);
void fact_bytes(struct report *report, const char *key, uint64_t value, const char *note);
void fact_flag(struct report *report, const char *key, bool value, const char *note);
void fact_unknown(struct report *report, const char *key, enum nvs_fact_kind kind,
                  const char *note);
/* The group that a section belongs to. */
unsigned report_group(const char *section);
/* Prints "nvs-info: " and a sentence on standard error, then exits. */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- files.c: reading /proc and /sys, below the sysroot -------------------------------------- */
void files_root(const char *directory);
/* The first line without its end. False, and an empty text, if it cannot be read. */
bool file_line(char *text, size_t size, const char *path_format, ...)
    __attribute__((format(printf, 3, 4)));
/* A file that holds a decimal number; false also for words such as "max". */
bool file_number(uint64_t *value, const char *path_format, ...)
    __attribute__((format(printf, 2, 3)));
/* What follows "key:" in the first line that begins with it. */
bool file_field(char *text, size_t size, const char *path, const char *key);
bool file_exists(const char *path_format, ...) __attribute__((format(printf, 1, 2)));
/* How many numbers a list such as "0-3,8" holds; calls each (may be NULL) for every one. */
int list_count(const char *list, void (*each)(int number, void *arg), void *arg);

/* ---- cgroup.c: the limits of the control groups that this process is in -----------------------
 */
struct cgroup {
    int version;           /* 0: there are none */
    uint64_t memory_limit; /* UINT64_MAX: none */
    uint64_t memory_used;  /* by the group whose limit that is */
    uint64_t pids_limit;
    uint64_t cpu_percent; /* of one CPU */
};
void cgroup_read(struct cgroup *cgroup);

/* ---- one section of the machine each ----------------------------------------------------------
 */
void cpu_collect(struct report *report, const struct cgroup *cgroup);
void memory_collect(struct report *report, const struct cgroup *cgroup);
void limits_collect(struct report *report, const struct cgroup *cgroup);
void kernel_collect(struct report *report);

/* ---- start.c: starts the library, as a program would ------------------------------------------
 */
/* The number that the launcher gave this process; 0 outside of a job. */
int start_pe(void);
/* Joins the job and learns where its PEs are. Collective. Returns 0, or the status of nvs_init. */
int start_try(struct report *report);

/* ---- text.c, json.c ----------------------------------------------------------------------------
 */
void text_print(const struct report *report, const struct options *options);
void json_print(const struct report *report, const struct options *options);

#endif
