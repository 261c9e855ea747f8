/*
 * stream.h - operations on streams: what the skins (api/) hand to whatever executes streams.
 *
 * A skin fills in one struct nvsi_stream_op and calls nvsi_on_stream(), which checks what can be
 * checked now and gives it to the GPU of this PE (gpu/stream_ops.c, if stage two has happened) or
 * to a host queue (queue.c): the `cudaStream_t` of a program without a GPU is one of our queues,
 * made by the stand-in for the CUDA runtime, or NULL, the default queue. Never blocks the caller,
 * but for NVSI_SOP_G, which returns a value.
 */
#ifndef NVSI_STREAM_H
#define NVSI_STREAM_H

#include "nvs_internal.h"

enum nvsi_sop {
    NVSI_SOP_PUT, /* also p: the value is in `value` when `immediate` */
    NVSI_SOP_GET,
    NVSI_SOP_IPUT,
    NVSI_SOP_IGET,
    NVSI_SOP_G, /* blocks: dst is ordinary memory of the caller */
    NVSI_SOP_PUT_SIGNAL,
    NVSI_SOP_SIGNAL,
    NVSI_SOP_WAIT, /* nelems words from dst on, all of them; value, or values if vector */
    NVSI_SOP_QUIET,
    NVSI_SOP_BARRIER,
    NVSI_SOP_SYNC,
    NVSI_SOP_BROADCAST,
    NVSI_SOP_ALL_GATHER,
    NVSI_SOP_ALL_TO_ALL,
    NVSI_SOP_ALL_REDUCE,
    NVSI_SOP_REDUCE_SCATTER
};

struct nvsi_stream_op {
    enum nvsi_sop op;
    const char *fn; /* the public function */
    void *dst;      /* put: symmetric; get: local; wait: the words; collectives: dst */
    const void *src;
    size_t nelems, elem_bytes;
    ptrdiff_t dst_stride, src_stride; /* in elements: iput, iget */
    int pe;                           /* world number */
    bool nbi;
    bool immediate; /* put: the element is in value_bytes, not at src */
    char value_bytes[16];
    uint64_t *sig;
    uint64_t value; /* of the signal; or what a wait wants, sign-extended to 64 bits */
    int sig_op;
    enum nvsi_word word; /* wait */
    int cmp;
    const int *status;  /* wait: elements that do not count; may be NULL. Host or device memory */
    const void *values; /* wait, vector: one for each element */
    struct nvsi_team *team; /* collectives */
    int dtype, redop, root;
    bool symmetric; /* collectives: addresses must be symmetric (the standards' calls) */
    bool apart;     /* collectives: some PE's memory is out of the others' reach, as all know */
};

int nvsi_on_stream(const struct nvsi_stream_op *op, void *stream);
/* Whether it is the handle of one of our queues; 0, 1 and 2 are not. registry.c */
bool nvsi_queue_exists(const void *stream);
/* Returns when all operations that were put into streams are over: finalize. execute.c */
void nvsi_stream_settle(void);

#endif
