/*
 * coll.h - collectives of GPUs: the shapes there are, and what they share.
 *
 * Words
 *   shape    a way to do a collective (select.c chooses):
 *     push     everybody stores its data into everybody's channel; little data, any memory
 *     fold     symmetric memory: meet, one kernel that reads all inputs, meet
 *     copies   symmetric memory: the copy engines, with a few blocks that fold; large data
 *     staged   PEs that share a GPU, and some memory is ordinary; and teams that are far: through
 *              the channel in chunks
 *   far      of a team: the GPUs of two of its members do not reach each other's memory. Its
 * channel lies in memory of the host (far.c) meeting  a barrier of the team on the stream: a
 * kernel, or, where members share a GPU and kernels must not wait, or the team is far, operations
 * of the stream (meet.c) block    what one PE gives to another, nbytes long: all of src, or a part
 * of it for each member
 *
 * A call puts work into a stream and returns; nothing here waits, and all of it may be captured.
 * Functions return 0 or an error with a sentence.
 */
#ifndef NVSI_GPU_COLL_H
#define NVSI_GPU_COLL_H

#include "gpu/gpu.h"
#include "gpu/kernels/args.h"
#include "nvshmem/device/channel.h"
#include "stream/stream.h"

enum nvsi_gpu_shape {
    NVSI_SHAPE_ALONE, /* a team of one */
    NVSI_SHAPE_PUSH,
    NVSI_SHAPE_FOLD,
    NVSI_SHAPE_COPIES,
    NVSI_SHAPE_STAGED
};

enum { NVSI_SIDE_IN = 0, NVSI_SIDE_OUT = 1, NVSI_NUM_SIDES = 2 };
enum { NVSI_NUM_MARKS = 8 };

/* The latest collective of a team, in or out of a capture. */
struct nvsi_last_call {
    CUstream stream;
    uint64_t capture; /* 0: none */
    CUevent event;
};

/* Memory to reduce in. Graphs have its address, so it is not given back before finalize; a team
 * with more members in the place of another one gets a larger one. */
struct nvsi_gpu_scratch {
    CUdeviceptr address;
    uint64_t nbytes;
    struct nvsi_gpu_scratch *next;
};

/* What a PE keeps for a team, by its slot. Used by one thread at a time, as the team is. */
struct nvsi_gpu_team {
    int32_t id; /* of the team that this is kept for */
    bool known, shares, far;
    /* disagree.c */
    bool uncounted;
    uint32_t history;
    uint64_t calls;
    char *channels; /* the team's, in the arena */
    int team_pe;
    struct nvsi_last_call done, captured;
    CUstream sides[NVSI_NUM_SIDES];
    CUevent marks[NVSI_NUM_MARKS];
    struct nvsi_gpu_scratch *scratch; /* the largest first */
};

/* One collective. */
struct nvsi_gpu_call {
    const struct nvsi_stream_op *op;
    const char *fn;
    struct nvsi_team *team;
    CUstream stream;
    struct nvsi_gpu_team *state; /* NULL in a team of one */
    struct nvsi_last_call *last; /* coll_team.c's */
    struct nvsk_team members;    /* for kernels */
    uint64_t dst, src, nbytes;
    bool shares; /* two members have the same GPU, or far: then no kernel may wait */
    bool far;
    bool direct;   /* all addresses that others have to reach are symmetric device memory */
    unsigned code; /* reductions: type and operator, as kernels have them */
};

/* ---- coll_open.c ---- */

/* Blocks of a kernel that meets those of other PEs: the same number everywhere. */
int nvsi_gpu_coll_blocks(void);
/* Whether two members of a team have the same GPU; the same answer on all. */
bool nvsi_gpu_coll_shares(const struct nvsi_team *team);
/* Whether the GPUs of two members do not reach each other's memory; the same answer on all. */
bool nvsi_gpu_coll_far(const struct nvsi_team *team);
/* A word of device memory that is set when a wait on a stream was ended by the host: then this PE
 * sends no more puts and signals. 0: there is none. */
uint64_t nvsi_gpu_gate(void);

/* ---- far.c ---- */

/* Stage two, behind nvsi_gpu_coll_open(); collective over the world. */
int nvsi_gpu_far_open(const char *fn);
void nvsi_gpu_far_close(void);
/* A team that was made later, by all its members; and one that is left here. */
int nvsi_gpu_far_team(const char *fn, struct nvsi_team *team);
void nvsi_gpu_far_left(const struct nvsi_team *team);
/* The channel of PE pe, as our GPU reaches it; and how far apart those of two PEs are. */
void *nvsi_gpu_channel_at(const struct nvsi_team *team, int pe);
int64_t nvsi_gpu_channel_stride(const struct nvsi_team *team);

/* ---- stream_values.c ---- */

