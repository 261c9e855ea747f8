/*
 * host_ops.h - what the files of host calls on device memory share. All but the members of struct
 * nvsi_device are called in the GPU's context.
 */
#ifndef NVSI_GPU_HOST_OPS_H
#define NVSI_GPU_HOST_OPS_H

#include "gpu/gpu.h"
#include "transport/transport.h"

/* Where a symmetric range is, for copies on our stream. */
CUdeviceptr nvsi_gpu_remote(const struct nvsi_remote *at);
/* Whether kernels of this PE can load and store it. */
bool nvsi_gpu_is_direct(const struct nvsi_remote *at);
/* Something was put into our stream; and waits until all that was is done. */
void nvsi_gpu_issued(void);
int nvsi_gpu_complete(const char *fn);
/* A copy on our stream. */
int nvsi_gpu_copy(const char *fn, CUdeviceptr dst, CUdeviceptr src, size_t nbytes);

/* host_strided.c */
int nvsi_gpu_iput(const char *fn, const struct nvsi_remote *at, const void *src,
                  const struct nvsi_strided *shape);
int nvsi_gpu_iget(const char *fn, void *dst, const struct nvsi_remote *at,
                  const struct nvsi_strided *shape);
void nvsi_gpu_strided_close(void);

/* host_coll.c */
int nvsi_gpu_collective(int kind, struct nvsi_team *team, const struct nvsi_coll_args *args,
                        bool *taken);
void nvsi_gpu_coll_streams_close(void);

#endif
