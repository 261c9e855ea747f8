/*
 * wait.c - waiting: spin, then yield, then sleep; and waking those who sleep.
 *
 * A wait first spins, because an answer is usually a fraction of a microsecond away. It goes on to
 * spin for some milliseconds while the kernel has not taken the core away for somebody else: then
 * nobody wants it, and an idle core is slow to come back, above all in a virtual machine. When
 * there are more PEs than cores it yields early. In the end it sleeps on a futex in its own pe
 * slot, so that neighbours get the core.
 *
 * Whoever stores something that may end a wait calls nvsi_wake(), which must cost a put nothing. It
 * looks at job->nwatching with a plain load and no fence. The classic race (the waker's load passes
 * its store, the sleeper misses the store and sleeps for ever) is closed on the sleeper's side: it
 * announces itself, then membarrier(2) makes every PE execute a full barrier, then its caller looks
 * at the condition once more before it really sleeps. If the waker's load came before that barrier,
 * its store did too and the caller sees it; if it came after, it sees the announcement.
 *
 * A store through a pointer of shmem_ptr wakes nobody, so no sleep is longer than a millisecond;
 * where the kernel has no membarrier this bound does all the work and is 50 microseconds.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "boot/crash.h"
#include "fast.h"
#include "transport/transport.h"
#include "wait.h"

enum {
    POLLS = 100, /* a few microseconds at most, without even a pause instruction between them */
    POLLS_CROWDED = 4,
    SPIN_ROUNDS = 4000,        /* about 50 us */
    SPIN_AGAIN = 200,          /* as often, while undisturbed: about 10 ms */
    SPIN_ROUNDS_CROWDED = 2,   /* the one we wait for may need this very core */
    YIELD_ROUNDS_CROWDED = 60, /* a switch among our own PEs is cheaper than sleep and wake-up */
    CHECK_EVERY = 64,
    OVERDUE_EVERY = 1 << 16, /* about a millisecond */
    NAP_MIN_NS = 50 * 1000,
    NAP_MAX_NS = 1000 * 1000
};

static struct {
    bool membarrier;
    unsigned spin, yield;
    _Atomic int announced; /* threads of this process that are between announce and end */
} policy;

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

void nvsi_wait_setup(void)
{
    policy.membarrier = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
    policy.spin = nvsi.crowded ? SPIN_ROUNDS_CROWDED : SPIN_ROUNDS;
    policy.yield = nvsi.crowded ? YIELD_ROUNDS_CROWDED : 0;
    if (nvsi.config.spin >= 0)
        policy.spin = (unsigned)nvsi.config.spin;
    nvsi.polls = nvsi.crowded ? POLLS_CROWDED : POLLS;
}

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static _Atomic uint32_t *my_bed(void)
{
    return &nvsi.peers[nvsi.me].slot->sleeping;
}

/* Says that this PE is about to sleep until `pe` does something. Threads share one bed, so with
 * several of them any PE may ring. */
