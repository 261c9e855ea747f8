/*
 * args.h - what the kernels of the library are given: one structure by value each.
 *
 * Plain C, read by the host that launches and the kernels that run. Everything here stays the same
 * when a graph is replayed; what changes (the numbers of rounds) is in the channel. Addresses are
 * 64-bit integers, as this PE's GPU uses them.
 */
#ifndef NVSI_GPU_KERNELS_ARGS_H
#define NVSI_GPU_KERNELS_ARGS_H

#include "nvshmem/device/state.h"

/* Threads of a block at most, in all kernels. */
#define NVSK_THREADS 512

/* Bytes in vectors of 16, as kernel.h takes them: `head` of them before the first address that is a
 * multiple of 16, or 0 if they are not aligned alike. */
struct nvsk_view {
    uint64_t nbytes;
    uint32_t head;      /* less than 16, and not more than nbytes */
    uint16_t unit;      /* widest access to the vectors: 16, 8, 4, 2, 1 */
    uint16_t head_unit; /* to the head */
};

/* nvsk_amo: one thread, one atomic on a word of device memory. */
struct nvsk_amo_args {
    uint64_t word;   /* its address, also a peer's */
    uint64_t result; /* gets the value before, in nbytes; 0: nobody wants it */
    uint64_t operand, compare;
    uint32_t code;   /* enum nvsi_amo_code */
    uint32_t nbytes; /* 4 or 8 */
};

/* A signal; address 0: none. */
struct nvsk_signal_op {
    uint64_t address, value;
    uint32_t add; /* 1: adds, 0: sets */
    uint32_t pad;
};

/* nvsk_put: copies nbytes of any alignment, then signals. With a signal one block only. */
struct nvsk_put_args {
    uint64_t dst, src; /* src 0: the bytes are in value, at most 16 */
    struct nvsk_view view;
    struct nvsk_signal_op signal;
    uint64_t gate; /* a word of device memory that is 0 while puts are to be sent; or 0 */
    uint32_t value[4];
};

/* nvsk_strided: element by element; strides in bytes. */
struct nvsk_strided_args {
    uint64_t dst, src, nelems;
    int64_t dst_stride, src_stride;
    uint64_t elem_bytes; /* any; copied in accesses of `unit` bytes, which divides all of these */
    uint64_t gate;
    uint32_t unit; /* 8, 4, 2 or 1 */
    uint32_t pad;
};

/* nvsk_signal: what came before it in the stream comes before it for whoever waits for it. */
struct nvsk_signal_args {
    struct nvsk_signal_op signal;
    uint64_t gate;
};

/* nvsk_wait: until all elements compare as wanted. One block. */
#define NVSK_WAIT_BYTES 2048
struct nvsk_wait_args {
    uint64_t words, nelems;
    uint64_t values; /* vector: one for each element, as wide as they are; device memory; 0: in
                        `inlined` */
    uint64_t value;  /* not vector: sign-extended */
    uint64_t status; /* int for each element, nonzero: does not count; 0: in `excluded` */
    uint64_t page;   /* struct nvsi_dev_page */
    uint64_t gate;   /* shut if the host ends the wait */
    uint32_t word;   /* enum nvsi_word */
    int32_t cmp;
    uint32_t vector;
    uint32_t masked;                              /* whether `status` or `excluded` counts */
    unsigned char inlined[NVSK_WAIT_BYTES];       /* vector values */
    unsigned char excluded[NVSK_WAIT_BYTES / 16]; /* a bit for each element */
};
/* Elements that fit into inlined and excluded. */
#define NVSK_WAIT_ELEMS (NVSK_WAIT_BYTES / 8)

/* The team of a collective, with this PE's channel. */
struct nvsk_team {
    int32_t npes, team_pe;
    int32_t me;          /* world number */
    int32_t start, step; /* member i is start + i * step, if step is not 0 */
    int32_t handle;
    uint64_t pes;     /* otherwise: world numbers, in device memory */
    uint64_t channel; /* this PE's; a member's is (pe - me) * stride away */
    int64_t stride;
    uint64_t page;
    uint64_t gate; /* as nvsk_put's */
};

/* nvsk_barrier: one block. */
struct nvsk_barrier_args {
    struct nvsk_team team;
};

/* nvsk_reduce_oneshot, nvsk_exchange: everybody sends nbytes to everybody (or the root does)
 * through the channel. */
struct nvsk_push_args {
    struct nvsk_team team;
    uint64_t dst, src; /* anything that the GPU can address */
    uint64_t nbytes;   /* of a block */
    uint64_t src_step; /* from the block for one member to that for the next; 0: all get the same */
    uint64_t dst_step; /* exchange: from the block of one member to that of the next */
    uint64_t capacity; /* bytes for each sender in each buffer of the channel */
    int32_t root;      /* exchange: the only sender, or -1 */
    uint32_t code;     /* reduce: NVSD_FOLD(dtype, op) */
    int32_t divisor;
    uint32_t pad;
};

/* nvsk_reduce_twoshot: symmetric device memory. Each PE folds its share of the elements from all
 * inputs into all outputs. The same number of blocks on all PEs. */
struct nvsk_twoshot_args {
    struct nvsk_team team;
    uint64_t dst, src;
    struct nvsk_view view; /* of dst and src alike */
    uint32_t code;
    int32_t divisor;
    uint32_t met; /* 1: the PEs meet before and after the kernel, which then waits for nobody */
    uint32_t pad;
};

/* nvsk_fold: dst = the fold of nsrc inputs. by_team: number i is at `inputs` of member i. Otherwise
 * number `own` is at `src`, and the others are at `inputs` and so on, `step` bytes apart. */
struct nvsk_fold_args {
    struct nvsk_team team;
    uint64_t dst, src, inputs, step;
    struct nvsk_view view; /* of all of them alike */
    int32_t nsrc, own;
    uint32_t code;
    int32_t divisor;
    uint32_t by_team;
    uint32_t pad;
};

#endif
