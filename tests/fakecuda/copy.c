/*
 * copy.c - copies, memset, and operations of streams on words.
 *
 * As with the real driver, ordinary (pageable) host memory is special: as a source it has been read
 * when the call returns, as a destination it has been written, so such a call waits for the stream.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

static void *at(CUdeviceptr ptr)
{
    return (void *)(uintptr_t)ptr;
}

/* ---- copies ---------------------------------------------------------------------------------- */

enum { HOST_KINDS = 1 << FAKE_PINNED | 1 << FAKE_REGISTERED };
enum side { ANY, MUST_BE_DEVICE, MUST_BE_HOST };

struct copy {
    char *dst;
    const char *src;
    size_t nbytes;
    bool staged; /* src is owned */
};

static void run_copy(struct fake_op *op)
{
    struct copy *copy = (void *)op->payload;
    memmove(copy->dst, copy->src, copy->nbytes);
}

static void drop_copy(struct fake_op *op)
{
    struct copy *copy = (void *)op->payload;
    if (copy->staged)
        free((void *)(uintptr_t)copy->src);
}

/* What the range is, or that it is not what it must be. */
static CUresult look(const void *ptr, size_t nbytes, enum side side, bool *pageable)
{
    unsigned kinds;
    pthread_mutex_lock(&fake.lock);
    bool known = fake_span_locked(ptr, nbytes, &kinds);
    bool starts_known = fake_range_find_locked(ptr) != NULL;
    pthread_mutex_unlock(&fake.lock);
    *pageable = !known;
    if (!known && starts_known)
        return CUDA_ERROR_INVALID_VALUE; /* runs over the end of its allocation */
    if (side == MUST_BE_DEVICE && !known)
        return CUDA_ERROR_INVALID_VALUE;
    if (side == MUST_BE_HOST && known && kinds & ~(unsigned)(HOST_KINDS | 1 << FAKE_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static bool capturing(struct CUctx_st *context, CUstream handle)
{
    struct CUstream_st *stream;
    pthread_mutex_lock(&fake.lock);
    bool is = !fake_stream_find_locked(context, handle, &stream) && stream->capture;
    pthread_mutex_unlock(&fake.lock);
    return is;
}

struct sides {
    enum side dst, src;
    bool sync;
};

static CUresult copy(struct CUctx_st *context, void *dst, const void *src, size_t nbytes,
                     CUstream stream, struct sides sides)
{
    bool pageable_dst, pageable_src;
    CUresult result = nbytes ? look(dst, nbytes, sides.dst, &pageable_dst) : CUDA_SUCCESS;
    if (!result && nbytes)
        result = look(src, nbytes, sides.src, &pageable_src);
    if (result || !nbytes)
        return result;
    struct fake_op *op = fake_op_new(run_copy, drop_copy, sizeof(struct copy));
    struct copy *plan = (void *)op->payload;
    *plan = (struct copy){dst, src, nbytes, false};
    bool recorded = capturing(context, stream);
    if (pageable_src && !recorded) {
        char *staged = malloc(nbytes);
        if (!staged)
            abort();
        memcpy(staged, src, nbytes);
        plan->src = staged;
        plan->staged = true;
    }
    struct fake_moment moment;
    result = fake_submit(context, stream, op, &moment);
    if (result || recorded || !(sides.sync || pageable_dst))
        return result;
    pthread_mutex_lock(&fake.lock);
    fake_wait_locked(moment);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

/* Those that wait go through the legacy stream. */
static CUresult copy_now(struct CUctx_st *context, void *dst, const void *src, size_t nbytes,
                         struct sides sides)
{
    CUresult result = fake_unsafe();
    sides.sync = true;
    return result ? result : copy(context, dst, src, nbytes, NULL, sides);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t nbytes)
{
    ENTER_CONTEXT(context);
    return copy_now(context, at(dst), at(src), nbytes, (struct sides){ANY, ANY, true});
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t nbytes)
{
    ENTER_CONTEXT(context);
    return copy_now(context, at(dst), src, nbytes,
                    (struct sides){MUST_BE_DEVICE, MUST_BE_HOST, true});
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t nbytes)
{
    ENTER_CONTEXT(context);
    return copy_now(context, dst, at(src), nbytes,
                    (struct sides){MUST_BE_HOST, MUST_BE_DEVICE, true});
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t nbytes, CUstream stream)
{
    ENTER_CONTEXT(context);
    return copy(context, at(dst), at(src), nbytes, stream, (struct sides){ANY, ANY, false});
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t nbytes, CUstream stream)
{
    ENTER_CONTEXT(context);
    return copy(context, at(dst), src, nbytes, stream,
                (struct sides){MUST_BE_DEVICE, MUST_BE_HOST, false});
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t nbytes, CUstream stream)
{
    ENTER_CONTEXT(context);
    return copy(context, dst, at(src), nbytes, stream,
                (struct sides){MUST_BE_HOST, MUST_BE_DEVICE, false});
}

/* ---- memset ---------------------------------------------------------------------------------- */

struct set {
    char *dst;
    uint32_t value;
    size_t nelems, elem_bytes;
};

static void run_set(struct fake_op *op)
{
    struct set *set = (void *)op->payload;
    if (set->elem_bytes == 1)
        memset(set->dst, (int)set->value, set->nelems);
    for (size_t i = 0; set->elem_bytes == 4 && i < set->nelems; i++)
        ((uint32_t *)(void *)set->dst)[i] = set->value;
}

static CUresult set(struct CUctx_st *context, struct set plan, CUstream stream)
{
    bool pageable;
    if ((uintptr_t)plan.dst % plan.elem_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = plan.nelems
                          ? look(plan.dst, plan.nelems * plan.elem_bytes, MUST_BE_DEVICE, &pageable)
                          : CUDA_SUCCESS;
    if (result || !plan.nelems)
        return result;
    struct fake_op *op = fake_op_new(run_set, NULL, sizeof plan);
    *(struct set *)(void *)op->payload = plan;
    return fake_submit(context, stream, op, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t nbytes, CUstream stream)
{
    ENTER_CONTEXT(context);
    return set(context, (struct set){at(dst), value, nbytes, 1}, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t nwords, CUstream stream)
{
    ENTER_CONTEXT(context);
    return set(context, (struct set){at(dst), value, nwords, 4}, stream);
}

/* ---- words ----------------------------------------------------------------------------------- */

struct word {
    void *ptr;
    uint64_t value;
    unsigned flags;
    bool wide;
};

static uint64_t load(const struct word *word)
{
    return word->wide ? __atomic_load_n((uint64_t *)word->ptr, __ATOMIC_ACQUIRE)
                      : __atomic_load_n((uint32_t *)word->ptr, __ATOMIC_ACQUIRE);
}

static bool come(const struct word *word)
{
    uint64_t have = load(word);
    switch (word->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* with wrap */
        return word->wide ? (int64_t)(have - word->value) >= 0
                          : (int32_t)((uint32_t)have - (uint32_t)word->value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return have == word->value;
    case 2: /* AND */
        return (have & word->value) != 0;
    default: /* NOR */
        return (~(have | word->value) & (word->wide ? UINT64_MAX : UINT32_MAX)) != 0;
    }
}

static void run_wait(struct fake_op *op)
{
    const struct word *word = (void *)op->payload;
    for (unsigned round = 0; !come(word); round++) {
        if (round < 100)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

static void run_write(struct fake_op *op)
{
    const struct word *word = (void *)op->payload;
    if (word->wide)
        __atomic_store_n((uint64_t *)word->ptr, word->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)word->ptr, (uint32_t)word->value, __ATOMIC_RELEASE);
}

static CUresult word_op(struct CUctx_st *context, CUstream stream, struct word word,
                        void (*run)(struct fake_op *), unsigned flags_known)
{
    bool pageable;
    size_t nbytes = word.wide ? 8 : 4;
    if (word.flags & ~flags_known || (uintptr_t)word.ptr % nbytes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = look(word.ptr, nbytes, MUST_BE_DEVICE, &pageable);
    if (result)
        return result;
    struct fake_op *op = fake_op_new(run, NULL, sizeof word);
    *(struct word *)(void *)op->payload = word;
    return fake_submit(context, stream, op, NULL);
}

/* The one flag of a write (no barrier before it) is refused by these versions of the functions. */
enum { WAIT_FLAGS = 3, WRITE_FLAGS = 0 };

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr ptr, uint32_t value, unsigned flags)
{
    ENTER_CONTEXT(context);
    return word_op(context, stream, (struct word){at(ptr), value, flags, false}, run_wait,
                   WAIT_FLAGS);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr ptr, uint64_t value, unsigned flags)
{
    ENTER_CONTEXT(context);
    return word_op(context, stream, (struct word){at(ptr), value, flags, true}, run_wait,
                   WAIT_FLAGS);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr ptr, uint32_t value, unsigned flags)
{
    ENTER_CONTEXT(context);
    return word_op(context, stream, (struct word){at(ptr), value, flags, false}, run_write,
                   WRITE_FLAGS);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr ptr, uint64_t value, unsigned flags)
{
    ENTER_CONTEXT(context);
    return word_op(context, stream, (struct word){at(ptr), value, flags, true}, run_write,
                   WRITE_FLAGS);
}
