/* memory.h - how much memory this machine has, and how much of it a process may still take. */
#ifndef NVSI_MEMORY_H
#define NVSI_MEMORY_H

#include <stdint.h>

/* Bytes of memory of the host; its container's limit if that is lower. */
uint64_t nvsi_memory_total(void);

/* Bytes that can be taken now without swapping or being killed: the least of what the kernel calls
 * available and what the limits of the control groups leave. UINT64_MAX if nothing is known. */
uint64_t nvsi_memory_available(void);

#endif
