/*
 * emu_block.c - the threads of one block: fibers that take turns.
 *
 * A thread runs until it waits: at a barrier, for its warp, or in a loop that polls. Then the next
 * one of the block's ring runs. A round in which all of them wait may need another block, process
 * or the host to go on, so after some rounds the processor is offered to others, and after many the
 * block sleeps for a moment.
 *
 * To the thread sanitizer fibers are threads that nothing orders but barriers, so that it finds a
 * missing one. This file and emu_fiber.c are not looked at themselves; they say what is ordered.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu_fiber.h"
#include "emu_runtime.h"

enum { NBARRIERS = 16, WARP = 32 };

struct warp {
    uint32_t awaits[WARP]; /* the mask with which a lane waits; 0: it does not */
    uint64_t value[WARP];
    uint32_t there; /* lanes that have not left the kernel */
};

struct barrier {
    unsigned arrived, wanted; /* wanted 0: all that are left */
    unsigned generation;
    int count, last_count; /* of the arrived with `yes`; of the round before */
};

struct thread {
    struct emu_thread seen;
    struct emu_fiber fiber;
    struct thread *next, *previous; /* the ring of those that have not left the kernel */
    struct block *block;
};

struct block {
    struct emu_block seen;
    const struct emu_kernel *kernel;
    const void *args;
    unsigned nthreads, left; /* how many there are; how many have not left the kernel */
    struct thread *threads;
    struct warp *warps;
    struct barrier barriers[NBARRIERS];
    unsigned idle_switches, idle_rounds; /* since the last barrier that was completed */
    struct emu_fiber host;
};

EMU_API __thread struct emu_thread *emu_self;

/* What comes before release() of an address comes before what follows acquire() of it. */
#ifdef EMU_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define acquire(address) __tsan_acquire(address)
#define release(address) __tsan_release(address)
#else
#define acquire(address) ((void)(address))
#define release(address) ((void)(address))
#endif

static struct thread *current(void)
{
    return (struct thread *)emu_self;
}

