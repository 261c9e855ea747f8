/*
 * state.c - the places in device memory that want to know of the job, and writing them.
 *
 * A place is a variable of type struct nvsi_dev_state: of a translation unit that nvcc compiled,
 * which a constructor announces (nvshmem/device/unit.h), or of a module or library that the program
 * loaded and handed to nvshmemx_cumodule_init() or nvshmemx_culibrary_init().
 *
 * Writing goes through a stream of its own, made for it: the default stream would wait for the
 * program's kernels, which may be waiting for this PE, and must not be touched while a blocking
 * stream is being captured. For the same reason this thread's capture mode is relaxed meanwhile.
 *
 * No lock is held while a program's runtime is asked for an address: that may open libraries, and a
 * library that is being opened or closed on another thread is what announces and takes back units.
 * A place that somebody is writing is busy, and whoever takes it back waits for that.
 *
 * The constructor of a unit that was compiled with -rdc may run before the CUDA runtime knows the
 * unit: that learns of all units of a library together, when the last of them has been initialised.
 * Such a place is late, if a library is opened while the GPU is up: it is tried again when the next
 * unit is announced, and by the next host calls that have to do with the GPU.
 */
#include <stdlib.h>

#include "gpu/place.h"
#include "nvshmem/device/unit.h"

/* So often at most a runtime is asked for a unit that it does not know: other threads' calls may
 * ask while a library is being opened. */
enum { LATE_TRIES = 16 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* a place is not busy any more */
    struct nvsi_place *first;
    uint64_t edition; /* of wanted; 0: nobody has wanted anything yet */
    struct nvsi_dev_state wanted;
    uint32_t foreign_version; /* of a unit that this library does not understand */
    atomic_bool late;         /* some place may be */
} places = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

/* ---- all places ------------------------------------------------------------------------------ */

/* One that has not got the latest edition, made busy; waits for busy ones. NULL: none is left. */
static struct nvsi_place *take_one(uint64_t *edition, struct nvsi_dev_state *state)
{
    struct nvsi_place *place;
    pthread_mutex_lock(&places.lock);
    for (;;) {
        bool wait = false;
        for (place = places.first; place; place = place->next) {
            if (place->tried == places.edition)
                continue;
            if (!place->busy)
                break;
            wait = true;
        }
        if (place || !wait)
            break;
        pthread_cond_wait(&places.idle, &places.lock);
    }
    if (place)
        place->busy = true;
    *edition = places.edition;
    *state = places.wanted;
    pthread_mutex_unlock(&places.lock);
    return place;
}

static void put_back(struct nvsi_place *place, uint64_t edition)
{
    pthread_mutex_lock(&places.lock);
    place->tried = edition;
    place->busy = false;
    pthread_cond_broadcast(&places.idle);
    pthread_mutex_unlock(&places.lock);
}

/* All are tried; the first error is returned. */
static int write_all(const char *fn, CUstream stream)
{
    uint64_t edition;
    struct nvsi_dev_state state;
    struct nvsi_place *place;
    int status = 0;
    while ((place = take_one(&edition, &state))) {
        int result = nvsi_place_write(fn, place, &state, stream);
        put_back(place, edition);
        if (!status)
            status = result;
    }
    return status;
}

