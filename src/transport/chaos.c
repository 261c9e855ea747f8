/*
 * chaos.c - a transport for tests: delays and reorders as much as the standards allow.
 *
 * Puts, non-fetching atomics and non-blocking gets are queued and delivered later by a thread, in
 * random order. What the standards promise still holds: fence keeps earlier operations of its
 * context to one PE before later ones, quiet delivers everything of its context, the signal of a
 * put-with-signal comes after its data, and a non-blocking put reads its source only on delivery. A
 * program that forgets a fence or a quiet sees the wrong order here within a few tries; on plain
 * shared memory it might never. The seed is printed, so that a failure can be run again.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fast.h"
#include "transport/transport.h"
#include "util/thread.h"

enum { MAX_PENDING = 512 };

enum parcel_kind { PARCEL_PUT, PARCEL_GET, PARCEL_AMO, PARCEL_SIGNAL };

struct parcel {
    struct parcel *next;
    enum parcel_kind kind;
    const struct nvsi_ctx *ctx;
    uint64_t epoch; /* fences before it */
    uint64_t due_ns;
    struct nvsi_remote at, sig;
    const void *src; /* where to read a put: its own copy, or the caller's buffer if nbi */
    void *dst;       /* where a get goes */
    size_t nbytes;
    enum nvsi_amo_code code;
    int signal_op;
    uint64_t value;
    char copy[];
};

static struct {
    pthread_mutex_t lock;
    pthread_t courier;
    _Atomic bool stop;
    bool running;
    struct parcel *pending;
    int npending;
    _Atomic uint64_t epoch;
    uint64_t random;
} chaos = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* xorshift64*; called with the lock held. */
static uint64_t draw(uint64_t below)
{
    chaos.random ^= chaos.random >> 12;
    chaos.random ^= chaos.random << 25;
    chaos.random ^= chaos.random >> 27;
    return (chaos.random * UINT64_C(2685821657736338717) >> 11) % below;
}

static void deliver(const struct parcel *parcel)
{
    const struct nvsi_transport *shm = &nvsi_transport_shm;
    switch (parcel->kind) {
    case PARCEL_PUT:
        shm->put(NULL, &parcel->at, parcel->src, parcel->nbytes, false);
        break;
    case PARCEL_GET:
        shm->get(NULL, &parcel->at, parcel->dst, parcel->nbytes, false);
        break;
    case PARCEL_AMO:
        shm->amo(NULL, &parcel->at, parcel->code, parcel->nbytes, parcel->value, 0, NULL);
        break;
    case PARCEL_SIGNAL:
        shm->put_signal(NULL, &parcel->at, parcel->src, parcel->nbytes, &parcel->sig, parcel->value,
                        parcel->signal_op);
        break;
    }
}

/* A pending parcel that a fence puts before this one; NULL: it may go. */
static struct parcel **held_back_by(const struct parcel *parcel)
{
    for (struct parcel **link = &chaos.pending; *link; link = &(*link)->next)
        if ((*link)->ctx == parcel->ctx && (*link)->at.pe == parcel->at.pe &&
            (*link)->epoch < parcel->epoch)
            return link;
    return NULL;
}

/* Which parcels are to go. */
struct wish {
    uint64_t due_ns; /* due until then */
    uint64_t epoch;  /* issued before this fence */
    int pe;          /* to this PE; -1: to any */
    bool one_ctx;
    const struct nvsi_ctx *ctx; /* of this context, if one_ctx */
};

static bool wished(const struct wish *wish, const struct parcel *parcel)
{
    return parcel->due_ns <= wish->due_ns && parcel->epoch < wish->epoch &&
           (wish->pe < 0 || parcel->at.pe == wish->pe) &&
           (!wish->one_ctx || parcel->ctx == wish->ctx);
}

/* Delivers one of the wished parcels, chosen at random, or one that has to go before it; false if
 * none is wished. */
static bool deliver_one(const struct wish *wish)
{
    struct parcel **chosen = NULL;
    uint64_t candidates = 0;
    for (struct parcel **link = &chaos.pending; *link; link = &(*link)->next)
        if (wished(wish, *link) && draw(++candidates) == 0)
            chosen = link;
    if (!chosen)
        return false;
    for (struct parcel **before = held_back_by(*chosen); before; before = held_back_by(*chosen))
        chosen = before;
    struct parcel *parcel = *chosen;
    *chosen = parcel->next;
    chaos.npending--;
    deliver(parcel);
    free(parcel);
    return true;
}

/* Delivers all that are wished, and what has to go before them. */
static void deliver_all(const struct wish *wish)
{
    pthread_mutex_lock(&chaos.lock);
    while (deliver_one(wish))
        ;
    pthread_mutex_unlock(&chaos.lock);
}

static void *courier(void *arg)
{
    (void)arg;
    while (!atomic_load(&chaos.stop)) {
        deliver_all(&(struct wish){.due_ns = now_ns(), .epoch = UINT64_MAX, .pe = -1});
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000}, NULL);
    }
    return NULL;
}

