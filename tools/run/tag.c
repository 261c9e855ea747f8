/*
 * tag.c - output with "[PE 3] " before every line.
 *
 * Each output of each PE is a pipe, read here and cut into lines; only whole lines go on to the
 * sinks. A line longer than LINE_MAX_BYTES is passed on in pieces, a last line without an end gets
 * one.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (1u << 20)
#define LINE_FIRST_BYTES 4096u
#define READ_BYTES 65536

/* Stream 2 * pe is the output of PE pe, 2 * pe + 1 its errors. */
static int stream_sink(int stream)
{
    return stream % 2 ? STDERR_FILENO : STDOUT_FILENO;
}

void tag_open(struct run *run)
{
    size_t nstreams = 2 * (size_t)run->options.npes;
    run->streams = calloc(nstreams, sizeof(*run->streams));
    if (!run->streams)
        die("no memory for the output of %d PEs", run->options.npes);
    for (size_t i = 0; i < nstreams; i++)
        run->streams[i].fd = -1;
    sinks_open();
}

static int tag_pipe(struct tag_stream *stream, int *write_fd)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return -1;
    fcntl(fds[0], F_SETFL, O_NONBLOCK); /* of this end only: the PE's stays as programs expect */
    stream->fd = fds[0];
    *write_fd = fds[1];
    return 0;
}

int tag_pipes(struct run *run, int pe, int write_fds[2])
{
    struct tag_stream *streams = &run->streams[2 * pe];
    if (tag_pipe(&streams[0], &write_fds[0]))
        return -1;
    if (!tag_pipe(&streams[1], &write_fds[1]))
        return 0;
    int error = errno;
    close(write_fds[0]);
    errno = error;
    return -1;
}

int tag_poll(const struct run *run, struct pollfd *polled, int *which)
{
    int n = 0;
    for (int i = 0; run->streams && i < 2 * run->nstarted; i++) {
        if (run->streams[i].fd < 0 || sink_full(stream_sink(i)))
            continue;
        polled[n] = (struct pollfd){.fd = run->streams[i].fd, .events = POLLIN};
        which[n++] = i;
    }
    return n;
}

static void line_pass(int stream, const char *head, size_t head_length, const char *tail,
                      size_t tail_length)
{
    char tag[24];
    int fd = stream_sink(stream);
    int length = snprintf(tag, sizeof(tag), "[PE %d] ", stream / 2);
    sink_add(fd, tag, (size_t)length);
    sink_add(fd, head, head_length);
    sink_add(fd, tail, tail_length);
    sink_add(fd, "\n", 1);
}

/* Keeps the beginning of a line whose end has not come yet. False: there is no room for it. */
static bool line_keep(struct tag_stream *stream, const char *data, size_t nbytes)
{
    size_t needed = stream->length + nbytes;
    if (needed > LINE_MAX_BYTES)
        return false;
    if (needed > stream->capacity) {
        size_t capacity = stream->capacity ? stream->capacity : LINE_FIRST_BYTES;
        while (capacity < needed)
            capacity *= 2;
        char *line = realloc(stream->line, capacity);
        if (!line)
            return false;
        stream->line = line;
        stream->capacity = capacity;
    }
    memcpy(stream->line + stream->length, data, nbytes);
    stream->length = needed;
    return true;
}

static void data_pass(struct run *run, int number, const char *data, size_t nbytes)
{
    struct tag_stream *stream = &run->streams[number];
    const char *newline;
    while ((newline = memchr(data, '\n', nbytes))) {
        size_t length = (size_t)(newline - data);
        line_pass(number, stream->line, stream->length, data, length);
        stream->length = 0;
        data += length + 1;
        nbytes -= length + 1;
    }
    if (nbytes && !line_keep(stream, data, nbytes)) {
        line_pass(number, stream->line, stream->length, data, nbytes);
        stream->length = 0;
    }
}

static void stream_finish(struct run *run, int number)
{
    struct tag_stream *stream = &run->streams[number];
    if (stream->fd < 0)
        return;
    /* Finished streams have fd -1: the checker loses sight of that behind the array. */
    // NOLINTBEGIN(clang-analyzer-unix.Malloc)
    if (stream->length)
        line_pass(number, stream->line, stream->length, "", 0);
    close(stream->fd);
    free(stream->line);
    // NOLINTEND(clang-analyzer-unix.Malloc)
    *stream = (struct tag_stream){.fd = -1};
}

bool tag_read(struct run *run, int number)
{
    static char data[READ_BYTES];
    ssize_t got = -1;
    /* If nobody reads our output any more, let the PE know, as if it wrote to that reader itself.
     */
    if (sink_closed(stream_sink(number)))
        run->streams[number].length = 0;
    else
        got = read(run->streams[number].fd, data, sizeof(data));
    if (got > 0) {
        data_pass(run, number, data, (size_t)got);
        return true;
    }
    if (got < 0 && !sink_closed(stream_sink(number)) && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    stream_finish(run, number);
    return false;
}

void tag_drain(struct run *run)
{
    for (int i = 0; run->streams && i < 2 * run->options.npes; i++) {
        while (run->streams[i].fd >= 0 && tag_read(run, i))
            if (sink_full(stream_sink(i)) && !sinks_flush(run))
                return;
        stream_finish(run, i);
    }
}
