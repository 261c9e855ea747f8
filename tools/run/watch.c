/*
 * watch.c - the loop: waits for signals, output, input and time until all PEs are over.
 *
 * Besides, it looks at the PEs twenty times a second: proxies that end and shmem_global_exit come
 * without a signal.
 */
#include "run.h"

#include <stdlib.h>
#include <time.h>

#define LOOK_NS (50 * MS_NS)
#define ORPHANS_NS (5000 * MS_NS)

uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* Looks at the PEs if it is time, or a child has changed. */
static void look(struct run *run)
{
    uint64_t now = now_ns();
    ending_check(run);
    if (now < run->look_at)
        return;
    run->look_at = now + LOOK_NS;
    loss_check(run);
    if (now >= run->orphan_at) {
        run->orphan_at = now + ORPHANS_NS;
        sweep_orphans(run);
    }
}

static int wait_ms(const struct run *run)
{
    uint64_t until = run->look_at;
    if (run->kill_at < until)
        until = run->kill_at;
    if (run->deadline < until)
        until = run->deadline;
    uint64_t now = now_ns();
    return until > now ? (int)((until - now) / MS_NS) + 1 : 0;
}

/* One turn: polled has room for everything, which[i] names the stream of entry i. */
static void turn(struct run *run, struct pollfd *polled, int *which)
{
    int n = 0;
    polled[n++] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
    polled[n++] = (struct pollfd){.fd = run->exec_settled ? -1 : run->exec_fd, .events = POLLIN};
    int feed = n;
    n += feed_poll(polled + n);
    int sinks = n;
    n += sinks_poll(polled + n);
    int tags = n;
    n += tag_poll(run, polled + n, which + n);
    if (poll(polled, (nfds_t)n, wait_ms(run)) <= 0)
        return;

    if (polled[0].revents)
        signals_read(run);
    if (polled[1].revents & POLLIN)
        spawn_failures_read(run);
    if (polled[1].revents == POLLHUP) /* every child runs its program */
        run->exec_settled = true;
    feed_move(polled + feed, sinks - feed);
    sinks_write(polled + sinks, tags - sinks);
    for (int i = tags; i < n; i++)
        if (polled[i].revents)
            tag_read(run, which[i]);
}

void watch(struct run *run)
{
    size_t room = 8 + 2 * (size_t)run->options.npes;
    struct pollfd *polled = calloc(room, sizeof(*polled));
    int *which = calloc(room, sizeof(*which));
    if (!polled || !which) {
        say("no memory to watch %d PEs", run->options.npes);
        status_set(run, STATUS_NVSRUN);
        free(polled);
        free(which);
        return; /* the sweep ends them */
    }
    for (;;) {
        look(run);
        if (run->nover == run->nstarted)
            break;
        turn(run, polled, which);
    }
    free(polled);
    free(which);
}
