/*
 * skin_job.c - queries, memory, teams and signals, for both standards.
 */
#include "api/skin_job.h"

#include "api/skin_wait.h"
#include "team.h"
#include "transport/transport.h"

/* ---- start and queries ----------------------------------------------------------------------- */

int nvsi_skin_init(const char *fn, int requested, int *provided)
{
    int granted;
    if (requested < 0 || requested > 3)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: requested: thread level %d does not exist: allowed are 0 to 3", fn,
                          requested);
    int status = nvsi_init(requested, &granted);
    if (!status && provided)
        *provided = granted;
    return status;
}

int nvsi_skin_no_pe(const char *fn)
{
    nvsi_check(nvsi_ready(fn));
    return -1;
}

void nvsi_skin_query_thread(const char *fn, int *provided)
{
    int status = nvsi_ready(fn);
    nvsi_check(status);
    if (!status && nvsi_skin_out(fn, "provided", provided))
        *provided = nvsi.thread_level;
}

/* Says that a query cannot be answered; what it returns says so as well. */
static void tell_unless_ready(const char *fn)
{
    (void)nvsi_skin_told(nvsi_ready(fn));
}

/* Where a PE's copy is mapped. Not over the chaos transport, which would not see what is stored. */
void *nvsi_skin_ptr(const char *fn, const void *sym, int pe)
{
    if (NVSI_UNLIKELY(nvsi.npes == 0)) {
        tell_unless_ready(fn);
        return NULL;
    }
    if (pe < 0 || pe >= nvsi.npes) {
        (void)nvsi_skin_told(nvsi_error(NVS_ERR_INVALID,
                                        "%s: pe: PE %d does not exist: allowed are 0 to %d", fn, pe,
                                        nvsi.npes - 1));
        return NULL;
    }
    if (nvsi_on_device(sym))
        return nvsi.device->address(sym, pe);
    if (nvsi.transport != &nvsi_transport_shm)
        return nvsi_map(sym, 1, pe);
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)sym - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size && nvsi.peers[pe].mapped[s])
            return nvsi.peers[pe].mapped[s] + offset;
    }
    return NULL;
}

int nvsi_skin_accessible(const char *fn, int pe)
{
    tell_unless_ready(fn);
    return pe >= 0 && pe < nvsi.npes;
}

void nvsi_skin_version(const char *fn, int major, int minor, int *major_out, int *minor_out)
{
    if (!nvsi_skin_out(fn, "major", major_out) || !nvsi_skin_out(fn, "minor", minor_out))
        return;
    *major_out = major;
    *minor_out = minor;
}

