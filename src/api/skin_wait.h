/*
 * skin_wait.h - skin.h for the functions that wait for words or test them. The public parameters
 * are volatile so that any variable can be passed; the core reads atomically anyway.
 */
#ifndef NVSI_SKIN_WAIT_H
#define NVSI_SKIN_WAIT_H

#include "api/skin.h"

static inline void nvsi_skin_wait_until(const char *fn, const volatile void *ivar,
                                        enum nvsi_word word, int cmp, uint64_t value)
{
    nvsi_check(nvsi_wait_until(fn, (const void *)ivar, word, cmp, value));
}

static inline bool nvsi_skin_test(const volatile void *ivar, enum nvsi_word word, int cmp,
                                  uint64_t value)
{
    return nvsi_test((const void *)ivar, word, cmp, value);
}

/* ---- arrays of words ------------------------------------------------------------------------- */

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
    nvsi_check(nvsi_wait_until_all(fn, &words));
}

static inline size_t nvsi_skin_wait_until_any(const char *fn, const volatile void *ivars,
                                              size_t nelems, const int *status, enum nvsi_word word,
                                              int cmp, const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    size_t index = SIZE_MAX;
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
    nvsi_check(nvsi_wait_until_some(fn, &words, indices, &count));
    return count;
}

static inline bool nvsi_skin_test_all(const volatile void *ivars, size_t nelems, const int *status,
                                      enum nvsi_word word, int cmp, const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_test_all(&words);
}

static inline size_t nvsi_skin_test_any(const volatile void *ivars, size_t nelems,
                                        const int *status, enum nvsi_word word, int cmp,
                                        const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_test_any(&words);
}

static inline size_t nvsi_skin_test_some(const volatile void *ivars, size_t nelems, size_t *indices,
                                         const int *status, enum nvsi_word word, int cmp,
                                         const void *values, bool vector)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, vector);
    return nvsi_test_some(&words, indices);
}

#endif
