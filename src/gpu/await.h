/*
 * await.h - waits of streams in which no kernel waits: what the host knows of each.
 *
 * A wait that the driver does for us leaves no trace, so each has a line of pinned memory that the
 * stream itself writes: WAITING before it, DONE behind it. By that the host knows who waits, can
 * say so, and can end it.
 */
#ifndef NVSI_GPU_AWAIT_H
#define NVSI_GPU_AWAIT_H

#include "gpu/gpu.h"

/* Values of a line's state. The stream writes all but SEEN, which the host adds (by compare and
 * swap) to what it finds: if it finds it again, it is the same wait, not the one of a later replay.
 */
enum {
    NVSI_AWAIT_WAITING = 1,
    NVSI_AWAIT_DONE = 2,
    NVSI_AWAIT_SECOND = 3, /* a meeting: in its second round */
    NVSI_AWAIT_SEEN = 4,
    NVSI_AWAIT_PASSED = 8 /* by the driver: the word compares; on as soon as `go` is 0 */
};

/* Shared with the GPU. */
struct nvsi_await_line {
    _Atomic uint32_t state;
    /* By the host: 1 when it has found the words to compare as wanted. By the driver: 1 while the
     * host has another value in the word, and the stream must not go on. */
    _Atomic uint32_t go;
};

enum { NVSI_AWAIT_ELEMS = 1024 }; /* that one wait of the host's looks at */

struct nvsi_await {
    /* Set once. */
    struct nvsi_await *next; /* of all */
    struct nvsi_await_line *line;
    CUdeviceptr at; /* the line as the GPU addresses it */
    /* Of each wait anew. */
    bool held;     /* the thread that looks is at it */
    bool captured; /* a graph has it for ever */
    char fn[64];   /* the public function */

    /* Words; nelems 0: a meeting. values and status are copies of ours, or what the GPU reaches. */
    struct nvsi_words words;
    size_t elem_bytes;
    uint64_t value; /* if not vector */
    bool by_host;   /* the host compares (go), else the stream does */
    uint64_t pass;  /* a value that lets the stream pass */
    void *copies;

    /* A meeting. */
    int32_t team;
    int npes;
    CUdeviceptr channel;

    /* Of the thread that looks. */
    uint64_t seen;
    int32_t missing; /* world PE, or -1 */
    struct nvsi_seen_wait since;
};

static inline bool nvsi_await_waits(const struct nvsi_await *await)
{
    return atomic_load(&await->line->state) & NVSI_AWAIT_WAITING;
}

/* A record with a state of 0, for an operation of `stream`; NULL: an error was recorded. */
struct nvsi_await *nvsi_await_new(const char *fn, CUstream stream);
/* What was put into the stream is not complete: nobody waits. */
void nvsi_await_drop(struct nvsi_await *await);
/* The stream notes how far it is. */
int nvsi_await_step(const struct nvsi_await *await, uint32_t state, CUstream stream);
/* By a host function of the stream, which is about to wait for `go`. */
void nvsi_await_ask(void *await);
/* All records, by `next`. */
struct nvsi_await *nvsi_await_first(void);
/* Whether it waits; then nobody uses the record for something else before it is released. */
bool nvsi_await_hold(struct nvsi_await *await);
void nvsi_await_release(struct nvsi_await *await);

/* ---- await_look.c: the thread ---- */

/* If it does not run yet; one caller at a time. */
int nvsi_await_start(const char *fn);
void nvsi_await_wake(void);
void nvsi_await_stop(void);

/* ---- await_read.c: for that thread ---- */

/* A stream to copy on, and a buffer of pinned memory. */
struct nvsi_reader {
    CUstream stream;
    char *buffer;
};
enum { NVSI_READ_BYTES = NVSI_AWAIT_ELEMS * (8 + 8 + 4) };
int nvsi_await_readers_open(const char *fn);
void nvsi_await_readers_close(void);
/* One with nothing to do; NULL: all are stuck. */
struct nvsi_reader *nvsi_await_reader(void);
/* Whether what it was given has been done. */
bool nvsi_await_finish(const struct nvsi_reader *reader);

#endif
