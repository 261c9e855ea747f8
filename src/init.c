/*
 * init.c - joining and leaving the job.
 *
 * Order of a start: configuration; the job and this PE's place in it; the predefined teams (they
 * need only the control area); agreement on the heap's size and on the static data; mapping of all
 * windows; the heap's allocator; the transport. From the teams on, PEs talk to each other by the
 * same collectives as ever.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/boot.h"
#include "boot/crash.h"
#include "coll/fold.h"
#include "fast.h"
#include "gpu/gpu.h"
#include "memory.h"
#include "stream/stream.h"
#include "transport/transport.h"
#include "util/copy.h"
#include "wait.h"
#include "windows.h"

static struct nvsi_flight no_flight;

struct nvsi_state nvsi = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .flight = &no_flight, .config = {.log = NVSI_LOG_WARN}};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* ---- configuration -------------------------------------------------------------------------- */

static void warn_sentence(const char *sentence, void *arg)
{
    (void)arg;
    nvsi_log(NVSI_LOG_WARN, "%s", sentence);
}

static void note_sentence(const char *sentence, void *arg)
{
    (void)arg;
    nvsi_log(NVSI_LOG_INFO, "%s", sentence);
}

static int load_config(void)
{
    char message[512];
    if (nvsi_config_load(&nvsi.config, message, sizeof message))
        return nvsi_error(NVS_ERR_INVALID, "init: %s", message);
    static const char *const isas[] = {NULL, "generic", "avx2", "avx512", "neon"};
    nvsi_copy_setup();
    nvsi_fold_setup();
    if (nvsi.config.isa != NVSI_ISA_AUTO && nvsi_fold_select(isas[nvsi.config.isa]))
        return nvsi_error(NVS_ERR_UNSUPPORTED,
                          "init: NVS_ISA is %s, which this CPU has not got: nvs-info "
                          "says which it has",
                          isas[nvsi.config.isa]);
    return 0;
}

/* ---- peers ---------------------------------------------------------------------------------- */

static int open_peers(int npes)
{
    nvsi.peers = calloc((size_t)npes, sizeof *nvsi.peers);
    if (!nvsi.peers)
        return nvsi_error(NVS_ERR_MEMORY, "init: no memory for %d peers", npes);
    for (int pe = 0; pe < npes; pe++) {
        nvsi.peers[pe].ops = &nvsi_transport_shm;
        nvsi.peers[pe].slot = &nvsi.job->pes[pe];
    }
    nvsi.npes = npes;
    nvsi.transport = &nvsi_transport_shm;
    nvsi.crowded = (uint32_t)npes > nvsi.job->ncpus;
    nvsi_wait_setup();
    return 0;
}

/* ---- agreement ------------------------------------------------------------------------------ */

/* What every PE says about its memory before windows are mapped. */
struct layout {
    uint64_t heap_bytes, static_bytes, program, chaos_seed;
    uint32_t heap_set; /* by the environment: the others must have the same size */
    uint32_t epoch;    /* that the heap has reached in this PE's place */
    int64_t status;
};

static int gather(const void *mine, size_t nbytes, void *all)
{
    return nvsi_gather("init", nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_INIT, mine, nbytes, all);
}

/* What PE pe says about its own start. */
static int start_failed(size_t pe, int64_t status)
{
    if (status && (int)pe != nvsi.me)
        return nvsi_error((int)status, "init: PE %zu failed to start", pe);
    return (int)status;
}

/* Everybody learns everybody's layout; the outcome is the same everywhere. */
static int agree_on_layout(struct layout *mine)
{
    size_t npes = (size_t)nvsi.npes;
    struct layout *all = calloc(npes, sizeof *all);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "init: no memory");
    int status = gather(mine, sizeof *mine, all);
    for (size_t pe = 0; !status && pe < npes; pe++) {
        status = start_failed(pe, all[pe].status);
        if (!status && all[pe].heap_bytes != all[0].heap_bytes &&
            (all[pe].heap_set || all[0].heap_set))
            status = nvsi_error(NVS_ERR_MISMATCH,
                                "init: the heap of PE %zu has %llu bytes, that of PE 0 %llu: set "
                                "the same size for all",
                                pe, (unsigned long long)all[pe].heap_bytes,
                                (unsigned long long)all[0].heap_bytes);
        if (all[pe].heap_bytes < mine->heap_bytes)
            mine->heap_bytes = all[pe].heap_bytes;
        if (all[pe].epoch > mine->epoch)
            mine->epoch = all[pe].epoch;
        if (all[pe].program != all[0].program || all[pe].static_bytes != all[0].static_bytes)
            mine->static_bytes = 0; /* different programs share no variables */
    }
    mine->chaos_seed = all[0].chaos_seed;
    free(all);
    return status;
}

