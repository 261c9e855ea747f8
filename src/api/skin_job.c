/*
 * skin_job.c - queries, memory, teams and signals, for both standards.
 */
#include "api/skin_job.h"

/* ---- start and queries ----------------------------------------------------------------------- */

int nvsi_skin_init(const char *fn, int requested, int *provided)
{
    int granted;
    if (requested < 0 || requested > 3)
        return nvsi_error(NVS_ERR_INVALID, "%s: thread level %d does not exist: allowed are 0 to 3",
                          fn, requested);
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
    if (!status)
        *provided = nvsi.thread_level;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* NULL is all that the standards' functions can say, so the reason is told here. */
static void *refused(void)
{
    nvsi_log(NVSI_LOG_WARN, "%s", nvs_last_error());
    return NULL;
}

static void *allocate(const char *fn, size_t nbytes, size_t align, int flags)
{
    void *ptr = NULL;
    if (nvsi_ready(fn) || nvsi_heap_malloc(fn, nbytes, align, flags, &ptr))
        return refused();
    return ptr;
}

void *nvsi_skin_malloc(const char *fn, size_t nbytes)
{
    return allocate(fn, nbytes, NVSI_MALLOC_ALIGN, 0);
}

void *nvsi_skin_calloc(const char *fn, size_t count, size_t size)
{
    size_t nbytes;
    if (__builtin_mul_overflow(count, size, &nbytes)) {
        nvsi_error(NVS_ERR_INVALID, "%s: %zu elements of %zu bytes are more than memory can hold",
                   fn, count, size);
        return refused();
    }
    return allocate(fn, nbytes, NVSI_MALLOC_ALIGN, NVSI_HEAP_ZERO);
}

void *nvsi_skin_align(const char *fn, size_t align, size_t nbytes)
{
    /* The standard also wants a multiple of sizeof(void *), but programs exist that do not care. */
    if (!align || (align & (align - 1))) {
        nvsi_error(NVS_ERR_INVALID, "%s: alignment %zu: allowed are powers of two", fn, align);
        return refused();
    }
    return allocate(fn, nbytes, align, 0);
}

void *nvsi_skin_realloc(const char *fn, void *ptr, size_t nbytes)
{
    void *new_ptr = NULL;
    if (nvsi_ready(fn) || nvsi_heap_realloc(fn, ptr, nbytes, &new_ptr))
        return refused();
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

int nvsi_skin_team_my_pe(int32_t handle)
{
    const struct nvsi_team *team = nvsi_team_get(handle);
    return team ? team->team_pe : -1;
}

int nvsi_skin_team_n_pes(int32_t handle)
{
    const struct nvsi_team *team = nvsi_team_get(handle);
    return team ? team->npes : -1;
}

static int no_room(const char *fn)
{
    return nvsi_error(NVS_ERR_INVALID, "%s: the pointer to the result is NULL", fn);
}

int nvsi_skin_split_strided(const char *fn, int32_t parent, int start, int stride, int size,
                            int num_contexts, int32_t *handle)
{
    if (!handle)
        return no_room(fn);
    *handle = NVSI_TEAM_INVALID;
    if (parent == NVSI_TEAM_INVALID)
        return NVS_ERR_INVALID;
    return nvsi_team_split_strided(fn, parent, start, stride, size, num_contexts, handle);
}

int nvsi_skin_split_2d(const char *fn, int32_t parent, int xrange, const int num_contexts[2],
                       int32_t *x_handle, int32_t *y_handle)
{
    if (!x_handle || !y_handle)
        return no_room(fn);
    *x_handle = *y_handle = NVSI_TEAM_INVALID;
    if (parent == NVSI_TEAM_INVALID)
        return NVS_ERR_INVALID;
    return nvsi_team_split_2d(fn, parent, xrange, num_contexts, x_handle, y_handle);
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

uint64_t nvsi_skin_signal_wait(const char *fn, const volatile uint64_t *sig, int cmp,
                               uint64_t value)
{
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
