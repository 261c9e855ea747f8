/*
 * skin_stream.c - records of operations on streams. The arguments are checked as those of the
 * functions without a stream; what they point to is looked at when the operation runs.
 */
#include "api/skin_stream.h"

/* ---- one-sided ------------------------------------------------------------------------------- */

void nvsi_skin_put_on(const char *fn, void *dst, const void *src, size_t nelems, size_t elem_bytes,
                      int pe, bool nbi, void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_PUT,
                                .fn = fn,
                                .dst = dst,
                                .src = src,
                                .nelems = nelems,
                                .elem_bytes = elem_bytes,
                                .pe = pe,
                                .nbi = nbi};
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_get_on(const char *fn, void *dst, const void *src, size_t nelems, size_t elem_bytes,
                      int pe, bool nbi, void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_GET,
                                .fn = fn,
                                .dst = dst,
                                .src = src,
                                .nelems = nelems,
                                .elem_bytes = elem_bytes,
                                .pe = pe,
                                .nbi = nbi};
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_p_on(const char *fn, void *dst, const void *value, size_t elem_bytes, int pe,
                    void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_PUT,
                                .fn = fn,
                                .dst = dst,
                                .nelems = 1,
                                .elem_bytes = elem_bytes,
                                .pe = pe,
                                .immediate = true};
    memcpy(op.value_bytes, value, elem_bytes);
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_g_on(const char *fn, void *value, const void *src, size_t elem_bytes, int pe,
                    void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_G,
                                .fn = fn,
                                .dst = value,
                                .src = src,
                                .nelems = 1,
                                .elem_bytes = elem_bytes,
                                .pe = pe};
    nvsi_check(nvsi_on_stream(&op, stream));
}

static void strided(enum nvsi_sop code, const char *fn, void *dst, const void *src,
                    const struct nvsi_strided *shape, int pe, void *stream)
{
    struct nvsi_stream_op op = {.op = code,
                                .fn = fn,
                                .dst = dst,
                                .src = src,
                                .nelems = shape->nelems,
                                .elem_bytes = shape->elem_bytes,
                                .dst_stride = shape->dst_stride,
                                .src_stride = shape->src_stride,
                                .pe = pe};
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_iput_on(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                       ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int pe, void *stream)
{
    struct nvsi_strided shape = {dst_stride, src_stride, nelems, elem_bytes};
    strided(NVSI_SOP_IPUT, fn, dst, src, &shape, pe, stream);
}

void nvsi_skin_iget_on(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                       ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int pe, void *stream)
{
    struct nvsi_strided shape = {dst_stride, src_stride, nelems, elem_bytes};
    strided(NVSI_SOP_IGET, fn, dst, src, &shape, pe, stream);
}

void nvsi_skin_put_signal_on(const char *fn, void *dst, const void *src, size_t nelems,
                             size_t elem_bytes, uint64_t *sig, uint64_t value, int sig_op, int pe,
                             bool nbi, void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_PUT_SIGNAL,
                                .fn = fn,
                                .dst = dst,
                                .src = src,
                                .nelems = nelems,
                                .elem_bytes = elem_bytes,
                                .pe = pe,
                                .nbi = nbi,
                                .sig = sig,
                                .value = value,
                                .sig_op = sig_op};
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_signal_on(const char *fn, uint64_t *sig, uint64_t value, int sig_op, int pe,
                         void *stream)
{
    struct nvsi_stream_op op = {
        .op = NVSI_SOP_SIGNAL, .fn = fn, .sig = sig, .value = value, .sig_op = sig_op, .pe = pe};
    nvsi_check(nvsi_on_stream(&op, stream));
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void wait_on(const char *fn, const struct nvsi_words *words, uint64_t value, void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_WAIT,
                                .fn = fn,
                                .dst = (void *)words->ivars,
                                .nelems = words->nelems,
                                .value = value,
                                .word = words->word,
                                .cmp = words->cmp,
                                .status = words->status,
                                .values = words->vector ? words->values : NULL};
    nvsi_check(nvsi_on_stream(&op, stream));
}

void nvsi_skin_wait_until_on(const char *fn, volatile void *ivar, enum nvsi_word word, int cmp,
                             uint64_t value, void *stream)
{
    struct nvsi_words words = nvsi_skin_words(ivar, 1, NULL, word, cmp, NULL, false);
    if (nvsi_skin_word_ok(fn, ivar, word, cmp))
        wait_on(fn, &words, value, stream);
}

void nvsi_skin_wait_until_all_on(const char *fn, volatile void *ivars, size_t nelems,
                                 const int *status, enum nvsi_word word, int cmp, uint64_t value,
                                 void *stream)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, &value, false);
    if (nvsi_skin_arrays_ok(fn, &words, false, NULL))
        wait_on(fn, &words, value, stream);
}

void nvsi_skin_wait_until_all_vector_on(const char *fn, volatile void *ivars, size_t nelems,
                                        const int *status, enum nvsi_word word, int cmp,
                                        const void *values, void *stream)
{
    struct nvsi_words words = nvsi_skin_words(ivars, nelems, status, word, cmp, values, true);
    if (nvsi_skin_arrays_ok(fn, &words, false, NULL))
        wait_on(fn, &words, 0, stream);
}

