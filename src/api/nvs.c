/*
 * nvs.c - the functions of nvs.h: whole checks, then the core. Nothing here prints or exits; every
 * failure is a status with a sentence.
 */
#include <stdio.h>

#include "api/skin_stream.h"
#include "nvs.h"

/* ---- start, end, memory ---------------------------------------------------------------------- */

int nvs_init(void)
{
    int provided;
    return nvsi_init(3, &provided); /* THREAD_MULTIPLE: nvs.h lets any thread call */
}

int nvs_finalize(void)
{
    return nvsi_finalize("nvs_finalize");
}

int nvs_my_pe(void)
{
    return NVSI_LIKELY(nvsi.npes > 0) ? nvsi.me : nvsi_ready("nvs_my_pe");
}

int nvs_n_pes(void)
{
    return NVSI_LIKELY(nvsi.npes > 0) ? nvsi.npes : nvsi_ready("nvs_n_pes");
}

unsigned nvs_session(void)
{
    return nvsi.npes > 0 ? nvsi.session : 0;
}

void *nvs_malloc(size_t size)
{
    void *ptr = NULL;
    if (nvsi_ready("nvs_malloc") ||
        nvsi_heap_malloc("nvs_malloc", size, NVSI_MALLOC_ALIGN, 0, &ptr))
        return NULL;
    return ptr;
}

void *nvs_malloc_device(size_t size)
{
    void *ptr = NULL;
    if (nvsi_ready("nvs_malloc_device") ||
        nvsi_heap_malloc("nvs_malloc_device", size, NVSI_MALLOC_ALIGN, NVSI_HEAP_ON_GPU, &ptr))
        return NULL;
    return ptr;
}

int nvs_free(void *ptr)
{
    int status = nvsi_ready("nvs_free");
    if (status || !ptr)
        return status;
    return nvsi_heap_free("nvs_free", ptr, false);
}

/* ---- what the collectives check -------------------------------------------------------------- */

/* The smallest struct nvs_call that ever existed: without a stream. */
#define MIN_CALL_SIZE offsetof(struct nvs_call, stream)

/* The stream of a call; NULL if it has none, or was compiled before there was one. */
static void *stream_of(const struct nvs_call *call)
{
    return call && call->size >= offsetof(struct nvs_call, stream) + sizeof call->stream
               ? call->stream
               : NULL;
}

/* The name for error sentences: that of the function, with the call's label if it has one. */
static const char *label(const char *fn, const struct nvs_call *call)
{
    static _Thread_local char labelled[128];
    if (!call || call->size < MIN_CALL_SIZE || !call->label)
        return fn;
    snprintf(labelled, sizeof labelled, "%s [%s]", fn, call->label);
    return labelled;
}

static int check_call(const char *fn, const struct nvs_call *call)
{
    if (!call || (call->size >= MIN_CALL_SIZE && call->size <= sizeof *call))
        return 0;
    return nvsi_error(
        NVS_ERR_INVALID,
        "%s: call->size is %zu: this library knows %zu to %zu bytes; make it with NVS_CALL()", fn,
        call->size, MIN_CALL_SIZE, sizeof *call);
}

static int check_dtype(const char *fn, enum nvs_dtype dtype)
{
    if ((int)dtype >= NVS_INT8 && (int)dtype <= NVS_BFLOAT16)
        return 0;
    return nvsi_error(NVS_ERR_INVALID, "%s: data type %d does not exist: allowed are 0 to %d", fn,
                      (int)dtype, NVS_BFLOAT16);
}

static int check_op(const char *fn, enum nvs_dtype dtype, enum nvs_op op)
{
    if ((int)op < NVS_SUM || (int)op > NVS_AVG)
        return nvsi_error(NVS_ERR_INVALID, "%s: operator %d does not exist: allowed are 0 to %d",
                          fn, (int)op, NVS_AVG);
    if (!nvsi_op_defined((int)dtype, (int)op))
        return nvsi_error(NVS_ERR_INVALID, "%s: %s of %s is not defined", fn, nvsi_op_name((int)op),
                          nvsi_dtype_name((int)dtype));
    return 0;
}

/* Everything but the addresses; *team and *args are complete on success. args->fn is the name to
 * use. */
