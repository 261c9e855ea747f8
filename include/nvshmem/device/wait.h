/*
 * nvshmem/device/wait.h - waiting for words of this PE that others change, for kernels.
 *
 * Memory order: a word is polled relaxed. When it compares as wanted it is loaded once more, with
 * acquire, so that all that its writer released with it (put_signal, fence) is visible to this
 * thread. Polling with acquire instead would drop the caches of the whole multiprocessor in each
 * round. If the second load finds a value that does not compare, a fence makes the first an
 * acquire.
 *
 * A wait ends in any case, see page.h.
 */
#ifndef NVS_NVSHMEM_DEVICE_WAIT_H
#define NVS_NVSHMEM_DEVICE_WAIT_H

#include "nvshmem/device/rma.h"

/* ---- comparing ------------------------------------------------------------------------------- */

enum { NVSD_EQ, NVSD_NE, NVSD_GT, NVSD_LE, NVSD_LT, NVSD_GE, NVSD_NUM_CMPS }; /* NVSHMEM_CMP_* */

template <typename T> NVSD_FN bool nvsd_compare(T have, int cmp, T want)
{
    switch (cmp) {
    case NVSD_EQ:
        return have == want;
    case NVSD_NE:
        return have != want;
    case NVSD_GT:
        return have > want;
    case NVSD_LE:
        return have <= want;
    case NVSD_LT:
        return have < want;
    default:
        return have >= want;
    }
}

NVSD_COLD bool nvsd_bad_cmp(nvsd_self self, const char *what, int cmp)
{
    nvsd_report(self, NVSI_DEV_BAD_ARGUMENT, what, -1, -1, (uint64_t)(int64_t)cmp, 0);
    return false;
}

NVSD_FN bool nvsd_good_cmp(nvsd_self self, const char *what, int cmp)
{
    return NVSD_LIKELY((unsigned)cmp < NVSD_NUM_CMPS) || nvsd_bad_cmp(self, what, cmp);
}

template <typename T> NVSD_FN T nvsd_poll(const volatile T *word)
{
    typedef typename nvsd_word<sizeof(T)>::type bits;
    return nvsd_cast_bits<T>(nvsd_load_shared((const bits *)(uint64_t)word));
}

NVSD_FN uint16_t nvsd_load_acquire(const uint16_t *ptr)
{
    uint16_t value = nvsd_load_shared(ptr);
    nvsd_fence_system();
    return value;
}
NVSD_FN uint32_t nvsd_load_acquire(const uint32_t *ptr)
{
    return nvsd_ld_acquire32(ptr);
}
NVSD_FN uint64_t nvsd_load_acquire(const uint64_t *ptr)
{
    return nvsd_ld_acquire64(ptr);
}

/* `have` was polled and compares: a value that does, acquired. */
template <typename T> NVSD_FN T nvsd_acquire(const volatile T *word, T have, int cmp, T want)
{
    typedef typename nvsd_word<sizeof(T)>::type bits;
    T again = nvsd_cast_bits<T>(nvsd_load_acquire((const bits *)(uint64_t)word));
    if (NVSD_LIKELY(nvsd_compare(again, cmp, want)))
        return again;
    nvsd_fence_system();
    return have;
}

/* ---- one word -------------------------------------------------------------------------------- */

/* The value that ended the wait; after giving up the last one seen. */
template <typename T>
NVSD_FN T nvsd_wait_until(nvsd_self self, const char *what, const volatile T *word, int cmp, T want)
{
    T have = nvsd_poll(word);
    if (!nvsd_good_cmp(self, what, cmp))
        return have;
    struct nvsd_awaited awaited = {what, NVSI_DEV_WAIT_WORD, -1,
                                   -1,   (uint64_t)word,     (uint64_t)want};
    int entry = NVSD_NO_ENTRY;
    for (unsigned rounds = 0; !nvsd_compare(have, cmp, want); have = nvsd_poll(word))
        if (!nvsd_wait_round(self.page, awaited, &entry, &rounds, (uint64_t)have))
            return have;
    nvsd_wait_end(self.page, entry);
    return nvsd_acquire(word, have, cmp, want);
}

template <typename T>
NVSD_FN int nvsd_test(nvsd_self self, const char *what, const volatile T *word, int cmp, T want)
{
    T have = nvsd_poll(word);
    if (!nvsd_good_cmp(self, what, cmp) || !nvsd_compare(have, cmp, want))
        return 0;
    nvsd_acquire(word, have, cmp, want);
    return 1;
}

NVSD_FN uint64_t nvsd_signal_fetch(const volatile uint64_t *sig)
{
    return nvsd_ld_acquire64((const uint64_t *)(uint64_t)sig);
}

/* ---- many words ------------------------------------------------------------------------------ */

