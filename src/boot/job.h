/*
 * job.h - what the launcher and the PEs of one host share: the launch protocol.
 *
 * A job on a host has one *arena*: a memfd that nobody else can open by name and that vanishes with
 * its last process. It begins with the control area described here; behind it every PE has a
 * *window* for its static data and its symmetric heap. The file is sparse: whatever is not touched
 * costs nothing, so all offsets are fixed when the job starts and never negotiated.
 *
 *   | job | team slots | pe slots | channels | stages | free marks || window 0 | window 1 | ...
 *
 * Rules that keep it usable after a kill at any instruction: every word has one writer, or is
 * changed by one atomic instruction; nobody holds a lock in here.
 *
 * This is the only internal header that tools/ may include (nvsrun creates the arena).
 */
#ifndef NVSI_JOB_H
#define NVSI_JOB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* How a launched process finds its job; set by the launcher, read once. */
#define NVSI_ENV_FD "NVS_JOB_FD"             /* number of the inherited arena descriptor */
#define NVSI_ENV_LAUNCHER "NVS_JOB_LAUNCHER" /* pid of the launcher: /proc/PID/fd/FD, if closed */
#define NVSI_ENV_PE "NVS_JOB_PE"
#define NVSI_ENV_NPES "NVS_JOB_NPES"

#define NVSI_JOB_MAGIC 0x31424f4a53564eULL /* "NVSJOB1" */
#define NVSI_JOB_VERSION 3

#define NVSI_MAX_PES 4096
/* Places for teams' channels: the first half for teams that are made and destroyed, the second for
 * active sets, which stay. */
#define NVSI_MAX_TEAMS 512
#define NVSI_FIRST_ACTIVE_SET 256
#define NVSI_LINE 128 /* two cache lines: adjacent-line prefetch must not couple two writers */

/* One ring of slots per (team slot, PE): see coll/coll.h. */
#define NVSI_SLOT_BYTES                                                                            \
    4160 /* 65 cache lines: neighbours' slots fall into different cache sets                       \
          */
#define NVSI_SLOT_RING 8
#define NVSI_CHANNEL_BYTES (NVSI_SLOT_BYTES * NVSI_SLOT_RING)
/* Staging for collectives on ordinary memory, per (team slot, PE). */
#define NVSI_STAGE_BYTES (1u << 20)
/* Marks of symmetric objects that a PE has freed, for each heap: heap.c. */
#define NVSI_NUM_HEAPS 2 /* of host memory, and of GPU memory */
#define NVSI_MAX_OBJECTS (1u << 20)
#define NVSI_MARKS_BYTES (NVSI_MAX_OBJECTS * sizeof(uint32_t))

/* A window holds the static data first, the heap behind it. */
#define NVSI_STATIC_BYTES (1ull << 36)
#define NVSI_WINDOW_BYTES (1ull << 44)

enum nvsi_pe_state {
    NVSI_PE_FREE = 0,      /* nobody has taken this place yet */
    NVSI_PE_CLAIMED = 1,   /* a process is here, nvs is not initialised in it (yet) */
    NVSI_PE_RUNNING = 2,   /* between init and finalize */
    NVSI_PE_FINALIZED = 3, /* left in order */
    NVSI_PE_DEAD = 4       /* lost: set by the launcher */
};

/* What to do when a PE is lost. */
enum nvsi_on_loss { NVSI_LOSS_END = 0, NVSI_LOSS_CONTINUE = 1 };

/* Operations as a flight record names them. */
enum nvsi_flight_op {
    NVSI_AT_NOTHING = 0,
#define NVSI_FLIGHT(id, text) NVSI_AT_##id,
#include "boot/flight.def"
#undef NVSI_FLIGHT
    NVSI_NUM_FLIGHTS
};

/* What a PE is doing. Written by the PE only, without fences: a reader (the launcher after a death,
 * another PE in a long wait) may see a mixture of two operations and says "last seen". */
struct nvsi_flight {
    uint32_t op;   /* enum nvsi_flight_op */
    uint32_t busy; /* 1 inside of the operation, 0 after it */
    int32_t team;  /* team slot, or -1 */
    int32_t peer;  /* the PE it talks to, or -1; in a collective that lasts: it waits for */
    int32_t dtype; /* enum nvsi_dtype, or -1 */
    int32_t redop; /* enum nvsi_op, or -1 */
    uint64_t seq;  /* number of the collective in its team */
    uint64_t nelems;
    uint64_t nbytes;
};

struct nvsi_pe_slot {
    _Alignas(NVSI_LINE) _Atomic uint32_t state; /* enum nvsi_pe_state */
    _Atomic int32_t pid;
    _Atomic uint32_t heap_epoch; /* number of its last allocation, over all of its lives: heap.c */
    _Alignas(NVSI_LINE) struct nvsi_flight flight;
    /* 0 = awake. Otherwise asleep on this very word (futex) until PE (sleeping - 1) goes on in a
     * collective; NVSI_SLEEP_ANY: until anything happens. wait.c */
    _Alignas(NVSI_LINE) _Atomic uint32_t sleeping;
};
#define NVSI_SLEEP_ANY UINT32_MAX