/* At most 16 bytes, which may be gone when the call returns. In graphs, too. */
int nvsi_gpu_copy_value(const char *fn, CUdeviceptr dst, const void *value, size_t nbytes,
                        CUstream stream);
/* After the last stream. */
void nvsi_gpu_values_close(void);

/* ---- coll_team.c ---- */

void nvsi_gpu_coll_forget(void);
/* A team is left here, and its place is somebody else's soon. */
void nvsi_gpu_coll_left(const struct nvsi_team *team);

/* Whether kernels can load and store it: symmetric device memory, or memory that CUDA knows, or any
 * where the GPU uses the host's page tables. */
bool nvsi_gpu_kernels_reach(const void *ptr);

/* Whether all of this PE's addresses that others have to reach are symmetric device memory. */
bool nvsi_gpu_coll_direct(const struct nvsi_stream_op *op);
/* Fills in all of *call. */
int nvsi_gpu_call_begin(struct nvsi_gpu_call *call, const struct nvsi_stream_op *op,
                        CUstream stream);
/* The collectives of a team run one after the other, also those of different streams. */
int nvsi_gpu_call_end(struct nvsi_gpu_call *call);

/* ---- coll_parts.c ---- */

/* Makes an event, if there is none yet. */
int nvsi_gpu_coll_event(const char *fn, CUevent *event);

/* Two streams of ours beside the call's, and memory of this PE: made at the first need, kept. */
int nvsi_gpu_call_sides(struct nvsi_gpu_call *call);
CUstream nvsi_gpu_call_side(const struct nvsi_gpu_call *call, int side);
/* What comes next in stream `then` comes after what `first` has now. mark: 0 to NVSI_NUM_MARKS - 1;
 * one mark may be used again, since a wait is for what was marked when it began. */
int nvsi_gpu_call_mark(struct nvsi_gpu_call *call, int mark, CUstream first);
int nvsi_gpu_call_after(struct nvsi_gpu_call *call, int mark, CUstream then);
int nvsi_gpu_call_order(struct nvsi_gpu_call *call, int mark, CUstream first, CUstream then);
/* Scratch of at least nbytes; only the kernels and copies of this call may use it. */
int nvsi_gpu_call_scratch(struct nvsi_gpu_call *call, uint64_t nbytes, uint64_t *address);

int nvsi_gpu_call_meet(struct nvsi_gpu_call *call);
int nvsi_gpu_call_copy(struct nvsi_gpu_call *call, CUstream stream, uint64_t dst, uint64_t src,
                       uint64_t nbytes);
/* An address of this PE's window as member i's. */
static inline uint64_t nvsi_gpu_call_at(const struct nvsi_gpu_call *call, int i, uint64_t address)
{
    return address + (uint64_t)((call->team->pes[i] - nvsi.me) * nvsi_gpu.stride);
}
/* A reduce-scatter whose dst is in the way of what others still read, being the beginning of src,
 * makes its result in this PE's own block of src, which nobody else reads, and moves it to dst
 * after the last meeting. Where the result is to be made. */
static inline uint64_t nvsi_gpu_call_result(const struct nvsi_gpu_call *call)
{
    uint64_t own = call->src + (uint64_t)call->team->team_pe * call->nbytes;
    return call->dst == call->src ? own : call->dst;
}
/* Threads of a block for nvectors of 16 bytes, and blocks of so many, at most `most`. */
void nvsi_gpu_grid(uint64_t nvectors, int most, unsigned *nblocks, unsigned *nthreads);
/* How two ranges (and more, ored into `others`) that begin at these addresses are cut into vectors.
 */
struct nvsk_view nvsi_gpu_view(uint64_t dst, uint64_t src, uint64_t nbytes, size_t elem_bytes);

/* ---- disagree.c ---- */

/* Looks whether the neighbours call the same. An error: they do not, and everybody will hear of it.
 */
int nvsi_gpu_call_compare(struct nvsi_gpu_call *call);
/* Its team is left here. */
void nvsi_gpu_calls_forget(struct nvsi_gpu_team *state);

/* ---- coll_select.c ---- */
enum nvsi_gpu_shape nvsi_gpu_coll_select(const struct nvsi_gpu_call *call);
/* The collective of *op on a stream. */
int nvsi_gpu_coll(const struct nvsi_stream_op *op, CUstream stream);

/* ---- coll_push.c, coll_fold.c, coll_copies.c, coll_staged.c: the shapes ---- */
int nvsi_gpu_coll_push(struct nvsi_gpu_call *call);
int nvsi_gpu_coll_fold(struct nvsi_gpu_call *call);
int nvsi_gpu_coll_copies(struct nvsi_gpu_call *call);
int nvsi_gpu_coll_staged(struct nvsi_gpu_call *call);

#endif
