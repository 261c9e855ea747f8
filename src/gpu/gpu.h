/*
 * gpu.h - the GPU of this PE: what the rest of nvs knows of it, and what the files in gpu/ share.
 *
 * Words
 *   stage two  the collective step in which all PEs open their GPUs; it happens at the first
 *              nvshmem_malloc() (or nvs_malloc_device()) after init, so that a program can call
 *              nvshmem_init(), then choose its device, then allocate. Before it, and without GPUs,
 *              everything is as on CPUs
 *   window     this PE's device memory as all PEs see it: channels, then heap
 *              (nvshmem/device/state.h says how it is laid out)
 *   granule    the unit in which device memory is taken and given back: 2 MiB on all GPUs we know
 *   chunk      some granules that were made by one cuMemCreate: they come and go together
 *   channel    the part of a window through which the PEs of one team talk; by the team's slot
 *   our stream an internal, non-blocking stream on which host calls run
 *
 * Everything of libcuda goes through the table `cu`. Functions return 0 or a negative NVS_ERR_* for
 * which they called nvsi_error(). Those that need the context make it current and restore the
 * caller's (nvsi_gpu_enter, nvsi_gpu_leave).
 */
#ifndef NVSI_GPU_H
#define NVSI_GPU_H

#include "gpu/cuda_abi.h"
#include "nvs_internal.h"
#include "nvshmem/device/state.h"

/* ---- driver.c: libcuda, opened at run time --------------------------------------------------- */

struct nvsi_cuda {
#define CUDA_FN(name, symbol, parameters) CUresult(*name) parameters;
#include "gpu/driver.def"
};
extern struct nvsi_cuda cu __attribute__((visibility("hidden")));

/* Opens libcuda (NVS_CUDA_LIBRARY) and initialises it, once. False: there is none, or no device;
 * nvsi_cuda_reason() says why, in words for nvs-info. Any thread. */
bool nvsi_cuda_open(void);
const char *nvsi_cuda_reason(void);
/* Whether this process has libcuda open already, which opens nothing. */
bool nvsi_cuda_loaded(void);
/* NVS_ERR_MEMORY for "out of memory", else NVS_ERR_SYSTEM, with a sentence: fn, what was attempted
 * (a phrase with an infinitive, "map the memory of PE 3"), and CUDA's name and words for it. */