static int prepare(nvs_team_t handle, const struct nvs_call *call, struct nvsi_coll_args *args,
                   struct nvsi_team **team)
{
    args->fn = label(args->fn, call);
    int status = nvsi_skin_team(args->fn, handle, team);
    if (!status)
        status = check_call(args->fn, call);
    if (!status)
        status = check_dtype(args->fn, (enum nvs_dtype)args->dtype);
    if (!status)
        status = check_op(args->fn, (enum nvs_dtype)args->dtype, (enum nvs_op)args->op);
    if (!status)
        args->elem_bytes = nvsi_dtype_size(args->dtype);
    return status;
}

#define ARGS(name)                                                                                 \
    {                                                                                              \
        .fn = name, .dst = dst, .src = src, .nelems = nelems, .dst_stride = 1, .src_stride = 1,    \
        .dtype = (int)dtype                                                                        \
    }

/* The collective itself: now, or in a stream. */
NVSI_INLINE int run(enum nvsi_sop op, struct nvsi_team *team, const struct nvsi_coll_args *args,
                    const struct nvs_call *call)
{
    void *stream = stream_of(call);
    if (stream)
        return nvsi_skin_coll_on(op, team, args, stream);
    switch (op) {
    case NVSI_SOP_ALL_REDUCE:
        return nvsi_all_reduce(team, args);
    case NVSI_SOP_BROADCAST:
        return nvsi_broadcast(team, args);
    case NVSI_SOP_ALL_GATHER:
        return nvsi_all_gather(team, args);
    case NVSI_SOP_REDUCE_SCATTER:
        return nvsi_reduce_scatter(team, args);
    default:
        return nvsi_all_to_all(team, args);
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

int nvs_all_reduce(nvs_team_t handle, void *dst, const void *src, size_t nelems,
                   enum nvs_dtype dtype, enum nvs_op op, const struct nvs_call *call)
{
    struct nvsi_coll_args args = ARGS("nvs_all_reduce");
    struct nvsi_team *team;
    args.op = (int)op;
    int status = prepare(handle, call, &args, &team);
    if (!status)
        status = nvsi_skin_check_args(team, &args, 1, 1);
    return status ? status : run(NVSI_SOP_ALL_REDUCE, team, &args, call);
}

int nvs_broadcast(nvs_team_t handle, void *dst, const void *src, size_t nelems,
                  enum nvs_dtype dtype, int root, const struct nvs_call *call)
{
    struct nvsi_coll_args args = ARGS("nvs_broadcast");
    struct nvsi_team *team;
    args.root = root;
    int status = prepare(handle, call, &args, &team);
    if (!status && (root < 0 || root >= team->npes))
        status = nvsi_error(NVS_ERR_INVALID, "%s: root %d is not in the team: allowed are 0 to %d",
                            args.fn, root, team->npes - 1);
    if (!status)
        status = nvsi_skin_check_args(team, &args, 1, root == team->team_pe);
    return status ? status : run(NVSI_SOP_BROADCAST, team, &args, call);
}

int nvs_all_gather(nvs_team_t handle, void *dst, const void *src, size_t nelems,
                   enum nvs_dtype dtype, const struct nvs_call *call)
{
    struct nvsi_coll_args args = ARGS("nvs_all_gather");
    struct nvsi_team *team;
    int status = prepare(handle, call, &args, &team);
    if (!status)
        status = nvsi_skin_check_args(team, &args, (size_t)team->npes, 1);
    return status ? status : run(NVSI_SOP_ALL_GATHER, team, &args, call);
}

int nvs_reduce_scatter(nvs_team_t handle, void *dst, const void *src, size_t nelems,
                       enum nvs_dtype dtype, enum nvs_op op, const struct nvs_call *call)
{
    struct nvsi_coll_args args = ARGS("nvs_reduce_scatter");
    struct nvsi_team *team;
    args.op = (int)op;
    int status = prepare(handle, call, &args, &team);
    if (!status)
        status = nvsi_skin_check_args(team, &args, 1, (size_t)team->npes);
    return status ? status : run(NVSI_SOP_REDUCE_SCATTER, team, &args, call);
}

int nvs_all_to_all(nvs_team_t handle, void *dst, const void *src, size_t nelems,
                   enum nvs_dtype dtype, const struct nvs_call *call)
{
    struct nvsi_coll_args args = ARGS("nvs_all_to_all");
    struct nvsi_team *team;
    int status = prepare(handle, call, &args, &team);
    if (!status)
        status = nvsi_skin_check_args(team, &args, (size_t)team->npes, (size_t)team->npes);
    return status ? status : run(NVSI_SOP_ALL_TO_ALL, team, &args, call);
}
