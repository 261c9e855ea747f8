/*
 * fork.c - a child of fork() is no PE, and must not write into its parent's symmetric memory.
 *
 * The child gets a private copy of the static data and of what it writes in the heap, and counts as
 * not initialised. The parent waits until the copy is made, so that the child finds the values that
 * fork() promises. vfork, posix_spawn and raw clone do not come here: their children only exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot/boot.h"

static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static int copied[2] = {-1, -1};

static void prepare(void)
{
    pthread_mutex_lock(&forking);
    if (!nvsi.forked && pipe2(copied, O_CLOEXEC))
        copied[0] = copied[1] = -1; /* no descriptor left: the child copies while we run on */
}

static void in_parent(void)
{
    char byte;
    if (copied[0] >= 0) {
        close(copied[1]);
        while (read(copied[0], &byte, 1) < 0 && errno == EINTR)
            ;
        close(copied[0]);
    }
    copied[0] = copied[1] = -1;
    pthread_mutex_unlock(&forking);
}

/* Later writes of the child stay its own. */
static void unshare_heap(void)
{
    struct nvsi_segment *heap = &nvsi.seg[NVSI_SEG_HEAP];
    if (heap->size && mmap(heap->base, heap->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, nvsi.arena_fd,
                           nvsi.heap_offset) == MAP_FAILED)
        _exit(1); /* to go on would write into the parent's heap */
}

static void in_child(void)
{
    if (!nvsi.forked) {
        nvsi_static_unshare();
        unshare_heap();
        static struct nvsi_flight no_flight;
        nvsi.flight = &no_flight;
        nvsi.npes = 0;
        nvsi.life = NVSI_BEFORE_INIT;
        nvsi.forked = true;
    }
    if (copied[0] >= 0) {
        close(copied[0]);
        close(copied[1]);
    }
    copied[0] = copied[1] = -1;
    pthread_mutex_unlock(&forking);
}

void nvsi_fork_watch(void)
{
    static bool watching;
    if (!watching)
        watching = pthread_atfork(prepare, in_parent, in_child) == 0;
}