static void announce(struct nvsi_wait *wait, int pe)
{
    bool threads = nvsi.thread_level > 0 || nvsi.streams;
    uint32_t until = pe < 0 || threads ? NVSI_SLEEP_ANY : (uint32_t)pe + 1;
    if (!wait->announced) {
        wait->announced = true;
        atomic_fetch_add(&policy.announced, 1);
        wait->watching = until == NVSI_SLEEP_ANY;
        atomic_fetch_add(wait->watching ? &nvsi.job->nwatching : &nvsi.job->nawaiting, 1);
    }
    if (wait->watching)
        until = NVSI_SLEEP_ANY; /* as it was counted */
    NVSI_CRASH_POINT(wait_announcing);
    wait->until = until;
    atomic_store(my_bed(), until);
    if (policy.membarrier)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static void nap(struct nvsi_wait *wait)
{
    unsigned naps = wait->naps++;
    long ns = policy.membarrier ? (long)NAP_MIN_NS << (naps < 5 ? naps : 5) : NAP_MIN_NS;
    struct timespec time = {.tv_nsec = ns < NAP_MAX_NS ? ns : NAP_MAX_NS};
    syscall(SYS_futex, my_bed(), FUTEX_WAIT, wait->until, &time, NULL, 0);
    wait->asleep = false;
}

void nvsi_wait_end_slow(struct nvsi_wait *wait)
{
    wait->announced = false;
    atomic_fetch_sub(wait->watching ? &nvsi.job->nwatching : &nvsi.job->nawaiting, 1);
    NVSI_CRASH_POINT(wait_ending);
    if (atomic_fetch_sub(&policy.announced, 1) == 1)
        atomic_store(my_bed(), 0);
}

static void ring(_Atomic uint32_t *bed)
{
    if (atomic_exchange(bed, 0))
        syscall(SYS_futex, bed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void nvsi_wake_watcher(int pe)
{
    _Atomic uint32_t *bed = &nvsi.peers[pe].slot->sleeping;
    if (atomic_load_explicit(bed, memory_order_relaxed) == NVSI_SLEEP_ANY)
        ring(bed);
}

void nvsi_wake_members(const struct nvsi_team *team)
{
    for (int i = 0; i < team->npes; i++) {
        _Atomic uint32_t *bed = &nvsi.peers[team->pes[i]].slot->sleeping;
        uint32_t until = atomic_load_explicit(bed, memory_order_relaxed);
        if (i != team->team_pe && (until == NVSI_SLEEP_ANY || until == (uint32_t)nvsi.me + 1))
            ring(bed);
    }
}

int nvsi_lost(void)
{
    uint64_t failure = atomic_load_explicit(&nvsi.job->failure, memory_order_relaxed);
    if (NVSI_LIKELY(!failure))
        return 0;
    return nvsi_error(NVS_ERR_PE_LOST, "PE %d was lost while PE %d waited",
                      (int)(uint32_t)failure - 1, nvsi.me);
}

/* Whether this thread has kept its core since the last time it asked. */
static bool undisturbed(void)
{
    static _Thread_local long seen;
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage))
        return false;
    bool same = usage.ru_nivcsw == seen;
    seen = usage.ru_nivcsw;
    return same;
}

static bool spin_again(struct nvsi_wait *wait)
{
    if (nvsi.crowded || wait->asleep || wait->spins >= SPIN_AGAIN || !undisturbed())
        return false;
    wait->spins++;
    wait->rounds = 0;
    return true;
}

int nvsi_wait_round(struct nvsi_wait *wait, int pe)
{
    unsigned round = wait->rounds++;
    if (NVSI_LIKELY(round < policy.spin)) {
        cpu_pause();
        if (NVSI_UNLIKELY(round % OVERDUE_EVERY == OVERDUE_EVERY - 1)) { /* a large NVS_SPIN */
            int status = nvsi_overdue(wait, pe);
            if (status)
                return status;
        }
        return NVSI_UNLIKELY(round % CHECK_EVERY == CHECK_EVERY - 1) ? nvsi_lost() : 0;
    }
    if (nvsi.transport->progress)
        nvsi.transport->progress();
    if (nvsi.config.spin < 0 && spin_again(wait))
        return nvsi_lost();
    if (round < policy.spin + policy.yield) {
        sched_yield();
        return nvsi_lost();
    }
    if (wait->asleep) {
        int status = nvsi_overdue(wait, pe);
        if (status)
            return status;
        nap(wait);
    } else {
        announce(wait, pe);
        wait->asleep = true;
    }
    return nvsi_lost();
}

/* ---- words: comparing and waiting ----------------------------------------------------------- */

/* The word as a 64-bit pattern, sign-extended where its type is signed. Acquires: what was stored
 * before the word is seen after it. */
static inline uint64_t load_word(const void *ivar, enum nvsi_word word)
{
    switch (word) {
    case NVSI_W16:
        return (uint64_t)(int64_t)__atomic_load_n((const int16_t *)ivar, __ATOMIC_ACQUIRE);
    case NVSI_WU16:
        return __atomic_load_n((const uint16_t *)ivar, __ATOMIC_ACQUIRE);
    case NVSI_W32:
        return (uint64_t)(int64_t)__atomic_load_n((const int32_t *)ivar, __ATOMIC_ACQUIRE);
    case NVSI_WU32:
        return __atomic_load_n((const uint32_t *)ivar, __ATOMIC_ACQUIRE);
    case NVSI_W64:
    case NVSI_WU64:
        break;
    }
    return __atomic_load_n((const uint64_t *)ivar, __ATOMIC_ACQUIRE);
}

static inline bool is_signed(enum nvsi_word word)
{
    return word == NVSI_W16 || word == NVSI_W32 || word == NVSI_W64;
}

static inline size_t word_bytes(enum nvsi_word word)
{
    return word <= NVSI_WU16 ? 2 : word <= NVSI_WU32 ? 4 : 8;
}

static inline bool compare(uint64_t have, enum nvsi_word word, int cmp, uint64_t value)
{
    /* Flipping the sign bit turns signed order into unsigned order. */
    uint64_t flip = is_signed(word) ? UINT64_C(1) << 63 : 0;
    uint64_t a = have ^ flip, b = value ^ flip;
    switch (cmp) {
    case 0:
        return a == b;
    case 1:
        return a != b;
    case 2:
        return a > b;
    case 3:
        return a <= b;
    case 4:
        return a < b;
    case 5:
        return a >= b;
    default:
        return false; /* the callers look why */
    }
}

static int check_cmp(const char *fn, int cmp)
{
    if (NVSI_LIKELY(cmp >= 0 && cmp <= 5))
        return 0;
    return nvsi_error(NVS_ERR_INVALID, "%s: %d is no comparison: allowed are CMP_EQ to CMP_GE", fn,
                      cmp);
}

/* What a test does that has found nothing. */
static void not_yet(int cmp)
{
    nvsi_check(check_cmp("test", cmp));
    if (nvsi.transport && nvsi.transport->progress)
        nvsi.transport->progress();
}

/* ---- words that the host cannot load: of GPU memory -------------------------------------------
 */

/* A copy of the words as they are now, in *copy with `ivars` replaced; the caller frees that. A
 * failure is told like that of a void function. */
static bool fetch_words(const char *fn, const struct nvsi_words *words, struct nvsi_words *copy)
{
    size_t nbytes = words->nelems * word_bytes(words->word);
    void *values = malloc(nbytes ? nbytes : 1);
    int status = values ? nvsi.device->read(fn, values, words->ivars, nbytes)
                        : nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a copy of %zu words", fn,
                                     words->nelems);
    if (status) {
        free(values);
        nvsi_check(status);
        return false;
    }
    *copy = *words;
    copy->ivars = values;
    return true;
}

