/*
 * nvshmem/device/state.h - what a kernel knows of its job.
 *
 * The one structure that the library fills in on the host and device code reads. Every translation
 * unit with device code has a copy of it in constant memory, and so has every module that was
 * handed to nvshmemx_cumodule_init(). It changes only between kernels: at the first collective use
 * of the GPU, at finalize, and when the job has failed (npes is 0 then, so that all operations of
 * later kernels and of graph replays do nothing).
 *
 * Layout of device memory. All PEs' windows are mapped side by side in the address space of each
 * PE, `stride` bytes apart, so that the address of an object of PE `pe` is
 *
 *     object + (pe - me) * stride
 *
 * A window holds the channels first (NVSI_DEV_CHANNELS of NVSI_DEV_CHANNEL_BYTES each: the place
 * through which the PEs of one team talk, by the team's slot number; memory is behind those in use
 * only), then the heap.
 */
#ifndef NVS_NVSHMEM_DEVICE_STATE_H
#define NVS_NVSHMEM_DEVICE_STATE_H

#if !defined(__CUDACC_RTC__)
#include <stddef.h>
#include <stdint.h>
#elif !defined(NVSHMEM_NO_STDINT)
/* NVRTC has no headers of its own. These are the types of Linux, as in stdint.h; a program that has
 * other names for them, or includes a stdint.h of its own, defines NVSHMEM_NO_STDINT. */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#endif

#define NVSI_DEV_VERSION 1
#define NVSI_DEV_CHANNELS 512 /* NVSI_MAX_TEAMS of the host */
#define NVSI_DEV_CHANNEL_BYTES ((uint64_t)8 << 20)

/* A team as its members' kernels see it; an array of NVSI_DEV_CHANNELS of them in device memory,
 * indexed by handle % NVSI_DEV_CHANNELS. */
struct nvsi_dev_team {
    int32_t id; /* the handle; -1: no such team */
    int32_t npes;
    int32_t team_pe;     /* this PE's number in it */
    int32_t start, step; /* PE i of the team is start + i * step of the world, if step is not 0 */
    int32_t slot;        /* its channel; -1 for a team of one */
    const int32_t *pes;  /* device memory: world numbers of the members */
    uint64_t channel;    /* address of this PE's channel; 0 for a team of one */
};

/* What a kernel tells the host: pinned host memory, written by kernels with system scope. The first
 * one to change `code` from 0 (compare and swap) may write the rest, then sets `ready`. */
struct nvsi_dev_report {
    uint32_t code;  /* enum nvsi_dev_code */
    uint32_t ready; /* 1: complete */
    int32_t pe;     /* as passed by the caller, or the PE that is waited for; -1: none */
    int32_t team;   /* handle, or -1 */
    uint64_t value; /* an address, a size, or the awaited value */
    uint64_t seen;  /* the value last seen */
    char what[64];  /* the function's name */
};

enum nvsi_dev_code {
    NVSI_DEV_FINE = 0,
    NVSI_DEV_BAD_PE = 1,      /* pe out of range */
    NVSI_DEV_BAD_ADDRESS = 2, /* not symmetric */
    NVSI_DEV_BAD_TEAM = 3,    /* no such team here */
    NVSI_DEV_UNREACHABLE = 4, /* this PE cannot load and store that PE's memory */
    NVSI_DEV_BAD_ARGUMENT = 5,
    NVSI_DEV_GAVE_UP = 6, /* a wait ended because the host said so */
    NVSI_DEV_EXIT = 7     /* nvshmem_global_exit in a kernel; value: the status */
};

/* Waits that last: each waiting thread takes an entry after some thousand rounds, so that the
 * host can say who waits for what. Pinned host memory; an entry is free while `busy` is 0. */
#define NVSI_DEV_WAITS 64
struct nvsi_dev_wait {
    uint32_t busy;
    int32_t pe;    /* world number of the PE that is waited for, -1: any */
    int32_t team;  /* handle, or -1 */
    uint32_t kind; /* enum nvsi_dev_wait_kind */
    uint64_t address, wanted, seen;
    uint64_t rounds;
};
enum nvsi_dev_wait_kind { NVSI_DEV_WAIT_WORD = 1, NVSI_DEV_WAIT_BARRIER, NVSI_DEV_WAIT_DATA };

/* The page that host and kernels share. */
struct nvsi_dev_page {
    uint32_t give_up; /* set by the host only: all waits end, with an error */
    uint32_t pad[31];
    struct nvsi_dev_report report;
    struct nvsi_dev_wait waits[NVSI_DEV_WAITS];
};

struct nvsi_dev_state {
    uint32_t version; /* NVSI_DEV_VERSION; 0: not filled in yet */
    int32_t me;
    int32_t npes;    /* 0: not between init and finalize, or the job has failed */
    uint32_t checks; /* NVS_CHECK: kernels look at addresses, too */

    uint64_t heap; /* this PE's device heap: address and size; size 0: there is none */
    uint64_t heap_bytes;
    int64_t stride; /* between the windows of neighbouring PEs */

    uint64_t host_heap;  /* this PE's host heap as the GPU addresses it, likewise; 0 bytes if the */
    uint64_t host_bytes; /* GPU cannot reach it */
    int64_t host_stride;

    const uint32_t *reach; /* a bit for each PE whose device memory can be loaded and stored; NULL:
                            * all of them, which is the faster way */
    const struct nvsi_dev_team *teams;
    struct nvsi_dev_page *page;
    int32_t node_pe, node_npes;
    uint64_t reserved[4];
};

#endif