void nvsi_skin_name(const char *fn, const char *vendor, char *name)
{
    if (nvsi_skin_out(fn, "name", name))
        memcpy(name, vendor, strlen(vendor) + 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* NULL is all that the standards' functions can say, so the reason is told here. */
static void *allocate(const char *fn, size_t nbytes, size_t align, int flags)
{
    void *ptr = NULL;
    (void)nvsi_skin_told(nvsi_heap_malloc(fn, nbytes, align, flags, &ptr));
    return ptr;
}

void *nvsi_skin_malloc(const char *fn, size_t nbytes, int choice)
{
    return allocate(fn, nbytes, NVSI_MALLOC_ALIGN, choice);
}

void *nvsi_skin_calloc(const char *fn, size_t count, size_t size, int choice)
{
    size_t nbytes;
    int flags = NVSI_HEAP_ZERO | choice;
    if (__builtin_mul_overflow(count, size, &nbytes) && !nvsi_ready(fn)) {
        flags |= NVSI_HEAP_OVERFLOW;
        nvsi_error(NVS_ERR_INVALID, "%s: %zu elements of %zu bytes are more than memory can hold",
                   fn, count, size);
    }
    return allocate(fn, nbytes, NVSI_MALLOC_ALIGN, flags);
}

void *nvsi_skin_align(const char *fn, size_t align, size_t nbytes, int choice)
{
    /* The standard also wants a multiple of sizeof(void *), but programs exist that do not care. */
    return allocate(fn, nbytes, align, choice);
}

void *nvsi_skin_realloc(const char *fn, void *ptr, size_t nbytes)
{
    void *new_ptr = NULL;
    (void)nvsi_skin_told(nvsi_heap_realloc(fn, ptr, nbytes, &new_ptr));
    return new_ptr;
}

void nvsi_skin_free(const char *fn, void *ptr, bool barrier)
{
    if (!ptr)
        return;
    int status = nvsi_ready(fn);
    nvsi_check(status ? status : nvsi_heap_free(fn, ptr, barrier));
}

/* ---- teams ----------------------------------------------------------------------------------- */

/* For a query, TEAM_INVALID is a team like any other, in which this PE is not. */
static const struct nvsi_team *asked_about(const char *fn, int32_t handle)
{
    const struct nvsi_team *team = nvsi_team_get(handle);
    if (NVSI_UNLIKELY(!team && (handle != NVSI_TEAM_INVALID || nvsi.npes == 0)))
        (void)nvsi_skin_told(nvsi_team_bad(fn, handle));
    return team;
}

int nvsi_skin_team_my_pe(const char *fn, int32_t handle)
{
    const struct nvsi_team *team = asked_about(fn, handle);
    return team ? team->team_pe : -1;
}

int nvsi_skin_team_n_pes(const char *fn, int32_t handle)
{
    const struct nvsi_team *team = asked_about(fn, handle);
    return team ? team->npes : -1;
}

int nvsi_skin_translate(const char *fn, int32_t from, int team_pe, int32_t to)
{
    const struct nvsi_team *src = asked_about(fn, from), *dst = asked_about(fn, to);
    if (!src || !dst)
        return -1;
    if (team_pe < 0 || team_pe >= src->npes) {
        (void)nvsi_skin_told(
            nvsi_error(NVS_ERR_INVALID,
                       "%s: src_pe: PE %d does not exist in team %d: allowed are 0 "
                       "to %d",
                       fn, team_pe, (int)from, src->npes - 1));
        return -1;
    }
    return nvsi_team_translate(from, team_pe, to);
}

int nvsi_skin_config(const char *fn, const void *config, long mask, long known)
{
    if (mask & ~known)
        return nvsi_error(NVS_ERR_INVALID, "%s: config_mask 0x%lx: allowed are bits of 0x%lx", fn,
                          mask, known);
    if (mask && !config)
        return nvsi_error(NVS_ERR_INVALID, "%s: config is NULL, but config_mask is 0x%lx", fn,
                          mask);
    return 0;
}

static int no_room(const char *fn, const char *what)
{
    return nvsi_error(NVS_ERR_INVALID, "%s: %s is NULL: it must point to a place for the result",
                      fn, what);
}

int nvsi_skin_split_strided(const char *fn, int32_t parent, int start, int stride, int size,
                            int num_contexts, int32_t *handle)
{
    if (!handle)
        return nvsi_skin_told(no_room(fn, "new_team"));
    *handle = NVSI_TEAM_INVALID;
    if (parent == NVSI_TEAM_INVALID && nvsi.npes > 0)
        return NVS_ERR_INVALID;
    return nvsi_skin_told(
        nvsi_team_split_strided(fn, parent, start, stride, size, num_contexts, handle));
}

int nvsi_skin_split_2d(const char *fn, int32_t parent, int xrange, const int num_contexts[2],
                       int32_t *x_handle, int32_t *y_handle)
{
    if (!x_handle || !y_handle)
        return nvsi_skin_told(no_room(fn, x_handle ? "yaxis_team" : "xaxis_team"));
    *x_handle = *y_handle = NVSI_TEAM_INVALID;
    if (parent == NVSI_TEAM_INVALID && nvsi.npes > 0)
        return NVS_ERR_INVALID;
    return nvsi_skin_told(nvsi_team_split_2d(fn, parent, xrange, num_contexts, x_handle, y_handle));
}

void nvsi_skin_team_destroy(const char *fn, int32_t handle)
{
    if (handle != NVSI_TEAM_INVALID)
        nvsi_check(nvsi_team_destroy(fn, handle));
}

int nvsi_skin_team_sync(const char *fn, int32_t handle)
{
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return status ? status : nvsi_sync(fn, team);
}

int nvsi_skin_team_barrier(const char *fn, int32_t handle)
{
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return status ? status : nvsi_barrier(fn, team);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* A signal in GPU memory: the value is that of a copy. */
static uint64_t read_signal(const char *fn, const volatile uint64_t *sig)
{
    uint64_t now = 0;
    nvsi_check(nvsi.device->read(fn, &now, (const void *)sig, sizeof now));
    return now;
}

static uint64_t wait_for_device_signal(const char *fn, const volatile uint64_t *sig, int cmp,
                                       uint64_t value)
{
    for (;;) {
        uint64_t now = read_signal(fn, sig);
        if (nvsi_test(&now, NVSI_WU64, cmp, value))
            return now;
        int status = nvsi_wait_until(fn, (const void *)sig, NVSI_WU64, cmp, value);
        if (status) {
            nvsi_check(status);
            return now;
        }
    }
}

uint64_t nvsi_skin_signal_wait(const char *fn, const volatile uint64_t *sig, int cmp,
                               uint64_t value)
{
    if (!nvsi_skin_words_ok(fn, "sig_addr", sig, 1, sizeof *sig))
        return 0;
    if ((unsigned)cmp > 5) {
        nvsi_skin_bad_cmp(fn, cmp);
        return 0;
    }
    if (nvsi_on_device(sig))
        return wait_for_device_signal(fn, sig, cmp, value);
    for (;;) {
        /* The word may change again after the wait: the value to return is one that was tested. */
        uint64_t now = __atomic_load_n(sig, __ATOMIC_ACQUIRE);
        if (nvsi_test(&now, NVSI_WU64, cmp, value))
            return now;
        int status = nvsi_wait_until(fn, (const void *)sig, NVSI_WU64, cmp, value);
        if (status) {
            nvsi_check(status);
            return now;
        }
    }
}

uint64_t nvsi_skin_signal_fetch(const char *fn, const volatile uint64_t *sig)
{
    if (!nvsi_skin_words_ok(fn, "sig_addr", sig, 1, sizeof *sig))
        return 0;
    if (nvsi_on_device(sig))
        return read_signal(fn, sig);
    return __atomic_load_n(sig, __ATOMIC_ACQUIRE);
}
