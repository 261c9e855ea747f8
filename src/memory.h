/* memory.h - how much memory this machine has, and how much of it a process may still take. */
#ifndef NVSI_MEMORY_H
#define NVSI_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of memory of the host; a limit of a control group if that is lower. */
uint64_t nvsi_memory_total(void);

/* Bytes that can be taken now without swapping or being killed: the least of what the kernel calls
 * available, of what the limits of the control group and its ancestors leave, and, where the kernel
 * keeps account of every promise (vm.overcommit_memory 2), of what that account leaves. *what (may
 * be NULL) names the least of them. UINT64_MAX if nothing is known. */
uint64_t nvsi_memory_available(const char **what);

/* Whether the kernel refuses what it cannot keep (vm.overcommit_memory 2). Then a page that is
 * touched may be refused too, and that is a SIGBUS. */
bool nvsi_memory_strict(void);

/* In front of /proc and /sys: a test's tree of such files. */
extern const char *nvsi_memory_root;

#endif
