/*
 * fake.h - what the files of the stand-in driver share.
 *
 * It behaves as the real driver does where a caller can tell, and is strict where the real one is
 * forgiving or undefined: its purpose is to find mistakes in CI.
 *
 *   device.c   devices                context.c         contexts
 *   copy.c     copies, memset, words  memory.c, vmm.c   memory, and who may touch it
 *   stream.c   streams: a worker each event.c           events
 *   capture.c, graph.c   what is recorded instead of done
 *   module.c   kernels and variables  launch.c          grids       pool.c   threads that run them
 *
 * fake.lock protects everything; it is not held while an operation of a stream runs.
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu_runtime.h"
#include "fakecuda.h"

enum {
    FAKE_MAX_DEVICES = 16,
    FAKE_GRANULE = 2 << 20,
    FAKE_BLOCKS_PER_SM = 16,
    FAKE_THREADS_PER_SM = 2048,
    FAKE_THREADS_PER_BLOCK = 1024,
    FAKE_SHARED_BYTES = 48 << 10
};

/* Results that only the stand-in and its tests name. */
enum {
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908
};

/* ---- streams --------------------------------------------------------------------------------- */

struct CUstream_st;

/* A moment: when `stream` has done what it got as number `ticket`. */
struct fake_moment {
    struct CUstream_st *stream;
    uint64_t ticket;
};

struct fake_op {
    struct fake_op *next;
    void (*run)(struct fake_op *op);  /* may run more than once: in a graph */
    void (*drop)(struct fake_op *op); /* may be NULL */
    uint64_t ticket;
    struct fake_moment *after; /* what must have happened; nafter of them */
    unsigned nafter;
    _Alignas(16) char payload[];
};

/* Streams are never freed, since a moment may name one for ever; destroyed ones are used again, and
 * go on counting. */
struct CUstream_st {
    struct CUctx_st *context;
    bool alive, blocking, legacy, has_thread;
    const void *owner; /* of a per-thread stream: what is different for each thread */
    struct fake_op *first, **last;
    uint64_t submitted, completed;
    pthread_cond_t work;
    struct fake_capture *capture;
    unsigned *frontier; /* the nodes after which the next one comes */
    unsigned nfrontier;
    struct CUstream_st *next; /* of all */
};

struct CUctx_st {
    int device;
    bool alive;
    struct CUstream_st *legacy;
    struct CUctx_st *next;
};

struct fake_device {
    size_t used;
    unsigned primary_refs;
    struct CUctx_st *primary;
    unsigned blocks, threads; /* resident */
};

struct fake {
    pthread_mutex_t lock;
    pthread_cond_t done; /* an operation of a stream has ended, or a block left its device */
    bool initialised, forked;
    int ndevices, sms;
    size_t memory_bytes;
    bool p2p, vmm, pageable;
    int pkey; /* of device memory; -1: none */
    struct fake_device devices[FAKE_MAX_DEVICES];
    struct CUstream_st *streams;
    struct CUctx_st *contexts;
};
extern FAKE_API struct fake fake;

/* device.c. First thing of every function: initialised? not in a host function? told to fail? */
CUresult fake_enter(const char *fn);
bool fake_is_device(CUdevice device);
/* context.c: also whether there is a current context. */
CUresult fake_enter_context(const char *fn, struct CUctx_st **context);
#define ENTER()                                                                                    \
    do {                                                                                           \
        CUresult entered = fake_enter(__func__);                                                   \
        if (entered)                                                                               \
            return entered;                                                                        \
    } while (0)
#define ENTER_CONTEXT(context)                                                                     \
    struct CUctx_st *context;                                                                      \
    do {                                                                                           \
        CUresult entered = fake_enter_context(__func__, &context);                                 \
        if (entered)                                                                               \
            return entered;                                                                        \
    } while (0)
/* Threads that run kernels and copies may touch device memory. */
void fake_allow_device_memory(bool allowed);
extern __thread bool fake_in_host_function;

