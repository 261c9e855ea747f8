/*
 * await_look.c - the thread that looks after streams which wait without a kernel (await.h).
 *
 * It does three things:
 *
 *   compares   words whose comparison the driver cannot do (stream_wait.c): it copies them to the
 *              host again and again, some ten microseconds each time, and lets the stream go on
 *   explains   ten times a second, what lasts: for whom, or until what; watchdog.c judges the time
 *   ends       all of them, when the watchdog has given up
 *
 * How a wait is ended. One for `go` by that word. One that the driver does on a word of the program
 * can only be satisfied: the word gets the awaited value, until the stream has passed, and then
 * what it was before, unless somebody has changed it meanwhile; so long the stream is held. That
 * happens in a job that has failed; and, in one that has not, for an unsigned word that is larger
 * than the awaited value by 2^63 and more, which the driver takes for smaller. Before, the gate is
 * shut, so that no signal is sent on the strength of one that never came. Meetings: meet.c.
 */
#include "gpu/await.h"

#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "gpu/coll.h"
#include "util/clock.h"
#include "util/thread.h"

enum { LOOK_MS = 100, PASS_MS = 20 };

static struct {
    pthread_t thread;
    bool running;
    _Atomic bool stop;
    sem_t wake;
    int64_t looked_ms;
    bool shut; /* the gate */
} looker;

/* Shorter sleeps than this take longer than that. */
static void pause_us(long us)
{
    if (us < 50)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* ---- comparing -------------------------------------------------------------------------------
 */

/* The words of an await, and its values and status where they are the GPU's, in the buffer one
 * behind the other; in *words where they are. */
static bool fetch(struct nvsi_await *await, struct nvsi_words *words)
{
    size_t room = NVSI_AWAIT_ELEMS * 8, nelems = await->words.nelems;
    struct nvsi_reader *reader = nvsi_await_reader();
    if (!reader)
        return false;
    *words = await->words;
    words->ivars = reader->buffer;
    CUresult result = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)reader->buffer,
                                       (CUdeviceptr)(uintptr_t)await->words.ivars,
                                       nelems * await->elem_bytes, reader->stream);
    if (!words->vector) {
        words->values = &await->value;
    } else if (!await->copies && !result) {
        words->values = reader->buffer + room;
        result = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)words->values,
                                  (CUdeviceptr)(uintptr_t)await->words.values,
                                  nelems * await->elem_bytes, reader->stream);
    }
    if (words->status && !await->copies && !result) {
        words->status = (const int *)(void *)(reader->buffer + 2 * room);
        result = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)words->status,
                                  (CUdeviceptr)(uintptr_t)await->words.status, nelems * sizeof(int),
                                  reader->stream);
    }
    return !result && nvsi_await_finish(reader);
}

static bool compares(struct nvsi_await *await)
{
    struct nvsi_words words;
    if (!fetch(await, &words))
        return false;
    memcpy(&await->seen, words.ivars, await->elem_bytes);
    return nvsi_test_all(&words);
}

static bool set_word(const struct nvsi_await *await, uint64_t value)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)await->words.ivars;
    struct nvsi_reader *reader = nvsi_await_reader();
    if (!reader)
        return false;
    CUresult result = await->elem_bytes == 8
                          ? cu.cuStreamWriteValue64(reader->stream, at, value, 0)
                          : cu.cuStreamWriteValue32(reader->stream, at, (uint32_t)value, 0);
    return !result && nvsi_await_finish(reader);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void shut_gate(void)
{
    uint64_t gate = nvsi_gpu_gate();
    struct nvsi_reader *reader = gate && !looker.shut ? nvsi_await_reader() : NULL;
    if (reader && !cu.cuStreamWriteValue32(reader->stream, gate, 1, 0))
        looker.shut = nvsi_await_finish(reader);
}

static bool read_word(struct nvsi_await *await, uint64_t *value)
{
    struct nvsi_words words;
    *value = 0;
    if (!fetch(await, &words))
        return false;
    memcpy(value, words.ivars, await->elem_bytes);
    return true;
}

/* What the head of this file says. */
static void let_pass(struct nvsi_await *await)
{
    uint64_t before, after;
    atomic_store(&await->line->go, 1);
    if (read_word(await, &before) && set_word(await, await->pass)) {
        for (int ms = 0; ms < PASS_MS && nvsi_await_waits(await); ms++)
            pause_us(1000);
        if (read_word(await, &after) && after == await->pass)
            (void)set_word(await, before);
    }
    atomic_store(&await->line->go, 0);
}

static void end(struct nvsi_await *await)
{
    struct nvsi_reader *reader;
    if (await->by_host) {
        atomic_store(&await->line->go, 1);
    } else if (await->words.nelems) {
        let_pass(await);
    } else if ((reader = nvsi_await_reader())) {
        nvsi_gpu_break_up(await->channel, reader->stream);
        (void)nvsi_await_finish(reader);
    }
}

/* ---- explaining ------------------------------------------------------------------------------ */

