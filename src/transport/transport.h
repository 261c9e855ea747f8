/*
 * transport.h - the seam to peers whose memory is not mapped here.
 *
 * A peer that is mapped (nvsi.peers[pe].seg[] not NULL) never comes here: fast.h loads and stores.
 * Everybody else is reached through this table, fixed per peer when the job starts. Arguments are
 * already checked: pe is a world number in range, the range lies in one segment, words are aligned.
 * `seg` and `offset` say where in the peer's symmetric memory.
 *
 * All functions return 0 or a negative NVS_ERR_* for which they called nvsi_error(). None blocks
 * for longer than the operation itself takes. Any thread may call them at any time.
 */
#ifndef NVSI_TRANSPORT_H
#define NVSI_TRANSPORT_H

#include "nvs_internal.h"

struct nvsi_remote {
    int pe;
    int seg;
    size_t offset;
};

struct nvsi_transport {
    const char *name;

    /* Called once in init, after the peers are mapped, and once in finalize (then all operations
     * are complete). May change nvsi.peers[]. */
    int (*open)(void);
    void (*close)(void);

    /* Stores nbytes at the peer. src may be reused on return, unless nbi, then after quiet. */
    int (*put)(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src, size_t nbytes,
               bool nbi);

    /* Loads nbytes of the peer. dst is complete on return, unless nbi, then after quiet. */
    int (*get)(struct nvsi_ctx *ctx, const struct nvsi_remote *at, void *dst, size_t nbytes,
               bool nbi);

    /* One atomic on a word of 4 or 8 bytes. With old == NULL it may complete later, in no order to
     * puts; otherwise *old is the value before it, on return. */
    int (*amo)(struct nvsi_ctx *ctx, const struct nvsi_remote *at, enum nvsi_amo_code code,
               size_t nbytes, uint64_t operand, uint64_t compare, uint64_t *old);

    /* Stores data, then updates the signal word, in this order for everybody. */
    int (*put_signal)(struct nvsi_ctx *ctx, const struct nvsi_remote *at, const void *src,
                      size_t nbytes, const struct nvsi_remote *sig, uint64_t value, int op);

    /* Operations before it are seen by the target before operations after it, for each target. */
    int (*fence)(struct nvsi_ctx *ctx);

    /* All operations issued before it are complete, for everybody. */
    int (*quiet)(struct nvsi_ctx *ctx);

    /* Moves pending operations on. Called in wait loops. */
    void (*progress)(void);
};

/*
 * Memory of the GPU. Whoever meets a symmetric address in segment NVSI_SEG_DEVICE, or a local
 * buffer that may be device memory, goes through this table; it is there between stage two and
 * finalize (gpu/host_ops.c fills it in).
 */
struct nvsi_device {
    /* Both sides may be host memory or device memory. */
    struct nvsi_transport ops;
    bool (*is_device)(const void *ptr);
    int (*iput)(const char *fn, const struct nvsi_remote *at, const void *src,
                const struct nvsi_strided *shape);
    int (*iget)(const char *fn, void *dst, const struct nvsi_remote *at,
                const struct nvsi_strided *shape);
    /* Copies words of this PE's device memory to the host. */
    int (*read)(const char *fn, void *dst, const void *src, size_t nbytes);
    /* Where a peer's copy can be loaded and stored by this PE's GPU, or NULL. */
    void *(*address)(const void *sym, int pe);
    /* A collective on device memory; *taken false: it is not, and nothing has happened. kind: enum
     * nvsi_kind. */
    int (*collective)(int kind, struct nvsi_team *team, const struct nvsi_coll_args *args,
                      bool *taken);
    /* A team has been made or is about to be left; collective over its members if made. */
    int (*team_made)(const char *fn, struct nvsi_team *team);
    void (*team_left)(const char *fn, struct nvsi_team *team);
};

/* The way to a symmetric range and a local buffer (NULL: there is none). */
static inline const struct nvsi_transport *nvsi_way(const struct nvsi_remote *at, const void *local)
{
    if (NVSI_UNLIKELY(nvsi.device != NULL) &&
        (at->seg == NVSI_SEG_DEVICE || (local && nvsi.device->is_device(local))))
        return &nvsi.device->ops;
    return nvsi.peers[at->pe].ops;
}

/* Whether words are in this PE's part of the heap of GPU memory: the host cannot load them. */
static inline bool nvsi_on_device(const volatile void *words)
{
    const struct nvsi_segment *segment = &nvsi.seg[NVSI_SEG_DEVICE];
    return NVSI_UNLIKELY(nvsi.device != NULL) &&
           (size_t)((const volatile char *)words - segment->base) < segment->size;
}

extern const struct nvsi_transport nvsi_transport_shm;   /* loads and stores; everything mapped */
extern const struct nvsi_transport nvsi_transport_chaos; /* delays and reorders; for tests */

/* Splits a symmetric address, argument `what` of function fn, on PE pe of the context's team;
 * NVS_ERR_* through nvsi_bad_access() if it is none. rma.c */
int nvsi_locate(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                size_t nelems, size_t elem_bytes, int pe, struct nvsi_remote *at);
/* The same for the symmetric side of a strided copy, "dst" or "src"; checks both strides. rma.c */
int nvsi_locate_strided(const struct nvsi_ctx *ctx, const char *fn, const char *what,
                        const void *sym, const struct nvsi_strided *shape, int pe,
                        struct nvsi_remote *at);
/* The same for a signal word, and whether its operation exists. signal.c */
int nvsi_locate_signal(const struct nvsi_ctx *ctx, const char *fn, const uint64_t *sig, int op,
                       int pe, struct nvsi_remote *at);

/* check.c: NVS_CHECK=yes only. What nvsi_locate() has found, and the other side of a copy, looked
 * at closely. 0, or an error with a sentence. */
int nvsi_check_remote(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                      size_t nbytes, int pe);
int nvsi_check_local(const char *fn, const char *what, const void *local, size_t nbytes,
                     const struct nvsi_remote *at);

#endif