/* stream.c. The lock is held for what ends in _locked. */
struct fake_op *fake_op_new(void (*run)(struct fake_op *), void (*drop)(struct fake_op *),
                            size_t payload_bytes);
void fake_op_free(struct fake_op *op);
/* Frees the operation if it fails. moment (may be NULL): when it will have been done. */
CUresult fake_submit(struct CUctx_st *context, CUstream stream, struct fake_op *op,
                     struct fake_moment *moment);
CUresult fake_stream_find_locked(struct CUctx_st *context, CUstream handle,
                                 struct CUstream_st **stream);
struct CUstream_st *fake_stream_new_locked(struct CUctx_st *context, bool blocking);
void fake_op_after_locked(struct fake_op *op, struct fake_moment moment);
CUresult fake_enqueue_locked(struct CUstream_st *stream, struct fake_op *op,
                             struct fake_moment *moment);
bool fake_happened_locked(struct fake_moment moment);
void fake_wait_locked(struct fake_moment moment);
void fake_drain_context_locked(struct CUctx_st *context);

/* capture.c */
struct CUgraph_st;
CUresult fake_capture_add_locked(struct CUstream_st *stream, struct fake_op *op);
/* A call that would disturb a capture, by this thread or (mode global) another one. */
CUresult fake_unsafe_locked(void);
CUresult fake_unsafe(void);
/* The capture is no good any more; result is what is returned for it. */
CUresult fake_capture_spoil_locked(struct fake_capture *capture, CUresult result);
/* The legacy stream would have to come after something that is only recorded. */
CUresult fake_implicit_locked(struct CUctx_st *context, bool spoil);
struct fake_capture_point {
    struct fake_capture *capture; /* compared, not followed, unless id is right */
    uint64_t id;
    unsigned *nodes;
    unsigned nnodes;
};
CUresult fake_capture_mark_locked(struct CUstream_st *stream, struct fake_capture_point *point);
CUresult fake_capture_join_locked(struct CUstream_st *stream,
                                  const struct fake_capture_point *point);

/* graph.c */
struct fake_node {
    struct fake_op *op; /* NULL: nothing to do */
    unsigned *before;
    unsigned nbefore;
};
struct CUgraph_st {
    atomic_uint refs;
    unsigned nnodes;
    struct fake_node *nodes; /* each after those it depends on */
};
unsigned fake_graph_add(struct CUgraph_st *graph, struct fake_op *op, const unsigned *before,
                        unsigned nbefore);
void fake_graph_release(struct CUgraph_st *graph);

/* memory.c */
enum fake_kind { FAKE_DEVICE, FAKE_MANAGED, FAKE_PINNED, FAKE_REGISTERED, FAKE_VMM, FAKE_GLOBAL };
struct fake_range {
    char *base;
    size_t size;
    enum fake_kind kind;
    int device;
    bool accessible; /* VMM: cuMemSetAccess() was called */
    struct CUctx_st *context;
    struct fake_handle *handle; /* VMM */
    struct fake_range *next;
};
struct fake_range *fake_range_add_locked(void *base, size_t size, enum fake_kind kind, int device);
struct fake_range *fake_range_find_locked(const void *ptr);
void fake_range_drop_locked(struct fake_range *range);
/* All of it is memory that GPUs may touch, and of which kinds: bits of enum fake_kind. */
bool fake_span_locked(const void *ptr, size_t nbytes, unsigned *kinds);
/* NULL: no memory. For device memory: nobody but the stand-in's threads may touch it. */
void *fake_pages(size_t nbytes);
bool fake_protect(void *ptr, size_t nbytes, int protection);
void fake_context_memory_free_locked(struct CUctx_st *context);

/* launch.c, pool.c, module.c */
void fake_pool_run(void (*fn)(void *), void *arg);
const struct emu_kernel *fake_kernel(const char *name);

#endif
