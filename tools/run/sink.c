/*
 * sink.c - where tagged output goes: stdout and stderr of nvsrun, each behind a queue of whole
 * lines.
 *
 * nvsrun must not block on a reader that is slow, for it would not notice the end of a PE
 * meanwhile. The descriptors are shared with others and cannot be made non-blocking; but poll says
 * when a pipe has room, and then a write of one page does not block. When a queue is full, nvsrun
 * stops reading from the PEs, and they wait as if they wrote to the slow reader themselves.
 *
 * If both descriptors are one file (2>&1), they share one queue, or they would cut into each
 * other's lines.
 */
#include "run.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stream is read only below SINK_FULL, and adds at most a line and a tagged read buffer. */
#define SINK_BYTES (4u << 20)
#define SINK_FULL (1u << 20)
#define PAGE_BYTES 4096

struct sink {
    int fd;
    bool closed; /* nobody reads any more: everything is dropped */
    size_t begin, end;
    char queue[SINK_BYTES];
};

static struct sink sinks[2]; /* without values: they would be 8 MiB of the program file */
static int nsinks;           /* 0: not in use */

static bool same_file(void)
{
    struct stat out, err;
    return !fstat(STDOUT_FILENO, &out) && !fstat(STDERR_FILENO, &err) && out.st_dev == err.st_dev &&
           out.st_ino == err.st_ino;
}

void sinks_open(void)
{
    sinks[0].fd = STDOUT_FILENO;
    sinks[1].fd = STDERR_FILENO;
    nsinks = same_file() ? 1 : 2;
}

bool sinks_active(void)
{
    return nsinks > 0;
}

static struct sink *sink_of(int fd)
{
    return &sinks[nsinks == 2 && fd == STDERR_FILENO];
}

bool sink_full(int fd)
{
    const struct sink *sink = sink_of(fd);
    return sink->end - sink->begin >= SINK_FULL;
}

bool sink_closed(int fd)
{
    return sink_of(fd)->closed;
}

static bool sink_empty(const struct sink *sink)
{
    return sink->begin == sink->end || sink->closed;
}

static void sink_write(struct sink *sink)
{
    size_t length = sink->end - sink->begin;
    ssize_t put =
        write(sink->fd, sink->queue + sink->begin, length < PAGE_BYTES ? length : PAGE_BYTES);
    if (put > 0)
        sink->begin += (size_t)put;
    else if (put < 0 && errno != EINTR && errno != EAGAIN)
        sink->closed = true;
    if (sink->begin == sink->end || sink->closed)
        sink->begin = sink->end = 0;
}

void sink_add(int fd, const char *data, size_t nbytes)
{
    struct sink *sink = sink_of(fd);
    if (sink->closed || !nbytes || nbytes > SINK_BYTES)
        return;
    if (sink->end + nbytes > SINK_BYTES) {
        memmove(sink->queue, sink->queue + sink->begin, sink->end - sink->begin);
        sink->end -= sink->begin;
        sink->begin = 0;
    }
    while (sink->end + nbytes > SINK_BYTES && !sink->closed) /* better late than lost */
        sink_write(sink);
    memcpy(sink->queue + sink->end, data, nbytes);
    sink->end += nbytes;
}

int sinks_poll(struct pollfd *polled)
{
    for (int i = 0; i < nsinks; i++)
        polled[i] =
            (struct pollfd){.fd = sink_empty(&sinks[i]) ? -1 : sinks[i].fd, .events = POLLOUT};
    return nsinks;
}

void sinks_write(const struct pollfd *polled, int npolled)
{
    for (int i = 0; i < npolled; i++)
        if (polled[i].revents && !sink_empty(&sinks[i]))
            sink_write(&sinks[i]);
}

/* A signal by which the user asks for the end has come. */
static bool end_asked(int signal_fd)
{
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int sig = (int)info.ssi_signo;
        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)
            return true;
    }
    return false;
}

bool sinks_flush(struct run *run)
{
    int patience_ms = run->ending ? (int)(SIGNAL_GRACE_NS / MS_NS) : -1;
    struct pollfd polled[3];
    while (!run->interrupted) {
        bool empty = true;
        for (int i = 0; i < nsinks; i++)
            empty = empty && sink_empty(&sinks[i]);
        if (empty)
            return true;
        sinks_poll(polled);
        polled[nsinks] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
        int ready = poll(polled, (nfds_t)nsinks + 1, patience_ms);
        if (ready == 0 || (polled[nsinks].revents && end_asked(run->signal_fd)))
            run->interrupted = true;
        sinks_write(polled, nsinks);
    }
    return false;
}
