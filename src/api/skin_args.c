/*
 * skin_args.c - what is wrong with a context, a place for a result, or a word to wait for: the slow
 * ends of the checks in skin.h.
 */
#include "api/skin_wait.h"

void nvsi_skin_bad_ctx(const char *fn)
{
    nvsi_check(nvsi_error(NVS_ERR_INVALID, "%s: ctx is SHMEM_CTX_INVALID", fn));
}

void nvsi_skin_no_room(const char *fn, const char *what)
{
    nvsi_check(nvsi_error(NVS_ERR_INVALID,
                          "%s: %s is NULL: it must point to a place for the result", fn, what));
}

static int check_words(const char *fn, const char *what, const void *ptr, size_t nelems,
                       size_t nbytes)
{
    int status = nvsi_ready(fn);
    if (status)
        return status;
    if (ptr && (uintptr_t)ptr % nbytes)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %s: address %p is not aligned: a word of %zu bytes needs a multiple "
                          "of %zu",
                          fn, what, ptr, nbytes, nbytes);
    for (int s = 0; s < NVSI_NUM_SEGS; s++) {
        size_t offset = (size_t)((const char *)ptr - nvsi.seg[s].base);
        if (offset < nvsi.seg[s].size && nelems <= (nvsi.seg[s].size - offset) / nbytes)
            return nvsi.check ? nvsi.check(fn, what, ptr, nelems * nbytes, nvsi.me) : 0;
    }
    return nvsi_bad_access(NULL, fn, what, ptr, nelems, nbytes, nvsi.me);
}

bool nvsi_skin_words_slow(const char *fn, const char *what, const volatile void *ptr, size_t nelems,
                          size_t nbytes)
{
    int status = check_words(fn, what, (const void *)ptr, nelems, nbytes);
    nvsi_check(status);
    return !status;
}

/* ---- waits and tests ------------------------------------------------------------------------- */

void nvsi_skin_bad_cmp(const char *fn, int cmp)
{
    nvsi_check(nvsi_error(NVS_ERR_INVALID,
                          "%s: cmp: %d is no comparison: allowed are CMP_EQ (0) to CMP_GE (5)", fn,
                          cmp));
}

bool nvsi_skin_arrays_ok(const char *fn, const struct nvsi_words *words, bool some,
                         const size_t *indices)
{
    int status = nvsi_ready(fn);
    nvsi_check(status);
    if (status)
        return false;
    if ((unsigned)words->cmp > 5) {
        nvsi_skin_bad_cmp(fn, words->cmp);
        return false;
    }
    if (!words->nelems)
        return true;
    if (!nvsi_skin_words_ok(fn, "ivars", words->ivars, words->nelems,
                            nvsi_skin_word_bytes(words->word)))
        return false;
    if (words->vector && !words->values) {
        nvsi_check(nvsi_error(NVS_ERR_INVALID, "%s: cmp_values is NULL, but there are %zu elements",
                              fn, words->nelems));
        return false;
    }
    return !some || nvsi_skin_out(fn, "indices", indices);
}
