/*
 * emu_fiber.h - several stacks on one thread of the operating system.
 */
#ifndef NVS_EMU_FIBER_H
#define NVS_EMU_FIBER_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__)
#define EMU_UCONTEXT 1
#include <ucontext.h>
#endif

struct emu_fiber {
    void *sp; /* where it was left */
#ifdef EMU_UCONTEXT
    ucontext_t context;
#endif
    char *stack; /* lowest address; NULL: the thread's own, until it has been left once */
    size_t stack_bytes;
    void *sanitizer; /* what a sanitizer keeps for it */
};

/* A fiber on a stack of the store that begins with entry(arg) when it is first switched to; entry
 * must not return: it leaves by emu_fiber_leave(). */
void emu_fiber_make(struct emu_fiber *fiber, void (*entry)(void *arg), void *arg);
void emu_fiber_free(struct emu_fiber *fiber);
/* The running thread, as something to come back to. */
void emu_fiber_adopt(struct emu_fiber *fiber);
void emu_fiber_switch(struct emu_fiber *from, struct emu_fiber *to);
_Noreturn void emu_fiber_leave(struct emu_fiber *from, struct emu_fiber *to);

#endif