/* An element whose status is not 0 does not count; status may be NULL. */
template <typename T> struct nvsd_words {
    const volatile T *words;
    size_t nelems;
    const int *status;
    int cmp;
    const T *values; /* one, or with `vector` one for each */
    bool vector;
};

template <typename T> NVSD_FN bool nvsd_counts(const struct nvsd_words<T> &w, size_t i)
{
    return !w.status || w.status[i] == 0;
}

template <typename T> NVSD_FN T nvsd_wanted(const struct nvsd_words<T> &w, size_t i)
{
    return w.values[w.vector ? i : 0];
}

/* Whether element i counts and compares, acquired if so. */
template <typename T> NVSD_FN bool nvsd_holds(const struct nvsd_words<T> &w, size_t i)
{
    if (!nvsd_counts(w, i))
        return false;
    T want = nvsd_wanted(w, i), have = nvsd_poll(w.words + i);
    if (!nvsd_compare(have, w.cmp, want))
        return false;
    nvsd_acquire(w.words + i, have, w.cmp, want);
    return true;
}

template <typename T>
NVSD_FN void nvsd_wait_all(nvsd_self self, const char *what, const struct nvsd_words<T> &w)
{
    for (size_t i = 0; i < w.nelems; i++)
        if (nvsd_counts(w, i))
            nvsd_wait_until(self, what, w.words + i, w.cmp, nvsd_wanted(w, i));
}

template <typename T> NVSD_FN bool nvsd_any_counts(const struct nvsd_words<T> &w)
{
    for (size_t i = 0; i < w.nelems; i++)
        if (nvsd_counts(w, i))
            return true;
    return false;
}

/* An element that compares; SIZE_MAX: none does. */
template <typename T> NVSD_FN size_t nvsd_find_any(const struct nvsd_words<T> &w)
{
    for (size_t i = 0; i < w.nelems; i++)
        if (nvsd_holds(w, i))
            return i;
    return (size_t)-1;
}

/* All that compare, into indices; how many. */
template <typename T> NVSD_FN size_t nvsd_find_some(const struct nvsd_words<T> &w, size_t *indices)
{
    size_t found = 0;
    for (size_t i = 0; i < w.nelems; i++)
        if (nvsd_holds(w, i))
            indices[found++] = i;
    return found;
}

template <typename T>
NVSD_FN struct nvsd_awaited nvsd_await(const char *what, const struct nvsd_words<T> &w)
{
    struct nvsd_awaited awaited = {what, NVSI_DEV_WAIT_WORD, -1,
                                   -1,   (uint64_t)w.words,  (uint64_t)w.values[0]};
    return awaited;
}

template <typename T>
NVSD_FN size_t nvsd_wait_any(nvsd_self self, const char *what, const struct nvsd_words<T> &w)
{
    if (!nvsd_any_counts(w) || !nvsd_good_cmp(self, what, w.cmp))
        return (size_t)-1;
    int entry = NVSD_NO_ENTRY;
    unsigned rounds = 0;
    size_t found;
    while ((found = nvsd_find_any(w)) == (size_t)-1)
        if (!nvsd_wait_round(self.page, nvsd_await(what, w), &entry, &rounds, 0))
            return found;
    nvsd_wait_end(self.page, entry);
    return found;
}

template <typename T>
NVSD_FN size_t nvsd_wait_some(nvsd_self self, const char *what, const struct nvsd_words<T> &w,
                              size_t *indices)
{
    if (!nvsd_any_counts(w) || !nvsd_good_cmp(self, what, w.cmp))
        return 0;
    int entry = NVSD_NO_ENTRY;
    unsigned rounds = 0;
    size_t found;
    while ((found = nvsd_find_some(w, indices)) == 0)
        if (!nvsd_wait_round(self.page, nvsd_await(what, w), &entry, &rounds, 0))
            return 0;
    nvsd_wait_end(self.page, entry);
    return found;
}

template <typename T>
NVSD_FN int nvsd_test_all(nvsd_self self, const char *what, const struct nvsd_words<T> &w)
{
    if (!nvsd_good_cmp(self, what, w.cmp))
        return 0;
    for (size_t i = 0; i < w.nelems; i++)
        if (nvsd_counts(w, i) && !nvsd_holds(w, i))
            return 0;
    return 1;
}

template <typename T>
NVSD_FN size_t nvsd_test_any(nvsd_self self, const char *what, const struct nvsd_words<T> &w)
{
    return nvsd_good_cmp(self, what, w.cmp) ? nvsd_find_any(w) : (size_t)-1;
}

template <typename T>
NVSD_FN size_t nvsd_test_some(nvsd_self self, const char *what, const struct nvsd_words<T> &w,
                              size_t *indices)
{
    return nvsd_good_cmp(self, what, w.cmp) ? nvsd_find_some(w, indices) : 0;
}

#endif
