/*
 * emu_runtime.h - threads and blocks of a GPU on a CPU: what emu.h and the stand-in driver share.
 */
#ifndef NVS_EMU_RUNTIME_H
#define NVS_EMU_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_API __attribute__((visibility("default")))

struct emu_dim {
    unsigned x, y, z;
};

/* What the threads of a block see of it; emu_block.c has more behind it. */
struct emu_block {
    struct emu_dim block_idx, block_dim, grid_dim;
    void *dynamic_shared;
};

struct emu_thread {
    struct emu_dim thread_idx;
    unsigned linear, lane, warp; /* number in the block; in the warp; the warp's number */
    struct emu_block *block;
};

/* The running thread of a kernel; NULL on the host. It stays on one thread of the operating system,
 * so that its address may be kept over a switch. */
extern EMU_API __thread struct emu_thread *emu_self;

/* Lets the other threads of the block run; on the host, other processes. */
EMU_API void emu_relax(void);
/* A named barrier (0 to 15) of nthreads threads; 0: all of the block that have not left the kernel.
 * As in hardware a warp counts as 32, though the last one of a block may have fewer. */
EMU_API void emu_barrier(unsigned id, unsigned nthreads);
/* Barrier 0 of all; how many came with `yes`. */
EMU_API int emu_barrier_count(int yes);
/* Lanes that have left the kernel are not waited for. */
EMU_API void emu_warp_sync(uint32_t mask);
EMU_API uint64_t emu_shuffle(uint32_t mask, uint64_t value, unsigned from);
EMU_API uint32_t emu_ballot(uint32_t mask, int predicate);
EMU_API uint64_t emu_nanoseconds(void);

struct emu_kernel {
    const char *name;
    void (*call)(const void *args);
    size_t args_bytes;
    struct emu_kernel *next;
};
struct emu_global {
    const char *name;
    void *address;
    size_t nbytes;
    struct emu_global *next;
};
/* By static constructors and destructors of whatever has kernels. The structures stay the caller's.
 */
EMU_API void emu_kernel_announce(struct emu_kernel *kernel);
EMU_API void emu_kernel_forget(struct emu_kernel *kernel);
EMU_API void emu_global_announce(struct emu_global *global);
EMU_API void emu_global_forget(struct emu_global *global);

/* Runs one block to its end on the calling thread. block is the caller's, but for dynamic_shared.
 */
void emu_run_block(const struct emu_kernel *kernel, const void *args, struct emu_block *block,
                   size_t dynamic_shared_bytes);

#ifdef __cplusplus
}
#endif
#endif
