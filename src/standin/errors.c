/*
 * errors.c - the errors of the stand-in: their names, and the latest one of each thread.
 */
#include "standin/standin.h"

static _Thread_local cudaError_t latest;

cudaError_t si_error(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        latest = error;
    return error;
}

/* An error of the work in a stream has been made by nvs; the sentence is in nvs_last_error(). */
static cudaError_t failed(int status)
{
    if (status == nvsx_queue_failure(NULL))
        return cudaErrorLaunchFailure;
    switch (status) {
    case NVS_ERR_MEMORY:
        return cudaErrorMemoryAllocation;
    case NVS_ERR_STATE: /* a child of fork() */
        return cudaErrorInitializationError;
    case NVS_ERR_SYSTEM:
        return cudaErrorOperatingSystem;
    case NVS_ERR_INVALID:
        return cudaErrorInvalidValue;
    default:
        return cudaErrorLaunchFailure;
    }
}

cudaError_t si_status(int status)
{
    static const cudaError_t errors[] = {
        [NVSX_QUEUE_BUSY] = cudaErrorNotReady,
        [NVSX_QUEUE_CAPTURED] = cudaErrorStreamCaptureUnsupported,
        [NVSX_QUEUE_UNKNOWN] = cudaErrorInvalidResourceHandle,
        [NVSX_QUEUE_INSIDE] = cudaErrorNotPermitted,
        [NVSX_QUEUE_UNJOINED] = cudaErrorStreamCaptureUnjoined,
        [NVSX_QUEUE_FOREIGN] = cudaErrorStreamCaptureIsolation,
        [NVSX_QUEUE_NO_CAPTURE] = cudaErrorStreamCaptureUnmatched,
    };
    return si_error(status < 0 ? failed(status) : errors[status]);
}

cudaError_t cudaPeekAtLastError(void)
{
    return nvsx_queue_failure(NULL) ? cudaErrorLaunchFailure : latest;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    latest = cudaSuccess;
    return error;
}

#define NAME(name, value, text)                                                                    \
    case name:                                                                                     \
        return #name;
#define TEXT(name, value, text)                                                                    \
    case name:                                                                                     \
        return text;

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
        NVS_CUDART_ERRORS(NAME)
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
        NVS_CUDART_ERRORS(TEXT)
    }
    return "unrecognized error code";
}