/* A test of such words, done on a copy. */
static size_t test_copy(const struct nvsi_words *words, size_t *indices, size_t none,
                        size_t (*test)(const struct nvsi_words *, size_t *))
{
    struct nvsi_words copy;
    if (!fetch_words("test", words, &copy))
        return none;
    size_t found = test(&copy, indices);
    free((void *)(uintptr_t)copy.ivars);
    return found;
}

static NVSI_COLD bool test_device(const void *ivar, enum nvsi_word word, int cmp, uint64_t value)
{
    uint64_t have = 0;
    int status = nvsi.device->read("test", &have, ivar, word_bytes(word));
    nvsi_check(status);
    return !status && nvsi_test(&have, word, cmp, value);
}

/* As nvsi_wait_until(): a look is a small copy, so looks are further apart. */
static NVSI_COLD int wait_device(const char *fn, const void *ivar, enum nvsi_word word, int cmp,
                                 uint64_t value)
{
    struct nvsi_wait wait = {0};
    uint64_t have = 0;
    nvsi_flight_enter(NVSI_AT_WAIT, -1, -1, word_bytes(word));
    int status = nvsi.device->read(fn, &have, ivar, word_bytes(word));
    while (!status && !compare(load_word(&have, word), word, cmp, value)) {
        status = nvsi_wait_round(&wait, -1);
        if (!status)
            status = nvsi.device->read(fn, &have, ivar, word_bytes(word));
    }
    nvsi_wait_end(&wait);
    nvsi_flight_leave();
    return status;
}

bool nvsi_test(const void *ivar, enum nvsi_word word, int cmp, uint64_t value)
{
    if (nvsi_on_device(ivar))
        return test_device(ivar, word, cmp, value);
    if (compare(load_word(ivar, word), word, cmp, value))
        return true;
    not_yet(cmp);
    return false;
}

int nvsi_wait_until(const char *fn, const void *ivar, enum nvsi_word word, int cmp, uint64_t value)
{
    int status = nvsi_ready(fn);
    if (!status)
        status = check_cmp(fn, cmp);
    if (status)
        return status;
    if (nvsi_on_device(ivar))
        return wait_device(fn, ivar, word, cmp, value);
    if (NVSI_LIKELY(compare(load_word(ivar, word), word, cmp, value)))
        return 0;
    nvsi_flight_enter(NVSI_AT_WAIT, -1, -1, word_bytes(word));
    struct nvsi_wait wait = {0};
    while (!status && !compare(load_word(ivar, word), word, cmp, value))
        status = nvsi_wait_round(&wait, -1);
    nvsi_wait_end(&wait);
    nvsi_flight_leave();
    return status;
}

