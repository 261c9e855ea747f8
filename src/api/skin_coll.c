/*
 * skin_coll.c - the checks of collectives, and their untyped forms on teams.
 *
 * Checked here, before the PE enters: what a PE can see alone. What PEs must agree on is compared
 * by coll/ when they meet; an error here makes no PE wait for another one, but the others will wait
 * for this PE if their arguments are right.
 */
#include "api/skin_coll.h"

/* ---- addresses ------------------------------------------------------------------------------- */

static int check_range(const struct nvsi_coll_args *args, const char *what, const void *ptr,
                       size_t nblocks, size_t *nbytes)
{
    if (__builtin_mul_overflow(args->nelems, args->elem_bytes, nbytes) ||
        __builtin_mul_overflow(*nbytes, nblocks, nbytes) || *nbytes > (size_t)PTRDIFF_MAX)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: %zu blocks of %zu elements of %zu bytes are more "
                          "than memory can hold",
                          args->fn, nblocks, args->nelems, args->elem_bytes);
    if (*nbytes && !ptr)
        return nvsi_error(NVS_ERR_INVALID, "%s: %s is NULL, but there are %zu elements", args->fn,
                          what, args->nelems);
    return 0;
}

/* dst == src is in place. So are NCCL's forms: this PE's block of the larger buffer is the smaller
 * one. */
static bool in_place(const struct nvsi_team *team, const char *dst, size_t dst_bytes,
                     const char *src, size_t src_bytes)
{
    size_t block = dst_bytes < src_bytes ? dst_bytes : src_bytes;
    size_t mine = (size_t)team->team_pe * block;
    if (dst == src)
        return true;
    return dst_bytes > src_bytes ? src == dst + mine : src_bytes > dst_bytes && dst == src + mine;
}

static int check_apart(const struct nvsi_team *team, const struct nvsi_coll_args *args,
                       size_t dst_bytes, size_t src_bytes)
{
    const char *dst = args->dst, *src = args->src;
    bool overlap =
        (uintptr_t)dst < (uintptr_t)src + src_bytes && (uintptr_t)src < (uintptr_t)dst + dst_bytes;
    if (NVSI_LIKELY(!overlap) || !dst_bytes || !src_bytes ||
        in_place(team, dst, dst_bytes, src, src_bytes))
        return 0;
    return nvsi_error(NVS_ERR_INVALID,
                      "%s: dst %p (%zu bytes) and src %p (%zu bytes) overlap but are not the same",
                      args->fn, args->dst, dst_bytes, args->src, src_bytes);
}

/* A strided object ends with its last element, not with the gap behind it. */
static size_t without_gap(const struct nvsi_coll_args *args, size_t nbytes, ptrdiff_t stride)
{
    return nbytes ? nbytes - (size_t)(stride - 1) * args->elem_bytes : 0;
}

int nvsi_skin_check_args(const struct nvsi_team *team, const struct nvsi_coll_args *args,
                         size_t dst_blocks, size_t src_blocks)
{
    size_t dst_bytes, src_bytes;
    int status = check_range(args, "dst", args->dst, dst_blocks, &dst_bytes);
    if (!status)
        status = check_range(args, "src", args->src, src_blocks, &src_bytes);
    bool standard = args->flags & NVSI_COLL_SYMMETRIC;
    if (!status && args->dst_stride == 1 && args->src_stride == 1 && (!standard || nvsi.check))
        status = check_apart(team, args, dst_bytes, src_bytes);
    if (!status && NVSI_UNLIKELY(nvsi.check))
        status = nvsi.check(args->fn, "dst", args->dst,
                            without_gap(args, dst_bytes, args->dst_stride), nvsi.me);
    if (!status && NVSI_UNLIKELY(nvsi.check))
        status = nvsi.check(args->fn, "src", args->src,
                            without_gap(args, src_bytes, args->src_stride), nvsi.me);
    return status;
}

/* Made where it is used, field by field: a structure that is handed back by value is copied in wide
 * pieces, each of which has to wait until the narrow stores before it have left the core. */
#define UNTYPED(...)                                                                               \
    {                                                                                              \
        .fn = fn, .dst = dst, .src = src, .nelems = nelems, .dst_stride = 1, .src_stride = 1,      \
        .flags = NVSI_COLL_SYMMETRIC, __VA_ARGS__                                                  \
    }
#define ELEMENTS UNTYPED(.dtype = -1, .elem_bytes = elem_bytes)
#define TYPED UNTYPED(.dtype = dtype, .op = op, .elem_bytes = nvsi_dtype_size(dtype))

/* ---- collectives on a team that is known to exist -------------------------------------------- */

static int broadcast(struct nvsi_team *team, struct nvsi_coll_args *args, int root)
{
    if (root < 0 || root >= team->npes)
        return nvsi_error(NVS_ERR_INVALID, "%s: PE_root %d is not in the team: allowed are 0 to %d",
                          args->fn, root, team->npes - 1);
    args->root = root;
    bool is_root = team->team_pe == root;
    int status = nvsi_skin_check_args(team, args, is_root && args->root_keeps ? 0 : 1, is_root);
    return status ? status : nvsi_broadcast(team, args);
}

static int fcollect(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    int status = nvsi_skin_check_args(team, args, (size_t)team->npes, 1);
    return status ? status : nvsi_all_gather(team, args);
}

/* The size of dst depends on the counts of the others; only its address can be checked. */
static int collect(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    int status = nvsi_skin_check_args(team, args, 1, 1);
    return status ? status : nvsi_collect(team, args);
}

