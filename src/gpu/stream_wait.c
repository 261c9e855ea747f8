/*
 * stream_wait.c - waits on words, put into streams of PEs that share a GPU.
 *
 * A kernel that waits would waste the turns of its process (meet.c). So the stream waits, in one of
 * two ways:
 *
 *   by the driver  one word, and a comparison that the driver has: equal; any bit of a mask; at
 *                  least, where the difference counts as signed. 4.4 us from one PE to the other
 *   by the host    everything else: a host function says that the stream has come so far, a thread
 *                  of ours copies the words and compares (await_look.c), and the stream waits for
 * its word, some 20 us
 *
 * What the driver's "at least v" is good for, with words of b bits: it holds for the half circle of
 * 2^(b-1) values from v on. That is exactly what is meant if v is 0 in a signed type (the values
 * that are not negative), the least one in a signed type ("less than 0" is "at least that" in this
 * way of counting), or 2^(b-1) in an unsigned one. Of an unsigned word of 64 bits it leaves out
 * values that are larger than v by 2^63 and more: nobody counts so far, but a signal may be set to
 * UINT64_MAX; await_look.c lets these pass at its next look. 32 bits are a range in use, so they go
 * by the host.
 *
 * A replayed graph uses its record again, and two graphs made of one capture even at the same time,
 * so that one may take the other's word from the host: a kernel compares once more behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/await.h"
#include "gpu/coll.h"

enum { EQ, NE, GT, LE, LT, GE }; /* of the standards */

struct plan {
    bool always, by_driver;
    unsigned flags;
    uint64_t value; /* of the driver's comparison; and with it, it holds */
    uint64_t pass;  /* a value for which it holds */
};

static struct plan driver(unsigned flags, uint64_t value, uint64_t pass)
{
    return (struct plan){.by_driver = true, .flags = flags, .value = value, .pass = pass};
}

/* At least v, of a word with so many values; top: half of them. */
static struct plan at_least(uint64_t v, bool is_signed, uint64_t top, uint64_t all)
{
    if (v == (is_signed ? top : 0))
        return (struct plan){.always = true};
    if (v == (is_signed ? 0 : top))
        return driver(CU_STREAM_WAIT_VALUE_GEQ, v, v);
    if (!is_signed && v == 1)
        return driver(CU_STREAM_WAIT_VALUE_AND, all, 1);
    if (!is_signed && all == UINT64_MAX && v < top)
        return driver(CU_STREAM_WAIT_VALUE_GEQ, v, v);
    return (struct plan){0};
}

static struct plan less(uint64_t v, bool is_signed, uint64_t top)
{
    if (is_signed && v == 0)
        return driver(CU_STREAM_WAIT_VALUE_GEQ, top, top);
    if (!is_signed && v == 1)
        return driver(CU_STREAM_WAIT_VALUE_EQ, 0, 0);
    return (struct plan){0};
}

/* How a stream waits for one word. */
static struct plan plan(enum nvsi_word word, int cmp, uint64_t value)
{
    bool wide = word >= NVSI_W64, is_signed = word == NVSI_W32 || word == NVSI_W64;
    uint64_t all = wide ? UINT64_MAX : UINT32_MAX, top = all / 2 + 1, v = value & all;
    uint64_t last = is_signed ? top - 1 : all;
    switch (cmp) {
    case EQ:
        return driver(CU_STREAM_WAIT_VALUE_EQ, v, v);
    case NE:
        return v ? (struct plan){0} : driver(CU_STREAM_WAIT_VALUE_AND, all, 1);
    case GE:
        return at_least(v, is_signed, top, all);
    case GT: /* what is more than the largest value never comes; the host finds that out */
        return v == last ? (struct plan){0} : at_least((v + 1) & all, is_signed, top, all);
    case LT:
        return less(v, is_signed, top);
    default:
        return v == last ? (struct plan){.always = true} : less((v + 1) & all, is_signed, top);
    }
}

static bool has_64_bits(void)
{
    int has = 0;
    return !cu.cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                    nvsi_gpu.device) &&
           has;
}

/* ---- by the driver --------------------------------------------------------------------------- */

