/*
 * rma.c - puts and gets: bulk copies, strided copies, and the way to peers that are not mapped.
 */
#include "fast.h"
#include "transport/transport.h"
#include "util/copy.h"
#include "wait.h"

int nvsi_locate(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                size_t nelems, size_t elem_bytes, int team_pe, struct nvsi_remote *at)
{
    size_t nbytes;
    int pe = nvsi_ctx_pe(ctx, team_pe);
    bool overflow = __builtin_mul_overflow(nelems, elem_bytes, &nbytes);
    if (pe >= 0 && pe < nvsi.npes && !overflow) {
        for (int s = 0; s < NVSI_NUM_SEGS; s++) {
            size_t offset = (size_t)((const char *)sym - nvsi.seg[s].base);
            if (offset < nvsi.seg[s].size && nbytes <= nvsi.seg[s].size - offset) {
                *at = (struct nvsi_remote){.pe = pe, .seg = s, .offset = offset};
                if (NVSI_UNLIKELY(nvsi.check))
                    return nvsi_check_remote(ctx, fn, what, sym, nbytes, pe);
                return 0;
            }
        }
        if (nbytes == 0) { /* nothing is moved: any address will do */
            *at = (struct nvsi_remote){.pe = pe};
            return 0;
        }
    }
    return nvsi_bad_access(ctx, fn, what, sym, nelems, elem_bytes, team_pe);
}

void nvsi_copy_bulk(void *dst, const void *src, size_t nbytes, enum nvsi_flight_op op, int pe)
{
    nvsi_flight_enter(op, -1, pe, nbytes);
    nvsi_copy_large(dst, src, nbytes);
    nvsi_flight_leave();
}

int nvsi_put_slow(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                  size_t elem_bytes, int pe, bool nbi)
{
    struct nvsi_remote at = {0}; /* the checker cannot know that an error leaves it */
    int status = nvsi_locate(ctx, fn, "dst", dst, nelems, elem_bytes, pe, &at);
    if (!status && nvsi.check)
        status = nvsi_check_local(fn, "src", src, nelems * elem_bytes, &at);
    if (status || nelems == 0)
        return status;
    return nvsi_way(&at, src)->put(ctx, &at, src, nelems * elem_bytes, nbi);
}

int nvsi_get_slow(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src, size_t nelems,
                  size_t elem_bytes, int pe, bool nbi)
{
    struct nvsi_remote at = {0}; /* the checker cannot know that an error leaves it */
    int status = nvsi_locate(ctx, fn, "src", src, nelems, elem_bytes, pe, &at);
    if (!status && nvsi.check)
        status = nvsi_check_local(fn, "dst", dst, nelems * elem_bytes, &at);
    if (status || nelems == 0)
        return status;
    return nvsi_way(&at, dst)->get(ctx, &at, dst, nelems * elem_bytes, nbi);
}

/* ---- strided -------------------------------------------------------------------------------- */

/* The number of elements that a strided object spans; *span of 0 elements is 0. */
static int span_of(const char *fn, const char *what, size_t nelems, ptrdiff_t stride, size_t *span)
{
    if (nelems == 0) {
        *span = 0;
        return 0;
    }
    if (stride < 1)
        return nvsi_error(NVS_ERR_INVALID, "%s: %s is %td: allowed are 1 and more", fn, what,
                          stride);
    if (__builtin_mul_overflow(nelems - 1, (size_t)stride, span) || ++*span == 0)
        return nvsi_error(NVS_ERR_INVALID, "%s: %zu elements with %s %td are too large", fn, nelems,
                          what, stride);
    return 0;
}

#define COPY_STRIDED(type)                                                                         \
    for (size_t i = 0; i < shape->nelems; i++)                                                     \
    memcpy(dst + (ptrdiff_t)i * shape->dst_stride * (ptrdiff_t)sizeof(type),                       \
           src + (ptrdiff_t)i * shape->src_stride * (ptrdiff_t)sizeof(type), sizeof(type))

static void copy_strided(char *dst, const char *src, const struct nvsi_strided *shape)
{
    typedef struct {
        uint64_t half[2];
    } wide;
    switch (shape->elem_bytes) {
    case 1:
        COPY_STRIDED(uint8_t);
        break;
    case 2:
        COPY_STRIDED(uint16_t);
        break;
    case 4:
        COPY_STRIDED(uint32_t);
        break;
    case 8:
        COPY_STRIDED(uint64_t);
        break;
    default:
        COPY_STRIDED(wide);
    }
}

/* Element by element through the transport. */
static int put_each(struct nvsi_ctx *ctx, struct nvsi_remote at, const char *src,
                    const struct nvsi_strided *shape)
{
    int status = 0;
    for (size_t i = 0; !status && i < shape->nelems; i++) {
        status = nvsi.peers[at.pe].ops->put(ctx, &at, src, shape->elem_bytes, false);
        at.offset += (size_t)shape->dst_stride * shape->elem_bytes;
        src += shape->src_stride * (ptrdiff_t)shape->elem_bytes;
    }
    return status;
}

static int get_each(struct nvsi_ctx *ctx, char *dst, struct nvsi_remote at,
                    const struct nvsi_strided *shape)
{
    int status = 0;
    for (size_t i = 0; !status && i < shape->nelems; i++) {
        status = nvsi.peers[at.pe].ops->get(ctx, &at, dst, shape->elem_bytes, false);
        at.offset += (size_t)shape->src_stride * shape->elem_bytes;
        dst += shape->dst_stride * (ptrdiff_t)shape->elem_bytes;
    }
    return status;
}

int nvsi_locate_strided(const struct nvsi_ctx *ctx, const char *fn, const char *what,
                        const void *sym, const struct nvsi_strided *shape, int pe,
                        struct nvsi_remote *at)
{
    size_t dst_span = 0, src_span = 0;
    int status = span_of(fn, "dst_stride", shape->nelems, shape->dst_stride, &dst_span);
    if (!status)
        status = span_of(fn, "src_stride", shape->nelems, shape->src_stride, &src_span);
    if (status)
        return status;
    size_t span = what[0] == 'd' ? dst_span : src_span;
    return nvsi_locate(ctx, fn, what, sym, span, shape->elem_bytes, pe, at);
}

int nvsi_iput(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
              const struct nvsi_strided *shape, int pe)
{
    struct nvsi_remote at = {0};
    int status = nvsi_locate_strided(ctx, fn, "dst", dst, shape, pe, &at);
    if (status || shape->nelems == 0)
        return status;
    if (nvsi.device && nvsi_way(&at, src) == &nvsi.device->ops)
        return nvsi.device->iput(fn, &at, src, shape);
    char *base = nvsi.peers[at.pe].seg[at.seg];
    if (!base)
        return put_each(ctx, at, src, shape);
    copy_strided(base + at.offset, src, shape);
    nvsi_wake(at.pe);
    return 0;
}

int nvsi_iget(struct nvsi_ctx *ctx, const char *fn, void *dst, const void *src,
              const struct nvsi_strided *shape, int pe)
{
    struct nvsi_remote at = {0};
    int status = nvsi_locate_strided(ctx, fn, "src", src, shape, pe, &at);
    if (status || shape->nelems == 0)
        return status;
    if (nvsi.device && nvsi_way(&at, dst) == &nvsi.device->ops)
        return nvsi.device->iget(fn, dst, &at, shape);
    char *base = nvsi.peers[at.pe].seg[at.seg];
    if (!base)
        return get_each(ctx, dst, at, shape);
    copy_strided(dst, base + at.offset, shape);
    return 0;
}