uint64_t emu_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Where this PE has fewer cores than blocks that wait for each other, or for other PEs. */
static void offer_processor(struct block *block)
{
    block->idle_switches = 0;
    if (++block->idle_rounds < 512)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void next_turn(void)
{
    struct thread *self = current(), *next = self->next;
    if (++self->block->idle_switches > self->block->left)
        offer_processor(self->block);
    if (next == self)
        return;
    emu_self = &next->seen;
    emu_fiber_switch(&self->fiber, &next->fiber);
}

static void progress(struct block *block)
{
    block->idle_switches = block->idle_rounds = 0;
}

void emu_relax(void)
{
    if (emu_self)
        next_turn();
    else
        sched_yield();
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* As in hardware, where warps arrive: one that is not full counts as if it were. */
static unsigned weight(const struct thread *self)
{
    unsigned rest = self->block->nthreads % WARP;
    bool stands_for_more = rest && self->seen.linear == self->block->nthreads - 1;
    return stands_for_more ? WARP - rest + 1 : 1;
}

static bool complete(struct block *block, struct barrier *barrier)
{
    if (barrier->arrived == 0 ||
        barrier->arrived < (barrier->wanted ? barrier->wanted : block->left))
        return false;
    barrier->last_count = barrier->count;
    barrier->arrived = 0;
    barrier->count = 0;
    barrier->generation++;
    progress(block);
    return true;
}

static int arrive(unsigned id, unsigned nthreads, int yes)
{
    struct thread *self = current();
    if (!self || id >= NBARRIERS)
        abort();
    struct barrier *barrier = &self->block->barriers[id];
    unsigned generation = barrier->generation;
    release(barrier);
    barrier->wanted = nthreads;
    barrier->arrived += nthreads ? weight(self) : 1;
    barrier->count += yes;
    while (!complete(self->block, barrier) && barrier->generation == generation)
        next_turn();
    acquire(barrier);
    return barrier->last_count;
}

void emu_barrier(unsigned id, unsigned nthreads)
{
    arrive(id, nthreads, 0);
}

int emu_barrier_count(int yes)
{
    return arrive(0, 0, yes);
}

/* ---- warps ----------------------------------------------------------------------------------- */

/* All that are in the mask, and have not left, wait with the same mask: let them go. */
static void let_go(struct block *block, struct warp *warp, uint32_t mask)
{
    uint32_t members = mask & warp->there;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (members >> lane & 1 && warp->awaits[lane] != mask)
            return;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (members >> lane & 1)
            warp->awaits[lane] = 0;
    progress(block);
}

void emu_warp_sync(uint32_t mask)
{
    struct thread *self = current();
    if (!self || !(mask >> self->seen.lane & 1))
        abort(); /* a lane must be in its own mask */
    struct warp *warp = &self->block->warps[self->seen.warp];
    release(warp);
    warp->awaits[self->seen.lane] = mask;
    let_go(self->block, warp, mask);
    while (warp->awaits[self->seen.lane]) {
        next_turn();
        if (warp->awaits[self->seen.lane])
            let_go(self->block, warp, mask); /* somebody may have left the kernel */
    }
    acquire(warp);
}

uint64_t emu_shuffle(uint32_t mask, uint64_t value, unsigned from)
{
    struct thread *self = current();
    struct warp *warp = &self->block->warps[self->seen.warp];
    warp->value[self->seen.lane] = value;
    emu_warp_sync(mask);
    value = warp->value[from % WARP];
    emu_warp_sync(mask); /* nobody overwrites what another one has yet to read */
    return value;
}

uint32_t emu_ballot(uint32_t mask, int predicate)
{
    struct thread *self = current();
    struct warp *warp = &self->block->warps[self->seen.warp];
    uint32_t votes = 0;
    warp->value[self->seen.lane] = predicate != 0;
    emu_warp_sync(mask);
    for (unsigned lane = 0; lane < WARP; lane++)
        if ((mask & warp->there) >> lane & 1 && warp->value[lane])
            votes |= 1u << lane;
    emu_warp_sync(mask);
    return votes;
}

/* ---- the life of a block --------------------------------------------------------------------- */

static void run_thread(void *arg)
{
    struct thread *self = arg;
    struct block *block = self->block;
    block->kernel->call(block->args);
    release(block);
    block->left--;
    block->warps[self->seen.warp].there &= ~(1u << self->seen.lane);
    progress(block);
    self->next->previous = self->previous;
    self->previous->next = self->next;
    emu_self = block->left ? &self->next->seen : NULL;
    emu_fiber_leave(&self->fiber, block->left ? &self->next->fiber : &block->host);
}

static void set_up_thread(struct block *block, unsigned i)
{
    struct thread *thread = &block->threads[i];
    struct emu_dim dim = block->seen.block_dim;
    thread->seen =
        (struct emu_thread){.thread_idx = {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y},
                            .linear = i,
                            .lane = i % WARP,
                            .warp = i / WARP,
                            .block = &block->seen};
    thread->block = block;
    thread->next = &block->threads[(i + 1) % block->nthreads];
    thread->previous = &block->threads[(i + block->nthreads - 1) % block->nthreads];
    block->warps[i / WARP].there |= 1u << i % WARP;
    emu_fiber_make(&thread->fiber, run_thread, thread);
}

static void *zeroed(size_t count, size_t nbytes)
{
    void *memory = calloc(count, nbytes);
    if (!memory)
        abort();
    return memory;
}

void emu_run_block(const struct emu_kernel *kernel, const void *args, struct emu_block *seen,
                   size_t dynamic_shared_bytes)
{
    struct block block = {.seen = *seen, .kernel = kernel, .args = args};
    block.nthreads = block.left = seen->block_dim.x * seen->block_dim.y * seen->block_dim.z;
    block.threads = zeroed(block.nthreads, sizeof *block.threads);
    block.warps = zeroed((block.nthreads + WARP - 1) / WARP, sizeof *block.warps);
    /* As aligned as TMA wants it. */
    block.seen.dynamic_shared = aligned_alloc(128, (dynamic_shared_bytes + 128) / 128 * 128);
    for (unsigned i = 0; i < block.nthreads; i++)
        set_up_thread(&block, i);
    emu_fiber_adopt(&block.host);
    emu_self = &block.threads[0].seen;
    emu_fiber_switch(&block.host, &block.threads[0].fiber);
    acquire(&block);
    for (unsigned i = 0; i < block.nthreads; i++)
        emu_fiber_free(&block.threads[i].fiber);
    free(block.seen.dynamic_shared);
    free(block.warps);
    free(block.threads);
}