/* The part of the memory that all PEs have to agree on. */
static int open_layout(struct layout *layout, struct nvsi_segment *image)
{
    size_t heap_bytes = 0;
    *image = nvsi_static_segment(&layout->program);
    layout->status = nvsi_windows_reserve(&heap_bytes);
    layout->heap_bytes = heap_bytes;
    layout->heap_set = nvsi.config.heap_size != 0;
    layout->static_bytes = image->size;
    layout->epoch = nvsi_heap_epoch();
    layout->chaos_seed = (uint64_t)nvsi.config.chaos_seed;
    if (!layout->chaos_seed)
        layout->chaos_seed = (uint64_t)getpid();
    int status = agree_on_layout(layout);
    nvsi_flight_enter(NVSI_AT_INIT, -1, -1, 0); /* the exchange has ended its own record */
    image->size = layout->static_bytes;
    nvsi.config.chaos_seed = (long)layout->chaos_seed;
    return status;
}

static int open_transport(void)
{
    if (nvsi.config.transport == NVSI_TRANSPORT_CHAOS)
        nvsi.transport = &nvsi_transport_chaos;
    nvsi.delays = nvsi.transport->quiet != NULL;
    int status = nvsi.transport->open ? nvsi.transport->open() : 0;
    /* What is not mapped takes the slow way, on which check.c looks at it. */
    for (int pe = 0; nvsi.config.check && pe < nvsi.npes; pe++)
        memset(nvsi.peers[pe].seg, 0, sizeof nvsi.peers[pe].seg);
    return status;
}

/* The last step: nobody goes on before all are ready, and all fail if one does. */
static int agree_on_start(int64_t mine)
{
    int64_t *all = calloc((size_t)nvsi.npes, sizeof *all);
    if (!all)
        return nvsi_error(NVS_ERR_MEMORY, "init: no memory");
    int status = gather(&mine, sizeof mine, all);
    for (size_t pe = 0; !status && pe < (size_t)nvsi.npes; pe++)
        status = start_failed(pe, all[pe]);
    free(all);
    return mine ? (int)mine : status;
}

/* ---- start and end -------------------------------------------------------------------------- */

static void close_all(void)
{
    nvsi_gpu_close();
    if (nvsi.transport && nvsi.transport->close)
        nvsi.transport->close();
    nvsi_heap_close();
    nvsi_team_close();
    nvsi_windows_unmap();
    nvsi_ctx_destroy_all(NULL);
    free(nvsi.peers);
    nvsi.peers = NULL;
    nvsi.npes = 0;
}

static void set_state(enum nvsi_pe_state state)
{
    atomic_store(&nvsi.job->pes[nvsi.me].state, state);
}

/* Address space that the memory can never fill is allowed; malloc will say when it is too much. But
 * no call is in the way of static data. */
static void warn_large(void)
{
    uint64_t memory = nvsi_memory_total(), statics = nvsi.seg[NVSI_SEG_STATIC].size;
    const char *name = nvsi.config.set_by[NVSI_CONFIG_heap_size];
    if (name && nvsi.config.heap_size > memory)
        nvsi_log(
            NVSI_LOG_WARN,
            "%s is %llu bytes, but there are only %llu bytes of memory: what does not fit will "
            "be refused when it is allocated",
            name, (unsigned long long)nvsi.config.heap_size, (unsigned long long)memory);
    if (statics > memory / (uint64_t)nvsi.npes)
        nvsi_log(NVSI_LOG_WARN,
                 "static variables of %llu bytes on each of %d PEs are more than the %llu bytes of "
                 "memory: touching all of them would end the job",
                 (unsigned long long)statics, nvsi.npes, (unsigned long long)memory);
}