/* ---- arrays of words ------------------------------------------------------------------------ */

static uint64_t wanted(const struct nvsi_words *words, size_t i)
{
    size_t bytes = word_bytes(words->word);
    return load_word((const char *)words->values + (words->vector ? i * bytes : 0), words->word);
}

static bool holds(const struct nvsi_words *words, size_t i)
{
    const char *ivar = (const char *)words->ivars + i * word_bytes(words->word);
    return compare(load_word(ivar, words->word), words->word, words->cmp, wanted(words, i));
}

static bool excluded(const struct nvsi_words *words, size_t i)
{
    return words->status && words->status[i];
}

static size_t all_as_count(const struct nvsi_words *words, size_t *indices);
static size_t any_as_index(const struct nvsi_words *words, size_t *indices);

bool nvsi_test_all(const struct nvsi_words *words)
{
    if (nvsi_on_device(words->ivars))
        return test_copy(words, NULL, 0, all_as_count) != 0;
    for (size_t i = 0; i < words->nelems; i++) {
        if (excluded(words, i) || holds(words, i))
            continue;
        not_yet(words->cmp);
        return false;
    }
    return true;
}

size_t nvsi_test_some(const struct nvsi_words *words, size_t *indices)
{
    size_t count = 0;
    if (nvsi_on_device(words->ivars))
        return test_copy(words, indices, 0, nvsi_test_some);
    for (size_t i = 0; i < words->nelems; i++)
        if (!excluded(words, i) && holds(words, i))
            indices[count++] = i;
    if (!count)
        not_yet(words->cmp);
    return count;
}

size_t nvsi_test_any(const struct nvsi_words *words)
{
    /* Starts after the latest answer, so that no element starves the others. */
    static _Thread_local size_t start;
    if (nvsi_on_device(words->ivars))
        return test_copy(words, NULL, SIZE_MAX, any_as_index);
    for (size_t k = 0; k < words->nelems; k++) {
        size_t i = (start + k) % words->nelems;
        if (excluded(words, i) || !holds(words, i))
            continue;
        start = i + 1;
        return i;
    }
    not_yet(words->cmp);
    return SIZE_MAX;
}

static size_t any_as_index(const struct nvsi_words *words, size_t *indices)
{
    (void)indices;
    return nvsi_test_any(words);
}

static bool nothing_to_wait_for(const struct nvsi_words *words)
{
    for (size_t i = 0; i < words->nelems; i++)
        if (!excluded(words, i))
            return false;
    return true;
}

/* Repeats one test until it says yes; the families differ in nothing else. */
static int wait_words(const char *fn, const struct nvsi_words *words, size_t *indices,
                      size_t *found, size_t (*test)(const struct nvsi_words *, size_t *))
{
    int status = nvsi_ready(fn);
    if (!status)
        status = check_cmp(fn, words->cmp);
    if (status)
        return status;
    nvsi_flight_enter(NVSI_AT_WAIT, -1, -1, words->nelems * word_bytes(words->word));
    struct nvsi_wait wait = {0};
    while (!status && !(*found = test(words, indices)))
        status = nvsi_wait_round(&wait, -1);
    nvsi_wait_end(&wait);
    nvsi_flight_leave();
    return status;
}

static size_t all_as_count(const struct nvsi_words *words, size_t *indices)
{
    (void)indices;
    return nvsi_test_all(words);
}

static size_t any_as_count(const struct nvsi_words *words, size_t *indices)
{
    *indices = nvsi_test_any(words);
    return *indices != SIZE_MAX;
}

int nvsi_wait_until_all(const char *fn, const struct nvsi_words *words)
{
    size_t found;
    return wait_words(fn, words, NULL, &found, all_as_count);
}

int nvsi_wait_until_any(const char *fn, const struct nvsi_words *words, size_t *index)
{
    size_t found;
    *index = SIZE_MAX;
    if (nothing_to_wait_for(words))
        return nvsi_ready(fn);
    return wait_words(fn, words, index, &found, any_as_count);
}

int nvsi_wait_until_some(const char *fn, const struct nvsi_words *words, size_t *indices,
                         size_t *count)
{
    *count = 0;
    if (nothing_to_wait_for(words))
        return nvsi_ready(fn);
    return wait_words(fn, words, indices, count, nvsi_test_some);
}
