/*
 * boot.h - how a process finds its job.
 *
 * One entry of the table per way to be started; the first that says `here` is taken. It tells the
 * PE's number, the number of PEs, and brings the arena of this host. Everything after that
 * (claiming a place, sharing static data, mapping windows) is the same for all.
 *
 * The work is split in two because static data must move into shared memory while the process is
 * still single-threaded: nvsi_boot_early() runs as a constructor, before main.
 */
#ifndef NVSI_BOOT_H
#define NVSI_BOOT_H

#include "nvs_internal.h"

struct nvsi_join {
    int pe, npes;
    int arena_fd; /* owned by the caller from now on; close-on-exec */
};

struct nvsi_boot {
    const char *name;
    bool (*here)(void);                  /* was this process started this way? no side effects */
    int (*join)(struct nvsi_join *join); /* 0, or an error already reported by nvsi_error() */
};

extern const struct nvsi_boot nvsi_boot_launcher; /* by nvsrun */
extern const struct nvsi_boot nvsi_boot_alone;    /* by nobody: a job of one PE */

/* Joins the job if that can be done before main; does nothing otherwise. Never fails: init tries
 * again and reports. */
void nvsi_boot_early(void);

/* Finds and joins the job, maps the control area, claims this PE's place. Sets nvsi.job, arena,
 * arena_fd, me and *npes. Repeated calls return what the first one did. */
int nvsi_boot_join(int *npes);

/* Gives the place back if nvs was never initialised (process exit). */
void nvsi_boot_leave(void);

/* ---- arena.c: is a descriptor the arena of our job? ---- */

bool nvsi_arena_is(int fd);
/* 0, or an error already reported: not an arena, of another version, for another number of PEs, or
 * cut short. Does not map it. */
int nvsi_arena_check(int fd, int npes);

/* ---- static.c: the executable's static data becomes symmetric ---- */

/* Moves it into this PE's window. Only while the process has a single thread; otherwise, or with
 * NVS_STATIC=no, it stays ordinary memory. `used`: another program may have been in the window. */
void nvsi_static_share(bool used);
/* In a job of one PE nothing has to be shared: the data is symmetric where it is. */
void nvsi_static_adopt(void);
/* Where it is; size 0 if it is not shared. `program` identifies the executable. */
struct nvsi_segment nvsi_static_segment(uint64_t *program);
/* Why it is not shared, in words, or NULL. */
const char *nvsi_static_refusal(void);
/* In a forked child: a private copy. Async-signal-safe. */
void nvsi_static_unshare(void);

/* ---- fork.c: a child of fork() is no PE ---- */
void nvsi_fork_watch(void);

#endif
