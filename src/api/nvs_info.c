/*
 * nvs_info.c - what the library says about itself: nvs_info_facts() and nvs_info_variables().
 *
 * Facts are text with a kind instead of a struct with members, so that a program made for one
 * version shows what another one knows. What the machine is like without nvs is not told here: a
 * program can find that out itself (tools/info does).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/nvs_info_gpu.h"
#include "boot/boot.h"
#include "coll/fold.h"
#include "gpu/gpu.h"
#include "memory.h"
#include "nvs_internal.h"
#include "transport/transport.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define NOT_PART "not part of this version"

struct listener {
    void (*each)(const struct nvs_fact *fact, void *arg);
    void *arg;
    const char *section;
};

static void tell(const struct listener *to, const char *key, enum nvs_fact_kind kind,
                 const char *value, const char *note)
{
    struct nvs_fact fact = {
        .section = to->section, .key = key, .kind = kind, .value = value, .note = note};
    to->each(&fact, to->arg);
}

static void tell_text(const struct listener *to, const char *key, const char *value,
                      const char *note)
{
    tell(to, key, NVS_FACT_TEXT, value, note);
}

static void tell_flag(const struct listener *to, const char *key, bool value, const char *note)
{
    tell(to, key, NVS_FACT_FLAG, value ? "yes" : "no", note);
}

static void tell_number(const struct listener *to, const char *key, enum nvs_fact_kind kind,
                        uint64_t value, const char *note)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    tell(to, key, kind, text, note);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void tell_library(struct listener *to)
{
    bool known = sizeof NVS_BUILD_REVISION > 1;
    to->section = "library";
    tell_text(to, "version", NVS_VERSION, NULL);
    tell_text(to, "revision", known ? NVS_BUILD_REVISION : NULL,
              known ? "of the sources when the build was configured"
                    : "not built from a git clone");
    tell_text(to, "compiler", COMPILER, NULL);
    tell_text(to, "build_type", NVS_BUILD_TYPE, NULL);
    tell_text(to, "sanitizer", sizeof NVS_BUILD_SANITIZE > 1 ? NVS_BUILD_SANITIZE : "none", NULL);
    tell_text(to, "soname", NVS_BUILD_SONAME, "programs linked with it find this file");
    tell_number(to, "launch_protocol", NVS_FACT_NUMBER, NVSI_JOB_VERSION,
                "nvsrun must speak the same");
    tell_text(to, "apis", "OpenSHMEM 1.5, NVSHMEM 3.5 host API, nvs.h", NULL);
    tell_number(to, "max_pes", NVS_FACT_NUMBER, NVSI_MAX_PES, NULL);
}

/* The configuration in force, or what the environment asks for; refused values are left out. */
static void look_up_config(struct nvsi_config *config)
{
    char message[512];
    if (nvsi.life == NVSI_INITIALISED) {
        *config = nvsi.config;
        return;
    }
    memset(config, 0, sizeof *config);
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++)
        nvsi_config_load_variable(config, i, message, sizeof message);
}

static void tell_kernels(struct listener *to, const struct nvsi_config *config)
{
    const struct nvsi_config_variable *isa = &nvsi_config_variables[NVSI_CONFIG_isa];
    const char *name, *chosen = NULL;
    char wanted[32], refused[96];
    int available;
    nvsi_config_value(config, isa, wanted, sizeof wanted);
    for (size_t k = 0; (name = nvsi_fold_isa_at(k, &available)); k++)
        if (!chosen && available && (config->isa == NVSI_ISA_AUTO || strcmp(name, wanted) == 0))
            chosen = name;
    snprintf(refused, sizeof refused, "NVS_ISA is %s, which this CPU has not got", wanted);
    to->section = "kernels";
    tell_text(to, "chosen", chosen,
              !chosen                        ? refused
              : config->isa == NVSI_ISA_AUTO ? "the best that this CPU has"
                                             : "set by NVS_ISA");
    for (size_t k = 0; (name = nvsi_fold_isa_at(k, &available)); k++)
        tell_flag(to, name, available, available ? NULL : "not on this CPU");
}

static void tell_transports(struct listener *to)
{
    to->section = "transports";
    tell_flag(to, nvsi_transport_shm.name, true, "PEs of one host: loads and stores");
    tell_flag(to, nvsi_transport_chaos.name, true, "shm, delayed and reordered; for tests");
    tell_flag(to, "ucx", false, NOT_PART ": PEs on other hosts cannot be reached");
    tell_flag(to, nvsi_gpu_device.ops.name, true, "memory of GPUs, where PEs have selected one");
    to->section = "launch";
    tell_flag(to, nvsi_boot_launcher.name, true, "starts PEs on this host");
    tell_flag(to, nvsi_boot_alone.name, true, "a program without a launcher is a job of one PE");
    tell_flag(to, "pmix", false, NOT_PART ": mpirun and Slurm do not start PEs");
    tell_flag(to, "torchrun", false, NOT_PART);
}