static struct parcel *new_parcel(enum parcel_kind kind, const struct nvsi_ctx *ctx,
                                 const struct nvsi_remote *at, size_t copy_bytes)
{
    struct parcel *parcel = malloc(sizeof *parcel + copy_bytes);
    if (!parcel) {
        nvsi_error(NVS_ERR_MEMORY, "chaos: no memory for a delayed operation");
        return NULL;
    }
    *parcel = (struct parcel){.kind = kind, .ctx = ctx, .at = *at};
    return parcel;
}

static int post(struct parcel *parcel)
{
    pthread_mutex_lock(&chaos.lock);
    parcel->epoch = chaos.epoch;
    parcel->due_ns = now_ns() + 1000 * draw(2 * (uint64_t)nvsi.config.chaos_delay_us + 1);
    parcel->next = chaos.pending;
    chaos.pending = parcel;
    chaos.npending++;
    struct wish any = {.due_ns = UINT64_MAX, .epoch = UINT64_MAX, .pe = -1};
    while (chaos.npending > MAX_PENDING && deliver_one(&any))
        ;
    pthread_mutex_unlock(&chaos.lock);
    return 0;
}

static int put(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src, size_t nbytes,
               bool nbi)
{
    struct parcel *parcel = new_parcel(PARCEL_PUT, ctx, at, nbi ? 0 : nbytes);
    if (!parcel)
        return NVS_ERR_MEMORY;
    parcel->nbytes = nbytes;
    parcel->src = nbi ? src : memcpy(parcel->copy, src, nbytes);
    return post(parcel);
}

static int get(struct nvsi_ctx *ctx, const struct nvsi_remote *at, void *dst, size_t nbytes,
               bool nbi)
{
    if (!nbi)
        return nvsi_transport_shm.get(ctx, at, dst, nbytes, false);
    struct parcel *parcel = new_parcel(PARCEL_GET, ctx, at, 0);
    if (!parcel)
        return NVS_ERR_MEMORY;
    parcel->nbytes = nbytes;
    parcel->dst = dst;
    return post(parcel);
}

static int amo(struct nvsi_ctx *ctx, const struct nvsi_remote *at, enum nvsi_amo_code code,
               size_t nbytes, uint64_t operand, uint64_t compare, uint64_t *old)
{
    if (old) { /* now, but after what a fence has put before it */
        deliver_all(&(struct wish){.due_ns = UINT64_MAX,
                                   .epoch = atomic_load(&chaos.epoch),
                                   .pe = at->pe,
                                   .one_ctx = true,
                                   .ctx = ctx});
        return nvsi_transport_shm.amo(ctx, at, code, nbytes, operand, compare, old);
    }
    struct parcel *parcel = new_parcel(PARCEL_AMO, ctx, at, 0);
    if (!parcel)
        return NVS_ERR_MEMORY;
    parcel->nbytes = nbytes;
    parcel->code = code;
    parcel->value = operand;
    return post(parcel);
}

static int put_signal(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src,
                      size_t nbytes, const struct nvsi_remote *sig, uint64_t value, int op)
{
    struct parcel *parcel = new_parcel(PARCEL_SIGNAL, ctx, at, nbytes);
    if (!parcel)
        return NVS_ERR_MEMORY;
    parcel->nbytes = nbytes;
    parcel->src = memcpy(parcel->copy, src, nbytes);
    parcel->sig = *sig;
    parcel->value = value;
    parcel->signal_op = op;
    return post(parcel);
}

static int fence(struct nvsi_ctx *ctx)
{
    (void)ctx; /* one epoch for all contexts: later ones are ordered no less */
    atomic_fetch_add(&chaos.epoch, 1);
    return 0;
}

static int quiet(struct nvsi_ctx *ctx)
{
    deliver_all(&(struct wish){
        .due_ns = UINT64_MAX, .epoch = UINT64_MAX, .pe = -1, .one_ctx = true, .ctx = ctx});
    return 0;
}

static int chaos_open(void)
{
    uint64_t seed = (uint64_t)nvsi.config.chaos_seed;
    if (!seed)
        seed = now_ns() % 1000000 + 1;
    chaos.random = (seed + (uint64_t)nvsi.me + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    chaos.epoch = 0;
    atomic_store(&chaos.stop, false);
    if (nvsi.me == 0)
        nvsi_log(NVSI_LOG_WARN, "chaos transport: NVS_CHAOS_SEED=%llu", (unsigned long long)seed);
    for (int pe = 0; pe < nvsi.npes; pe++) {
        nvsi.peers[pe].ops = &nvsi_transport_chaos;
        memset(nvsi.peers[pe].seg, 0, sizeof nvsi.peers[pe].seg);
    }
    if (nvsi_thread_start(&chaos.courier, courier, NULL))
        return nvsi_error(NVS_ERR_SYSTEM, "chaos: no thread for deliveries");
    chaos.running = true;
    return 0;
}

static void chaos_close(void)
{
    if (!chaos.running)
        return;
    chaos.running = false;
    atomic_store(&chaos.stop, true);
    pthread_join(chaos.courier, NULL);
    deliver_all(&(struct wish){.due_ns = UINT64_MAX, .epoch = UINT64_MAX, .pe = -1});
}

const struct nvsi_transport nvsi_transport_chaos = {
    .name = "chaos",
    .open = chaos_open,
    .close = chaos_close,
    .put = put,
    .get = get,
    .amo = amo,
    .put_signal = put_signal,
    .fence = fence,
    .quiet = quiet,
};
