/*
 * watchdog.c - the thread that looks after kernels: what they report, how long they wait, and
 * whether it is still worth waiting.
 *
 * A kernel cannot know whether a slow peer is dead, stopped in a debugger, or merely sharing its
 * GPU; time is judged here. Ten times a second this thread reads the page that it shares with the
 * kernels of this PE:
 *
 *   report   a kernel was called wrongly: said at once, and treated like the error of a void
 *            function (NVS_ON_ERROR)
 *   waits    a wait that lasts longer than NVS_WARN_AFTER is told with the table of all PEs; one
 * that lasts longer than NVS_TIMEOUT ends
 *
 * When a PE is lost or time is over it sets page->give_up, upon which all waits in kernels return,
 * and withdraws the state, so that kernels which start later, and graphs that are replayed, do
 * nothing. Host calls on device memory return the error from then on, until finalize.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "boot/table.h"
#include "gpu/gpu.h"
#include "util/clock.h"
#include "util/thread.h"
#include "wait.h"

/* Between two looks. After a gap like PAUSE_MS this process was stopped, which does not count. */
enum { LOOK_MS = 100, PAUSE_MS = 2000 };

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop;
    int64_t looked_ms;
    struct nvsi_seen_wait seen[NVSI_DEV_WAITS];
    _Atomic int broken; /* the status of all later calls */
    char sentence[512]; /* why; written before broken */
} dog = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- words ---------------------------------------------------------------------------------- */

static void team_words(int32_t handle, struct nvsi_text *text)
{
    struct nvsi_team *team = nvsi_team_get(handle);
    if (team)
        nvsi_team_name(nvsi.job, team->slot, text);
    else
        nvsi_text_add(text, "a team");
}

/* "in a kernel for PE 3, in a barrier of the world team", "in nvshmemx_quiet_on_stream on a stream"
 */
static void wait_words(const char *fn, const struct nvsi_dev_wait *wait, const char *than,
                       char *words, size_t size)
{
    struct nvsi_text text = {.at = words, .left = size};
    if (fn)
        nvsi_text_add(&text, "in %s on a stream", fn);
    else
        nvsi_text_add(&text, "in a kernel");
    if (wait->pe >= 0)
        nvsi_text_add(&text, " for PE %d", wait->pe);
    if (wait->kind == NVSI_DEV_WAIT_WORD) {
        nvsi_text_add(&text, ", until the word at %#llx is %s%lld (it is %lld)",
                      (unsigned long long)wait->address, than ? than : "", (long long)wait->wanted,
                      (long long)wait->seen);
        return;
    }
    nvsi_text_add(&text, !fn && wait->kind == NVSI_DEV_WAIT_BARRIER ? ", in a barrier of "
                                                                    : ", in a collective of ");
    team_words(wait->team, &text);
}