/* Whose flag of the current round of a meeting is not set. */
static void find_missing(struct nvsi_await *await)
{
    bool second = (atomic_load(&await->line->state) & NVSI_AWAIT_SECOND) == NVSI_AWAIT_SECOND;
    struct nvsi_reader *reader = nvsi_await_reader();
    CUdeviceptr flags =
        await->channel + NVSI_CHANNEL_MEET + (second ? NVSI_CHANNEL_MAX_PES * sizeof(uint32_t) : 0);
    await->missing = -1;
    if (!reader ||
        cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)reader->buffer, flags,
                         (size_t)await->npes * sizeof(uint32_t), reader->stream) ||
        !nvsi_await_finish(reader))
        return;
    const uint32_t *set = (const uint32_t *)(void *)reader->buffer;
    pthread_mutex_lock(&nvsi.lock);
    struct nvsi_team *team = nvsi_team_get(await->team);
    for (int i = 0; team && i < team->npes && await->missing < 0; i++)
        if (i != team->team_pe && !set[i])
            await->missing = team->pes[i];
    pthread_mutex_unlock(&nvsi.lock);
}
_Static_assert(NVSI_CHANNEL_MAX_PES * sizeof(uint32_t) <= NVSI_READ_BYTES, "all flags of a round");

/* Whether it is the same wait as at the last look. */
static bool lasts(struct nvsi_await *await)
{
    uint32_t state = atomic_load(&await->line->state);
    if (state & NVSI_AWAIT_SEEN)
        return true;
    static const char *const thans[] = {NULL,       "not ",       "more than ",
                                        "at most ", "less than ", "at least "};
    await->since = (struct nvsi_seen_wait){.than = thans[await->words.cmp]};
    atomic_compare_exchange_strong(&await->line->state, &state, state | NVSI_AWAIT_SEEN);
    return false;
}

static void explain(struct nvsi_await *await, int64_t now, int64_t gap)
{
    bool meeting = !await->words.nelems;
    if (!lasts(await))
        return;
    if (meeting)
        find_missing(await);
    else if (compares(await) && !await->by_host && nvsi_await_waits(await))
        let_pass(await); /* the driver's compare is not ours */
    struct nvsi_dev_wait wait = {
        .busy = 1,
        .pe = meeting ? await->missing : -1,
        .team = await->team,
        .kind = meeting ? NVSI_DEV_WAIT_BARRIER : NVSI_DEV_WAIT_WORD,
        .address = (uint64_t)(uintptr_t)await->words.ivars,
        .wanted = await->value,
        .seen = await->seen,
    };
    if (nvsi_await_waits(await))
        nvsi_gpu_look_at_wait(await->fn, &wait, &await->since, now, gap);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Returns whether some stream waits for this thread. */
static bool look(bool giving_up, bool explaining)
{
    int64_t now = nvsi_now_ms(), gap = now - looker.looked_ms;
    bool asked = false;
    if (giving_up)
        shut_gate();
    for (struct nvsi_await *await = nvsi_await_first(); await; await = await->next) {
        if (!nvsi_await_hold(await))
            continue;
        if (giving_up)
            end(await);
        else if (await->by_host && !atomic_load(&await->line->go) && compares(await))
            atomic_store(&await->line->go, 1);
        else if (explaining)
            explain(await, now, gap);
        asked |= await->by_host || giving_up;
        nvsi_await_release(await);
    }
    if (explaining)
        looker.looked_ms = now;
    return asked;
}

/* Until somebody asks, or it is time for a look. */
static bool sleep_until(int64_t until_ms)
{
    struct timespec until;
    int64_t left = until_ms - nvsi_now_ms();
    if (left <= 0)
        return sem_trywait(&looker.wake) == 0;
    clock_gettime(CLOCK_REALTIME, &until); /* all that semaphores know; a jump only costs a look */
    until.tv_nsec += left * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&looker.wake, &until) == 0;
}

static void *serve(void *arg)
{
    int64_t next_ms = nvsi_now_ms() + LOOK_MS;
    long rounds = 0; /* of comparing in vain */
    bool asked = false;
    CUcontext before;
    (void)arg;
    if (nvsi_gpu_enter("streams", &before))
        return NULL;
    while (!atomic_load(&looker.stop)) {
        if (asked ? sem_trywait(&looker.wake) == 0 : sleep_until(next_ms))
            rounds = 0;
        else if (asked)
            pause_us(rounds < 4000 ? rounds / 4 : 1000);
        bool explaining = nvsi_now_ms() >= next_ms;
        if (explaining)
            next_ms = nvsi_now_ms() + LOOK_MS;
        asked = look(__atomic_load_n(&nvsi_gpu.page->give_up, __ATOMIC_ACQUIRE), explaining);
        rounds++;
    }
    nvsi_gpu_leave(before);
    return NULL;
}

int nvsi_await_start(const char *fn)
{
    if (looker.running)
        return 0;
    int status = nvsi_await_readers_open(fn);
    if (status)
        return status;
    atomic_store(&looker.stop, false);
    sem_init(&looker.wake, 0, 0);
    looker.looked_ms = nvsi_now_ms();
    int error = nvsi_thread_start(&looker.thread, serve, NULL);
    if (error) {
        nvsi_await_readers_close();
        return nvsi_error(NVS_ERR_SYSTEM, "%s: cannot start the thread that watches streams: %s",
                          fn, strerror(error));
    }
    looker.running = true;
    return 0;
}

void nvsi_await_wake(void)
{
    sem_post(&looker.wake);
}

void nvsi_await_stop(void)
{
    if (!looker.running)
        return;
    atomic_store(&looker.stop, true);
    sem_post(&looker.wake);
    pthread_join(looker.thread, NULL);
    sem_destroy(&looker.wake);
    looker.running = looker.shut = false;
}
