/*
 * skin_stream.h - skin.h for operations on streams: a record of the arguments, then
 * nvsi_on_stream(). Not inline: a record takes longer than a call.
 */
#ifndef NVSI_SKIN_STREAM_H
#define NVSI_SKIN_STREAM_H

#include "api/skin_coll.h"
#include "api/skin_wait.h"
#include "stream/stream.h"

void nvsi_skin_put_on(const char *fn, void *dst, const void *src, size_t nelems, size_t elem_bytes,
                      int pe, bool nbi, void *stream);
void nvsi_skin_get_on(const char *fn, void *dst, const void *src, size_t nelems, size_t elem_bytes,
                      int pe, bool nbi, void *stream);
void nvsi_skin_p_on(const char *fn, void *dst, const void *value, size_t elem_bytes, int pe,
                    void *stream);
/* *value stays as it is on an error. */
void nvsi_skin_g_on(const char *fn, void *value, const void *src, size_t elem_bytes, int pe,
                    void *stream);
void nvsi_skin_iput_on(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                       ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int pe,
                       void *stream);
void nvsi_skin_iget_on(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                       ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int pe,
                       void *stream);
void nvsi_skin_put_signal_on(const char *fn, void *dst, const void *src, size_t nelems,
                             size_t elem_bytes, uint64_t *sig, uint64_t value, int op, int pe,
                             bool nbi, void *stream);
void nvsi_skin_signal_on(const char *fn, uint64_t *sig, uint64_t value, int op, int pe,
                         void *stream);

/* value: the 64-bit pattern of the word's type. values: one for each element. */
void nvsi_skin_wait_until_on(const char *fn, volatile void *ivar, enum nvsi_word word, int cmp,
                             uint64_t value, void *stream);
void nvsi_skin_wait_until_all_on(const char *fn, volatile void *ivars, size_t nelems,
                                 const int *status, enum nvsi_word word, int cmp, uint64_t value,
                                 void *stream);
void nvsi_skin_wait_until_all_vector_on(const char *fn, volatile void *ivars, size_t nelems,
                                        const int *status, enum nvsi_word word, int cmp,
                                        const void *values, void *stream);

void nvsi_skin_quiet_on(const char *fn, void *stream);
int nvsi_skin_barrier_on(const char *fn, int32_t handle, void *stream);
int nvsi_skin_sync_on(const char *fn, int32_t handle, void *stream);
void nvsi_skin_barrier_all_on(const char *fn, void *stream);
void nvsi_skin_sync_all_on(const char *fn, void *stream);
int nvsi_skin_broadcast_on(const char *fn, int32_t handle, void *dst, const void *src,
                           size_t nelems, size_t elem_bytes, int root, void *stream);
int nvsi_skin_fcollect_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                          size_t elem_bytes, void *stream);
int nvsi_skin_alltoall_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                          size_t elem_bytes, void *stream);
int nvsi_skin_reduce_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                        int dtype, int op, void *stream);
int nvsi_skin_reducescatter_on(const char *fn, int32_t handle, void *dst, const void *src,
                               size_t nelems, int dtype, int op, void *stream);

/* A collective that nvs.h or the functions above have checked. Returns the status. */
int nvsi_skin_coll_on(enum nvsi_sop op, struct nvsi_team *team, const struct nvsi_coll_args *args,
                      void *stream);

#endif
