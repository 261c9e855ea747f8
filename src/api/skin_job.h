/*
 * skin_job.h - what OpenSHMEM and NVSHMEM share word for word: queries, memory, teams, signals. fn
 * is the public name, for error sentences.
 */
#ifndef NVSI_SKIN_JOB_H
#define NVSI_SKIN_JOB_H

#include "api/skin_coll.h"

/* For the functions that start a job: NVS_ERR_INVALID for a level that does not exist. */
int nvsi_skin_init(const char *fn, int requested, int *provided);

/* -1, after nvsi_check(), outside of init .. finalize. */
NVSI_COLD int nvsi_skin_no_pe(const char *fn);
static inline int nvsi_skin_my_pe(const char *fn)
{
    return NVSI_LIKELY(nvsi.npes > 0) ? nvsi.me : nvsi_skin_no_pe(fn);
}
static inline int nvsi_skin_n_pes(const char *fn)
{
    return NVSI_LIKELY(nvsi.npes > 0) ? nvsi.npes : nvsi_skin_no_pe(fn);
}
void nvsi_skin_query_thread(const char *fn, int *provided);

/* Where sym of PE pe can be loaded and stored here, or NULL; and whether pe exists. */
void *nvsi_skin_ptr(const char *fn, const void *sym, int pe);
int nvsi_skin_accessible(const char *fn, int pe);
void nvsi_skin_version(const char *fn, int major, int minor, int *major_out, int *minor_out);
/* name has room for the longest name that the standard allows. */
void nvsi_skin_name(const char *fn, const char *vendor, char *name);

/* Memory, of the host (choice 0) or of what all PEs have agreed upon (NVSI_HEAP_CHOICE): NULL on
 * error, which is recorded but ends nothing. */
void *nvsi_skin_malloc(const char *fn, size_t nbytes, int choice);
void *nvsi_skin_calloc(const char *fn, size_t count, size_t size, int choice);
void *nvsi_skin_align(const char *fn, size_t align, size_t nbytes, int choice);
void *nvsi_skin_realloc(const char *fn, void *ptr, size_t nbytes);
void nvsi_skin_free(const char *fn, void *ptr, bool barrier);

/* Teams. An INVALID parent is no error of the caller: it has no part in the split, and nothing is
 * said.
 */
int nvsi_skin_team_my_pe(const char *fn, int32_t handle);
int nvsi_skin_team_n_pes(const char *fn, int32_t handle);
int nvsi_skin_translate(const char *fn, int32_t from, int team_pe, int32_t to);
/* A team's config and mask, of which `known` are the bits that exist: 0 or NVS_ERR_INVALID. */
int nvsi_skin_config(const char *fn, const void *config, long mask, long known);
int nvsi_skin_split_strided(const char *fn, int32_t parent, int start, int stride, int size,
                            int num_contexts, int32_t *handle);
int nvsi_skin_split_2d(const char *fn, int32_t parent, int xrange, const int num_contexts[2],
                       int32_t *x_handle, int32_t *y_handle);
void nvsi_skin_team_destroy(const char *fn, int32_t handle);
int nvsi_skin_team_sync(const char *fn, int32_t handle);
int nvsi_skin_team_barrier(const char *fn, int32_t handle);

uint64_t nvsi_skin_signal_fetch(const char *fn, const volatile uint64_t *sig);
/* Returns the value that satisfied the condition. */
uint64_t nvsi_skin_signal_wait(const char *fn, const volatile uint64_t *sig, int cmp,
                               uint64_t value);

#endif
