/*
 * await_read.c - reading and writing device memory while streams of this process wait.
 *
 * A copy may get stuck behind a stream that waits, since the driver has fewer queues (8) than
 * streams. So nobody here waits for long: a stream of ours that does not come to its end is left
 * alone, and another one is tried. All are made before anything waits: to take pinned memory or to
 * make a stream can block in the driver until the device is idle.
 */
#include "gpu/await.h"

#include <sched.h>

#include "util/clock.h"

enum { STUCK_MS = 20, NUM_READERS = 12 };

static struct {
    struct nvsi_reader of[NUM_READERS];
    void *buffers;
    int count, current;
} readers;

int nvsi_await_readers_open(const char *fn)
{
    CUresult result = cu.cuMemHostAlloc(&readers.buffers, (size_t)NUM_READERS * NVSI_READ_BYTES,
                                        CU_MEMHOSTALLOC_PORTABLE);
    for (int i = 0; i < NUM_READERS && !result; i++) {
        struct nvsi_reader *reader = &readers.of[i];
        reader->buffer = (char *)readers.buffers + (size_t)i * NVSI_READ_BYTES;
        /* Of another priority than the program's streams: the driver has other queues for these. */
        result = cu.cuStreamCreateWithPriority(&reader->stream, CU_STREAM_NON_BLOCKING, INT32_MIN);
        readers.count += !result;
    }
    if (!result)
        return 0;
    nvsi_await_readers_close();
    return nvsi_cuda_error(fn, result, "make the streams that look after waits");
}

struct nvsi_reader *nvsi_await_reader(void)
{
    for (int i = 0; i < readers.count; i++) {
        struct nvsi_reader *reader = &readers.of[(readers.current + i) % readers.count];
        if (!cu.cuStreamQuery(reader->stream)) {
            readers.current = (int)(reader - readers.of);
            return reader;
        }
    }
    return NULL;
}

bool nvsi_await_finish(const struct nvsi_reader *reader)
{
    for (int64_t until = nvsi_now_ms() + STUCK_MS; nvsi_now_ms() <= until;) {
        CUresult result = cu.cuStreamQuery(reader->stream);
        if (result != CUDA_ERROR_NOT_READY)
            return !result;
        sched_yield();
    }
    return false;
}

void nvsi_await_readers_close(void)
{
    for (int i = 0; i < readers.count; i++)
        (void)cu.cuStreamDestroy(readers.of[i].stream);
    if (readers.buffers)
        (void)cu.cuMemFreeHost(readers.buffers);
    readers.buffers = NULL;
    readers.count = readers.current = 0;
}
