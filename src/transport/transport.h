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

extern const struct nvsi_transport nvsi_transport_shm;   /* loads and stores; everything mapped */
extern const struct nvsi_transport nvsi_transport_chaos; /* delays and reorders; for tests */

/* Splits a symmetric address, argument `what` of function fn, on PE pe of the context's team;
 * NVS_ERR_* through nvsi_bad_access() if it is none. rma.c */
int nvsi_locate(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                size_t nelems, size_t elem_bytes, int pe, struct nvsi_remote *at);

/* check.c: NVS_CHECK=yes only. What nvsi_locate() has found, and the other side of a copy, looked
 * at closely. 0, or an error with a sentence. */
int nvsi_check_remote(const struct nvsi_ctx *ctx, const char *fn, const char *what, const void *sym,
                      size_t nbytes, int pe);
int nvsi_check_local(const char *fn, const char *what, const void *local, size_t nbytes,
                     const struct nvsi_remote *at);

#endif