static int report_words(const struct nvsi_dev_report *report, char *words, size_t size)
{
    struct nvsi_text text = {.at = words, .left = size};
    nvsi_text_add(&text, "%.*s in a kernel: ", (int)sizeof report->what, report->what);
    switch (report->code) {
    case NVSI_DEV_BAD_PE:
        nvsi_text_add(&text, "PE %d does not exist: allowed are 0 to %d", report->pe,
                      nvsi.npes - 1);
        return NVS_ERR_INVALID;
    case NVSI_DEV_BAD_ADDRESS:
        nvsi_text_add(&text, "%#llx is not an address of symmetric memory that the GPU reaches",
                      (unsigned long long)report->value);
        return NVS_ERR_SYMMETRIC;
    case NVSI_DEV_BAD_TEAM:
        nvsi_text_add(&text, "%d is not a team of this PE", report->team);
        return NVS_ERR_INVALID;
    case NVSI_DEV_UNREACHABLE:
        nvsi_text_add(&text,
                      "this GPU cannot address the memory of PE %d: use host calls, or "
                      "calls on streams",
                      report->pe);
        return NVS_ERR_UNSUPPORTED;
    case NVSI_DEV_GAVE_UP:
        nvsi_text_add(&text, "gave up");
        return NVS_ERR_TIMEOUT;
    default:
        nvsi_text_add(&text, "an argument is not allowed (value %llu)",
                      (unsigned long long)report->value);
        return NVS_ERR_INVALID;
    }
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* From now on kernels do nothing and host calls return this error. */
void nvsi_gpu_break_off(int status, const char *sentence)
{
    if (atomic_load(&dog.broken))
        return;
    pthread_mutex_lock(&dog.lock);
    snprintf(dog.sentence, sizeof dog.sentence, "%s", sentence);
    pthread_mutex_unlock(&dog.lock);
    atomic_store(&dog.broken, status);
    __atomic_store_n(&nvsi_gpu.page->give_up, 1, __ATOMIC_RELEASE);
    nvsi_gpu.state.npes = 0;
    CUcontext before;
    if (nvsi_gpu_enter("watchdog", &before) == 0) {
        (void)nvsi_gpu_publish("watchdog");
        nvsi_gpu_leave(before);
    }
}

static void look_at_losses(void)
{
    uint64_t failure = atomic_load(&nvsi.job->failure);
    if (!failure || atomic_load(&dog.broken))
        return;
    char sentence[128];
    snprintf(sentence, sizeof sentence, "PE %d was lost", (int)(failure & UINT32_MAX) - 1);
    nvsi_gpu_break_off(NVS_ERR_PE_LOST, sentence);
}

static void look_at_disagreements(void)
{
    char sentence[400];
    if (atomic_load(&dog.broken) || !nvsi_gpu_disagreement(sentence, sizeof sentence))
        return;
    nvsi_gpu_break_off(NVS_ERR_MISMATCH, sentence);
    nvsi_failed(nvsi_error(NVS_ERR_MISMATCH, "%s", sentence));
}

static void look_at_report(void)
{
    struct nvsi_dev_report *report = &nvsi_gpu.page->report;
    if (!__atomic_load_n(&report->ready, __ATOMIC_ACQUIRE))
        return;
    if (report->code == NVSI_DEV_EXIT)
        nvsi_end_job((int)report->value);
    char words[400];
    int status = report_words(report, words, sizeof words);
    bool consequence = report->code == NVSI_DEV_GAVE_UP;
    report->ready = 0;
    __atomic_store_n(&report->code, 0, __ATOMIC_RELEASE);
    if (!consequence) /* the cause has been said already */
        nvsi_failed(nvsi_error(status, "%s", words));
}

/* ---- long waits ------------------------------------------------------------------------------ */

static void time_is_over(const char *fn, const struct nvsi_dev_wait *wait, const char *than,
                         int64_t waited)
{
    char where[256], sentence[400];
    wait_words(fn, wait, than, where, sizeof where);
    snprintf(sentence, sizeof sentence, "waited %lld ms, the limit of NVS_TIMEOUT, %s",
             (long long)waited, where);
    nvsi_overdue_over(where, waited);
    nvsi_gpu_break_off(NVS_ERR_TIMEOUT, sentence);
    nvsi_failed(nvsi_error(NVS_ERR_TIMEOUT, "%s", sentence));
}

void nvsi_gpu_look_at_wait(const char *fn, const struct nvsi_dev_wait *wait,
                           struct nvsi_seen_wait *seen, int64_t now, int64_t gap)
{
    if (!__atomic_load_n(&wait->busy, __ATOMIC_ACQUIRE)) {
        seen->since_ms = 0;
        return;
    }
    if (!seen->since_ms || seen->address != wait->address || seen->wanted != wait->wanted) {
        *seen = (struct nvsi_seen_wait){.address = wait->address,
                                        .wanted = wait->wanted,
                                        .since_ms = now,
                                        .warn_ms = nvsi.config.warn_after_ms,
                                        .than = seen->than};
        return;
    }
    seen->since_ms += gap < PAUSE_MS ? 0 : gap;
    int64_t waited = now - seen->since_ms;
    if (nvsi.config.timeout_ms && waited >= nvsi.config.timeout_ms && !atomic_load(&dog.broken)) {
        time_is_over(fn, wait, seen->than, waited);
    } else if (nvsi.config.warn_after_ms && waited >= seen->warn_ms) {
        char where[256];
        wait_words(fn, wait, seen->than, where, sizeof where);
        nvsi_overdue_warn(where, waited, seen->warn_ms);
        seen->warn_ms *= 2;
    }
}

static void look(void)
{
    int64_t now = nvsi_now_ms(), gap = now - dog.looked_ms;
    dog.looked_ms = now;
    look_at_losses();
    look_at_disagreements();
    look_at_report();
    for (int i = 0; i < NVSI_DEV_WAITS; i++)
        nvsi_gpu_look_at_wait(NULL, &nvsi_gpu.page->waits[i], &dog.seen[i], now, gap);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *watch(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&dog.lock);
    while (!dog.stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&dog.wake, &dog.lock, &until) == 0)
            continue;
        pthread_mutex_unlock(&dog.lock);
        look();
        pthread_mutex_lock(&dog.lock);
    }
    pthread_mutex_unlock(&dog.lock);
    return NULL;
}

int nvsi_gpu_watch(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&dog.wake, &clock);
    pthread_condattr_destroy(&clock);
    memset(dog.seen, 0, sizeof dog.seen);
    dog.stop = false;
    dog.looked_ms = nvsi_now_ms();
    atomic_store(&dog.broken, 0);
    int error = nvsi_thread_start(&dog.thread, watch, NULL);
    if (error)
        return nvsi_error(NVS_ERR_SYSTEM, "init: cannot start the thread that watches kernels: %s",
                          strerror(error));
    dog.running = true;
    return 0;
}

void nvsi_gpu_unwatch(void)
{
    if (!dog.running)
        return;
    pthread_mutex_lock(&dog.lock);
    dog.stop = true;
    pthread_cond_signal(&dog.wake);
    pthread_mutex_unlock(&dog.lock);
    pthread_join(dog.thread, NULL);
    dog.running = false;
    look(); /* what the last kernels had to say */
    pthread_cond_destroy(&dog.wake);
}

int nvsi_gpu_reported(const char *fn)
{
    int status = atomic_load(&dog.broken);
    if (NVSI_LIKELY(!status))
        return 0;
    return nvsi_error(status, "%s: this PE's GPU takes part in nothing any more: %s", fn,
                      dog.sentence);
}
