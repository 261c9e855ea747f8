/*
 * error.c - what went wrong, said once by the function that knows, kept for whoever asks.
 *
 * Three readers: nvs_last_error() gives a thread its latest sentence, nvshmemx_error_check() gives
 * the process its oldest unreported status, and the void functions of the standards end the job.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nvs_internal.h"

/* "PE 1: " and the sentence; the first part only if the PE is known. */
static _Thread_local char last_sentence[768];
static _Thread_local size_t last_prefix;

/* The oldest status that nvsi_error_take() has not given away; 0: none. */
static _Atomic int oldest;

int nvsi_error(int status, const char *format, ...)
{
    va_list args;
    last_prefix = nvsi_pe_words(last_sentence, sizeof last_sentence);
    va_start(args, format);
    vsnprintf(last_sentence + last_prefix, sizeof last_sentence - last_prefix, format, args);
    va_end(args);
    int none = 0;
    atomic_compare_exchange_strong(&oldest, &none, status);
    nvsi_log(NVSI_LOG_INFO, "%s", last_sentence + last_prefix);
    return status;
}

const char *nvsi_error_words(void)
{
    return last_sentence + last_prefix;
}

void nvsi_error_repeat(const char *sentence)
{
    last_prefix = nvsi_pe_words(last_sentence, sizeof last_sentence);
    snprintf(last_sentence + last_prefix, sizeof last_sentence - last_prefix, "%s", sentence);
}

int nvsi_error_take(void)
{
    return atomic_exchange(&oldest, 0);
}

const char *nvs_last_error(void)
{
    return last_sentence;
}

const char *nvs_strerror(int status)
{
    static const char *const texts[] = {
        [-NVS_SUCCESS] = "NVS_SUCCESS: no error",
        [-NVS_ERR_INVALID] = "NVS_ERR_INVALID: an argument is outside of what is allowed",
        [-NVS_ERR_STATE] = "NVS_ERR_STATE: called before initialisation or after finalize",
        [-NVS_ERR_MEMORY] = "NVS_ERR_MEMORY: out of memory",
        [-NVS_ERR_SYMMETRIC] = "NVS_ERR_SYMMETRIC: an address is not symmetric",
        [-NVS_ERR_PE_LOST] = "NVS_ERR_PE_LOST: a PE of the team died",
        [-NVS_ERR_TIMEOUT] = "NVS_ERR_TIMEOUT: a wait lasted longer than allowed",
        [-NVS_ERR_MISMATCH] = "NVS_ERR_MISMATCH: PEs disagree about a collective call",
        [-NVS_ERR_SYSTEM] = "NVS_ERR_SYSTEM: the operating system refused",
        [-NVS_ERR_UNSUPPORTED] = "NVS_ERR_UNSUPPORTED: not available here",
        [-NVS_ERR_LAUNCH] = "NVS_ERR_LAUNCH: the launcher and the program do not fit together",
        [-NVS_ERR_LIMIT] = "NVS_ERR_LIMIT: a fixed limit is reached",
    };
    if (status > 0 || status < NVS_ERR_LIMIT)
        return "unknown status";
    return texts[-status];
}

static _Atomic int end_status; /* several threads may end the job at once */

static void end_now(int sig)
{
    (void)sig;
    _exit(end_status);
}

/* What was printed comes first, as with exit(). But another thread may hold the lock of a FILE for
 * ever (it reads from a terminal), so only the standard outputs are flushed before the launcher is
 * told to end everybody, and the others have a second. */
_Noreturn void nvsi_end_job(int status)
{
    end_status = status & 0xff;
    fflush(stdout);
    fflush(stderr);
    if (nvsi.job && !nvsi.forked) { /* a forked child ends alone */
        uint64_t none = 0;
        uint64_t end = UINT64_C(1) << 63 | (uint64_t)(uint32_t)nvsi.me << 32 | (status & 0xff);
        atomic_compare_exchange_strong(&nvsi.job->end, &none, end);
    }
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, end_now);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(1);
    fflush(NULL);
    _exit(end_status);
}

static bool errors_return(void)
{
    if (nvsi.life != NVSI_BEFORE_INIT)
        return nvsi.config.on_error == NVSI_ON_ERROR_RETURN;
    const char *wanted = getenv("NVS_ON_ERROR"); /* the configuration is read by init */
    return wanted && strcasecmp(wanted, "return") == 0;
}