static void introduce(void)
{
    if (nvsi.me != 0)
        return;
    nvsi_config_warn_unknown(warn_sentence, NULL);
    nvsi_config_note_theirs(note_sentence, NULL);
    if (nvsi.config.print_version)
        fprintf(stderr, "nvs " NVS_VERSION " (OpenSHMEM 1.5, NVSHMEM 3.5 host API)\n");
    if (nvsi.config.print_info)
        nvsi_config_print(stderr, &nvsi.config);
    warn_large();
    if (nvsi_static_refusal())
        nvsi_log(NVSI_LOG_INFO, "static variables are not symmetric: %s", nvsi_static_refusal());
}

/* Peers and teams, then memory, then the transport. */
static int open_all(int npes)
{
    struct layout layout = {0};
    struct nvsi_segment image;
    int status = open_peers(npes);
    if (!status)
        status = nvsi_team_open();
    if (!status)
        status = open_layout(&layout, &image);
    if (status)
        return status;
    NVSI_CRASH_POINT(init_agreed);
    status = nvsi_windows_map(layout.heap_bytes, &image);
    if (!status)
        status = nvsi_heap_open(layout.epoch);
    if (!status)
        status = open_transport();
    NVSI_CRASH_POINT(init_mapped);
    return agree_on_start(status);
}

/* To RUNNING, unless it is that already: by another libnvs in this process, or before an exec. */
static int enter_job(void)
{
    _Atomic uint32_t *state = &nvsi.job->pes[nvsi.me].state;
    uint32_t before = atomic_load(state);
    while (before != NVSI_PE_RUNNING && before != NVSI_PE_DEAD)
        if (atomic_compare_exchange_weak(state, &before, NVSI_PE_RUNNING))
            return 0;
    return nvsi_error(NVS_ERR_LAUNCH,
                      "init: PE %d is in its job already, or lost: is libnvs loaded twice?",
                      nvsi.me);
}

static int start(int thread_level)
{
    int npes, status = load_config();
    if (!status)
        status = nvsi_boot_join(&npes);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_INIT, -1, -1, 0); /* first: the launcher believes a running PE */
    status = enter_job();
    if (status) {
        nvsi_flight_leave();
        return status;
    }
    NVSI_CRASH_POINT(init_running);
    if (!nvsi.job->launched)
        nvsi_static_adopt();
    nvsi_fork_watch();
    nvsi.thread_level = thread_level;
    nvsi_flight_enter(NVSI_AT_INIT, -1, -1, 0);
    status = open_all(npes);
    nvsi_flight_leave();
    if (status) {
        close_all();
        set_state(NVSI_PE_CLAIMED);
        return status;
    }
    nvsi.life = NVSI_INITIALISED;
    nvsi.session++;
    nvsi_gpu_publish_numbers();
    introduce();
    return 0;
}

int nvsi_init(int thread_level, int *provided)
{
    if (nvsi.forked)
        return nvsi_error(NVS_ERR_STATE, "init: a child of fork() is not a PE");
    pthread_mutex_lock(&starting);
    int status = nvsi.init_count > 0 ? 0 : start(thread_level);
    if (!status && thread_level > nvsi.thread_level)
        nvsi.thread_level = thread_level; /* who comes later may need more */
    if (!status)
        nvsi.init_count++;
    if (provided)
        *provided = nvsi.thread_level;
    pthread_mutex_unlock(&starting);
    return status;
}

int nvsi_finalize(const char *fn)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    pthread_mutex_lock(&starting);
    if (--nvsi.init_count > 0) {
        pthread_mutex_unlock(&starting);
        return 0;
    }
    nvsi_stream_settle();
    for (struct nvsi_ctx *ctx = nvsi.contexts; ctx; ctx = ctx->next)
        nvsi_quiet(ctx, fn);
    status = nvsi_barrier(fn, nvsi.teams[NVSI_TEAM_WORLD]);
    nvsi_flight_enter(NVSI_AT_FINALIZE, -1, -1, 0);
    NVSI_CRASH_POINT(finalize_begun);
    close_all();
    nvsi.life = NVSI_AFTER_FINALIZE;
    NVSI_CRASH_POINT(finalize_closed);
    set_state(NVSI_PE_FINALIZED);
    nvsi_flight_leave();
    NVSI_CRASH_POINT(finalize_said);
    pthread_mutex_unlock(&starting);
    return status;
}
