/*
 * pe.c - plays a PE for the tests of nvsrun, with nothing but the launch protocol (boot/job.h): the
 * tests of the launcher must not depend on the library.
 *
 * Usage: pe [PE:]action ...   in this order; those of another PE are skipped.
 *   claim, init, finalize   what the library does to the slot
 *   in=OP, after=OP         flight record: busy in OP, or computing after it
 *   exit=N, kill=SIGNAL, global_exit=N, stop
 *   sleep=SECONDS, failure  (waits until the failure word is set and prints it)
 *   print=TEXT, flood=LINES, cat, cpus
 *   ignore=SIGNAL, catch=SIGNAL   (prints "caught N" and goes on)
 */
#define _GNU_SOURCE
#include "boot/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct nvsi_job *job;
static struct nvsi_pe_slot *slot;
static int me, npes;

static int env_int(const char *name)
{
    const char *text = getenv(name);
    if (!text) {
        fprintf(stderr, "pe: %s is not set\n", name);
        exit(99);
    }
    return atoi(text);
}

static void job_open(void)
{
    me = env_int(NVSI_ENV_PE);
    npes = env_int(NVSI_ENV_NPES);
    job = mmap(NULL, nvsi_job_channels((uint32_t)npes), PROT_READ | PROT_WRITE, MAP_SHARED,
               env_int(NVSI_ENV_FD), 0);
    if (job == MAP_FAILED || job->magic != NVSI_JOB_MAGIC || job->npes != (uint32_t)npes ||
        !job->launched) {
        fprintf(stderr, "pe: no arena in " NVSI_ENV_FD "\n");
        exit(98);
    }
    slot = &job->pes[me];
}

/* Writes the first and the last byte of the last window: the file is as large as the layout says.
 */
static void window_touch(void)
{
    uint64_t end = nvsi_job_window(job, (uint32_t)npes);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, env_int(NVSI_ENV_FD),
                      (off_t)(end - 4096));
    if (page == MAP_FAILED)
        exit(97);
    page[0] = page[4095] = 1;
    munmap(page, 4096);
}

static void claim(void)
{
    uint32_t free_state = NVSI_PE_FREE;
    if (!atomic_compare_exchange_strong(&slot->state, &free_state, NVSI_PE_CLAIMED))
        exit(96);
    atomic_store(&slot->pid, getpid());
    window_touch();
}

static void init(void)
{
    if (atomic_load(&slot->state) == NVSI_PE_FREE)
        claim();
    atomic_store(&slot->state, NVSI_PE_RUNNING);
}

static void flight_set(const char *name, uint32_t busy)
{
    uint32_t op = 0;
    while (op < NVSI_NUM_FLIGHTS && strcmp(nvsi_flight_name(op), name) != 0)
        op++;
    slot->flight.op = op;
    slot->flight.busy = busy;
    if (op == NVSI_AT_ALL_REDUCE) {
        slot->flight.team = 0;
        slot->flight.seq = 7;
        slot->flight.dtype = 7; /* float32 */
        slot->flight.nelems = 100;
        slot->flight.nbytes = 400;
    }
}

static void sleep_seconds(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
        ;
}

static void global_exit(int status)
{
    uint64_t none = 0, end = (UINT64_C(1) << 63) | (uint64_t)me << 32 | ((unsigned)status & 0xff);
    atomic_compare_exchange_strong(&job->end, &none, end);
    exit(status);
}

static void failure_wait(void)
{
    while (!atomic_load(&job->failure))
        sleep_seconds(0.005);
    printf("PE %d saw %" PRIx64 "\n", me, atomic_load(&job->failure));
}

/* Lines of many lengths, so that reads and writes cut them everywhere. */
static void flood(long nlines)
{
    static char text[5001];
    memset(text, 'a' + me % 26, sizeof(text) - 1);
    for (long i = 0; i < nlines; i++)
        printf("%ld %.*s.\n", i, (int)(i * 37 % 5000), text);
}

static void cat(void)
{
    int c;
    while ((c = getchar()) != EOF)
        putchar(c);
}

static void cpus_print(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    printf("PE %d:", me);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            printf(" %d", cpu);
    printf("\n");
}

static void caught(int sig)
{
    char text[] = "caught 00\n";
    text[7] = (char)('0' + sig / 10);
    text[8] = (char)('0' + sig % 10);
    if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
        _exit(95);
}

struct action {
    const char *name;
    void (*plain)(void);
    void (*with_number)(int number);
    void (*with_text)(const char *text);
};

static void finalize(void)
{
    atomic_store(&slot->state, NVSI_PE_FINALIZED);
}
static void stop(void)
{
    raise(SIGSTOP);
}
static void exit_with(int status)
{
    exit(status);
}
static void kill_by(int sig)
{
    kill(getpid(), sig);
}
static void ignore(int sig)
{
    signal(sig, SIG_IGN);
}
static void catch_signal(int sig)
{
    signal(sig, caught);
}
static void in(const char *name)
{
    flight_set(name, 1);
}
static void after(const char *name)
{
    flight_set(name, 0);
}
static void print(const char *text)
{
    printf("%s\n", text);
}
static void flood_lines(int nlines)
{
    flood(nlines);
}
static void sleep_text(const char *text)
{
    sleep_seconds(atof(text));
}

static const struct action actions[] = {
    {"claim", claim, NULL, NULL},
    {"init", init, NULL, NULL},
    {"finalize", finalize, NULL, NULL},
    {"in", NULL, NULL, in},
    {"after", NULL, NULL, after},
    {"exit", NULL, exit_with, NULL},
    {"kill", NULL, kill_by, NULL},
    {"global_exit", NULL, global_exit, NULL},
    {"stop", stop, NULL, NULL},
    {"sleep", NULL, NULL, sleep_text},
    {"failure", failure_wait, NULL, NULL},
    {"print", NULL, NULL, print},
    {"flood", NULL, flood_lines, NULL},
    {"cat", cat, NULL, NULL},
    {"cpus", cpus_print, NULL, NULL},
    {"ignore", NULL, ignore, NULL},
    {"catch", NULL, catch_signal, NULL},
};

static void perform(const char *word)
{
    size_t length = strcspn(word, "=");
    const char *argument = word[length] ? word + length + 1 : "";
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        const struct action *action = &actions[i];
        if (strlen(action->name) != length || strncmp(word, action->name, length) != 0)
            continue;
        if (action->plain)
            action->plain();
        else if (action->with_number)
            action->with_number(atoi(argument));
        else
            action->with_text(argument);
        fflush(stdout);
        return;
    }
    if (strncmp(word, "marker", 6) != 0) {
        fprintf(stderr, "pe: no action %s\n", word);
        exit(94);
    }
}

int main(int argc, char **argv)
{
    job_open();
    for (int i = 1; i < argc; i++) {
        char *end;
        long pe = strtol(argv[i], &end, 10);
        if (end == argv[i])
            perform(argv[i]);
        else if (*end == ':' && pe == me)
            perform(end + 1);
    }
    return 0;
}
