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

static _Thread_local char last_sentence[512];

/* The oldest status that nvsi_error_take() has not given away; 0: none. */
static _Atomic int oldest;

int nvsi_error(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_sentence, sizeof last_sentence, format, args);
    va_end(args);
    int none = 0;
    atomic_compare_exchange_strong(&oldest, &none, status);
    nvsi_log(NVSI_LOG_INFO, "%s", last_sentence);
    return status;
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

static int end_status;

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

void nvsi_failed(int status)
{
    if (errors_return())
        return;
    /* A lost PE is the launcher's to report; whoever noticed it only gets out of the way. */
    if (status == NVS_ERR_PE_LOST)
        _exit(1);
    nvsi_log(NVSI_LOG_ERROR, "%s (%.*s)", last_sentence, (int)strcspn(nvs_strerror(status), ":"),
             nvs_strerror(status));
    nvsi_end_job(1);
}

int nvsi_ready(const char *fn)
{
    if (NVSI_LIKELY(nvsi.npes > 0))
        return 0;
    if (nvsi.life == NVSI_AFTER_FINALIZE)
        return nvsi_error(NVS_ERR_STATE, "%s: called after finalize", fn);
    return nvsi_error(NVS_ERR_STATE, "%s: called before initialisation", fn);
}

/* Names the segment that nearly holds sym, for a range that runs over its end. */
static int bad_range(const char *fn, const void *sym, size_t nelems, size_t elem_bytes)
{
    static const char *const names[NVSI_NUM_SEGS] = {"symmetric heap", "static data"};
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)sym - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: %zu elements of %zu bytes at %p run past the end of the %s, "
                              "which has %zu bytes from there",
                              fn, nelems, elem_bytes, sym, names[s], nvsi.seg[s].size - offset);
    }
    return nvsi_error(NVS_ERR_SYMMETRIC,
                      "%s: address %p is not symmetric: allowed is memory of shmem_malloc, "
                      "nvshmem_malloc or nvs_malloc%s",
                      fn, sym,
                      nvsi.seg[NVSI_SEG_STATIC].size
                          ? ", and global or static variables of the executable"
                          : " (static variables are not symmetric in this process)");
}

int nvsi_bad_access(const char *fn, const void *sym, size_t nelems, size_t elem_bytes, int pe)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (pe < 0 || pe >= nvsi.npes)
        return nvsi_error(NVS_ERR_INVALID, "%s: PE %d does not exist: allowed are 0 to %d", fn, pe,
                          nvsi.npes - 1);
    return bad_range(fn, sym, nelems, elem_bytes);
}