int nvsi_places_update(const char *fn)
{
    CUstream stream;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    int status = result ? nvsi_cuda_error(fn, result, "make a stream") : write_all(fn, stream);
    if (!result)
        cu.cuStreamDestroy(stream);
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* Those that are late have not got any edition. Whether there are any. */
static bool want_late(void)
{
    bool any = false, busy = false;
    pthread_mutex_lock(&places.lock);
    for (struct nvsi_place *place = places.first; place; place = place->next) {
        busy |= place->busy;
        if (place->busy || !place->late)
            continue;
        place->tried = 0;
        any = true;
    }
    atomic_store(&places.late, any || busy);
    pthread_mutex_unlock(&places.lock);
    return any;
}

void nvsi_gpu_publish_late(void)
{
    if (NVSI_LIKELY(!atomic_load_explicit(&places.late, memory_order_relaxed)) || !want_late())
        return;
    if (nvsi_places_update("dlopen"))
        nvsi_log(NVSI_LOG_WARN,
                 "device code of a library that was just opened does not know the job");
}

static void want(const struct nvsi_dev_state *state)
{
    pthread_mutex_lock(&places.lock);
    places.wanted = *state;
    places.edition++;
    pthread_mutex_unlock(&places.lock);
}

int nvsi_gpu_publish(const char *fn)
{
    CUcontext before;
    uint32_t foreign = places.foreign_version;
    if (foreign)
        return nvsi_error(
            NVS_ERR_MISMATCH,
            "%s: a part of this program was compiled with device headers of version %u, "
            "and this library has version %u: compile it again",
            fn, foreign, NVSI_DEV_VERSION);
    int status = nvsi_gpu_enter(fn, &before);
    if (status)
        return status;
    want(&nvsi_gpu.state);
    status = nvsi_places_update(fn);
    nvsi_gpu_leave(before);
    return status;
}

static bool anybody(void)
{
    pthread_mutex_lock(&places.lock);
    bool any = places.first != NULL;
    pthread_mutex_unlock(&places.lock);
    return any;
}

void nvsi_gpu_publish_numbers(void)
{
    CUcontext context = NULL;
    if (!anybody() || !nvsi_gpu_selected())
        return;
    struct nvsi_dev_state numbers = {.version = NVSI_DEV_VERSION, .me = nvsi.me, .npes = nvsi.npes};
    want(&numbers);
    if (cu.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context)
        (void)nvsi_places_update("init");
}

/* Modules have to be handed over again after the next init: nobody tells when they are unloaded. */
static void forget_modules(void)
{
    pthread_mutex_lock(&places.lock);
    for (struct nvsi_place **link = &places.first; *link;) {
        struct nvsi_place *place = *link;
        if (place->busy) {
            pthread_cond_wait(&places.idle, &places.lock);
            link = &places.first;
            continue;
        }
        place->context = NULL;
        if (place->kind == NVSI_PLACE_UNIT) {
            link = &place->next;
            continue;
        }
        *link = place->next;
        free(place);
    }
    pthread_mutex_unlock(&places.lock);
}

void nvsi_gpu_withdraw(void)
{
    want(&(struct nvsi_dev_state){0});
    (void)nvsi_places_update("finalize");
    forget_modules();
    nvsi_gpu_teams_close();
}

/* ---- coming and going ------------------------------------------------------------------------ */

struct nvsi_place *nvsi_place_new(enum nvsi_place_kind kind, void *key)
{
    struct nvsi_place *place = calloc(1, sizeof *place);
    if (place)
        *place = (struct nvsi_place){.kind = kind, .key = key};
    return place;
}

void nvsi_places_add(struct nvsi_place *place)
{
    pthread_mutex_lock(&places.lock);
    place->next = places.first;
    places.first = place;
    pthread_mutex_unlock(&places.lock);
}

bool nvsi_places_take_back(enum nvsi_place_kind kind, const void *key)
{
    pthread_mutex_lock(&places.lock);
    struct nvsi_place **link = &places.first;
    while (*link && ((*link)->kind != kind || (*link)->key != key || (*link)->busy)) {
        if ((*link)->kind == kind && (*link)->key == key) {
            pthread_cond_wait(&places.idle, &places.lock);
            link = &places.first;
            continue;
        }
        link = &(*link)->next;
    }
    struct nvsi_place *found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&places.lock);
    free(found);
    return found != NULL;
}

/* In a constructor: before init as a rule, but a library may be opened at any time. */
void nvsx_device_register(struct nvsx_device_unit *unit)
{
    if (unit->version != NVSI_DEV_VERSION) {
        places.foreign_version = unit->version;
        return;
    }
    struct nvsi_place *place = nvsi_place_new(NVSI_PLACE_UNIT, unit);
    if (!place)
        return; /* its version stays 0, and device code says so */
    CUcontext before;
    bool up = nvsi_gpu.up;
    place->late = up ? LATE_TRIES : 0;
    nvsi_places_add(place);
    if (!up)
        return;
    atomic_store(&places.late, true);
    if (!nvsi_gpu_enter("dlopen", &before)) /* that is where all late ones are tried */
        nvsi_gpu_leave(before);
}

void nvsx_device_unregister(struct nvsx_device_unit *unit)
{
    if (!nvsi.forked) /* a child of fork() has no GPU, and not the threads that may hold the lock */
        nvsi_places_take_back(NVSI_PLACE_UNIT, unit);
}
