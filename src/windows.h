/*
 * windows.h - where the windows of all PEs are in this process's address space.
 */
#ifndef NVSI_WINDOWS_H
#define NVSI_WINDOWS_H

#include "nvs_internal.h"

/* Reserves address space for the heaps of all PEs and says how large each can be. With no size set,
 * takes what the address space gives, down to 64 MiB each. */
int nvsi_windows_reserve(size_t *heap_bytes);

/* Maps heaps of heap_bytes (at most what was reserved) and static data of image->size (0: none;
 * this PE's is at image->base already) of all PEs; sets nvsi.peers[], nvsi.seg[] and
 * nvsi.heap_offset. */
int nvsi_windows_map(size_t heap_bytes, const struct nvsi_segment *image);

/* Undoes both, also half done. */
void nvsi_windows_unmap(void);

#endif
