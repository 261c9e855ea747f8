/*
 * host_func.h - operations on streams of CUDA, run by the host.
 */
#ifndef NVSI_HOST_FUNC_H
#define NVSI_HOST_FUNC_H

#include "stream/stream.h"

int nvsi_host_func_on_stream(const struct nvsi_stream_op *op, void *stream);

#endif
