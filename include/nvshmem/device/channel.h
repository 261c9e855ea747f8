/*
 * nvshmem/device/channel.h - the place in device memory through which the PEs of one team talk.
 *
 * Every PE has a channel for each of its teams, at the same offset of its window, so that a member
 * reaches another one's by adding (pe - me) * stride. It has two parts that do not know each other:
 *
 *   stream part   what the kernels of the library use, which run in the order of a stream
 *   kernel part   what collectives called inside the application's kernels use (coll.h, sync.h)
 *
 * Two, since a kernel of the application may be in a barrier while a stream is in an all-reduce of
 * the same team: what they have counted must not meet. All of a channel is 0 when a team is made,
 * and the members know that the others' are before they use them.
 */
#ifndef NVS_NVSHMEM_DEVICE_CHANNEL_H
#define NVS_NVSHMEM_DEVICE_CHANNEL_H

#include "nvshmem/device/state.h"

#define NVSI_CHANNEL_STREAM ((uint64_t)0)
#define NVSI_CHANNEL_STREAM_BYTES ((uint64_t)6 << 20)
#define NVSI_CHANNEL_KERNEL NVSI_CHANNEL_STREAM_BYTES
#define NVSI_CHANNEL_KERNEL_BYTES ((uint64_t)2 << 20)

#define NVSI_CHANNEL_MAX_PES 4096 /* NVSI_MAX_PES of the host */

/* The numbers of one kind of rounds that streams have done on a team: written by the kernels of its
 * own PE only, one of which runs at a time. */
struct nvsi_channel_count {
    uint64_t round;  /* the last one */
    uint32_t rooted; /* 1: that one had a root (proto.h, turns) */
    uint32_t broken; /* 1: a kernel has given up; the team's kernels do nothing from now on */
};

/* A sync of blocks (two-shot) takes so many blocks and members at most. */
#define NVSI_CHANNEL_BLOCKS 128
#define NVSI_CHANNEL_BLOCK_PES 64

/* The stream part. What is written by others has a line of its own for each kind. Flags have 64
 * bits: one that is stored in some rounds only must not come near a wrap-around. */
struct nvsi_channel_stream {
    struct nvsi_channel_count pushes; /* rounds of data through `cells` */
    struct nvsi_channel_count syncs;  /* barriers, and two-shot reductions */
    uint32_t readers;                 /* blocks of the running kernel that know their round */
    uint32_t pad[23];
    uint64_t begun[NVSI_CHANNEL_MAX_PES]; /* the last rooted round of pushes that member i began */
    uint64_t flags[NVSI_CHANNEL_MAX_PES]; /* the last barrier that member i has entered */
    /* two-shot: 2 * round when block b of member i has begun, 2 * round + 1 when it is done */
    uint64_t block_flags[NVSI_CHANNEL_BLOCKS][NVSI_CHANNEL_BLOCK_PES];
    /* Cells (proto.h) to the end of the part: two buffers; in each a range of cells for each member
     * but this PE, and after them a byte for each cell. */
};
#define NVSI_CHANNEL_CELLS (NVSI_CHANNEL_STREAM + sizeof(struct nvsi_channel_stream))
#define NVSI_CHANNEL_CELLS_BYTES (NVSI_CHANNEL_STREAM_BYTES - sizeof(struct nvsi_channel_stream))
/* Bytes of data for each sender in each buffer; a multiple of 256, so that the byte tables begin at
 * multiples of 16. npes > 1. */
#define NVSI_CHANNEL_CAPACITY(npes)                                                                \
    (NVSI_CHANNEL_CELLS_BYTES / 2 / (uint64_t)((npes)-1) / 17 * 16 / 256 * 256)

/* The kernel part: what its own PE counts, the flags that others set, and their data. */
struct nvsi_channel_kernel {
    /* Written by the owner's kernels only, between two calls of a collective. */
    uint64_t data_seq; /* collectives that sent data through `data` */
    uint64_t synced;   /* all members are known to have finished those before this one */
    uint32_t syncs;    /* barriers and syncs so far */
    uint32_t pad[27];
    uint32_t flags[NVSI_CHANNEL_MAX_PES]; /* number of the last sync that member i has entered */
    /* Slots for arriving data, to the end of the part: NVSI_CHANNEL_TURNS for each member. */
};
#define NVSI_CHANNEL_TURNS 4
#define NVSI_CHANNEL_DATA (NVSI_CHANNEL_KERNEL + sizeof(struct nvsi_channel_kernel))
#define NVSI_CHANNEL_DATA_BYTES                                                                    \
    (NVSI_CHANNEL_KERNEL_BYTES - sizeof(struct nvsi_channel_kernel) - NVSI_CHANNEL_MEET_BYTES)

/* At the very end: flags of meetings without a kernel (src/gpu/meet.c), two for each member. */
#define NVSI_CHANNEL_MEET_BYTES ((uint64_t)2 * NVSI_CHANNEL_MAX_PES * sizeof(uint32_t))
#define NVSI_CHANNEL_MEET (NVSI_DEV_CHANNEL_BYTES - NVSI_CHANNEL_MEET_BYTES)

#endif
