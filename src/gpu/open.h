/*
 * open.h - what the files of stage two share.
 *
 *   open.c        the order of the steps, and the way back
 *   open_alone.c  what a PE opens before it talks to the others
 *   reach.c       whose memory this PE's GPU reaches
 *   channels.c    the teams' parts of the windows
 */
#ifndef NVSI_GPU_OPEN_H
#define NVSI_GPU_OPEN_H

#include "boot/fdpass.h"
#include "gpu/gpu.h"

/* What each PE tells the others. */
struct nvsi_hello {
    int64_t status;
    uint64_t total_bytes, granule;
    CUuuid uuid;
    int32_t pci_domain, pci_bus, pci_device, pad;
    struct nvsi_fdpass_address address;
};

/* ---- open_alone.c ---- */
/* An attribute of our GPU, 0 if the driver does not know it. */
int nvsi_gpu_attribute(int which);
int nvsi_gpu_open_alone(const char *fn, struct nvsi_hello *mine);

/* ---- reach.c; all: what the PEs have told ---- */
struct nvsi_unreachable {
    int pe; /* the first PE whose GPU ours does not reach, -1: none */
    const char *why;
};
/* Sets reach, ordinals, sharers and sm_limit. */
int nvsi_gpu_look_around(const char *fn, const struct nvsi_hello *all,
                         struct nvsi_unreachable *unreachable);
void nvsi_gpu_warn_unreachable(const struct nvsi_hello *all,
                               const struct nvsi_unreachable *unreachable);
/* The table that kernels look at. */
int nvsi_gpu_put_reach(const char *fn);
/* Undoes look_around(). */
void nvsi_gpu_release_peers(void);

/* ---- channels.c ---- */
/* The channels of all teams that this PE is in; all PEs call it. */
int nvsi_gpu_open_channels(const char *fn);
int nvsi_gpu_show_teams(const char *fn);

#endif
