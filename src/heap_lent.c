/*
 * heap_lent.c - memory of the caller as symmetric memory.
 *
 * A range that the caller lends gets a place in the heap of GPU memory, as an allocation of its
 * size does, by the same agreement; only the memory of that place is the caller's (gpu/lent.c), of
 * each PE its own. So everything that takes symmetric addresses takes these, and the caller's own
 * address stays what it was. Taking it back is like free: local, and the place is used again when
 * all PEs have.
 */
#include <stdlib.h>

#include "gpu/lent.h"
#include "heap.h"
#include "wait.h"

struct loan {
    char *buf, *ptr, *object; /* of the caller, as symmetric memory, where its place begins */
    size_t nbytes;
    struct loan *next;
};

static struct {
    pthread_mutex_t lock; /* of the list */
    struct loan *first;
    /* of the registration that runs now */
    struct nvsi_lent lent;
    struct nvsi_lent_shape *shapes;
} loans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what heap.c asks while it allocates -------------------------------------------------------
 */

uint64_t nvsi_heap_lent_extra(uint64_t *lead)
{
    for (int pe = 0; pe < nvsi.npes; pe++) {
        const struct nvsi_heap_request *request = &nvsi_allocations.requests[pe];
        loans.shapes[pe] = (struct nvsi_lent_shape){
            .lead = request->lead, .tail = request->tail, .npieces = request->npieces};
    }
    *lead = nvsi_lent_lead(loans.shapes);
    return *lead + nvsi_lent_tail(loans.shapes);
}

int nvsi_heap_lent_commit(const char *fn, uint64_t offset, uint64_t nbytes)
{
    uint64_t at = NVSI_DEV_CHANNELS * NVSI_DEV_CHANNEL_BYTES + offset;
    uint64_t lead = nvsi_lent_lead(loans.shapes);
    CUcontext before;
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    status = nvsi_window_adopt(fn, at + lead, nbytes, &loans.lent, loans.shapes);
    nvsi_gpu_leave(before);
    if (!status)
        nvsi_window_need(at, lead + nbytes + nvsi_lent_tail(loans.shapes));
    return status;
}

/* ---- the list ----------------------------------------------------------------------------------
 */

/* Memory must not be lent twice: then two symmetric addresses would name the same bytes. */
static int check_apart(const char *fn, const char *buf, size_t nbytes)
{
    int status = 0;
    pthread_mutex_lock(&loans.lock);
    for (const struct loan *loan = loans.first; loan && !status; loan = loan->next)
        if (buf < loan->buf + loan->nbytes && loan->buf < buf + nbytes)
            status = nvsi_error(
                NVS_ERR_INVALID,
                "%s: %zu bytes at buf %p overlap the %zu bytes at %p that are registered already",
                fn, nbytes, (const void *)buf, loan->nbytes, (void *)loan->buf);
    pthread_mutex_unlock(&loans.lock);
    return status;
}

static void note(struct loan *made)
{
    pthread_mutex_lock(&loans.lock);
    made->next = loans.first;
    loans.first = made;
    pthread_mutex_unlock(&loans.lock);
}

static int not_lent(const char *fn, const void *ptr)
{
    for (const struct loan *loan = loans.first; loan; loan = loan->next)
        if (loan->buf == ptr)
            return nvsi_error(NVS_ERR_INVALID,
                              "%s: ptr %p is the caller's own address of a buffer: pass %p, which "
                              "nvshmemx_buffer_register_symmetric returned",
                              fn, ptr, (void *)loan->ptr);
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: no buffer of PE %d is registered as ptr %p: allowed is what "
                      "nvshmemx_buffer_register_symmetric returned",
                      fn, nvsi.me, ptr);
}