NVSI_COLD int nvsi_cuda_error(const char *fn, CUresult result, const char *attempt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- device.c: which GPU, and stage two ------------------------------------------------------ */

enum nvsi_gpu_presence {
    NVSI_GPU_ABSENT = 0,  /* no libcuda, or no device */
    NVSI_GPU_UNUSED = 1,  /* there is one, but this process has not selected it */
    NVSI_GPU_SELECTED = 2 /* a context is current, or the process has exactly one */
};

/* How the memory of a PE's GPU is reached from here. */
enum nvsi_gpu_reach {
    NVSI_GPU_HIDDEN = 0, /* not at all: the driver does not let this process see that GPU */
    NVSI_GPU_STAGED = 1, /* by the driver's copies, through the host */
    NVSI_GPU_DIRECT = 2  /* by loads and stores of our GPU */
};

struct nvsi_gpu {
    bool up;             /* between stage two and finalize */
    bool retained;       /* `device` and `context` are valid */
    bool owns_selection; /* the program had selected none */
    CUdevice device;
    CUcontext context;
    CUstream stream; /* ours */
    int ordinal;
    int sm_count, compute_capability; /* 90 is 9.0 */
    int sharers;                      /* PEs of this job on the same GPU, this one included */
    int sm_limit; /* blocks that our kernels may use: NVS_SM_LIMIT, and its share of the GPU */
    size_t granule;
    char *window; /* this PE's window; window of PE p: window + (p - me) * stride */
    size_t window_bytes, heap_bytes;
    int64_t stride;
    struct nvsi_dev_page *page; /* pinned; kernels address it as nvsi_gpu_state.page */
    bool all_reachable;
    uint8_t *reach; /* enum nvsi_gpu_reach, for each PE */
    int *ordinals;  /* of each PE's GPU as this process numbers them; -1: it does not see it */
    size_t total_bytes;
    struct nvsi_dev_state state; /* as kernels have it */
};
extern struct nvsi_gpu nvsi_gpu __attribute__((visibility("hidden")));

/* Whether this process has a GPU; opens libcuda to find out. */
enum nvsi_gpu_presence nvsi_gpu_presence(void);
/* Whether it has selected one: a process that has not opened libcuda has not. */
bool nvsi_gpu_selected(void);
/* The GPU that the program has selected, or one by this PE's number; sets device and context. */
int nvsi_gpu_select(const char *fn);
/* Makes the GPU's context current for this thread; *before for leave. */
int nvsi_gpu_enter(const char *fn, CUcontext *before);
void nvsi_gpu_leave(CUcontext before);
/* Whether a stream of the context is being captured: then nothing may wait for the GPU. */
bool nvsi_gpu_capturing(void);
/* Waits until all that was put into streams of the context before is done; false: not allowed now.
 * The context is current. */
bool nvsi_gpu_settle(void);
/* Waits until our stream (or another one) has done what was put into it, and looks at failures: a
 * lost PE ends the wait with its error. */
int nvsi_gpu_synchronize(const char *fn, CUstream stream);

/* ---- open.c: stage two ------------------------------------------------------------------------
 */

/* All PEs have agreed that all of them want it. Collective over the world. */
int nvsi_gpu_open(const char *fn);
/* Also half open, or not at all. */
void nvsi_gpu_close(void);
/* A team that was made after it, by its members together; and one that is left here. */
int nvsi_gpu_team_made(const char *fn, struct nvsi_team *team);
void nvsi_gpu_team_left(const char *fn, struct nvsi_team *team);

/* ---- window.c: device memory of all PEs, mapped side by side --------------------------------- */

/* A run of granules in the windows of some PEs that is to get memory, as one chunk. */
struct nvsi_take {
    const struct nvsi_team *team; /* these PEs */
    uint64_t offset, nbytes;      /* in the window; whole granules */
    bool clear;                   /* to zero */
    /* window.c's */
    CUmemGenericAllocationHandle handle;
    struct nvsi_chunk *chunk;
    int fd;
};
/* The same everywhere: reserves the address space of all PEs' windows, nvsi_gpu.stride apart. */
int nvsi_window_open(const char *fn);
/* Unmaps and gives back everything. */
void nvsi_window_close(void);
/* The granules of a range that have no memory yet, as takes: a range of one granule and more as one
 * run (it has none at all then), less as single granules. Returns how many, at most 2. */
int nvsi_window_missing(uint64_t offset, uint64_t nbytes, struct nvsi_take takes[2]);
/* Gets the memory of all takes. Collective over `team`, all of whose PEs must call it, also with no
 * takes; each take's team is a part of it. All fail if one does. flight: what they are doing. */
int nvsi_window_take(const char *fn, struct nvsi_team *team, enum nvsi_flight_op flight,
                     struct nvsi_take *takes, int ntakes);
/* An object needs the memory of a range, and does not any more. */
void nvsi_window_need(uint64_t offset, uint64_t nbytes);
/* safe: no kernel uses it, either. */
void nvsi_window_unneed(uint64_t offset, uint64_t nbytes, bool safe);
bool nvsi_window_has_waste(void);
/* Whether a team's channel has memory here. */
bool nvsi_window_has_channel(const struct nvsi_team *team);
/* How many chunks became waste so far; and so many are used by no kernel any more. */
uint64_t nvsi_window_wasted(void);
void nvsi_window_safe(uint64_t wasted);
/* Unmaps here what is waste and safe. */
void nvsi_window_drop(void);
/* The channel of a team that is left here. */
void nvsi_window_drop_channel(const struct nvsi_team *team);
/* The address here of an offset in the window of PE pe; NULL: not reachable. */
static inline void *nvsi_window_at(int pe, uint64_t offset)
{
    return nvsi_gpu.window + (int64_t)(pe - nvsi.me) * nvsi_gpu.stride + offset;
}

/* ---- host_ops.c: host calls on device memory: the transport of segment NVSI_SEG_DEVICE --------
 */

extern const struct nvsi_device nvsi_gpu_device;
/* Whether a pointer is device memory (managed memory counts as host memory). */
bool nvsi_gpu_is_device(const void *ptr);
/* Pinned memory for the results of atomics. */
int nvsi_gpu_ops_open(const char *fn);
void nvsi_gpu_ops_close(void);

/* ---- buffers.c: memory of the caller that was made known; also without a GPU
 * --------------------- */
int nvsi_buffer_register(const char *fn, void *addr, size_t length);
int nvsi_buffer_unregister(const char *fn, void *addr);
/* Also at finalize. */
void nvsi_buffer_unregister_all(const char *fn);

/* ---- launch.c: our kernels ------------------------------------------------------------------- */

/* kernels.def. Each takes one structure by value, declared in gpu/kernels/args.h. */
enum nvsi_kernel {
#define KERNEL(name, image) NVSI_KERNEL_##name,
#include "gpu/kernels.def"
    NVSI_NUM_KERNELS
};
/* NVS_ERR_UNSUPPORTED with a sentence if the library was built without kernels. */
int nvsi_gpu_launch(const char *fn, enum nvsi_kernel kernel, unsigned nblocks, unsigned nthreads,
                    CUstream stream, const void *args);
bool nvsi_gpu_has_kernels(void);
/* Loads all of them, which the driver may refuse to do, or wait with, while a kernel waits. */
int nvsi_gpu_load_kernels(const char *fn);
/* Before the context goes: forgets the loaded kernels. The context is current. */
void nvsi_gpu_unload(void);

/* ---- state.c: translation units and modules that want the state -------------------------------
 */

/* Writes nvsi_gpu.state into all of them; as soon as they can be reached, in whatever context. Any
 * thread, also one whose stream is being captured, and while kernels run and wait. */
int nvsi_gpu_publish(const char *fn);
/* After init, where a context exists before stage two: kernels know this PE's number and the number
 * of PEs. A failure is not an error: stage two tells. */
void nvsi_gpu_publish_numbers(void);
/* Into those that their runtime did not know when they were announced. The context is current. */
void nvsi_gpu_publish_late(void);
/* Before the context goes: version 0 in all of them, and no table of teams. The context is
 * current. */
void nvsi_gpu_withdraw(void);

/* ---- team_table.c: the device's table of teams -------------------------------------------------
 */

/* A team was made or destroyed here; its channel's memory has been taken. The first call makes the
 * table and sets nvsi_gpu.state.teams. The context is current. */
int nvsi_gpu_team_changed(const char *fn, const struct nvsi_team *team, bool gone);
/* The world numbers of a team's members, in device memory; 0 for an active set, whose members are
 * evenly spaced. */
CUdeviceptr nvsi_gpu_team_list(const struct nvsi_team *team);
/* By nvsi_gpu_withdraw(). */
void nvsi_gpu_teams_close(void);

/* ---- stream_ops.c: what stream/stream.h asks of a GPU -----------------------------------------
 */
struct nvsi_stream_op;
int nvsi_gpu_on_stream(const struct nvsi_stream_op *op, CUstream stream);

/* ---- coll_open.c: what the PEs' collectives agree on; more in gpu/coll.h -----------------------
 */

/* Stage two, after the teams have channels; collective over the world. */
int nvsi_gpu_coll_open(const char *fn);
/* In the context. */
void nvsi_gpu_coll_close(void);

/* disagree.c: whether PEs of one of our teams have put different collectives into streams. */
bool nvsi_gpu_disagreement(char *sentence, size_t size);

/* ---- meet.c: PEs that share a GPU -------------------------------------------------------------
 */

/* A barrier of a team on a stream, in which no kernel waits. Everything before it on the streams of
 * all members comes before everything after it. In graphs, too. */
int nvsi_gpu_meet(const char *fn, const struct nvsi_team *team, CUstream stream);
/* Ends the meeting of this PE that waits now for one who will not come, and breaks the channel, so
 * that kernels behind it do nothing; by a stream that does not wait itself. */
void nvsi_gpu_break_up(CUdeviceptr channel, CUstream stream);

/* ---- stream_wait.c: waits on words, of PEs that share a GPU ------------------------------------
 */

/* Whether the stream can wait for these words, so that no kernel has to. */
bool nvsi_gpu_stream_waits(const struct nvsi_words *words, size_t elem_bytes);
/* As many at a time. */
size_t nvsi_gpu_stream_wait_most(void);
/* Until all compare as wanted. *again: a kernel has to look once more. In graphs, too. */
int nvsi_gpu_stream_wait(const char *fn, const struct nvsi_words *words, size_t elem_bytes,
                         CUstream stream, bool *again);
/* await.c. After all streams have come to their ends. */
void nvsi_gpu_awaits_close(void);

/* ---- watchdog.c: the thread that reads nvsi_gpu.page ------------------------------------------
 */
int nvsi_gpu_watch(void);
/* A wait that lasts, since when, and when to warn of it. since_ms 0: not yet seen. */
struct nvsi_seen_wait {
    uint64_t address, wanted;
    int64_t since_ms, warn_ms;
    const char *than; /* of a word: "at least "; NULL: equal, or unknown */
};
/* Warns of it, or ends all, when it is time. fn: of an operation on a stream, or NULL: in a kernel.
 * gap: how long nobody has looked, which counts only if this process was running. */
void nvsi_gpu_look_at_wait(const char *fn, const struct nvsi_dev_wait *wait,
                           struct nvsi_seen_wait *seen, int64_t now, int64_t gap);
/* A PE was lost, or time is over: all waits of kernels and streams end, and calls return status. */
void nvsi_gpu_break_off(int status, const char *sentence);
void nvsi_gpu_unwatch(void);
/* The error that a kernel has reported, once; else 0. Called by host calls that look at failures.
 */
int nvsi_gpu_reported(const char *fn);

#endif