static int wait_by_driver(struct nvsi_await *await, const struct plan *how, CUstream stream)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)await->words.ivars;
    int status = nvsi_await_step(await, NVSI_AWAIT_WAITING, stream);
    if (status)
        return status;
    CUresult result = await->elem_bytes == 8
                          ? cu.cuStreamWaitValue64(stream, at, how->value, how->flags)
                          : cu.cuStreamWaitValue32(stream, at, (uint32_t)how->value, how->flags);
    if (!result)
        status = nvsi_await_step(await, NVSI_AWAIT_PASSED, stream);
    if (!result && !status)
        result = cu.cuStreamWaitValue32(stream, await->at + offsetof(struct nvsi_await_line, go), 0,
                                        CU_STREAM_WAIT_VALUE_EQ);
    if (result)
        return nvsi_cuda_error(await->fn, result, "put a wait into a stream");
    return status ? status : nvsi_await_step(await, NVSI_AWAIT_DONE, stream);
}

/* ---- by the host ----------------------------------------------------------------------------- */

/* What only the host reads may be gone or changed when the stream gets there. Either both are
 * copied, or the GPU reaches both. */
static int keep_copies(struct nvsi_await *await)
{
    struct nvsi_words *words = &await->words;
    size_t room = words->nelems * await->elem_bytes;
    bool values = words->vector && !nvsi_gpu_kernels_reach(words->values);
    bool status = words->status && !nvsi_gpu_kernels_reach(words->status);
    if (!values && !status)
        return 0;
    char *copies = malloc(room + words->nelems * sizeof(int));
    if (!copies)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a wait", await->fn);
    if (words->vector) {
        memcpy(copies, words->values, room);
        words->values = copies;
    }
    if (words->status) {
        memcpy(copies + room, words->status, words->nelems * sizeof(int));
        words->status = (const int *)(void *)(copies + room);
    }
    await->copies = copies;
    return 0;
}

static int wait_by_host(struct nvsi_await *await, CUstream stream)
{
    CUdeviceptr go = await->at + offsetof(struct nvsi_await_line, go);
    int status = keep_copies(await);
    if (status)
        return status;
    CUresult result = cu.cuLaunchHostFunc(stream, nvsi_await_ask, await);
    if (!result)
        result = cu.cuStreamWaitValue32(stream, go, 1, CU_STREAM_WAIT_VALUE_EQ);
    if (!result)
        result = cu.cuStreamWriteValue32(stream, go, 0, 0);
    if (result)
        return nvsi_cuda_error(await->fn, result, "put a wait into a stream");
    return nvsi_await_step(await, NVSI_AWAIT_DONE, stream);
}

/* ---- the way in ------------------------------------------------------------------------------ */

/* To the driver; some GPUs reach more (nvsi_gpu_kernels_reach). */
static bool is_known(const void *ptr)
{
    const struct nvsi_segment *heap = &nvsi.seg[NVSI_SEG_DEVICE];
    unsigned type;
    return (size_t)((const char *)ptr - heap->base) < heap->size ||
           !cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     (CUdeviceptr)(uintptr_t)ptr);
}

bool nvsi_gpu_stream_waits(const struct nvsi_words *words, size_t elem_bytes)
{
    bool one_reader =
        !words->vector || !words->status ||
        nvsi_gpu_kernels_reach(words->values) == nvsi_gpu_kernels_reach(words->status);
    return nvsi_gpu.sharers > 1 && one_reader && (uintptr_t)words->ivars % elem_bytes == 0 &&
           is_known(words->ivars);
}

size_t nvsi_gpu_stream_wait_most(void)
{
    return NVSI_AWAIT_ELEMS;
}

int nvsi_gpu_stream_wait(const char *fn, const struct nvsi_words *words, size_t elem_bytes,
                         CUstream stream, bool *again)
{
    struct plan how = {0};
    uint64_t value = 0;
    *again = false;
    if (!words->vector)
        memcpy(&value, words->values, sizeof value);
    if (!words->vector && words->nelems == 1 && !words->status && elem_bytes >= 4 &&
        (elem_bytes == 4 || has_64_bits()))
        how = plan(words->word, words->cmp, value);
    if (how.always)
        return 0;
    struct nvsi_await *await = nvsi_await_new(fn, stream);
    if (!await)
        return NVS_ERR_SYSTEM;
    await->words = *words;
    await->elem_bytes = elem_bytes;
    await->value = value;
    await->pass = how.pass;
    await->by_host = !how.by_driver;
    *again = await->by_host && await->captured;
    int status = how.by_driver ? wait_by_driver(await, &how, stream) : wait_by_host(await, stream);
    if (status)
        nvsi_await_drop(await);
    return status;
}
