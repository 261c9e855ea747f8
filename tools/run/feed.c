/*
 * feed.c - the input of PE 0.
 *
 * A file or a pipe is simply inherited. A terminal is not: PE 0 is not in its foreground process
 * group and would be stopped by SIGTTIN when it reads. So nvsrun reads from the terminal, while it
 * is in the foreground itself, and passes it on through a pipe.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int feed_fd = -1; /* the pipe to PE 0; -1: nvsrun feeds nothing */
static char data[4096];
static size_t data_begin, data_end;

int feed_open(void)
{
    if (!isatty(STDIN_FILENO))
        return STDIN_FILENO;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return -1;
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    feed_fd = fds[1];
    return fds[0];
}

void feed_started(int fd)
{
    if (fd != STDIN_FILENO) {
        close(fd);
        return;
    }
    /* Whoever writes to this input shall notice when PE 0 is gone. */
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
}

static bool in_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int feed_poll(struct pollfd *polled)
{
    if (feed_fd < 0)
        return 0;
    if (data_begin < data_end)
        *polled = (struct pollfd){.fd = feed_fd, .events = POLLOUT};
    else
        *polled = (struct pollfd){.fd = in_foreground() ? STDIN_FILENO : -1, .events = POLLIN};
    return 1;
}

static void feed_end(void)
{
    close(feed_fd);
    feed_fd = -1;
}

void feed_move(const struct pollfd *polled, int npolled)
{
    if (!npolled || !polled->revents)
        return;
    if (polled->fd == feed_fd) {
        ssize_t put = write(feed_fd, data + data_begin, data_end - data_begin);
        if (put > 0)
            data_begin += (size_t)put;
        else if (errno != EAGAIN && errno != EINTR)
            feed_end(); /* PE 0 does not read any more */
        return;
    }
    ssize_t got = read(STDIN_FILENO, data, sizeof(data));
    data_begin = 0;
    data_end = got > 0 ? (size_t)got : 0;
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        feed_end();
}