/* A place for the channels of one team. team.c */
struct nvsi_team_slot {
    _Alignas(NVSI_LINE) _Atomic uint64_t refs; /* PEs that have not left it; 0 = free */
    _Atomic uint64_t seq_base;                 /* sequence numbers of the next team start here */
    _Atomic uint64_t key; /* active sets: start, stride, size; 0 for teams made by a split */
    /* Who they are, for those who explain a hang; all members write the same. */
    _Atomic uint64_t seq_first; /* sequence numbers of this team started here */
    /* 0, or which PEs have put different collectives into streams: gpu/disagree.c */
    _Atomic uint64_t stream_clash;
    _Alignas(NVSI_LINE) _Atomic uint64_t members[NVSI_MAX_PES / 64]; /* a bit for each PE */
};

struct nvsi_job {
    uint64_t magic;
    uint32_t version;
    uint32_t npes;
    uint32_t on_loss;  /* enum nvsi_on_loss */
    uint32_t launched; /* 1 = by a launcher that watches the PEs, 0 = a job of one */
    uint64_t control_bytes;
    uint64_t window_bytes;
    uint32_t ncpus; /* that the job as a whole may run on */
    /* 0, or the first loss: (pe + 1). Every wait looks at it. Set once per loss; with
     * NVSI_LOSS_CONTINUE it counts losses in the upper half: (count << 32) | (last pe + 1). */
    _Alignas(NVSI_LINE) _Atomic uint64_t failure;
    /* 0, or an ordered end of the whole job: 1 << 63 | pe << 32 | (status & 0xff). The first wins.
     */
    _Atomic uint64_t end;
    /* The last PE that warned of a long wait, and that gave up after NVS_TIMEOUT, so that one
     * speaks for all: milliseconds of CLOCK_MONOTONIC << 16 | (PE + 1). overdue.c */
    _Atomic uint64_t warned;
    _Atomic uint64_t timed_out;
    /* How many PEs sleep until some word of their memory changes: all that a put looks at to know
     * that nobody needs a wake-up. And how many sleep until a certain PE goes on in a collective.
     */
    _Alignas(NVSI_LINE) _Atomic uint32_t nwatching;
    _Atomic uint32_t nawaiting;
    _Alignas(NVSI_LINE) struct nvsi_team_slot teams[NVSI_MAX_TEAMS];
    struct nvsi_pe_slot pes[];
};

_Static_assert(sizeof(struct nvsi_flight) == 48, "shared layout");
_Static_assert(sizeof(struct nvsi_pe_slot) == 3 * NVSI_LINE, "shared layout");
_Static_assert(sizeof(struct nvsi_team_slot) == NVSI_LINE + NVSI_MAX_PES / 8, "shared layout");
_Static_assert(sizeof(struct nvsi_job) % NVSI_LINE == 0, "shared layout");

/* Offsets in the arena, from the number of PEs alone. */
static inline uint64_t nvsi_job_channels(uint32_t npes)
{
    uint64_t end = sizeof(struct nvsi_job) + npes * sizeof(struct nvsi_pe_slot);
    return (end + 4095) & ~UINT64_C(4095);
}

static inline uint64_t nvsi_job_stages(uint32_t npes)
{
    return nvsi_job_channels(npes) + (uint64_t)NVSI_MAX_TEAMS * npes * NVSI_CHANNEL_BYTES;
}

static inline uint64_t nvsi_job_marks(uint32_t npes)
{
    return nvsi_job_stages(npes) + (uint64_t)NVSI_MAX_TEAMS * npes * NVSI_STAGE_BYTES;
}

/* Size of the control area; the windows follow at a multiple of 1 GiB. */
static inline uint64_t nvsi_job_control_bytes(uint32_t npes)
{
    return nvsi_job_marks(npes) + (uint64_t)npes * NVSI_NUM_HEAPS * NVSI_MARKS_BYTES;
}

static inline uint64_t nvsi_job_window(const struct nvsi_job *job, uint32_t pe)
{
    uint64_t gib = UINT64_C(1) << 30;
    return ((job->control_bytes + gib - 1) & ~(gib - 1)) + pe * job->window_bytes;
}

/*
 * Makes an arena for npes PEs: an unnamed memory file with a filled-in header. Gives its descriptor
 * (not inherited over exec) and maps its header for reading and writing.
 * Returns 0, or -errno. job.c
 */
int nvsi_job_create(uint32_t npes, enum nvsi_on_loss on_loss, int launched, int *fd,
                    struct nvsi_job **job);

/* The words for an operation in a flight record: "all_reduce"; never NULL. flight.c */
const char *nvsi_flight_name(uint32_t op);

#endif
