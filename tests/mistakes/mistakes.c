/*
 * mistakes.c - makes every mistake of cases.def and compares what is said about it.
 *
 *   mistakes           all of them, with NVS_ON_ERROR=return: status and sentence of each
 *   mistakes NUMBER    one of them, with NVS_ON_ERROR=end: mistakes.py looks at how the job ends
 *   mistakes --list    number, how, whether only NVS_CHECK finds it, status and regex of each
 *   mistakes --table   which families of functions are tried with which kinds of mistakes
 */
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVS_NO_GENERICS
#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <shmem.h>

enum when { BEFORE, DURING, AFTER, CHECKED };

/* What the calls use. */
static long fixed[64];
static long *heap, *plain, *odd;
static uint64_t *word = (uint64_t *)&fixed[32];
static void *volatile none;
static int number;
static size_t size;
static int32_t team, other_team;
static shmem_ctx_t ctx;

static shmem_team_t destroyed_team(void)
{
    shmem_team_t made;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &made);
    shmem_team_destroy(made);
    return made;
}

/* Teams until there is no more, which are destroyed again. */
static void too_many_teams(void)
{
    static shmem_team_t made[600];
    int count = 0;
    while (count < 600 && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0,
                                                   &made[count]) == 0)
        count++;
    while (count > 0)
        shmem_team_destroy(made[--count]);
}

static shmem_ctx_t destroyed_ctx(void)
{
    shmem_ctx_t made;
    shmem_ctx_create(0, &made);
    shmem_ctx_destroy(made);
    return made;
}

/* A context of a team of this PE alone. */
static shmem_ctx_t alone_ctx(void)
{
    static shmem_ctx_t made = SHMEM_CTX_INVALID;
    if (made == SHMEM_CTX_INVALID)
        shmem_team_create_ctx(NVSHMEMX_TEAM_SAME_MYNODE_INDEX, 0, &made);
    return made;
}

static void *make_private(void *made)
{
    shmem_ctx_create(SHMEM_CTX_PRIVATE, made);
    return made;
}

/* A context that another thread has kept for itself. */
static shmem_ctx_t private_ctx(void)
{
    shmem_ctx_t made = SHMEM_CTX_INVALID;
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_private, &made) == 0)
        pthread_join(thread, NULL);
    return made;
}

static void *freed_object(void)
{
    void *ptr = nvs_malloc(100);
    nvs_free(ptr);
    return ptr;
}

static void shmem_sync_plain(int start, int log_stride, int npes, long *sync)
{
    shmem_sync(start, log_stride, npes, sync);
}

struct mistake {
    enum when when;
    const char *api, *kind, *how;
    int status;
    const char *regex;
};

