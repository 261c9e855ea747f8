/*
 * fake_test.h - what the tests of the stand-in share.
 */
#ifndef FAKE_TEST_H
#define FAKE_TEST_H

#include <stdlib.h>
#include <string.h>

#include "../unit/check.h"
#include "fake.h"

/* What must go right for the test to make sense. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        int ok_result = (call);                                                                    \
        if (ok_result) {                                                                           \
            fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, ok_result);            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
/* What must go wrong, and how. */
#define FAILS(call, error)                                                                         \
    do {                                                                                           \
        int is = (call);                                                                           \
        CHECK(is == (error), "it is %d, not %d", is, (int)(error));                                \
    } while (0)

static inline CUcontext begin(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return context;
}

static inline CUstream new_stream(unsigned flags)
{
    CUstream stream;
    OK(cuStreamCreateWithPriority(&stream, flags, 0));
    return stream;
}

static inline CUdeviceptr new_memory(size_t nbytes)
{
    CUdeviceptr ptr;
    OK(cuMemAlloc(&ptr, nbytes));
    return ptr;
}

#endif