/* ---- collectives ----------------------------------------------------------------------------- */

void nvsi_skin_quiet_on(const char *fn, void *stream)
{
    struct nvsi_stream_op op = {.op = NVSI_SOP_QUIET, .fn = fn};
    nvsi_check(nvsi_on_stream(&op, stream));
}

static int without_data(enum nvsi_sop code, const char *fn, int32_t handle, void *stream)
{
    struct nvsi_stream_op op = {.op = code, .fn = fn, .dtype = -1, .elem_bytes = 1};
    int status = nvsi_skin_team(fn, handle, &op.team);
    return status ? status : nvsi_on_stream(&op, stream);
}

int nvsi_skin_barrier_on(const char *fn, int32_t handle, void *stream)
{
    return nvsi_skin_told(without_data(NVSI_SOP_BARRIER, fn, handle, stream));
}

void nvsi_skin_barrier_all_on(const char *fn, void *stream)
{
    nvsi_check(without_data(NVSI_SOP_BARRIER, fn, NVSI_TEAM_WORLD, stream));
}

int nvsi_skin_sync_on(const char *fn, int32_t handle, void *stream)
{
    return nvsi_skin_told(without_data(NVSI_SOP_SYNC, fn, handle, stream));
}

void nvsi_skin_sync_all_on(const char *fn, void *stream)
{
    nvsi_check(without_data(NVSI_SOP_SYNC, fn, NVSI_TEAM_WORLD, stream));
}

int nvsi_skin_coll_on(enum nvsi_sop code, struct nvsi_team *team, const struct nvsi_coll_args *args,
                      void *stream)
{
    struct nvsi_stream_op op = {.op = code,
                                .fn = args->fn,
                                .dst = args->dst,
                                .src = args->src,
                                .nelems = args->nelems,
                                .elem_bytes = args->elem_bytes,
                                .team = team,
                                .dtype = args->dtype,
                                .redop = args->op,
                                .root = args->root,
                                .symmetric = args->flags & NVSI_COLL_SYMMETRIC};
    return nvsi_on_stream(&op, stream);
}

/* The checks of the standards' collectives, then the record; blocks: how many of nelems elements
 * dst and src have, 0 standing for one of each PE, -1 for none. */
static int checked(enum nvsi_sop code, struct nvsi_coll_args *args, int32_t handle, int dst_blocks,
                   int src_blocks, void *stream)
{
    struct nvsi_team *team;
    args->dst_stride = args->src_stride = 1;
    args->flags = NVSI_COLL_SYMMETRIC;
    int status = nvsi_skin_team(args->fn, handle, &team);
    if (!status && (args->root < 0 || args->root >= team->npes))
        status =
            nvsi_error(NVS_ERR_INVALID, "%s: PE_root %d is not in the team: allowed are 0 to %d",
                       args->fn, args->root, team->npes - 1);
    if (!status) {
        size_t all = (size_t)team->npes;
        if (code == NVSI_SOP_BROADCAST)
            src_blocks = team->team_pe == args->root ? 1 : -1;
        status = nvsi_skin_check_args(team, args, dst_blocks ? (size_t)dst_blocks : all,
                                      src_blocks < 0 ? 0
                                      : src_blocks   ? (size_t)src_blocks
                                                     : all);
    }
    if (!status)
        status = nvsi_skin_coll_on(code, team, args, stream);
    return nvsi_skin_told(status);
}

#define ARGS(...)                                                                                  \
    {                                                                                              \
        .fn = fn, .dst = dst, .src = src, .nelems = nelems, __VA_ARGS__                            \
    }
#define ELEMENTS ARGS(.dtype = -1, .elem_bytes = elem_bytes)
#define TYPED ARGS(.dtype = dtype, .op = op, .elem_bytes = nvsi_dtype_size(dtype))

int nvsi_skin_broadcast_on(const char *fn, int32_t handle, void *dst, const void *src,
                           size_t nelems, size_t elem_bytes, int root, void *stream)
{
    struct nvsi_coll_args args = ELEMENTS;
    args.root = root;
    return checked(NVSI_SOP_BROADCAST, &args, handle, 1, 1, stream);
}

int nvsi_skin_fcollect_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                          size_t elem_bytes, void *stream)
{
    struct nvsi_coll_args args = ELEMENTS;
    return checked(NVSI_SOP_ALL_GATHER, &args, handle, 0, 1, stream);
}

int nvsi_skin_alltoall_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                          size_t elem_bytes, void *stream)
{
    struct nvsi_coll_args args = ELEMENTS;
    return checked(NVSI_SOP_ALL_TO_ALL, &args, handle, 0, 0, stream);
}

int nvsi_skin_reduce_on(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                        int dtype, int op, void *stream)
{
    struct nvsi_coll_args args = TYPED;
    return checked(NVSI_SOP_ALL_REDUCE, &args, handle, 1, 1, stream);
}

int nvsi_skin_reducescatter_on(const char *fn, int32_t handle, void *dst, const void *src,
                               size_t nelems, int dtype, int op, void *stream)
{
    struct nvsi_coll_args args = TYPED;
    return checked(NVSI_SOP_REDUCE_SCATTER, &args, handle, 1, 0, stream);
}