static const struct mistake mistakes[] = {
#define CASE(when_, api_, kind_, how_, status_, regex_, ...)                                       \
    {when_, #api_, #kind_, #how_, NVS_ERR_##status_, regex_},
#include "cases.def"
#undef CASE
};
enum { NUM_MISTAKES = sizeof mistakes / sizeof *mistakes };

static void make(int wanted)
{
    int at = 0;
#define CASE(when_, api_, kind_, how_, status_, regex_, ...)                                       \
    if (at++ == wanted) {                                                                          \
        __VA_ARGS__;                                                                               \
        return;                                                                                    \
    }
#include "cases.def"
#undef CASE
}

static void begin(void)
{
    shmem_init();
    heap = shmem_malloc(64 * sizeof *heap);
    memset(heap, 0, 64 * sizeof *heap);
    plain = calloc(64, sizeof *plain);
    odd = (long *)((char *)heap + 2);
    shmem_barrier_all();
}

/* ---- one: how it ends is for mistakes.py to see ---------------------------------------------- */

static int one(int wanted)
{
    if (wanted < 0 || wanted >= NUM_MISTAKES)
        return 2;
    plain = fixed;
    if (mistakes[wanted].when != BEFORE)
        begin();
    if (mistakes[wanted].when == AFTER)
        shmem_finalize();
    make(wanted);
    if (mistakes[wanted].when == DURING || mistakes[wanted].when == CHECKED)
        shmem_finalize();
    return 3; /* gone on */
}

/* ---- all: the sentence of each --------------------------------------------------------------- */

static int failures;

static bool matches(const char *sentence, const char *pattern)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        return false;
    bool found = regexec(&regex, sentence, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static void expect(bool right, int wanted, int me, const char *what)
{
    if (right)
        return;
    failures++;
    fprintf(stderr, "PE %d: case %d (%s, %s): %s: '%s', expected %s '%s'\n", me, wanted,
            mistakes[wanted].api, mistakes[wanted].kind, what, nvs_last_error(),
            nvs_strerror(mistakes[wanted].status), mistakes[wanted].regex);
}

static void try_one(int wanted, int me, bool launched)
{
    const struct mistake *mistake = &mistakes[wanted];
    char front[32] = "";
    make(wanted);
    int status = nvshmemx_error_check();
    const char *sentence = nvs_last_error();
    if (launched || mistake->when == DURING || mistake->when == CHECKED)
        snprintf(front, sizeof front, "PE %d: ", me);
    expect(status == mistake->status, wanted, me, nvs_strerror(status));
    expect(!strncmp(sentence, front, strlen(front)), wanted, me, "its PE");
    if (!strncmp(sentence, "PE ", 3) && strchr(sentence, ':'))
        sentence = strchr(sentence, ':') + 2;
    expect(matches(sentence, mistake->regex), wanted, me, "its words");
    expect(nvshmemx_error_check() == 0, wanted, me, "a second error");
}

static void try_all(enum when when, int me, int npes, bool launched)
{
    for (int i = 0; i < NUM_MISTAKES; i++)
        if (mistakes[i].when == when && (strcmp(mistakes[i].how, "PAIR") || npes > 1))
            try_one(i, me, launched);
}

static int all(void)
{
    const char *pe = getenv("NVS_JOB_PE");
    plain = fixed;
    try_all(BEFORE, pe ? atoi(pe) : 0, 1, pe != NULL);
    begin();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    try_all(DURING, me, npes, pe != NULL);
    if (getenv("NVS_CHECK"))
        try_all(CHECKED, me, npes, pe != NULL);
    /* After all of that the library works on. */
    heap[0] = me;
    shmem_barrier_all();
    if (shmem_long_g(heap, (me + 1) % npes) != (me + 1) % npes || nvshmemx_error_check())
        failures++;
    shmem_finalize();
    try_all(AFTER, me, npes, true);
    return failures != 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void list(void)
{
    for (int i = 0; i < NUM_MISTAKES; i++)
        printf("%d\t%s\t%d\t%s\t%s\n", i, mistakes[i].how, mistakes[i].when == CHECKED,
               nvs_strerror(mistakes[i].status), mistakes[i].regex);
}

static int count(const char *api, const char *kind)
{
    int found = 0;
    for (int i = 0; i < NUM_MISTAKES; i++)
        found += !strcmp(mistakes[i].api, api) && !strcmp(mistakes[i].kind, kind);
    return found;
}

static void table(void)
{
    static const char *const apis[] = {
        "put", "get",   "strided", "atomic", "signal",  "wait", "waits", "collective",
        "old", "order", "memory",  "team",   "context", "lock", "query", "start"};
    static const char *const kinds[] = {"state",     "pe",     "address", "range",    "overflow",
                                        "alignment", "null",   "value",   "handle",   "overlap",
                                        "foreign",   "inside", "twice",   "mismatch", "object",
                                        "thread",    "limit"};
    printf("%-10s", "");
    for (size_t a = 0; a < sizeof apis / sizeof *apis; a++)
        printf(" %.7s", apis[a]);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        printf("\n%-10s", kinds[k]);
        for (size_t a = 0; a < sizeof apis / sizeof *apis; a++) {
            int width = (int)strlen(apis[a]) < 7 ? (int)strlen(apis[a]) : 7;
            int found = count(apis[a], kinds[k]);
            if (found)
                printf(" %*d", width, found);
            else
                printf(" %*s", width, ".");
        }
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return all();
    if (!strcmp(argv[1], "--list"))
        list();
    else if (!strcmp(argv[1], "--table"))
        table();
    else
        return one(atoi(argv[1]));
    return 0;
}
