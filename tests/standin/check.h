/*
 * check.h - checks of the stand-in runtime: programs of one process, exit 0 if all is well.
 */
#ifndef TESTS_STANDIN_CHECK_H
#define TESTS_STANDIN_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
        }                                                                                          \
    } while (0)

/* The call gives this error, by name. */
#define GIVES(error, call)                                                                         \
    do {                                                                                           \
        cudaError_t given = (call);                                                                \
        if (given != (error)) {                                                                    \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call,                  \
                    cudaGetErrorName(given), cudaGetErrorName(error));                             \
        }                                                                                          \
    } while (0)
#define OK(call) GIVES(cudaSuccess, call)

#endif