static int alltoall(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    int status = nvsi_skin_check_args(team, args, (size_t)team->npes, (size_t)team->npes);
    return status ? status : nvsi_all_to_all(team, args);
}

static int alltoalls(struct nvsi_team *team, struct nvsi_coll_args *args, ptrdiff_t dst_stride,
                     ptrdiff_t src_stride)
{
    args->dst_stride = dst_stride;
    args->src_stride = src_stride;
    size_t dst_blocks, src_blocks, npes = (size_t)team->npes;
    if (dst_stride < 1 || src_stride < 1)
        return nvsi_error(NVS_ERR_INVALID,
                          "%s: dst_stride is %td and src_stride is %td: allowed are 1 and more",
                          args->fn, dst_stride, src_stride);
    if (__builtin_mul_overflow((size_t)dst_stride, npes, &dst_blocks))
        dst_blocks = SIZE_MAX;
    if (__builtin_mul_overflow((size_t)src_stride, npes, &src_blocks))
        src_blocks = SIZE_MAX;
    int status = nvsi_skin_check_args(team, args, dst_blocks, src_blocks);
    return status ? status : nvsi_all_to_all(team, args);
}

static int reduce(struct nvsi_team *team, const struct nvsi_coll_args *args)
{
    int status = nvsi_skin_check_args(team, args, 1, 1);
    return status ? status : nvsi_all_reduce(team, args);
}

/* ---- by handle ------------------------------------------------------------------------------- */

int nvsi_skin_broadcast(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                        size_t elem_bytes, int root)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : broadcast(team, &args, root));
}

int nvsi_skin_fcollect(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                       size_t elem_bytes)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : fcollect(team, &args));
}

int nvsi_skin_collect(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                      size_t elem_bytes)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : collect(team, &args));
}

int nvsi_skin_alltoall(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                       size_t elem_bytes)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : alltoall(team, &args));
}

int nvsi_skin_alltoalls(const char *fn, int32_t handle, void *dst, const void *src,
                        ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
                        size_t elem_bytes)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : alltoalls(team, &args, dst_stride, src_stride));
}

int nvsi_skin_reduce(const char *fn, int32_t handle, void *dst, const void *src, size_t nelems,
                     int dtype, int op)
{
    struct nvsi_coll_args args = TYPED;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    return nvsi_skin_told(status ? status : reduce(team, &args));
}

int nvsi_skin_reducescatter(const char *fn, int32_t handle, void *dst, const void *src,
                            size_t nelems, int dtype, int op)
{
    struct nvsi_coll_args args = TYPED;
    struct nvsi_team *team;
    int status = nvsi_skin_team(fn, handle, &team);
    if (!status)
        status = nvsi_skin_check_args(team, &args, 1, (size_t)team->npes);
    return nvsi_skin_told(status ? status : nvsi_reduce_scatter(team, &args));
}

/* ---- on active sets -------------------------------------------------------------------------- */

struct nvsi_team *nvsi_skin_active_set(const char *fn, int start, int log_stride, int size,
                                       const long *sync)
{
    struct nvsi_team *team = NULL;
    int status = nvsi_ready(fn);
    if (!status && !sync)
        status = nvsi_error(NVS_ERR_INVALID, "%s: pSync is NULL", fn);
    if (!status)
        status = nvsi_team_active_set(fn, start, log_stride, size, &team);
    nvsi_check(status);
    return team;
}

void nvsi_skin_old_broadcast(const char *fn, void *dst, const void *src, size_t nelems,
                             size_t elem_bytes, int root, int start, int log_stride, int size,
                             const long *sync)
{
    struct nvsi_coll_args args = ELEMENTS;
    args.root_keeps = true;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team)
        nvsi_check(broadcast(team, &args, root));
}

void nvsi_skin_old_fcollect(const char *fn, void *dst, const void *src, size_t nelems,
                            size_t elem_bytes, int start, int log_stride, int size,
                            const long *sync)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team)
        nvsi_check(fcollect(team, &args));
}

void nvsi_skin_old_collect(const char *fn, void *dst, const void *src, size_t nelems,
                           size_t elem_bytes, int start, int log_stride, int size, const long *sync)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team)
        nvsi_check(collect(team, &args));
}

void nvsi_skin_old_alltoall(const char *fn, void *dst, const void *src, size_t nelems,
                            size_t elem_bytes, int start, int log_stride, int size,
                            const long *sync)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team)
        nvsi_check(alltoall(team, &args));
}

void nvsi_skin_old_alltoalls(const char *fn, void *dst, const void *src, ptrdiff_t dst_stride,
                             ptrdiff_t src_stride, size_t nelems, size_t elem_bytes, int start,
                             int log_stride, int size, const long *sync)
{
    struct nvsi_coll_args args = ELEMENTS;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team)
        nvsi_check(alltoalls(team, &args, dst_stride, src_stride));
}

void nvsi_skin_to_all(const char *fn, void *dst, const void *src, int nreduce, int dtype, int op,
                      int start, int log_stride, int size, const long *sync)
{
    size_t nelems = (size_t)nreduce;
    struct nvsi_coll_args args = TYPED;
    struct nvsi_team *team = nvsi_skin_active_set(fn, start, log_stride, size, sync);
    if (team && nreduce < 0)
        nvsi_check(
            nvsi_error(NVS_ERR_INVALID, "%s: nreduce is %d: allowed are 0 and more", fn, nreduce));
    else if (team)
        nvsi_check(reduce(team, &args));
}
