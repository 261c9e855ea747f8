/*
 * skin_coll.h - skin.h for collectives: the team of a handle or of an active set, the checks of the
 * arguments, then the core. Not inline: a collective takes longer than a call.
 */
#ifndef NVSI_SKIN_COLL_H
#define NVSI_SKIN_COLL_H

#include "api/skin.h"
#include "team.h"

/* The team of a handle for function fn: NVS_ERR_STATE or NVS_ERR_INVALID with a sentence if there
 * is none. */
static inline int nvsi_skin_team(const char *fn, int32_t handle, struct nvsi_team **team)
{
    *team = nvsi_team_get(handle);
    return NVSI_LIKELY(*team) ? 0 : nvsi_team_bad(fn, handle);
}

/* What all collectives check about their addresses, with args filled in: dst_blocks and src_blocks
 * blocks of nelems elements each, neither NULL nor larger than memory, and apart or in place. 0 or
 * an NVS_ERR_*, with a sentence. Overlap is undefined in the standards, and programs exist that get
 * away with it (also in public test suites): there only NVS_CHECK looks for it. Strided buffers may
 * lie between each other and are not compared. */
int nvsi_skin_check_args(const struct nvsi_team *team, const struct nvsi_coll_args *args,
                         size_t dst_blocks, size_t src_blocks);

/* On teams; the status is the result of the public function. */
int nvsi_skin_broadcast(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                        size_t elem_bytes, int root);
int nvsi_skin_fcollect(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                       size_t elem_bytes);
int nvsi_skin_collect(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                      size_t elem_bytes);
int nvsi_skin_alltoall(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                       size_t elem_bytes);
int nvsi_skin_alltoalls(const char *fn, int32_t handle, void *dst, const void *src,
                        ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
                        size_t elem_bytes);
int nvsi_skin_reduce(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                     int dtype, int op);
int nvsi_skin_reducescatter(const char *fn, int32_t handle, void *dst, const void *src,
                            size_t nelems, int dtype, int op);

/* On active sets: OpenSHMEM's deprecated form, which returns nothing. The team of an active set, or
 * NULL after nvsi_check() of what is wrong with it. */
struct nvsi_team *nvsi_skin_active_set(const char *fn, int start, int log_stride, int size,
                                       const long *sync);
void nvsi_skin_old_broadcast(const char *fn, void *dst, const void *src, size_t nelems,
                             size_t elem_bytes, int root, int start, int log_stride, int size,
                             const long *sync);
void nvsi_skin_old_fcollect(const char *fn, void *dst, const void *src, size_t nelems,
                            size_t elem_bytes, int start, int log_stride, int size,
                            const long *sync);
void nvsi_skin_old_collect(const char *fn, void *dst, const void *src, size_t nelems,
                           size_t elem_bytes, int start, int log_stride, int size,
                           const long *sync);
void nvsi_skin_old_alltoall(const char *fn, void *dst, const void *src, size_t nelems,
                            size_t elem_bytes, int start, int log_stride, int size,
                            const long *sync);
void nvsi_skin_old_alltoalls(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                             ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int start,
                             int log_stride, int size, const long *sync);
void nvsi_skin_to_all(const char *fn, void *dst, const void *src, int nreduce, int dtype, int op,
                      int start, int log_stride, int size, const long *sync);

#endif
