/*
 * info.c - nvs_info_facts() and nvs_info_variables() before init, in the job and after finalize.
 *
 * What each fact says is the business of tests/tools; here: the state of the library decides what
 * is known, the values in force are shown, and a call has no effect on the job.
 */
#include "spmd.h"

#include <nvs.h>

/* What a walk over the facts has found. */
struct found {
    unsigned long n;
    char pes[32], heap[32], section[64]; /* "" = no such fact; "?" = not known */
};

static void look_at_fact(const struct nvs_fact *fact, void *arg)
{
    struct found *found = arg;
    const char *value = fact->value ? fact->value : "?";
    found->n++;
    snprintf(found->section, sizeof found->section, "%s", fact->section);
    CHECK(fact->key && *fact->key, "a fact of %s without a key", fact->section);
    CHECK(fact->value || fact->note, "%s: neither a value nor a reason", fact->key);
    if (!strcmp(fact->section, "job") && !strcmp(fact->key, "pes"))
        snprintf(found->pes, sizeof found->pes, "%s", value);
    if (!strcmp(fact->section, "heap") && !strcmp(fact->key, "size"))
        snprintf(found->heap, sizeof found->heap, "%s", value);
}

static void check_facts(const char *pes, const char *heap, const char *when)
{
    struct found found = {0};
    CHECK(nvs_info_facts(look_at_fact, &found) == 0, "%s", nvs_last_error());
    CHECK(found.n > 10, "%lu facts %s", found.n, when);
    CHECK(!strcmp(found.pes, pes), "'%s' PEs %s", found.pes, when);
    CHECK(!strcmp(found.heap, heap), "a heap of '%s' %s", found.heap, when);
}

struct wanted {
    const char *name, *value;
    unsigned long nseen;
};

static void look_at_variable(const struct nvs_variable *variable, void *arg)
{
    struct wanted *wanted = arg;
    if (!variable->name || strcmp(variable->name, wanted->name) != 0)
        return;
    wanted->nseen++;
    CHECK(variable->value && !strcmp(variable->value, wanted->value), "%s is %s, not %s",
          wanted->name, variable->value ? variable->value : "refused", wanted->value);
}

static void check_variable(const char *name, const char *value)
{
    struct wanted wanted = {.name = name, .value = value};
    CHECK(nvs_info_variables(look_at_variable, &wanted) == 0, "%s", nvs_last_error());
    CHECK(wanted.nseen == 1, "%s was told %lu times", name, wanted.nseen);
}

static void check_null(void)
{
    CHECK(nvs_info_facts(NULL, NULL) == NVS_ERR_INVALID, "facts without a function");
    CHECK(strstr(nvs_last_error(), "nvs_info_facts: each is NULL"), "%s", nvs_last_error());
    CHECK(nvs_info_variables(NULL, NULL) == NVS_ERR_INVALID, "variables without a function");
    CHECK(strstr(nvs_last_error(), "nvs_info_variables: each is NULL"), "%s", nvs_last_error());
}

int main(int argc, char **argv)
{
    char npes[32];
    setenv("NVS_HEAP_SIZE", "64m", 1);
    setenv("NVS_WARN_AFTER", "33", 1);
    check_null();
    check_facts("", "?", "before init");
    check_variable("NVS_HEAP_SIZE", "64m");
    spmd_begin(argc, argv);
    snprintf(npes, sizeof npes, "%d", spmd_npes);
    /* From now on the values in force count, not the environment. */
    setenv("NVS_WARN_AFTER", "44", 1);
    check_facts(npes, "67108864", "in the job");
    check_variable("NVS_WARN_AFTER", "33");
    shmem_barrier_all();
    shmem_finalize();
    check_facts("", "?", "after finalize");
    check_variable("NVS_WARN_AFTER", "44");
    return spmd_result();
}