static void tell_heap(struct listener *to, const struct nvsi_config *config)
{
    bool started = nvsi.life == NVSI_INITIALISED;
    char wanted[32];
    nvsi_config_value(config, &nvsi_config_variables[NVSI_CONFIG_heap_size], wanted, sizeof wanted);
    to->section = "heap";
    tell_text(to, "asked_for", wanted, config->set_by[NVSI_CONFIG_heap_size]);
    if (started)
        tell_number(to, "size", NVS_FACT_BYTES, nvsi.seg[NVSI_SEG_HEAP].size,
                    "address space for each PE; pages are taken when they are touched");
    else
        tell(to, "size", NVS_FACT_BYTES, NULL, "known after init");
    tell_number(to, "memory_total", NVS_FACT_BYTES, nvsi_memory_total(),
                "as nvs counts it: of the host, or of its container");
    tell_number(to, "memory_available", NVS_FACT_BYTES, nvsi_memory_available(NULL), "the same");
    tell_flag(to, "huge_pages", config->huge_pages, "asked for; the kernel decides");
    if (started)
        tell_flag(to, "static_data", !nvsi_static_refusal(),
                  nvsi_static_refusal() ? nvsi_static_refusal()
                                        : "global variables of the executable are symmetric");
}

static void tell_gpu_fact(void *to, const char *key, enum nvs_fact_kind kind, const char *value,
                          const char *note)
{
    tell(to, key, kind, value, note);
}

static void tell_gpus(struct listener *to)
{
    to->section = "gpu";
    nvsi_info_gpu(tell_gpu_fact, to);
}

static void tell_job(struct listener *to)
{
    if (nvsi.life != NVSI_INITIALISED)
        return;
    to->section = "job";
    tell_text(to, "started_by", nvsi.job->launched ? "nvsrun" : "itself", NULL);
    tell_number(to, "pes", NVS_FACT_NUMBER, (uint64_t)nvsi.npes, NULL);
    tell_number(to, "cpus", NVS_FACT_NUMBER, nvsi.job->ncpus, "that the job may use");
    tell_flag(to, "crowded", nvsi.crowded,
              nvsi.crowded ? "more PEs than CPUs: waits give the CPU away early"
                           : "a CPU for each PE: waits spin first");
}

int nvs_info_facts(void (*each)(const struct nvs_fact *fact, void *arg), void *arg)
{
    struct listener to = {.each = each, .arg = arg};
    struct nvsi_config config;
    if (!each)
        return nvsi_error(NVS_ERR_INVALID, "nvs_info_facts: each is NULL: give a function");
    look_up_config(&config);
    tell_library(&to);
    tell_kernels(&to, &config);
    tell_transports(&to);
    tell_gpus(&to);
    tell_heap(&to, &config);
    tell_job(&to);
    return 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

struct variable_listener {
    void (*each)(const struct nvs_variable *variable, void *arg);
    void *arg;
};

static void tell_unknown(const char *sentence, void *arg)
{
    const struct variable_listener *to = arg;
    to->each(&(struct nvs_variable){.problem = sentence}, to->arg);
}

static void tell_variable(const struct variable_listener *to, int i)
{
    const struct nvsi_config_variable *row = &nvsi_config_variables[i];
    struct nvsi_config config = nvsi.config;
    char value[256], takes[128], problem[512];
    int refused = 0;
    if (nvsi.life != NVSI_INITIALISED)
        refused = nvsi_config_load_variable(&config, i, problem, sizeof problem);
    if (!refused)
        nvsi_config_value(&config, row, value, sizeof value);
    nvsi_config_describe(row, takes, sizeof takes);
    to->each(&(struct nvs_variable){.name = row->name,
                                    .aliases = row->aliases,
                                    .value = refused ? NULL : value,
                                    .default_value = row->standard,
                                    .set_by = config.set_by[i],
                                    .takes = takes,
                                    .help = row->help,
                                    .problem = refused ? problem : NULL},
             to->arg);
}

int nvs_info_variables(void (*each)(const struct nvs_variable *variable, void *arg), void *arg)
{
    struct variable_listener to = {.each = each, .arg = arg};
    if (!each)
        return nvsi_error(NVS_ERR_INVALID, "nvs_info_variables: each is NULL: give a function");
    for (int i = 0; i < NVSI_CONFIG_NVARIABLES; i++)
        tell_variable(&to, i);
    nvsi_config_warn_unknown(tell_unknown, &to);
    return 0;
}