/* Of several whose patience ends at the same time the first speaks and ends the job (overdue.c);
 * the others give it the time to. */
static void let_first_speak(void)
{
    uint64_t first = nvsi.job ? atomic_load(&nvsi.job->timed_out) & 0xffff : 0;
    if (!first || first == nvsi.me + UINT64_C(1))
        return;
    for (int ms = 0; ms < 2000; ms++) {
        if (atomic_load(&nvsi.job->end))
            nvsi_end_job(1);
        usleep(1000);
    }
}

void nvsi_failed(int status)
{
    if (errors_return())
        return;
    if (status == NVS_ERR_TIMEOUT)
        let_first_speak();
    /* A lost PE is the launcher's to report; whoever noticed it only gets out of the way. */
    if (status == NVS_ERR_PE_LOST)
        _exit(1);
    nvsi_log(NVSI_LOG_ERROR, "%s (%.*s)", last_sentence + last_prefix,
             (int)strcspn(nvs_strerror(status), ":"), nvs_strerror(status));
    nvsi_end_job(1);
}

int nvsi_tell(int status)
{
    if (status != NVS_ERR_PE_LOST && !errors_return())
        nvsi_log(NVSI_LOG_WARN, "%s (%.*s)", last_sentence + last_prefix,
                 (int)strcspn(nvs_strerror(status), ":"), nvs_strerror(status));
    return status;
}

int nvsi_not_ready(const char *fn)
{
    if (nvsi.life == NVSI_AFTER_FINALIZE)
        return nvsi_error(NVS_ERR_STATE,
                          "%s: called after finalize: allowed between init and finalize", fn);
    if (nvsi.forked)
        return nvsi_error(NVS_ERR_STATE,
                          "%s: called in a child of fork(), which is not a PE of the job", fn);
    return nvsi_error(NVS_ERR_STATE,
                      "%s: called before initialisation: allowed between init and finalize", fn);
}

int nvsi_check_ctx(const char *fn, const struct nvsi_ctx *ctx)
{
    if (NVSI_LIKELY(!ctx || ctx->team->npes > 0))
        return 0;
    int status = nvsi_ready(fn);
    if (status)
        return status;
    return nvsi_error(NVS_ERR_INVALID, "%s: ctx: context %p was destroyed (on PE %d)", fn,
                      (const void *)ctx, nvsi.me);
}

/* Names the segment that nearly holds sym, for a range that runs over its end. */
static int bad_range(const char *fn, const char *what, const void *sym, size_t nelems,
                     size_t elem_bytes)
{
    static const char *const names[NVSI_NUM_SEGS] = {"symmetric heap", "static data",
                                                     "heap of GPU memory"};
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)sym - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: %s: %zu elements of %zu bytes at %p run past the end of the %s, "
                              "which has %zu bytes from there",
                              fn, what, nelems, elem_bytes, sym, names[s],
                              nvsi.seg[s].size - offset);
    }
    if (!sym)
        return nvsi_error(NVS_ERR_SYMMETRIC, "%s: %s is NULL: allowed is symmetric memory", fn,
                          what);
    return nvsi_error(NVS_ERR_SYMMETRIC,
                      "%s: %s: address %p is not symmetric: allowed is memory of shmem_malloc, "
                      "nvshmem_malloc or nvs_malloc%s",
                      fn, what, sym,
                      nvsi.seg[NVSI_SEG_STATIC].size
                          ? ", and global or static variables of the executable"
                          : " (static variables are not symmetric in this process)");
}

int nvsi_bad_access(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                    size_t nelems, size_t elem_bytes, int pe)
{
    int status = nvsi_ready(fn);
    if (!status && ctx)
        status = nvsi_check_ctx(fn, ctx);
    if (status)
        return status;
    int npes = ctx ? ctx->team->npes : nvsi.npes;
    if (pe < 0 || pe >= npes)
        return nvsi_error(NVS_ERR_INVALID, "%s: pe: PE %d does not exist: allowed are 0 to %d%s",
                          fn, pe, npes - 1, ctx ? ", the PEs of the context's team" : "");
    return bad_range(fn, what, sym, nelems, elem_bytes);
}
