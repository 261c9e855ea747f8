/*
 * emu_fiber.c - switching between stacks, and the store of stacks.
 *
 * By hand on x86-64: swapcontext() makes a system call for each switch, and a barrier of a block is
 * as many switches as it has threads. The sanitizers are told of each switch, since they keep
 * things by stack. A stack has a page below it that cannot be touched; kernels have no deep calls,
 * so 128 KiB are plenty, and pages are taken when they are touched.
 */
#include "emu_fiber.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#endif
#ifdef EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum { STACK_BYTES = 128 << 10, GUARD_BYTES = 64 << 10 };

/* ---- stacks ---------------------------------------------------------------------------------- */

/* A free stack holds the next one's address in its top word. */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static char *store;

static char **next_of(char *stack)
{
    return (char **)(void *)(stack + STACK_BYTES - sizeof(char *));
}

static char *take_stack(void)
{
    pthread_mutex_lock(&store_lock);
    char *stack = store;
    if (stack)
        store = *next_of(stack);
    pthread_mutex_unlock(&store_lock);
    if (stack)
        return stack;
    char *area = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED ||
        mprotect(area + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        perror("fakecuda: a stack for a thread of a kernel");
        abort();
    }
    return area + GUARD_BYTES;
}

static void give_stack(char *stack)
{
#ifdef EMU_ASAN
    /* Its last functions never returned. */
    __asan_unpoison_memory_region(stack, STACK_BYTES);
#endif
    pthread_mutex_lock(&store_lock);
    *next_of(stack) = store;
    store = stack;
    pthread_mutex_unlock(&store_lock);
}

/* ---- what sanitizers want to know ------------------------------------------------------------ */

static __thread struct emu_fiber *came_from;

static void before_switch(struct emu_fiber *from, struct emu_fiber *to, int for_good)
{
    came_from = from;
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->sanitizer, to->stack, to->stack_bytes);
#endif
#ifdef EMU_TSAN
    /* Fibers of one block do not run at the same time, but are to be told apart. */
    __tsan_switch_to_fiber(to->sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    (void)to, (void)for_good;
}

static void after_switch(struct emu_fiber *self)
{
#ifdef EMU_ASAN
    const void *stack;
    size_t nbytes;
    __sanitizer_finish_switch_fiber(self ? self->sanitizer : NULL, &stack, &nbytes);
    if (!came_from->stack) { /* the thread's own */
        came_from->stack = (char *)stack;
        came_from->stack_bytes = nbytes;
    }
#endif
    (void)self;
}

/* ---- switching ------------------------------------------------------------------------------- */

#ifdef EMU_UCONTEXT

static void swap(struct emu_fiber *from, struct emu_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

static void begin(unsigned entry_high, unsigned entry_low, unsigned arg_high, unsigned arg_low)
{
    after_switch(NULL);
    uintptr_t entry = (uintptr_t)((uint64_t)entry_high << 32 | entry_low);
    uintptr_t arg = (uintptr_t)((uint64_t)arg_high << 32 | arg_low);
    ((void (*)(void *))entry)((void *)arg);
    abort();
}

static void prepare(struct emu_fiber *fiber, void (*entry)(void *), void *arg)
{
    uint64_t e = (uintptr_t)entry, a = (uintptr_t)arg;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))begin, 4, (unsigned)(e >> 32), (unsigned)e,
                (unsigned)(a >> 32), (unsigned)a);
}

#else

/* Saves what a call must not change, and takes what another one has saved. */
void emu_swap_stacks(void **save, void *load) __attribute__((visibility("hidden")));
void emu_first_steps(void) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".globl emu_swap_stacks\n"
        ".hidden emu_swap_stacks\n"
        ".type emu_swap_stacks, @function\n"
        "emu_swap_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emu_swap_stacks, .-emu_swap_stacks\n"
        /* A new fiber comes here with its entry in rbx and the argument in r12. */
        ".globl emu_first_steps\n"
        ".hidden emu_first_steps\n"
        ".type emu_first_steps, @function\n"
        "emu_first_steps:\n"
        "    movq %rbx, %rdi\n"
        "    movq %r12, %rsi\n"
        "    call emu_begin\n"
        "    ud2\n"
        ".size emu_first_steps, .-emu_first_steps\n");

void emu_begin(void (*entry)(void *), void *arg)
    __attribute__((visibility("hidden"), used, noreturn));
void emu_begin(void (*entry)(void *), void *arg)
{
    after_switch(NULL);
    entry(arg);
    abort();
}

static void swap(struct emu_fiber *from, struct emu_fiber *to)
{
    emu_swap_stacks(&from->sp, to->sp);
}

static void prepare(struct emu_fiber *fiber, void (*entry)(void *), void *arg)
{
    /* As emu_swap_stacks() leaves a stack: r15, r14, r13, r12, rbx, rbp, where to go on. There the
     * stack is aligned to 16 bytes, as it has to be before a call. */
    void **top = (void **)(void *)(fiber->stack + STACK_BYTES - 64);
    memset(top, 0, 64);
    *--top = (void *)(uintptr_t)emu_first_steps;
    *--top = NULL;
    *--top = (void *)(uintptr_t)entry;
    *--top = arg;
    for (int i = 0; i < 3; i++)
        *--top = NULL;
    fiber->sp = top;
}

#endif

void emu_fiber_make(struct emu_fiber *fiber, void (*entry)(void *arg), void *arg)
{
    fiber->stack = take_stack();
    fiber->stack_bytes = STACK_BYTES;
#ifdef EMU_TSAN
    fiber->sanitizer = __tsan_create_fiber(0);
#else
    fiber->sanitizer = NULL;
#endif
    prepare(fiber, entry, arg);
}

void emu_fiber_free(struct emu_fiber *fiber)
{
#ifdef EMU_TSAN
    __tsan_destroy_fiber(fiber->sanitizer);
#endif
    give_stack(fiber->stack);
}

void emu_fiber_adopt(struct emu_fiber *fiber)
{
    memset(fiber, 0, sizeof *fiber);
#ifdef EMU_TSAN
    fiber->sanitizer = __tsan_get_current_fiber();
#endif
}

/* Switching runs on two stacks, which the instrumentation of a function would mix up. */
void emu_fiber_switch(struct emu_fiber *from, struct emu_fiber *to)
{
    before_switch(from, to, 0);
    swap(from, to);
    after_switch(from);
}

void emu_fiber_leave(struct emu_fiber *from, struct emu_fiber *to)
{
    before_switch(from, to, 1);
    swap(from, to);
    abort(); /* nobody comes back */
}