/* Takes the loan of a symmetric address out of the list. */
static int take_out(const char *fn, const void *ptr, size_t nbytes, struct loan **found)
{
    int status = 0;
    pthread_mutex_lock(&loans.lock);
    struct loan **link = &loans.first;
    while (*link && (*link)->ptr != ptr)
        link = &(*link)->next;
    *found = *link;
    if (!*found)
        status = not_lent(fn, ptr);
    else if ((*found)->nbytes != nbytes)
        status =
            nvsi_error(NVS_ERR_INVALID, "%s: size is %zu, but %zu bytes are registered as ptr %p",
                       fn, nbytes, (*found)->nbytes, ptr);
    if (!status && *found)
        *link = (*found)->next;
    pthread_mutex_unlock(&loans.lock);
    return status;
}

bool nvsi_heap_is_lent(const void *ptr)
{
    bool is = false;
    pthread_mutex_lock(&loans.lock);
    for (const struct loan *loan = loans.first; loan; loan = loan->next)
        is |= loan->object == ptr || loan->ptr == ptr;
    pthread_mutex_unlock(&loans.lock);
    return is;
}

/* The windows are gone already, or go with the process. */
void nvsi_heap_lent_close(void)
{
    size_t count = 0;
    while (loans.first) {
        struct loan *loan = loans.first;
        loans.first = loan->next;
        free(loan);
        count++;
    }
    if (count)
        nvsi_log(NVSI_LOG_INFO,
                 "finalize: %zu buffers were still registered as symmetric memory: they are not "
                 "any more",
                 count);
}

/* ---- register and unregister -------------------------------------------------------------------
 */

/* What this PE alone may object to. */
static int prepare(const char *fn, void *buf, size_t nbytes, struct nvsi_heap_request *request)
{
    int status = nvsi_lent_look(fn, buf, nbytes, &loans.lent);
    if (!status)
        status = check_apart(fn, buf, nbytes);
    loans.shapes = calloc((size_t)nvsi.npes, sizeof *loans.shapes);
    if (!status && !loans.shapes)
        status = nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the tables of a buffer", fn);
    request->lead = loans.lent.lead;
    request->tail = loans.lent.tail;
    request->npieces = (uint64_t)loans.lent.npieces;
    return status;
}

static int lend(const char *fn, void *buf, struct nvsi_heap_request *request, void **ptr)
{
    struct loan *made = calloc(1, sizeof *made);
    int status = prepare(fn, buf, request->nbytes, request);
    if (!status && !made)
        status = nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the table of buffers", fn);
    status = nvsi_heap_allocate(request, fn, status, ptr);
    if (!status && made) {
        *made = (struct loan){.buf = buf, .ptr = *ptr, .nbytes = request->nbytes};
        made->object = made->ptr - nvsi_lent_lead(loans.shapes);
        note(made);
    } else {
        free(made);
    }
    nvsi_lent_release(&loans.lent);
    free(loans.shapes);
    loans.shapes = NULL;
    return status;
}

int nvsi_heap_register(const char *fn, void *buf, size_t nbytes, void **ptr)
{
    struct nvsi_heap_request request = {.nbytes = nbytes, .align = 64, .kind = NVSI_HEAP_LENT};
    int number = NVSI_HEAP_DEVICE;
    *ptr = NULL;
    int status = nvsi_ready(fn);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_MALLOC, -1, -1, nbytes);
    status = nvsi_heap_choose(fn, NVSI_HEAP_ON_GPU, &request, &number);
    if (!status) {
        request.heap = (uint32_t)number;
        request.align = nvsi_gpu.granule;
        status = lend(fn, buf, &request, ptr);
    }
    nvsi_heap_leave(fn);
    return status;
}

int nvsi_heap_unregister(const char *fn, void *ptr, size_t nbytes)
{
    struct loan *loan = NULL;
    int status = nvsi_ready(fn);
    if (!status)
        status = take_out(fn, ptr, nbytes, &loan);
    if (status || !loan)
        return status;
    status = nvsi_heap_free_object(fn, loan->object, false);
    free(loan);
    return status;
}
