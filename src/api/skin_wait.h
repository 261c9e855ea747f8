/*
 * skin_wait.h - skin.h for the functions that wait for words or test them. The public parameters
 * are volatile so that any variable can be passed; the core reads atomically anyway.
 *
 * The words must be symmetric: nobody else could change them, so a wait for others would never end.
 */
#ifndef NVSI_SKIN_WAIT_H
#define NVSI_SKIN_WAIT_H

#include "api/skin.h"

/* Bytes of a word that can be waited for. */
NVSI_INLINE size_t nvsi_skin_word_bytes(enum nvsi_word word)
{
    return word <= NVSI_WU16 ? 2 : word <= NVSI_WU32 ? 4 : 8;
}

/* False, after nvsi_check(), for a comparison that does not exist. */
NVSI_COLD void nvsi_skin_bad_cmp(const char *fn, int cmp); /* skin_args.c */
NVSI_INLINE bool nvsi_skin_word_ok(const char *fn, const volatile void *ivar, enum nvsi_word word,
                                   int cmp)
{
    if (!nvsi_skin_words_ok(fn, "ivar", ivar, 1, nvsi_skin_word_bytes(word)))
        return false;
    if (NVSI_LIKELY((unsigned)cmp <= 5))
        return true;
    nvsi_skin_bad_cmp(fn, cmp);
    return false;
}

static inline void nvsi_skin_wait_until(const char *fn, const volatile void *ivar,
                                        enum nvsi_word word, int cmp, uint64_t value)
{
    if (nvsi_skin_word_ok(fn, ivar, word, cmp))
        nvsi_check(nvsi_wait_until(fn, (const void *)ivar, word, cmp, value));
}

static inline bool nvsi_skin_test(const char *fn, const volatile void *ivar, enum nvsi_word word,
                                  int cmp, uint64_t value)
{
    return nvsi_skin_word_ok(fn, ivar, word, cmp) &&
           nvsi_test((const void *)ivar, word, cmp, value);
}

/* ---- arrays of words ------------------------------------------------------------------------- */

/* The arguments that all of these have; values: one, or with `vector` nelems of them. indices is
 * NULL for those that have none. In skin_args.c, and like nvsi_skin_word_ok() false on a mistake.
 * With no elements no pointer is looked at. */
bool nvsi_skin_arrays_ok(const char *fn, const struct nvsi_words *words, bool some,
                         const size_t *indices);

static inline struct nvsi_words nvsi_skin_words(const volatile void *ivars, size_t nelems,
                                                const int *status, enum nvsi_word word, int cmp,
                                                const void *values, bool vector)
{
    struct nvsi_words words = {(const void *)ivars, nelems, status, word, cmp, values, vector};
    return words;
}

static inline void nvsi_skin_wait_until_all(const char *fn, const volatile void *ivars,
                                            size_t nelems, const int *status, enum nvsi_word word,
                                            int cmp, const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    if (nvsi_skin_arrays_ok(fn, &words, false, NULL))
        nvsi_check(nvsi_wait_until_all(fn, &words));
}

static inline size_t nvsi_skin_wait_until_any(const char *fn, const volatile void *ivars,
                                              size_t nelems, const int *status, enum nvsi_word word,
                                              int cmp, const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    size_t index = SIZE_MAX;
    if (nvsi_skin_arrays_ok(fn, &words, false, NULL))
        nvsi_check(nvsi_wait_until_any(fn, &words, &index));
    return index;
}

static inline size_t nvsi_skin_wait_until_some(const char *fn, const volatile void *ivars,
                                               size_t nelems, size_t *indices, const int *status,
                                               enum nvsi_word word, int cmp, const void *values,
                                               bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    size_t count = 0;
    if (nvsi_skin_arrays_ok(fn, &words, true, indices))
        nvsi_check(nvsi_wait_until_some(fn, &words, indices, &count));
    return count;
}

static inline bool nvsi_skin_test_all(const char *fn, const volatile void *ivars, size_t nelems,
                                      const int *status, enum nvsi_word word, int cmp,
                                      const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_skin_arrays_ok(fn, &words, false, NULL) && nvsi_test_all(&words);
}

static inline size_t nvsi_skin_test_any(const char *fn, const volatile void *ivars, size_t nelems,
                                        const int *status, enum nvsi_word word, int cmp,
                                        const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_skin_arrays_ok(fn, &words, false, NULL) ? nvsi_test_any(&words) : SIZE_MAX;
}

static inline size_t nvsi_skin_test_some(const char *fn, const volatile void *ivars, size_t nelems,
                                         size_t *indices, const int *status, enum nvsi_word word,
                                         int cmp, const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_skin_arrays_ok(fn, &words, true, indices) ? nvsi_test_some(&words, indices) : 0;
}

#endif
